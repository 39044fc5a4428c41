//! The words of figures and claims, explained: each is a link to its entry at the end of the page, and the
//! page's script shows the entry where the word stands.
use super::escape;
use std::fmt::Write;

/// A word with its other forms, and what it means.
type LegendEntry = (&'static [&'static str], &'static str);

/// All entries, in the order of the page. The first form is the entry's name.
const ENTRIES: [LegendEntry; 46] = [
    (&["Foregather"], "the library of this project, as it comes: it adapts its way of waiting to the load, without settings"),
    (&["barrier", "barriers"], "a point at which threads wait until all of their team have come"),
    (&["episode", "episodes"], "one meeting of a team at a barrier, with the work before it"),
    (&["round trip", "round trips"], "one thread answers another: a hand-over there and one back"),
    (
        &["spin", "spins", "spinning"],
        "look again and again, on the processor: quickest if the wait is short, and a waste if it is long",
    ),
    (&["yield", "yields"], "look, and let another ready thread have the processor between two looks"),
    (
        &["sleep at once", "sleep", "sleeps", "block", "always-block", "AB"],
        "ask the kernel to be woken: costs no processor, and two switches",
    ),
    (
        &["then sleep", "two-phase", "CS", "CS+", "2CS+"],
        "spin for a bounded time, as many context switches (CS) long as the name says, and then sleep",
    ),
    (&["then yield"], "spin for a bounded time, then yield"),
    (&["near switch", "near switches"], "a context switch between two threads of one processor, as measured before the run"),
    (
        &["far switch", "far switches"],
        "a context switch that a thread on another processor causes: a wake-up from one processor to another",
    ),
    (
        &["busy program", "busy programs", "hog", "hogs"],
        "a program beside the measured one that computes without end and never waits",
    ),
    (&["pinned"], "each thread bound to a processor of its own"),
    (&["quota"], "a limit of a control group, in processors' worth of time"),
    (&["grain", "of work", "fine", "medium", "coarse"], "how long each thread computes between two meetings"),
    (
        &["fixed policy", "fixed policies", "fixed way", "fixed ways"],
        "a way of waiting that does not change with the load: what the adaptive one is held against",
    ),
    (&["peer", "peers"], "a library of another project, measured in the same run, in turns"),
    (&["geometric mean"], "the mean of ratios: twice as fast here and half as fast there makes 1"),
    (&["median", "medians"], "half of the values are below it"),
    (&["percentile", "p99"], "so many of a hundred values are below it"),
    (&["processor time"], "what threads burn while they wait and work, all together"),
    (&["collapsed", "collapse"], "a way of waiting that all but stands still under a load"),
    (&["GNU OpenMP"], "the OpenMP runtime of GCC, as it comes, or told by its settings to spin or to sleep"),
    (&["LLVM OpenMP"], "the OpenMP runtime of Clang, as it comes, or told by its settings to spin or to sleep"),
    (&["POSIX threads"], "the barrier of the C library, which sleeps at once"),
    (&["Rust std"], "the barrier or the scoped threads of Rust's standard library"),
    (&["hurdles", "rayon"], "crates of Rust: barriers that spin and yield; a pool of threads"),
    (
        &["parallel region", "region", "regions", "fork and join"],
        "a call that several threads work on, from its begin until all have done their part",
    ),
    (&["tasks, each waited for"], "32 tasks of each thread, one after the other, each waited for at once"),
    (&["a tree of tasks"], "a binary tree of 126 tasks, each of which waits for its children"),
    (&["a chain of tasks"], "64 tasks, each of which depends on the one before"),
    (&["a stencil of tasks"], "eight times eight tasks, each of which depends on its left and its upper neighbour"),
    (&["spins that succeed", "successful"], "of the waits that began by spinning, the share that ended by it, before the bound"),
    (&["load"], "threads in all that want processors, those of other jobs included"),
    (&["round robin"], "a scheduler whose threads run in turn, a quantum each"),
    (&["Linux 2.4", "EEVDF"], "schedulers of Linux, of 2001 and of today, as the simulator has them"),
    (&["gsync"], "a barrier: each node exchanges messages with its neighbours in a hypercube by turns"),
    (&["sync0"], "a barrier: gathered at node 0 and released from there"),
    (&["RDS", "rds"], "a barrier: gathered, released, and left by all nodes at one moment"),
    (&["forced"], "messages that are sent without asking the receiver first"),
    (&["dimension"], "of a hypercube: 2 to the power of it nodes"),
    (&["minipage", "minipages", "views"], "shared memory by pieces smaller than a page, each seen through a view of its own"),
    (&["holds within noise"], "the mean lies in the claim's band, the uncertainty of the runs reaches over its edge"),
    (&["not comparable"], "the paper gives no number, or this machine cannot test it"),
    (&["given", "fitted"], "an input of the model, or what it was fitted to: agreement proves nothing"),
    (
        &["machine unusable", "unusable", "noisy", "quiet"],
        "how much else ran during the measurements: numbers of an unusable run tell of that",
    ),
];

/// The place of an entry's text on the page.
fn anchor(entry: usize) -> String {
    format!("g-{}", super::anchor(ENTRIES[entry].0[0]))
}

/// Which words have been explained so far, in one figure or paragraph.
#[derive(Default)]
pub(super) struct Marked {
    entries: Vec<usize>,
}

/// Where a word of the glossary stands in a text: from, to, which entry.
fn found(text: &str) -> Option<(usize, usize, usize)> {
    let inner = |c: char| c.is_alphanumeric() || c == '+' || c == '-';
    let alone = |from: usize, to: usize| !text[..from].ends_with(inner) && !text[to..].starts_with(inner);
    let mut best: Option<(usize, usize, usize)> = None;
    for (entry, (forms, _)) in ENTRIES.iter().enumerate() {
        for form in *forms {
            let at = text.match_indices(form).map(|(from, _)| (from, from + form.len())).find(|&(from, to)| alone(from, to));
            // The first word counts, and of two at one place the longer.
            if let Some((from, to)) = at
                && best.is_none_or(|(first, end, _)| from < first || (from == first && to > end))
            {
                best = Some((from, to, entry));
            }
        }
    }
    best
}

impl Marked {
    /// The text, made harmless, with each word a link to its entry where it comes first.
    pub(super) fn text(&mut self, text: &str) -> String {
        let (mut marked, mut rest) = (String::new(), text);
        while let Some((from, to, entry)) = found(rest) {
            marked += &escape(&rest[..from]);
            let word = escape(&rest[from..to]);
            if self.entries.contains(&entry) {
                marked += &word;
            } else {
                self.entries.push(entry);
                marked += &link(entry, &word);
            }
            rest = &rest[to..];
        }
        marked + &escape(rest)
    }

    /// The words of these texts that have not been explained, as links; nothing if there are none.
    pub(super) fn others<'t>(&mut self, texts: impl Iterator<Item = &'t str>) -> String {
        let mut words = Vec::new();
        for text in texts {
            let mut rest = text;
            while let Some((from, to, entry)) = found(rest) {
                if !self.entries.contains(&entry) {
                    self.entries.push(entry);
                    words.push(link(entry, &escape(&rest[from..to])));
                }
                rest = &rest[to..];
            }
        }
        if words.is_empty() { String::new() } else { format!("<p class=words>Words: {}</p>", words.join(" \u{b7} ")) }
    }
}

fn link(entry: usize, word: &str) -> String {
    let anchor = anchor(entry);
    format!("<a class=term href=\"#{anchor}\" aria-describedby=\"{anchor}\">{word}</a>")
}

/// All entries, as a section.
pub(super) fn section() -> String {
    let mut text = "<section aria-labelledby=glossary><h2 id=glossary>Glossary</h2>\n<dl class=\"card glossary\">".to_owned();
    for (entry, (forms, meaning)) in ENTRIES.iter().enumerate() {
        let _ = write!(text, "<div><dt>{}<dd id=\"{}\">{}</div>", escape(&forms.join(", ")), anchor(entry), escape(meaning));
    }
    text + "</dl></section>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_explained_once_and_only_where_it_stands_alone() {
        let text = Marked::default().text("spin < yield; spin again, respins, CS+ and 2CS+");
        assert_eq!(text.matches("href=\"#g-spin\"").count(), 1);
        assert_eq!(text.matches("<a ").count(), 3, "spin, yield, and the two-phase names once: {text}");
        assert!(text.contains("&lt; ") && text.contains("respins"));
        let mut marked = Marked::default();
        marked.text("hogs");
        assert_eq!(marked.others(["2 hogs", "a busy program"].into_iter()), "");
        assert!(marked.others(["gsync"].into_iter()).contains("#g-gsync"));
    }

    #[test]
    fn entries_have_places_of_their_own() {
        let mut anchors: Vec<String> = (0..ENTRIES.len()).map(anchor).collect();
        anchors.sort();
        anchors.dedup();
        assert_eq!(anchors.len(), ENTRIES.len());
    }
}
