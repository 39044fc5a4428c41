//! The papers whose figures and claims a page shows, from `papers/`.
use foregather_results::Verdict;
use foregather_results::claims::{Claim, Paper, PaperFigure, Published, papers};
use std::sync::LazyLock;

static ALL: LazyLock<Vec<Paper>> = LazyLock::new(|| papers().expect("the files are built in, and tests read them"));

/// All papers.
pub(crate) fn all() -> &'static [Paper] {
    &ALL
}

/// The paper that has the figure of this name, and the figure as it has it.
pub(crate) fn figure(name: &str) -> Option<(&'static Paper, &'static PaperFigure)> {
    let shows = |paper: &'static Paper| {
        let figure = paper.figure.iter().find(|figure| figure.shown.iter().any(|shown| shown == name))?;
        Some((paper, figure))
    };
    all().iter().find_map(shows)
}

/// What a paper says in the figure of this name.
pub(crate) fn published(name: &str) -> &'static [Published] {
    figure(name).map_or(&[], |(_, figure)| &figure.published)
}

/// The paper of that short name.
pub(crate) fn named(name: &str) -> Option<&'static Paper> {
    all().iter().find(|paper| paper.paper == name)
}

/// How the paper is cited; a name that is no paper's stands for itself.
pub(crate) fn cited(name: &str) -> String {
    named(name).map_or_else(|| name.to_owned(), Paper::cited)
}

/// The claim that a verdict is about.
pub(crate) fn claim(verdict: &Verdict) -> Option<(&'static Paper, &'static Claim)> {
    let paper = named(&verdict.paper)?;
    Some((paper, paper.claim.iter().find(|claim| claim.id == verdict.id)?))
}
