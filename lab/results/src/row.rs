//! A row of the barrier matrix: which team, beside what, where, how fine.
//!
//! [`Row`]: one of them, and its name. [`LoadClass`]: rows that ask the same of a waiter, over which shares
//! may be averaged; [`SUBSETS`]: the unions that goals are set for.
use crate::load::{BackgroundLoad, WorkDistribution};
use foregather_host::affinity;

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Members of the team.
    pub threads: u32,
    /// Processes beside it that want processors, too.
    pub hogs: u32,
    /// What these do.
    pub background: BackgroundLoad,
    /// One member per processor, instead of where the kernel likes.
    pub pinned: bool,
    /// Processors' worth of time, if limited.
    pub quota: Option<f64>,
    /// Mean computation between two barriers.
    pub grain_us: u32,
    /// Its variation.
    pub shape: WorkDistribution,
    /// Two barriers an episode, as a parallel region has.
    pub fork_join: bool,
    /// Drawn from the space of rows, and not one of the fixed ones.
    pub drawn: bool,
}

/// Names of distributions within those of rows.
const SHAPES: [(WorkDistribution, &str); 8] = [
    (WorkDistribution::Uniform, ""),
    (WorkDistribution::Exponential, " exponential"),
    (WorkDistribution::LogNormal, " log-normal"),
    (WorkDistribution::Imbalanced, " imbalanced"),
    (WorkDistribution::Constant, " constant"),
    (WorkDistribution::Bimodal, " bimodal"),
    (WorkDistribution::SlowMember, " slow member"),
    (WorkDistribution::Graph, " graph"),
];

impl Row {
    /// A row of the matrix: that load, even work.
    pub const fn new((threads, hogs, pinned): LoadKey, grain_us: u32) -> Self {
        let (background, shape) = (BackgroundLoad::Hog, WorkDistribution::Uniform);
        Self { threads, hogs, background, pinned, quota: None, grain_us, shape, fork_join: false, drawn: false }
    }

    /// A team wherever the kernel puts it.
    pub const fn free(threads: u32, grain_us: u32) -> Self {
        Self::new((threads, 0, false), grain_us)
    }

    /// With that work.
    #[must_use]
    pub const fn shaped(self, shape: WorkDistribution) -> Self {
        Self { shape, ..self }
    }

    /// On a quota.
    #[must_use]
    pub const fn within(self, cpus: f64) -> Self {
        Self { quota: Some(cpus), ..self }
    }

    /// With two barriers an episode.
    #[must_use]
    pub const fn fork_join(self) -> Self {
        Self { fork_join: true, ..self }
    }

    /// Its name in results: load, then grain.
    pub fn name(&self) -> String {
        let background = match (self.hogs, self.background) {
            (0, _) => String::new(),
            (1, BackgroundLoad::Hog) => " + 1 hog".into(),
            (n, BackgroundLoad::Hog) => format!(" + {n} hogs"),
            (n, background) => format!(" + {n} {background}"),
        };
        let quota = self.quota.map_or(String::new(), |cpus| format!(" in {cpus:.1} cpus"));
        let shape = SHAPES.iter().find(|(shape, _)| *shape == self.shape).map_or("", |(_, name)| name);
        let (pinned, fork_join) = (if self.pinned { " pinned" } else { "" }, if self.fork_join { " fork-join" } else { "" });
        format!("{}t{pinned}{background}{quota}{shape}{fork_join}, {} us", self.threads, self.grain_us)
    }

    /// The row of that name, if there can be one.
    pub fn parse(name: &str) -> Option<Self> {
        let (load, grain) = name.strip_suffix(" us")?.rsplit_once(", ")?;
        let (load, fork_join) = cut(load, " fork-join");
        let named = |(_, name): &&(WorkDistribution, &str)| !name.is_empty() && load.ends_with(name);
        let (shape, shape_name) = SHAPES.iter().find(named).unwrap_or(&SHAPES[0]);
        let load = load.strip_suffix(shape_name)?;
        let (load, quota) = match load.strip_suffix(" cpus").and_then(|load| load.rsplit_once(" in ")) {
            Some((load, cpus)) => (load, Some(cpus.parse().ok().filter(|cpus: &f64| cpus.is_finite() && *cpus > 0.0)?)),
            None => (load, None),
        };
        let (team, (hogs, background)) = match load.split_once(" + ") {
            Some((team, background)) => (team, background_of(background)?),
            None => (load, (0, BackgroundLoad::Hog)),
        };
        let (team, pinned) = cut(team, " pinned");
        let threads = team.strip_suffix('t')?.parse().ok().filter(|threads| (1..=1_024).contains(threads))?;
        let row = Self::new((threads, hogs, pinned), grain.parse().ok()?);
        let row = Self { quota, shape: *shape, background, fork_join, ..row };
        // What is written in another way is not the name of a row.
        (row.name() == name).then_some(row)
    }

    /// Returns whether the simulator knows all that the row has: no fork-join episodes, and no background
    /// load but hogs.
    pub fn can_be_simulated(&self) -> bool {
        !self.fork_join && self.background == BackgroundLoad::Hog
    }

    /// The class of load that it belongs to.
    pub fn class(&self) -> LoadClass {
        match (self.shape, self.threads) {
            _ if self.drawn && self.hogs == 0 => LoadClass::DrawnAlone,
            (_, threads) if self.drawn && threads > affinity::allowed().len() as u32 => LoadClass::DrawnCrowded,
            _ if self.drawn => LoadClass::DrawnDisturbed,
            _ if self.fork_join => LoadClass::ForkJoin,
            _ if self.quota.is_some() => LoadClass::Quota,
            (WorkDistribution::LogNormal, _) => LoadClass::LogNormal,
            (WorkDistribution::Graph, _) => LoadClass::Graph,
            (WorkDistribution::Exponential | WorkDistribution::Imbalanced, _) => LoadClass::Shapes,
            (WorkDistribution::Constant | WorkDistribution::Bimodal | WorkDistribution::SlowMember, _) => LoadClass::Shapes,
            _ if self.hogs > 0 && self.threads > 2 => LoadClass::Crowded,
            _ if self.hogs > 0 => LoadClass::Hogs,
            (WorkDistribution::Uniform, 2) => {
                if self.pinned {
                    LoadClass::TwoPinned
                } else {
                    LoadClass::TwoFree
                }
            }
            (WorkDistribution::Uniform, 5 | 6) => LoadClass::FiveSix,
            (WorkDistribution::Uniform, _) => LoadClass::Many,
        }
    }
}

/// Without a suffix, and whether it was there.
fn cut<'n>(name: &'n str, suffix: &str) -> (&'n str, bool) {
    name.strip_suffix(suffix).map_or((name, false), |cut| (cut, true))
}

fn background_of(text: &str) -> Option<(u32, BackgroundLoad)> {
    let (count, what) = text.split_once(' ')?;
    let count = count.parse().ok().filter(|count| (1..=1_024).contains(count))?;
    Some((count, if what == "hogs" { BackgroundLoad::Hog } else { BackgroundLoad::parse(what)? }))
}

/// Threads, hogs, pinned.
pub type LoadKey = (u32, u32, bool);

foregather_machine::named! {
    /// What the rows of a class have in common.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LoadClass {
        /// Two members, one to a processor.
        TwoPinned = "2 pinned",
        /// Two members wherever the kernel puts them.
        TwoFree = "2 free",
        /// Three, four or eight members.
        Many = "3-8 threads",
        /// Two members beside processes that want the processor, too.
        Hogs = "hogs",
        /// Three or more members beside processes that want the processor, too.
        Crowded = "3-8 threads, hogs",
        /// Five or six members: not a multiple of two processors, and not far above them.
        FiveSix = "5-6 threads",
        /// Exponential work, and members of which every other has three times the work.
        Shapes = "shapes",
        /// Log-normal work.
        LogNormal = "log-normal",
        /// Less processor time than the members want.
        Quota = "quota",
        /// Two barriers an episode.
        ForkJoin = "fork-join",
        /// Operations of a graph, split evenly.
        Graph = "graph",
        /// Drawn: more members than processors, under load.
        DrawnCrowded = "drawn crowded",
        /// Drawn: a processor for each member, under load.
        DrawnDisturbed = "drawn disturbed",
        /// Drawn: any team, alone.
        DrawnAlone = "drawn alone",
    }
}

impl LoadClass {
    /// Returns whether it belongs to the core matrix of 32 rows.
    pub const fn is_core(self) -> bool {
        matches!(self, Self::TwoPinned | Self::TwoFree | Self::Many | Self::Hogs)
    }

    /// Returns whether it belongs to the 47 rows: the core, five and six threads, and uneven work.
    pub const fn is_extended(self) -> bool {
        self.is_core() || matches!(self, Self::FiveSix | Self::Shapes)
    }
}

/// A union of classes that summaries are given for: its name, and which classes belong to it.
pub type Subset = (&'static str, fn(LoadClass) -> bool);

/// The subsets, those with the most general names first.
pub const SUBSETS: [Subset; 10] = [
    ("core", LoadClass::is_core),
    ("extended", LoadClass::is_extended),
    ("log-normal", |class| matches!(class, LoadClass::LogNormal)),
    ("quota", |class| matches!(class, LoadClass::Quota)),
    ("fork-join", |class| matches!(class, LoadClass::ForkJoin)),
    ("graph", |class| matches!(class, LoadClass::Graph)),
    ("drawn", |class| matches!(class, LoadClass::DrawnCrowded | LoadClass::DrawnDisturbed | LoadClass::DrawnAlone)),
    ("drawn crowded", |class| matches!(class, LoadClass::DrawnCrowded)),
    ("drawn disturbed", |class| matches!(class, LoadClass::DrawnDisturbed)),
    ("drawn alone", |class| matches!(class, LoadClass::DrawnAlone)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_row_has_no_name() {
        for row in [
            "2t + 3 bursts:10 slow member, 5 us",
            "16t + 2 wakes bimodal fork-join, 0 us",
            "2t pinned + 1 team in 1.5 cpus, 7 us",
        ] {
            assert_eq!(Row::parse(row).map(|parsed| parsed.name()).as_deref(), Some(row));
        }
        for wrong in [
            "",
            "2t",
            "2t, us",
            "0t, 1 us",
            "2t + 1 hogs, 1 us",
            "2t + 0 hogs, 1 us",
            "t, 1 us",
            "2t in nan cpus, 1 us",
            "02t, 1 us",
        ] {
            assert_eq!(Row::parse(wrong), None, "{wrong}");
        }
    }
}
