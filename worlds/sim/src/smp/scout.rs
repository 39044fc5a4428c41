//! Scouts: a sleeping thread for each process, below all others, that is sent to a processor to see whether
//! it is idle.
//!
//! No thread is simulated. A scout would run at the first moment at which its processor is idle and it could
//! be there, and it would disturb no thread; so the processor's past tells whether the scout has answered.
use foregather_machine::{CpuId, Nanos};
use std::collections::BTreeMap;

/// For how long an answer is good, and an open question about another processor goes first.
const GOOD_FOR: Nanos = Nanos::from_ms(3);

/// The last question of each process, by address space.
#[derive(Default)]
pub(super) struct Scouts(BTreeMap<u32, Question>);

struct Question {
    cpu: CpuId,
    /// The first moment at which the scout could be there.
    there: Nanos,
}

/// The answer that the asking thread gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScoutReply {
    /// The scout ran there.
    Idle,
    /// It has not come back.
    Open,
    /// It was sent just now.
    Sent,
}

impl Scouts {
    /// Checks whether that processor is idle. A scout sent now could be there at `there`; `idle` is the last
    /// span in which the processor was idle.
    pub(super) fn ask(
        &mut self,
        space: u32,
        cpu: CpuId,
        (now, there): (Nanos, Nanos),
        idle: impl Fn(CpuId) -> (Nanos, Nanos),
    ) -> ScoutReply {
        if let Some(open) = self.0.get(&space) {
            let (from, to) = idle(open.cpu);
            let came = from.max(open.there);
            let answered = came <= to.min(now);
            if answered && open.cpu == cpu && now <= came + GOOD_FOR {
                return ScoutReply::Idle;
            }
            if !answered && (open.cpu == cpu || now <= open.there + GOOD_FOR) {
                return ScoutReply::Open;
            }
        }
        self.0.insert(space, Question { cpu, there });
        ScoutReply::Sent
    }
}

#[cfg(test)]
mod tests {
    use super::ScoutReply::{Idle, Open, Sent};
    use super::*;

    const US: Nanos = Nanos::from_us(1);
    const ALWAYS: (Nanos, Nanos) = (Nanos::ZERO, Nanos::MAX);

    /// Asks at a time in microseconds; the scout needs 20 of them.
    fn ask(scouts: &mut Scouts, cpu: CpuId, at_us: u64, idle_us: (u64, u64)) -> ScoutReply {
        let idle = (US * idle_us.0, US * idle_us.1);
        scouts.ask(0, cpu, (US * at_us, US * (at_us + 20)), |_| idle)
    }

    #[test]
    fn a_scout_answers_once_it_is_there_and_its_processor_is_idle() {
        let mut scouts = Scouts::default();
        assert_eq!([0, 19, 20].map(|at| ask(&mut scouts, 1, at, (0, u64::MAX))), [Sent, Open, Idle]);
        let mut scouts = Scouts::default();
        assert_eq!([0, 500].map(|at| ask(&mut scouts, 1, at, (0, 19))), [Sent, Open], "idle, but too early");
        assert_eq!(ask(&mut scouts, 1, 600, (300, 301)), Idle, "idle for a moment, and busy again");
    }

    #[test]
    fn an_answer_is_good_for_a_while() {
        let mut scouts = Scouts::default();
        assert_eq!([0, 3_020, 3_021, 3_022].map(|at| ask(&mut scouts, 1, at, (0, u64::MAX))), [Sent, Idle, Sent, Open]);
        assert_eq!(ask(&mut scouts, 1, 9_000, (8_999, 9_000)), Idle, "a late answer is as good");
    }

    #[test]
    fn another_processor_has_to_wait_for_an_open_question() {
        let mut scouts = Scouts::default();
        assert_eq!(ask(&mut scouts, 1, 0, (0, 0)), Sent);
        assert_eq!([1_000, 3_020, 3_021].map(|at| ask(&mut scouts, 2, at, (0, 0))), [Open, Open, Sent]);
        assert_eq!(scouts.ask(7, 1, (US, US), |_| ALWAYS), Sent, "another process has a scout of its own");
        assert_eq!(scouts.ask(7, 2, (US, US), |_| ALWAYS), Sent, "the first has come back");
    }
}
