//! The rules, each an option, and the control groups; and the check that they make sense.
use foregather_machine::Nanos;

/// The scheduler of today's Linux, for one group of processors that share a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Eevdf {
    /// Time that a thread asks for at a time, unless it has a slice of its own.
    pub slice: Nanos,
    /// The tick, at the same moments on all processors. It is noticed at ticks, and when a thread joins the
    /// queue, that a slice is over: a slice shorter than the tick lasts for a tick between threads that only
    /// compute.
    pub tick: Nanos,
    /// Whether a thread that has not had more than its share keeps its processor until its deadline, although
    /// another one has an earlier deadline. Otherwise it keeps it for 0.7 ms.
    pub run_to_parity: bool,
    /// Whether a woken thread that would be chosen now may preempt at once. Otherwise it waits at least for
    /// the next tick.
    pub wakeup_preemption: bool,
    /// Whether a busy processor that a thread joins switches only at its next tick, not at once
    /// (`PREEMPT_LAZY`).
    pub lazy_preemption: bool,
    /// When a busy processor changes over to a thread that it is to run next. A thread that computes in user
    /// mode is preempted at once by all models but [`Preemption::Lazy`].
    pub preemption: Preemption,
    /// For how long a thread may run on in a critical section that asks for it (`rseq`, Linux 7.0); zero: not
    /// at all.
    pub slice_extension: Nanos,
    /// Where a woken thread is put.
    pub placement: Placement,
    /// How often a busy processor looks for a queue that is heavier by at least twice a thread's weight, and
    /// pulls that thread; every third time once its weight is enough. After a search that found all queues
    /// equally heavy, the next one is twice as far away, and a tick. Zero: never, nor do idle processors pull
    /// at ticks. A processor that becomes idle always pulls.
    pub balance_interval: Nanos,
    /// Control groups; jobs name them by their number here.
    pub groups: Vec<Group>,
}

/// The preemption models of the kernel, as its configuration calls them. `worlds/sim/src/smp/README.md` names
/// the source of each rule; none of them was compared with a kernel of that configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preemption {
    /// A thread in the kernel runs until it returns to user mode or sleeps (`PREEMPT_NONE`).
    None,
    /// As `None`, with one preemption point in the middle of a page fault (`PREEMPT_VOLUNTARY`).
    Voluntary,
    /// A thread in the kernel is preempted at once, too (`PREEMPT`).
    Full,
    /// A thread is preempted when it next returns to user mode, or at the first tick after the mark
    /// (`PREEMPT_LAZY`).
    Lazy,
}

/// Where a woken thread is put. One that fell asleep in debt, and has not slept it off, always goes on where
/// it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// Where it ran last, whatever runs there now.
    Stay,
    /// Where it ran last if that processor is idle; else on the next idle one by number; else where it ran
    /// last.
    IdleScan,
    /// As `IdleScan`, but if no processor is idle, on its waker's processor.
    Packing,
}

/// A control group: its share, and the most it may use.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name in messages.
    pub name: String,
    /// The group that it is part of, by its index in [`Eevdf::groups`]: an earlier one.
    pub parent: Option<u32>,
    /// Its weight among its siblings, 1 to 10000; 100 is usual (`cpu.weight`), and that of a thread of nice
    /// 0.
    pub weight: u32,
    /// Processor time per period; `None`: no limit.
    pub quota: Option<Nanos>,
    /// The period, 1 ms to 1 s. Periods begin at its multiples.
    pub period: Nanos,
    /// Unused time that may be saved up: the quota at most.
    pub burst: Nanos,
}

impl Group {
    /// A group without a limit, of the usual weight, with a period of 100 ms.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), parent: None, weight: 100, quota: None, period: Nanos::from_ms(100), burst: Nanos::ZERO }
    }
}

impl Eevdf {
    /// An unconfigured kernel of eight processors or more at 250 Hz: 0.7 ms times `1 + log2(processors)` is a
    /// slice, so 1.4 ms on two; at this tick both last for 4 ms. Busy processors of a domain of two balance
    /// every 16 ms times two, less a tick.
    pub const LINUX: Self = Self {
        slice: Nanos::from_us(2_800),
        tick: Nanos::from_ms(4),
        run_to_parity: true,
        wakeup_preemption: true,
        lazy_preemption: false,
        preemption: Preemption::Full,
        slice_extension: Nanos::ZERO,
        placement: Placement::IdleScan,
        balance_interval: Nanos::from_ms(28),
        groups: Vec::new(),
    };

    /// The shortest slice of a thread's own that Linux gives.
    pub const LEAST_SLICE: Nanos = Nanos::from_us(100);
    /// The longest extension of a slice that Linux gives; 5 us are usual (`slice_ext_nsec`).
    pub const MOST_EXTENSION: Nanos = Nanos::from_us(50);
    /// The longest slice of a thread's own that Linux gives.
    pub const MOST_SLICE: Nanos = Nanos::from_ms(100);

    /// The slice on an unconfigured kernel of `cpus` processors: 0.7 ms times `1 + log2(cpus)`, where more
    /// than eight count as eight (`sysctl_sched_base_slice`).
    pub const fn base_slice(cpus: u32) -> Nanos {
        let cpus = if cpus == 0 {
            1
        } else if cpus > 8 {
            8
        } else {
            cpus
        };
        Nanos::from_us(700 * (1 + cpus.ilog2() as u64))
    }

    /// The smallest quota that applies to a group's threads, in processors, rounded up; `cpus` at most.
    pub(super) fn width(&self, group: Option<u32>, cpus: u32) -> u32 {
        group.map_or(cpus, |group| {
            let Group { parent, quota, period, .. } = self.groups[group as usize];
            let whole = |quota: Nanos| quota.0.div_ceil(period.0).min(u64::from(cpus)) as u32;
            self.width(parent, cpus).min(quota.map_or(cpus, whole))
        })
    }

    pub(in crate::smp) fn check(&self, cpus: u32) -> Result<(), String> {
        if self.slice == Nanos::ZERO {
            return Err("a slice of zero".into());
        }
        if self.tick == Nanos::ZERO {
            return Err("a tick of zero".into());
        }
        if self.lazy_preemption && self.preemption != Preemption::Full {
            return Err("lazy-preemption is part of a preemption model: give preemption alone".into());
        }
        if self.slice_extension > Self::MOST_EXTENSION {
            return Err(format!("a slice extension of {}: {} at most", self.slice_extension, Self::MOST_EXTENSION));
        }
        (0..).zip(&self.groups).try_for_each(|(number, group)| group.check(number, cpus))
    }
}

/// The shortest period that Linux accepts.
const SHORTEST_PERIOD: Nanos = Nanos::from_ms(1);
const LONGEST_PERIOD: Nanos = Nanos::from_ms(1_000);

impl Group {
    fn check(&self, number: u32, cpus: u32) -> Result<(), String> {
        let Self { name, period, burst, .. } = self;
        if self.parent.is_some_and(|parent| parent >= number) {
            return Err(format!("group `{name}` is part of one that does not come before it: list parents first"));
        }
        if !(1..=10_000).contains(&self.weight) {
            return Err(format!("group `{name}` has a weight of {}: it goes from 1 to 10000", self.weight));
        }
        if !(SHORTEST_PERIOD..=LONGEST_PERIOD).contains(period) {
            return Err(format!("group `{name}` has a period of {period}: it goes from {SHORTEST_PERIOD} to {LONGEST_PERIOD}"));
        }
        let Some(quota) = self.quota else {
            return if *burst == Nanos::ZERO { Ok(()) } else { Err(format!("group `{name}` has a burst but no quota")) };
        };
        let all = *period * u64::from(cpus);
        if quota == Nanos::ZERO {
            return Err(format!("group `{name}` has a quota of zero: it would never run"));
        }
        if quota > all {
            return Err(format!(
                "group `{name}` has a quota of {quota} in {period}, above 100 % of each of {cpus} processors: {all} at most"
            ));
        }
        if *burst > quota {
            return Err(format!("group `{name}` has a burst of {burst}, more than its quota of {quota}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = Nanos::from_ms(1);

    #[test]
    fn impossible_groups_are_named() {
        let limited = |quota_ms: u64| Group { quota: Some(MS * quota_ms), ..Group::named("web") };
        let cases = [
            (Group { parent: Some(0), ..limited(10) }, "list parents first"),
            (Group { weight: 0, ..limited(10) }, "1 to 10000"),
            (Group { weight: 10_001, ..limited(10) }, "1 to 10000"),
            (Group { period: Nanos::ZERO, ..limited(10) }, "period of 0 ns"),
            (Group { period: MS * 1_001, ..limited(10) }, "period of 1.00 s"),
            (limited(0), "never run"),
            (limited(201), "200.00 ms at most"),
            (Group { burst: MS * 11, ..limited(10) }, "more than its quota"),
            (Group { burst: MS, ..Group::named("web") }, "no quota"),
        ];
        for (group, what) in cases {
            let error = Eevdf { groups: vec![group], ..Eevdf::LINUX }.check(2).unwrap_err();
            assert!(error.contains("`web`") && error.contains(what), "{error}");
        }
        let fits = Group { burst: MS * 200, ..limited(200) };
        assert_eq!(Eevdf { groups: vec![fits, Group { parent: Some(0), ..limited(10) }], ..Eevdf::LINUX }.check(2), Ok(()));
    }

    #[test]
    fn a_group_is_as_wide_as_its_tightest_quota() {
        let group = |parent, quota_ms: Option<u64>| Group { parent, quota: quota_ms.map(|ms| MS * ms), ..Group::named("g") };
        let groups = vec![group(None, Some(150)), group(Some(0), Some(300)), group(None, None), group(Some(2), Some(100))];
        let rules = Eevdf { groups, ..Eevdf::LINUX };
        assert_eq!([None, Some(0), Some(1), Some(2), Some(3)].map(|group| rules.width(group, 4)), [4, 2, 2, 4, 1]);
    }

    #[test]
    fn slices_grow_with_the_machine_up_to_eight_processors() {
        assert_eq!([0, 1, 2, 4, 6, 8, 64].map(Eevdf::base_slice).map(|slice| slice.0 / 100_000), [7, 7, 14, 21, 21, 28, 28]);
        assert_eq!(Eevdf::base_slice(8), Eevdf::LINUX.slice);
    }

    #[test]
    fn a_scheduler_needs_slices_and_ticks() {
        for rules in [Eevdf { slice: Nanos::ZERO, ..Eevdf::LINUX }, Eevdf { tick: Nanos::ZERO, ..Eevdf::LINUX }] {
            assert!(rules.check(1).unwrap_err().ends_with("zero"));
        }
    }
}
