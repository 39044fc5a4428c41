//! One cell of the barrier matrix: what is asked of a child process, and the line it answers with.
use foregather_machine::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How the computation of the members varies around the grain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkDistribution {
    /// From three quarters to five quarters of it.
    Uniform,
    /// Mostly shorter, sometimes many times longer.
    Exponential,
    /// Never near nothing, and as widely spread as the exponential: the deviation equals the mean.
    LogNormal,
    /// As uniform, but odd ranks have three times the work of even ones; over both the mean is the grain.
    Imbalanced,
    /// Always as long.
    Constant,
    /// Half of it, and in one draw of ten eleven times as long.
    Bimodal,
    /// Always as long, but three times as long for rank 1.
    SlowMember,
    /// Operations of a graph, each split evenly: the same draw for all members, from a quarter to almost three times the grain.
    Graph,
}

/// What to measure. Hogs and quota are the caller's business.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Who waits, by the name its program knows: `central/spin`, `hurdles`, `gomp` ...
    pub waiter: String,
    /// Members of the team.
    pub threads: u32,
    /// Mean computation of a member between two barriers.
    pub grain_ns: u64,
    /// Its variation.
    pub shape: WorkDistribution,
    /// The processor of each member, repeated if there are more members; empty leaves them free.
    pub pins: Vec<u32>,
    /// Two barriers an episode with the computation between them, as a parallel region has; nothing is computed outside it.
    #[serde(default)]
    pub fork_join: bool,
    /// For how long to measure.
    pub span_ns: u64,
    /// What [`crate::Work::iterations_per_us`] gave, once for all that are compared.
    pub iterations_per_us: f64,
}

impl Cell {
    /// The processor of `rank`, if it is to be pinned.
    pub fn pin(&self, rank: u32) -> Option<u32> {
        (!self.pins.is_empty()).then(|| self.pins[rank as usize % self.pins.len()])
    }

    /// Reads what [`Cell::to_arg`] wrote.
    ///
    /// # Errors
    /// If the text is not a cell, or one that cannot be run.
    pub fn from_arg(text: &str) -> Result<Self, String> {
        let cell: Self = serde_json::from_str(text).map_err(|error| format!("not a cell: {error}"))?;
        if cell.threads == 0 || cell.threads > 1_024 {
            return Err(format!("a cell of {} threads cannot be run; 1 to 1024 can", cell.threads));
        }
        if !(cell.iterations_per_us.is_finite() && cell.iterations_per_us > 0.0) {
            return Err("iterations_per_us must be positive".into());
        }
        Ok(cell)
    }

    /// As one command-line argument.
    pub fn to_arg(&self) -> String {
        serde_json::to_string(self).expect("a cell is plain data")
    }
}

/// What a cell came to. Times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// Barriers passed; with [`Cell::fork_join`] pairs of them.
    pub episodes: u64,
    /// In this time.
    pub wall_ns: u64,
    /// At this processor time, user and system, of all members.
    pub cpu_ns: u64,
    /// The median time from one barrier to the next, as member 0 saw it.
    pub p50_ns: u64,
    /// All but a hundredth took no longer.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Voluntary context switches of the process.
    pub voluntary: u64,
    /// Preemptions.
    pub involuntary: u64,
    /// From the first member's exit to the last one's, median over sampled episodes.
    pub exit_skew_p50_ns: Option<u64>,
    /// The same, 99th percentile.
    pub exit_skew_p99_ns: Option<u64>,
    /// The share of sampled episodes in which all members were on one processor though more were allowed.
    pub stacked: f64,
    /// The successful-spin rate, from those who count it.
    pub ssr: Option<f64>,
    /// Waits by outcome (last, first look, spun, yielded, parked), from those who count them.
    pub outcomes: Option<[u64; 5]>,
    /// How often each rule of a decision table acted, from those who have one.
    #[serde(default)]
    pub rules: Option<BTreeMap<String, u64>>,
    /// Moves of members to other processors, likewise.
    #[serde(default)]
    pub moves: Option<u64>,
    /// Members fetched to the processor of one that waits.
    #[serde(default)]
    pub pulls: Option<u64>,
    /// Processors that a scout was asked about.
    #[serde(default)]
    pub scouted: Option<u64>,
}

impl CellResult {
    /// Episodes a second.
    pub fn episodes_per_s(&self) -> f64 {
        self.episodes as f64 / Nanos(self.wall_ns).as_secs().max(1e-9)
    }

    /// The share of all waits, those of the last to arrive included, with that place in [`CellResult::outcomes`].
    pub fn outcome_share(&self, place: usize) -> Option<f64> {
        self.outcomes.map(|all| all[place] as f64 / all.iter().sum::<u64>().max(1) as f64)
    }

    /// Context switches of all members for one episode.
    pub fn switches_per_episode(&self) -> f64 {
        (self.voluntary + self.involuntary) as f64 / self.episodes.max(1) as f64
    }

    /// Processor time of all members for one episode with its computation.
    pub fn cpu_us_per_episode(&self) -> f64 {
        self.cpu_ns as f64 / 1e3 / self.episodes.max(1) as f64
    }
}
