//! Points of the code that a run has reached: proof that a test tried the rare order that it claims to try.
//!
//! A named race of a `README.md` has a point where the code deals with it: `reached("room:race")`. Without
//! the feature `probes` the call does nothing. With it, each point counts, for the calling thread and for the
//! process, and a test or a swarm of seeds asks which points were reached. The points are on cold paths, so
//! that the measured code stays the tested code.

/// Counts this point as reached. Its name is the room's and the race's: `"barrier:T4"`.
#[inline(always)]
pub fn reached(point: &'static str) {
    #[cfg(feature = "probes")]
    counts::add(point);
    let _ = point;
}

#[cfg(feature = "probes")]
pub use counts::{Hits, reached_here, reached_in_process};

#[cfg(feature = "probes")]
mod counts {
    use core::cell::RefCell;
    use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use std::collections::BTreeMap;
    use std::sync::OnceLock;

    /// How often each point was reached.
    pub type Hits = BTreeMap<&'static str, u64>;

    /// How many points a process can tell apart.
    const POINTS: usize = 512;

    /// A list without a lock: a child of `fork` would wait forever for a lock that another thread held.
    static PROCESS: [(OnceLock<&'static str>, AtomicU64); POINTS] = [const { (OnceLock::new(), AtomicU64::new(0)) }; POINTS];

    thread_local! {
        static HERE: RefCell<Hits> = const { RefCell::new(Hits::new()) };
    }

    #[cold]
    pub(super) fn add(point: &'static str) {
        HERE.with_borrow_mut(|hits| *hits.entry(point).or_default() += 1);
        let counted = PROCESS.iter().find(|(name, _)| *name.get_or_init(|| point) == point);
        counted.expect("no more points than the list has room for").1.fetch_add(1, Relaxed);
    }

    /// The points that the calling thread has reached since it last asked.
    pub fn reached_here() -> Hits {
        HERE.take()
    }

    /// The points that all threads of this process have reached so far.
    pub fn reached_in_process() -> Hits {
        PROCESS.iter().map_while(|(name, hits)| Some((*name.get()?, hits.load(Relaxed)))).collect()
    }

    #[cfg(test)]
    mod tests {
        use super::super::reached;
        use super::*;

        #[test]
        fn a_point_counts_where_it_was_reached() {
            assert_eq!(reached_here(), Hits::new());
            (0..3).for_each(|_| reached("test:1"));
            std::thread::spawn(|| reached("test:1")).join().unwrap();
            assert_eq!(reached_here(), Hits::from([("test:1", 3)]));
            assert_eq!(reached_here(), Hits::new());
            assert_eq!(reached_in_process()["test:1"], 4);
        }
    }
}
