//! The rows of the matrix: which team, beside what, where, how fine.
//!
//! - [`Row`]: one of them, and its name. [`LoadClass`]: rows that ask the same of a waiter, over which shares
//!   may be averaged; [`SUBSETS`]: the unions that goals are set for.
//! - [`rows`]: the fixed ones. [`draw`]: rows that no policy can have been tuned to, drawn from the space of
//!   all.
use crate::options::Barriers;
use foregather_bench::{Stranger, WorkDistribution};
use foregather_host::affinity;
use foregather_host::cgroup::QuotaGroup;
use foregather_machine::SplitMix;

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Members of the team.
    pub threads: u32,
    /// Processes beside it that want processors, too.
    pub hogs: u32,
    /// What these do.
    pub stranger: Stranger,
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
    const fn new((threads, hogs, pinned): LoadKey, grain_us: u32) -> Self {
        let (stranger, shape) = (Stranger::Hog, WorkDistribution::Uniform);
        Self { threads, hogs, stranger, pinned, quota: None, grain_us, shape, fork_join: false, drawn: false }
    }

    const fn free(threads: u32, grain_us: u32) -> Self {
        Self::new((threads, 0, false), grain_us)
    }

    const fn shaped(self, shape: WorkDistribution) -> Self {
        Self { shape, ..self }
    }

    const fn within(self, cpus: f64) -> Self {
        Self { quota: Some(cpus), ..self }
    }

    const fn fork_join(self) -> Self {
        Self { fork_join: true, ..self }
    }

    /// Its name in results: load, then grain.
    pub fn name(&self) -> String {
        let strangers = match (self.hogs, self.stranger) {
            (0, _) => String::new(),
            (1, Stranger::Hog) => " + 1 hog".into(),
            (n, Stranger::Hog) => format!(" + {n} hogs"),
            (n, stranger) => format!(" + {n} {stranger}"),
        };
        let quota = self.quota.map_or(String::new(), |cpus| format!(" in {cpus:.1} cpus"));
        let shape = SHAPES.iter().find(|(shape, _)| *shape == self.shape).map_or("", |(_, name)| name);
        let (pinned, fork_join) = (if self.pinned { " pinned" } else { "" }, if self.fork_join { " fork-join" } else { "" });
        format!("{}t{pinned}{strangers}{quota}{shape}{fork_join}, {} us", self.threads, self.grain_us)
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
        let (team, (hogs, stranger)) = match load.split_once(" + ") {
            Some((team, strangers)) => (team, strangers_of(strangers)?),
            None => (load, (0, Stranger::Hog)),
        };
        let (team, pinned) = cut(team, " pinned");
        let threads = team.strip_suffix('t')?.parse().ok().filter(|threads| (1..=1_024).contains(threads))?;
        let row = Self::new((threads, hogs, pinned), grain.parse().ok()?);
        let row = Self { quota, shape: *shape, stranger, fork_join, ..row };
        // What is written in another way is not the name of a row.
        (row.name() == name).then_some(row)
    }

    /// Returns whether the simulator knows all that the row has: no fork-join episodes, and no background load
    /// but hogs.
    pub fn can_be_simulated(&self) -> bool {
        !self.fork_join && self.stranger == Stranger::Hog
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

fn strangers_of(text: &str) -> Option<(u32, Stranger)> {
    let (count, what) = text.split_once(' ')?;
    let count = count.parse().ok().filter(|count| (1..=1_024).contains(count))?;
    Some((count, if what == "hogs" { Stranger::Hog } else { Stranger::parse(what)? }))
}

/// Threads, hogs, pinned.
type LoadKey = (u32, u32, bool);
/// The loads of the core matrix.
const LOADS: [LoadKey; 8] =
    [(2, 0, true), (2, 0, false), (3, 0, false), (4, 0, false), (8, 0, false), (2, 1, false), (2, 2, false), (2, 4, false)];
/// More members than processors, beside strangers.
const CROWDED: [LoadKey; 2] = [(5, 1, false), (7, 3, false)];
const GRAINS_US: [u32; 4] = [0, 1, 5, 20];

/// The rows that the options ask for, and what is left out on this machine and why.
pub fn rows(options: &Barriers) -> (Vec<Row>, Vec<String>) {
    let mut notes = Vec::new();
    let grains: &[u32] = if options.quick { &[0, 20] } else { &GRAINS_US };
    let loads: &[usize] = if options.quick { &[0, 1, 3, 6] } else { &[0, 1, 2, 3, 4, 5, 6, 7] };
    let core = grains.iter().flat_map(|&grain| loads.iter().map(move |&load| Row::new(LOADS[load], grain)));
    let mut rows: Vec<Row> = match () {
        () if options.ablation => ablation(),
        () if options.draw.is_some() => Vec::new(),
        () => core.collect(),
    };
    if options.wide {
        rows.extend(beyond());
        match QuotaGroup::new(1.0) {
            Ok(_) => rows.extend(quota()),
            Err(error) => notes.push(format!("no rows with a quota: {error}")),
        }
    }
    if affinity::allowed().len() < 2 {
        rows.retain(|row| !row.pinned);
        notes.push("no pinned rows: this process may use only one processor".into());
    }
    (rows, notes)
}

/// What the wide matrix has besides the core and the quotas.
fn beyond() -> Vec<Row> {
    use WorkDistribution::{Exponential, Graph, Imbalanced, LogNormal};
    let more = [5, 6].into_iter().flat_map(|threads| [0, 1, 20].map(|grain| Row::free(threads, grain)));
    let shaped = [Exponential, Imbalanced, LogNormal]
        .into_iter()
        .flat_map(|shape| [(2, 1), (4, 1), (2, 20), (4, 20)].map(|(threads, grain)| Row::free(threads, grain).shaped(shape)));
    // Operations of 5 to 60 us in all, which is 22 on average.
    let graph = [(2, 11), (3, 7), (4, 6)]
        .into_iter()
        .flat_map(|(threads, grain)| [0, 1, 2].map(|hogs| Row::new((threads, hogs, false), grain).shaped(Graph)));
    let fork_join = [2, 4, 8].into_iter().flat_map(|threads| [1, 20].map(|grain| Row::free(threads, grain).fork_join()));
    more.chain(shaped)
        .chain(graph)
        .chain(CROWDED.map(|load| Row::new(load, 1).shaped(LogNormal)))
        .chain([Row::new((2, 2, false), 20).shaped(Imbalanced)])
        .chain(fork_join)
        .chain([1, 4].map(|hogs| Row::new((2, hogs, false), 1).fork_join()))
        .collect()
}

fn quota() -> [Row; 5] {
    [(1.0, 2, 1), (1.0, 4, 1), (1.0, 4, 20), (1.5, 4, 1), (1.5, 2, 20)]
        .map(|(cpus, threads, grain)| Row::free(threads, grain).within(cpus))
}

/// Rows in each of which some rule of the decision table is known to matter.
fn ablation() -> Vec<Row> {
    let plain = [
        (LOADS[0], 0),
        (LOADS[1], 1),
        (LOADS[2], 0),
        (LOADS[3], 1),
        (LOADS[3], 20),
        (LOADS[4], 1),
        (LOADS[5], 0),
        (LOADS[6], 1),
        (LOADS[7], 1),
        (LOADS[5], 20),
        (LOADS[6], 20),
    ];
    let crowded = CROWDED.map(|load| Row::new(load, 1).shaped(WorkDistribution::LogNormal));
    let imbalanced = [LOADS[1], LOADS[6]].map(|load| Row::new(load, 20).shaped(WorkDistribution::Imbalanced));
    let plain = plain.map(|(load, grain)| Row::new(load, grain)).into_iter();
    plain
        .chain(imbalanced)
        .chain(crowded)
        .chain([Row::free(2, 20).shaped(WorkDistribution::Exponential), Row::free(4, 1).fork_join()])
        .collect()
}

foregather_bench::named! {
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
        /// Drawn: more members than processors, beside strangers.
        DrawnCrowded = "drawn crowded",
        /// Drawn: a processor for each member, beside strangers.
        DrawnDisturbed = "drawn disturbed",
        /// Drawn: any team, alone.
        DrawnAlone = "drawn alone",
    }
}

impl LoadClass {
    /// Does it belong to the core matrix of 32 rows?
    pub const fn is_core(self) -> bool {
        matches!(self, Self::TwoPinned | Self::TwoFree | Self::Many | Self::Hogs)
    }

    /// Does it belong to the 47 rows: the core, five and six threads, and uneven work?
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

/// How many rows are drawn unless a number is given.
pub const USUAL: usize = 160;
const MOST_THREADS: u32 = 16;
const MOST_HOGS: u64 = 4;
const DRAWN_GRAINS_US: [u32; 10] = [0, 1, 2, 5, 10, 20, 35, 50, 75, 100];
const DRAWN_SHAPES: [WorkDistribution; 5] = [
    WorkDistribution::Constant,
    WorkDistribution::Exponential,
    WorkDistribution::LogNormal,
    WorkDistribution::Bimodal,
    WorkDistribution::SlowMember,
];
const BURSTS_MS: [u32; 6] = [1, 2, 5, 10, 20, 50];

/// Draws `count` different rows of those that are `wanted`, the same ones for the same seed and number of
/// processors.
pub fn draw(seed: u64, count: usize, cpus: u32, wanted: impl Fn(&Row) -> bool) -> Vec<Row> {
    let mut random = SplitMix(SplitMix::mix(seed));
    let mut rows: Vec<Row> = Vec::new();
    // One that is there already is drawn again.
    while rows.len() < count {
        let row = one(&mut random, rows.len() % 3, cpus);
        if wanted(&row) && rows.iter().all(|other| other.name() != row.name()) {
            rows.push(row);
        }
    }
    rows
}

/// A row of a stratum: 0 more members than processors beside strangers, 1 no more than those beside
/// strangers, 2 any alone.
fn one(random: &mut SplitMix, stratum: usize, cpus: u32) -> Row {
    let most = MOST_THREADS.max(cpus * 2);
    let threads = match stratum {
        0 => within(random, (cpus + 1).max(2), most),
        1 => within(random, 2, cpus.max(2)),
        _ => within(random, 2, most),
    };
    let (hogs, stranger) = if stratum == 2 { (0, Stranger::Hog) } else { strangers(random, cpus) };
    let (grain_us, shape) = (pick(random, &DRAWN_GRAINS_US), pick(random, &DRAWN_SHAPES));
    Row { threads, hogs, stranger, pinned: false, quota: None, grain_us, shape, fork_join: false, drawn: true }
}

/// Half of them compute without end.
fn strangers(random: &mut SplitMix, cpus: u32) -> (u32, Stranger) {
    let hogs = 1 + random.below(MOST_HOGS) as u32;
    match random.below(6) {
        0 => (hogs, Stranger::Bursts(pick(random, &BURSTS_MS))),
        1 => (1, Stranger::Team),
        2 => (cpus, Stranger::Wakes),
        _ => (hogs, Stranger::Hog),
    }
}

fn within(random: &mut SplitMix, from: u32, to: u32) -> u32 {
    from + random.below(u64::from(to - from + 1)) as u32
}

fn pick<T: Copy>(random: &mut SplitMix, of: &[T]) -> T {
    of[random.below(of.len() as u64) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn the_core_matrix_has_32_rows_of_different_names() {
        let (rows, _) = rows(&Barriers::default());
        let names: BTreeSet<_> = rows.iter().map(Row::name).collect();
        assert_eq!(names.len(), rows.len());
        assert_eq!(rows.len(), if affinity::allowed().len() < 2 { 28 } else { 32 });
        assert!(rows.iter().all(|row| row.class().is_core()));
        assert_eq!(Row::new((2, 1, false), 20).name(), "2t + 1 hog, 20 us");
        let quick = super::rows(&Barriers { quick: true, ..Barriers::default() }).0;
        assert!(quick.iter().all(|row| rows.contains(row)) && quick.len() <= 8);
    }

    #[test]
    fn the_wide_matrix_has_the_classes_it_is_known_for() {
        let rows: Vec<Row> = [rows(&Barriers::default()).0, beyond(), quota().to_vec()].concat();
        assert!(rows.iter().all(|row| Row::parse(&row.name()).as_ref() == Some(row)), "a name is its row");
        let names: BTreeSet<_> = rows.iter().map(Row::name).collect();
        assert_eq!(names.len(), rows.len());
        for name in
            ["2t + 2 hogs imbalanced, 20 us", "4t in 1.5 cpus, 1 us", "2t + 4 hogs fork-join, 1 us", "4t log-normal, 20 us"]
        {
            assert!(names.contains(name), "{name} is not among {names:?}");
        }
        let mut sizes = BTreeMap::new();
        rows.iter().for_each(|row| *sizes.entry(row.class().name()).or_insert(0) += 1);
        let pinned = if affinity::allowed().len() < 2 { 0 } else { 4 };
        let expected = [("2 free", 4), ("3-8 threads", 12), ("hogs", 12), ("5-6 threads", 6), ("shapes", 9), ("log-normal", 6)];
        for (name, size) in expected.into_iter().chain([("quota", 5), ("fork-join", 8), ("graph", 9)]) {
            assert_eq!(sizes[name], size, "{name}");
        }
        let extended = rows.iter().filter(|row| row.class().is_extended()).count();
        assert_eq!(extended, 43 + pinned);
    }

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

    #[test]
    fn every_row_of_the_ablation_is_one_of_the_wide_matrix() {
        let all: Vec<Row> = [rows(&Barriers::default()).0, beyond()].concat();
        let rows = ablation();
        assert!(rows.iter().filter(|row| !row.pinned).all(|row| all.contains(row)));
        assert_eq!(rows.iter().map(Row::name).collect::<BTreeSet<_>>().len(), 17);
    }

    #[test]
    fn a_draw_is_its_seeds_and_has_as_many_rows_of_each_stratum() {
        let cpus = affinity::allowed().len() as u32;
        let rows = draw(7, 60, cpus, |_| true);
        assert_eq!(rows, draw(7, 60, cpus, |_| true));
        assert_ne!(rows, draw(8, 60, cpus, |_| true));
        let of = |class: LoadClass| rows.iter().filter(|row| row.class() == class).count();
        assert_eq!([LoadClass::DrawnAlone, LoadClass::DrawnCrowded].map(of), [20, 20 + usize::from(cpus < 2) * 20]);
        assert!(rows.iter().all(|row| Row::parse(&row.name()).map(|parsed| Row { drawn: true, ..parsed }).as_ref() == Some(row)));
    }

    #[test]
    fn everything_of_the_space_is_drawn() {
        let rows = draw(1, 2_000, 2, |_| true);
        let some = |holds: &dyn Fn(&Row) -> bool| assert!(rows.iter().any(holds));
        DRAWN_SHAPES.iter().for_each(|shape| some(&|row| row.shape == *shape));
        DRAWN_GRAINS_US.iter().for_each(|grain| some(&|row| row.grain_us == *grain));
        BURSTS_MS.iter().for_each(|ms| some(&|row| row.stranger == Stranger::Bursts(*ms)));
        [2, 16].iter().for_each(|threads| some(&|row| row.threads == *threads));
        (1..=4).for_each(|hogs| some(&|row| row.hogs == hogs && row.stranger == Stranger::Hog));
        [Stranger::Team, Stranger::Wakes].iter().for_each(|kind| some(&|row| row.stranger == *kind));
    }
}
