//! On which processors the threads of a team start while other processes are busy, as `fork` chooses them.
//!
//! The rules come from traces of 330 starts with one to four busy processes on two processors (Linux 6.18).
//! A new thread starts on the processor with the lowest load, or on that of its parent if its load is not
//! much higher. Loads are averages, which show only part of a thread that was forked a moment ago, so two
//! consecutive threads often get the same processor. With one busy process on each processor, both of two
//! threads started on the processor that was not their parent's in 32 of 48 starts, and one of them in the
//! other 16.
use foregather_machine::{CpuId, SplitMix};

/// A processor is much heavier if its load exceeds this many times another's (`imbalance_pct`).
const IMBALANCE: f64 = 1.17;
/// Of this number of threads that were forked last, the averages show a part.
const RECENT: usize = 2;

/// The processors of `hogs` busy processes, and of the threads that one thread forks. If it `leads` the team
/// it is the first of them, else it sleeps from then on.
///
/// Without busy processes threads are shared out evenly. In any case chance, from the seed, decides which
/// share a processor.
pub(super) fn places(hogs: u32, threads: u32, leads: bool, cpus: u32, seed: u64) -> (Vec<CpuId>, Vec<CpuId>) {
    let mut random = SplitMix(seed);
    if hogs == 0 {
        let order = random.shuffled(threads as usize);
        return (vec![], order.iter().map(|&at| at as u32 % cpus).collect());
    }
    let turns: Vec<CpuId> = random.shuffled(cpus as usize).into_iter().map(|cpu| cpu as CpuId).collect();
    let turn = |number: u32| turns[(number % cpus) as usize];
    let busy: Vec<CpuId> = (0..hogs).map(turn).collect();
    let parent = turn(hogs);
    let mut forks = Forks { busy: &busy, parent, part: random.unit(), forked: vec![] };
    for _ in u32::from(leads)..threads {
        forks.forked.push(forks.next(&turns));
    }
    let team = leads.then_some(parent).into_iter().chain(forks.forked).collect();
    (busy, team)
}

struct Forks<'a> {
    busy: &'a [CpuId],
    parent: CpuId,
    /// How much of a thread that was forked a moment ago the averages show.
    part: f64,
    forked: Vec<CpuId>,
}

impl Forks<'_> {
    /// The processor of the next thread.
    fn next(&self, cpus: &[CpuId]) -> CpuId {
        let others = cpus.iter().copied().filter(|&cpu| cpu != self.parent);
        let lightest = others.min_by(|&a, &b| self.load(a).total_cmp(&self.load(b)));
        let own = 1.0 + self.load(self.parent);
        lightest.filter(|&cpu| own > IMBALANCE * self.load(cpu)).unwrap_or(self.parent)
    }

    /// The load of a processor, without the parent, which runs. A processor without a busy process seems to
    /// have time to spare until averages show the new threads.
    fn load(&self, cpu: CpuId) -> f64 {
        let on = |list: &[CpuId]| list.iter().filter(|&&other| other == cpu).count() as f64;
        let busy = on(self.busy);
        let (known, recent) = self.forked.split_at(self.forked.len().saturating_sub(RECENT));
        busy + on(known) + on(recent) * if busy > 0.0 { self.part } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In how many of 3,000 starts all threads are on one processor; busy processes are shared out evenly.
    fn stacked(hogs: u32, threads: u32) -> f64 {
        let starts = 3_000;
        let all = |seed: &u64| {
            let (busy, team) = places(hogs, threads, false, 2, *seed);
            assert_eq!((busy.len(), team.len()), (hogs as usize, threads as usize));
            assert!(busy.iter().filter(|&&cpu| cpu == 0).count().abs_diff(busy.iter().filter(|&&cpu| cpu == 1).count()) <= 1);
            team.iter().all(|&cpu| cpu == team[0])
        };
        (1..=starts).filter(all).count() as f64 / starts as f64
    }

    #[test]
    fn two_threads_are_stacked_as_often_as_in_the_traces() {
        // 23 of 24 with one busy process, 32 of 48 with two, 7 of 22 with three.
        for (hogs, seen) in [(1, 23.0 / 24.0), (2, 32.0 / 48.0), (3, 7.0 / 22.0)] {
            let share = stacked(hogs, 2);
            assert!((share - seen).abs() < 0.1, "{hogs} busy processes: {share}, not {seen}");
        }
    }

    #[test]
    fn many_threads_are_shared_out_by_load() {
        for seed in 1..=200 {
            let (busy, team) = places(4, 13, false, 2, seed);
            let on_0 = busy.iter().chain(&team).filter(|&&cpu| cpu == 0).count();
            assert!((6..=11).contains(&on_0), "{on_0} of 17");
        }
        assert_eq!(stacked(0, 2), 0.0, "an idle machine has a processor for each");
    }

    #[test]
    fn a_leader_is_the_first_of_its_team() {
        let leader = |seed| {
            let (busy, team) = places(1, 2, true, 2, seed);
            team[0] != busy[0]
        };
        assert!((1..=50).all(leader), "it runs where no busy process is");
    }
}
