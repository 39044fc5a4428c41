//! Figures in their places: the three most telling first, then a section for each topic and each paper, whose
//! first figure is open and the rest behind a line that says how many there are.
use super::glossary::Marked;
use super::origin::named;
use super::{Document, Drawn, anchor, claims, escape, papers, several};
use crate::{Figure, Topic, figures};
use foregather_results::Results;
use foregather_results::claims::{Claim, Paper, PaperFigure};
use std::collections::BTreeSet;
use std::fmt::Write;

/// The figures that tell most, the best first, by their names; one of a paper is enough.
const TELLING: [&str; 21] = [
    "barriers",
    "openmp",
    "openmp-tasks",
    "programs",
    "queue-late",
    "teams",
    "blas-collapse",
    "message-hogs",
    "app-speedups",
    "dsm-faults",
    "fig5",
    "seidel-success-sizes",
    "ping-pong",
    "seidel-success-calibrated",
    "fig3",
    "fig4-over-time",
    "namyst-fig7",
    "millipage-chunks",
    "message-latency",
    "skew",
    "barrier-classes",
];
/// More links of a section are folded.
const LISTED: usize = 3;
/// How many stand first, and how many a page has at most.
const FIRST: usize = 3;
const FIGURES_MAX: usize = 200;
/// What a page says before the caption of a figure that was measured on a busy machine.
const UNUSABLE: &str =
    "<span class=\"bad word\">machine unusable</span> while this was measured: its numbers tell of what else ran. ";

/// A section of figures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    First,
    Topic(Topic),
    /// Of the paper with this number.
    Paper(usize),
    /// Of a simulation that no paper has.
    Plans,
}

/// A figure with its place.
struct PlacedFigure {
    id: String,
    /// Its name, as a file has it.
    name: String,
    figure: Figure,
    section: Section,
    /// The number of its document, and how that is named if several have this figure.
    of: usize,
    whose: String,
    drawn: Drawn,
}

/// All figures of a page, section by section.
pub(super) struct Placed {
    all: Vec<PlacedFigure>,
    /// How many there would be without a bound.
    found: usize,
}

impl Placed {
    /// `telling`: the most telling figures stand first.
    pub(super) fn of(results: &[Results], documents: &[Document<'_>], telling: bool) -> Self {
        let (mut all, mut found, mut ids) = (Vec::<PlacedFigure>::new(), 0, BTreeSet::new());
        for figure in figures(results) {
            let name = figure.name();
            let before = all.len();
            for (of, document) in documents.iter().enumerate() {
                let Some(drawn) = (found < FIGURES_MAX).then(|| figure.draw(document)).flatten() else { continue };
                found += 1;
                let mut id = format!("f-{name}");
                while !ids.insert(id.clone()) {
                    id += "-2";
                }
                let section = section(&figure, &name);
                all.push(PlacedFigure {
                    id,
                    name: name.clone(),
                    figure: figure.clone(),
                    section,
                    of,
                    whose: String::new(),
                    drawn,
                });
            }
            if all.len() - before > 1 {
                all[before..].iter_mut().for_each(|placed| placed.whose = format!("{}: ", named(documents[placed.of].results)));
            }
        }
        if telling {
            first(&mut all);
        }
        all.sort_by_key(|placed| (placed.section, placed.order()));
        Self { all, found }
    }

    /// What the first figure shows.
    pub(super) fn first_caption(&self) -> Option<&str> {
        self.all.first().map(|placed| placed.drawn.caption.as_str())
    }

    /// Where the figure that a claim is about stands.
    pub(super) fn about<'a>(&'a self, claim: &Claim, paper: &'a Paper) -> Option<(&'a str, &'a str)> {
        let shows = |name: &String| self.all.iter().find(|placed| plain(&placed.name) == name);
        let numbered = |number: &str| claim.section.split([',', ';']).any(|part| part.trim() == number);
        let named = |figure: &&PaperFigure| figure.claims.contains(&claim.id) || numbered(&figure.number);
        let checked = |figure: &&PaperFigure| figure.checks.contains(&claim.check);
        let figures = || paper.figure.iter();
        let figure = figures()
            .filter(named)
            .chain(figures().filter(checked))
            .find_map(|figure| Some((figure.shown.iter().find_map(shows)?, figure)))?;
        Some((&figure.0.id, &figure.1.number))
    }

    /// What the page holds, as links.
    pub(super) fn contents(&self, results: &[Results]) -> String {
        let mut text = String::new();
        for section in self.all.chunk_by(|a, b| a.section == b.section) {
            let figure = |placed: &PlacedFigure| {
                format!("<li><a href=\"#{}\">{}</a>", placed.id, escape(&format!("{}{}", placed.whose, placed.drawn.svg.title)))
            };
            let (figures, name) = (section.iter().map(figure).collect::<String>(), heading(section[0].section));
            let _ = writeln!(text, "<li><a href=\"#{}\">{name}</a>{}", place(section), folded(&figures, section.len()));
        }
        for paper in claims::papers(results) {
            let _ = writeln!(text, "<li><a href=\"#claims-{}\">Claims of {}</a>", anchor(paper), escape(&papers::cited(paper)));
        }
        let rest = [("sources", "Where these numbers come from"), ("glossary", "Glossary")];
        rest.into_iter().for_each(|(id, name)| _ = writeln!(text, "<li><a href=\"#{id}\">{name}</a>"));
        format!(
            "<nav aria-label=Contents><details class=\"card toc\"><summary>Contents</summary><ul>{text}</ul></details></nav>\n"
        )
    }

    /// The figures of what was measured, section by section.
    pub(super) fn measured(&self, documents: &[Document<'_>]) -> String {
        self.sections(documents, |section| !section.is_virtual())
    }

    /// The figures of papers and of other simulations, section by section.
    pub(super) fn papers(&self, documents: &[Document<'_>]) -> String {
        let mut text = self.sections(documents, Section::is_virtual);
        if self.found >= FIGURES_MAX {
            let _ = writeln!(text, "<p class=sub>The first {FIGURES_MAX} figures are shown; the data have all.</p>");
        }
        text
    }

    fn sections(&self, documents: &[Document<'_>], wanted: fn(Section) -> bool) -> String {
        let mut text = String::new();
        let wanted = |section: &&[PlacedFigure]| wanted(section[0].section);
        for section in self.all.chunk_by(|a, b| a.section == b.section).filter(wanted) {
            let id = place(section);
            let _ = writeln!(text, "<section aria-labelledby=\"{id}\"><h2 id=\"{id}\">{}</h2>", heading(section[0].section));
            if let Section::Paper(number) = section[0].section {
                text += &about(&papers::all()[number], documents);
            }
            let open = if section[0].section == Section::First { FIRST } else { 1 };
            let (shown, more) = section.split_at(open.min(section.len()));
            shown.iter().for_each(|placed| text += &placed.html(&documents[placed.of]));
            if !more.is_empty() {
                let _ = writeln!(text, "<details class=more><summary>{}</summary>", several(more.len(), "more figure"));
                more.iter().for_each(|placed| text += &placed.html(&documents[placed.of]));
                text += "</details>";
            }
            text += "</section>\n";
        }
        text
    }
}

impl Section {
    /// Returns whether its figures are of papers or of simulated plans.
    fn is_virtual(self) -> bool {
        matches!(self, Self::Paper(_) | Self::Plans | Self::Topic(Topic::Simulated))
    }
}

/// Links to figures; many are behind a line that says how many.
fn folded(figures: &str, count: usize) -> String {
    match count {
        0..=LISTED => format!("<ul>{figures}</ul>"),
        _ => format!("<details><summary>{}</summary><ul>{figures}</ul></details>", several(count, "figure")),
    }
}

/// The name of what a figure shows, over time or not.
fn plain(name: &str) -> &str {
    name.strip_suffix("-over-time").unwrap_or(name)
}

/// Where a figure belongs: what was measured to its topic, what a paper has to that paper.
fn section(figure: &Figure, name: &str) -> Section {
    if let Figure::Of(_) = figure {
        return Section::Topic(figure.topic());
    }
    let paper = papers::figure(plain(name)).map(|(paper, _)| &paper.paper);
    paper.and_then(|name| papers::all().iter().position(|paper| paper.paper == *name)).map_or(Section::Plans, Section::Paper)
}

/// Puts the most telling figures first: of each paper one, more only if there are too few.
fn first(all: &mut [PlacedFigure]) {
    let mut numbers: Vec<usize> = (0..all.len()).collect();
    numbers.sort_by_key(|&number| rank(&all[number].name));
    let mut papers = BTreeSet::new();
    let is_again = |&number: &usize| matches!(all[number].section, Section::Paper(_)) && !papers.insert(all[number].section);
    let (again, new): (Vec<usize>, Vec<usize>) = numbers.into_iter().partition(is_again);
    new.into_iter().chain(again).take(FIRST).for_each(|number| all[number].section = Section::First);
}

/// The place of a figure among those that tell most.
fn rank(name: &str) -> usize {
    TELLING.iter().position(|known| *known == name).unwrap_or(TELLING.len())
}

/// The place of a section.
fn place(section: &[PlacedFigure]) -> String {
    match section[0].section {
        Section::First => "first".to_owned(),
        Section::Topic(topic) => format!("topic-{}", topic as usize),
        Section::Paper(number) => anchor(&papers::all()[number].paper),
        Section::Plans => "simulations".to_owned(),
    }
}

fn heading(section: Section) -> String {
    let topic = match section {
        Section::First => "To begin with",
        Section::Topic(Topic::Barriers) => "Barriers",
        Section::Topic(Topic::Teams) => "Teams, OpenMP and whole programs",
        Section::Topic(Topic::Queues) => "Queues",
        Section::Topic(Topic::Blas) => "Linear algebra",
        Section::Topic(Topic::HandOvers) => "From one thread to another and back",
        Section::Topic(Topic::Messages) => "Messages",
        Section::Topic(Topic::Memory) => "Shared memory",
        Section::Topic(Topic::Noise) => "What disturbs busy processors",
        Section::Topic(Topic::Advice) => "Why programs wait",
        Section::Topic(Topic::Simulated) => "Simulated networks",
        Section::Plans => "Simulated machines",
        Section::Paper(number) => return escape(&papers::all()[number].cited()),
    };
    topic.to_owned()
}

/// Which paper it is, and what became of its claims.
fn about(paper: &Paper, documents: &[Document<'_>]) -> String {
    let verdicts = documents.iter().flat_map(|of| &of.results.verdicts).filter(|verdict| verdict.paper == paper.paper);
    let counted = foregather_results::counts(verdicts);
    let id = anchor(&paper.paper);
    let claims = if counted.is_empty() { counted } else { format!(" <a href=\"#claims-{id}\">Its claims</a>: {counted}.") };
    format!("<p class=sub><cite>{}</cite>, {}, {}.{claims}</p>\n", escape(&paper.title), escape(&paper.authors), paper.year)
}

impl PlacedFigure {
    /// The most telling figures stand as they are ranked, those of a paper as there, all others as they are.
    fn order(&self) -> usize {
        let of_paper = || {
            let (paper, figure) = papers::figure(plain(&self.name))?;
            paper.figure.iter().position(|known| known.number == figure.number)
        };
        match self.section {
            Section::First => rank(&self.name),
            Section::Paper(_) => of_paper().unwrap_or(0),
            Section::Topic(_) | Section::Plans => 0,
        }
    }

    fn html(&self, document: &Document<'_>) -> String {
        let Self { id, name, drawn, .. } = self;
        let data = match &self.figure {
            Figure::Of(_) => String::new(),
            Figure::Plan(plan) | Figure::RegretMap(plan) => format!(" data-plan=\"{}\"", escape(plan)),
            Figure::OverTime(plan) => format!(" data-states=\"{}\"", escape(plan)),
            Figure::Timeline(name) => format!(" data-timeline=\"{}\"", escape(name)),
        };
        let disturbed = document.is_disturbed() && !self.figure.is_virtual(document);
        let warning = if disturbed { UNUSABLE } else { "" };
        let mut marked = Marked::default();
        let caption = marked.text(&format!("{}{}", self.whose, drawn.caption));
        let words = marked.others(texts(&drawn.svg.markup));
        let (title, svg) = (escape(&format!("{}{}", self.whose, drawn.svg.title)), &drawn.svg.markup);
        format!(
            "<figure id=\"{id}\" data-name=\"{name}\" data-of=\"data{}\"{data}><h3 class=unseen>{title}</h3>\
             <p class=swipe>Scroll sideways to see the whole figure.</p><div class=scroll>{svg}</div><figcaption>{warning}{caption}{words}</figcaption></figure>\n",
            self.of
        )
    }
}

/// The texts of a figure.
fn texts(svg: &str) -> impl Iterator<Item = &str> {
    svg.split("<text").skip(1).filter_map(|text| text.split_once('>')?.1.split('<').next())
}
