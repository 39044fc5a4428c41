//! Options of `app`.
use super::fabric;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Options of `app`; ranks are told them as they are.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
pub struct App {
    /// Which program.
    #[arg(value_enum)]
    pub name: AppName,
    /// On how many ranks: one number or several, separated by commas, whose times are compared. 2 if not given.
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64))]
    pub hosts: Vec<u32>,
    /// Threads of each rank.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: u32,
    /// Which input: see below.
    #[arg(long, default_value = "small")]
    pub class: String,
    /// What ranks are, and what they send messages by: `shm`, `ofi` or `ofi:PROVIDER` for processes (`shm` if not given), `threads`
    /// for threads of one process.
    #[arg(long, value_parser = app_fabric)]
    pub fabric: Option<String>,
    /// How pages are protected; the better way that this machine has, if not given.
    #[arg(long, value_parser = ["userfaultfd", "userfaultfd-thread", "mprotect"])]
    pub backend: Option<String>,
    /// How servers and threads wait; the policy that adapts, if not given.
    #[arg(long)]
    pub policy: Option<String>,
    /// water: so many molecules are shared as one (the paper's chunking level).
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u32).range(1..=512))]
    pub chunk: Option<u32>,
    /// tsp: so many bytes of the pool of tours are shared as one; 148 are a tour.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(4..=65_536))]
    pub unit: Option<u32>,
    /// tsp: no copy of a new minimum for everybody.
    #[arg(long)]
    pub no_push: bool,
    /// lu: no block is asked for ahead.
    #[arg(long)]
    pub no_prefetch: bool,
    /// How often each is run, in turns.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub repeat: u32,
    /// Seconds that one run may take before it is ended.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub within: u64,
    /// Reports what was found in the journals of all threads.
    #[arg(long, value_enum)]
    pub explain: Option<Explain>,
    /// What all threads did as a trace, to this file: Perfetto (ui.perfetto.dev) opens it.
    #[arg(long)]
    pub trace: Option<PathBuf>,
    /// The results too, to this file.
    #[arg(short, long)]
    pub output: Option<PathBuf>,
}

impl App {
    /// The files that it writes in the end.
    pub fn outputs(&self) -> Vec<PathBuf> {
        [&self.output, &self.trace].into_iter().flatten().cloned().collect()
    }
}

/// The programs of `app`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum AppName {
    /// Integer sort of the NAS.
    Is,
    /// Red-black relaxation of a grid.
    Sor,
    /// Molecules of water.
    Water,
    /// Factorisation of a matrix in blocks.
    Lu,
    /// A shortest tour through cities.
    Tsp,
}

impl AppName {
    /// As on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Is => "is",
            Self::Sor => "sor",
            Self::Water => "water",
            Self::Lu => "lu",
            Self::Tsp => "tsp",
        }
    }
}

/// What journals tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Explain {
    /// Which allocations are shared falsely, and the grain that would cure it.
    Sharing,
    /// Accesses that nothing puts into an order.
    Races,
    /// Which allocations are asked for most, and where requests compete.
    Contention,
}

fn app_fabric(text: &str) -> Result<String, String> {
    if text == "threads" {
        Ok(text.to_owned())
    } else {
        fabric(text).map_err(|_| "write threads, shm, ofi or ofi:PROVIDER".to_owned())
    }
}
