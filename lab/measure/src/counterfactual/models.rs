//! How runtimes of other projects wait, from their documentation, as policies of this project's waiter.
//!
//! The length of a spin is a documented number of looks, or a documented time. What a look costs is measured
//! in the same run ([`look_ns`]).
use foregather_host::clock;
use foregather_machine::{Costs, Nanos};
use foregather_wait::{Policy, Yields};
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU32, Ordering::Acquire};

/// Looks of libgomp's threads before they sleep (`GOMP_SPINCOUNT`): by default, and with
/// `OMP_WAIT_POLICY=active`; and both if it manages more threads than processors.
const DEFAULT_LOOKS: u64 = 300_000;
const ACTIVE_LOOKS: u64 = 30_000_000_000;
const CROWDED_DEFAULT_LOOKS: u64 = 100;
const CROWDED_ACTIVE_LOOKS: u64 = 1_000;
/// Looks of libomp's threads before they first yield, unless its threads outnumber processors.
const LIBOMP_LOOKS: u64 = 512;
/// Rounds of rayon's idle workers before they sleep: each looks everywhere for work, and yields.
const RAYON_ROUNDS: Yields = Yields(33);

foregather_machine::named! {
    /// A runtime, and how its threads wait.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum PeerModel {
        /// libgomp without settings.
        Libgomp = "libgomp",
        /// libgomp with `OMP_WAIT_POLICY=active`.
        LibgompActive = "libgomp active",
        /// libgomp with `OMP_WAIT_POLICY=passive`.
        LibgompPassive = "libgomp passive",
        /// libomp and Intel's runtime: a spin of `KMP_BLOCKTIME`, 200 ms, that yields if threads outnumber
        /// processors.
        Libomp = "libomp",
        /// The same with `KMP_BLOCKTIME=0`.
        LibompPassive = "libomp passive",
        /// OpenBLAS's idle servers, which yield for 2^26 cycles.
        OpenBlas = "OpenBLAS",
        /// A barrier of POSIX threads: it sleeps at once.
        PthreadBarrier = "pthread_barrier",
        /// rayon's idle workers.
        Rayon = "rayon",
        /// This project's runtime.
        Own = "foregather",
    }
}

impl PeerModel {
    /// What a region of one thread costs besides its work, as measured on processors of 2 to 3 GHz.
    pub fn serial_region(self) -> Nanos {
        Nanos(if self == Self::Own { 50 } else { 200 })
    }

    /// Whether workers, too, wait at the end of a region until all have arrived, as at a barrier.
    pub fn ends_with_barrier(self) -> bool {
        matches!(self, Self::Libgomp | Self::LibgompActive | Self::LibgompPassive | Self::PthreadBarrier)
    }

    /// The policy by which it waits, on a machine with these costs. `is_crowded`: its process has more
    /// threads than processors, as far as the runtime knows.
    pub fn policy(self, is_crowded: bool, look_ns: f64, costs: &Costs) -> Policy {
        let looks = |usual: u64, crowded: u64| {
            let count = if is_crowded { crowded } else { usual };
            Policy::TwoPhase { spin: Nanos((count as f64 * look_ns) as u64) }
        };
        match self {
            Self::Libgomp => looks(DEFAULT_LOOKS, CROWDED_DEFAULT_LOOKS),
            Self::LibgompActive => looks(ACTIVE_LOOKS, CROWDED_ACTIVE_LOOKS),
            Self::LibgompPassive | Self::LibompPassive | Self::PthreadBarrier => Policy::Block,
            // Gaps and parts are shorter than its 200 ms, so its threads do not sleep.
            Self::Libomp if is_crowded => Policy::Yield,
            Self::Libomp => Policy::SpinThenYield { spin: Nanos((LIBOMP_LOOKS as f64 * look_ns) as u64) },
            Self::OpenBlas => Policy::Yield,
            Self::Rayon => Policy::YieldThenBlock(RAYON_ROUNDS),
            Self::Own => Policy::adaptive(costs),
        }
    }

    /// The variable that makes a runtime wait like this, if it is not its usual way.
    pub fn setting(self) -> &'static str {
        match self {
            Self::LibgompActive => "OMP_WAIT_POLICY=active",
            Self::LibgompPassive => "OMP_WAIT_POLICY=passive",
            Self::LibompPassive => "KMP_BLOCKTIME=0",
            _ => "",
        }
    }
}

/// What one look of a spinning thread costs on this processor: a load and a pause. The least of a few tries:
/// others were preempted.
pub fn look_ns() -> f64 {
    const LOOKS: u32 = 2_000;
    let word = AtomicU32::new(0);
    let once = |_| {
        let began = clock::now();
        for _ in 0..LOOKS {
            black_box(word.load(Acquire));
            spin_loop();
        }
        (clock::now() - began).0
    };
    (0..5).map(once).min().unwrap_or(0) as f64 / f64::from(LOOKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_decide_how_long_a_runtime_spins() {
        let spin = |model: PeerModel, is_crowded| match model.policy(is_crowded, 10.0, &Costs::TYPICAL) {
            Policy::TwoPhase { spin } => spin,
            _ => Nanos::ZERO,
        };
        assert_eq!(spin(PeerModel::Libgomp, false), Nanos::from_ms(3));
        assert_eq!(spin(PeerModel::Libgomp, true), Nanos::from_us(1));
        assert_eq!(spin(PeerModel::LibgompActive, false), Nanos::from_ms(300_000));
        assert_eq!(PeerModel::LibgompPassive.policy(false, 10.0, &Costs::TYPICAL), Policy::Block);
        assert_eq!(PeerModel::LibgompPassive.setting(), "OMP_WAIT_POLICY=passive");
        assert!((0.1..10_000.0).contains(&look_ns()), "{}", look_ns());
    }
}
