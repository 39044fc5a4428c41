//! Threads that go through lists of events: cases computed by hand.
use foregather_machine::Nanos;
use foregather_sim::smp::{
    Eevdf, Job, MachineSpec, Outcome, Phase, Prices, ProgramStep, Record, Scheduler, Stop, Study, ThreadProgram, run,
};

fn us(n: u64) -> Nanos {
    Nanos::from_us(n)
}

/// A program of one phase.
fn program(times: Option<u64>, steps: &[ProgramStep]) -> ThreadProgram {
    let phases = vec![Phase { times: Some(1), steps: steps.to_vec() }];
    ThreadProgram { delay: Nanos::ZERO, times, phases, objects: [4, 4, 4], barriers: vec![2] }
}

/// A machine on which nothing but computing takes time.
fn outcome(cpus: u32, limit: Nanos, programs: Vec<ThreadProgram>) -> Outcome {
    let free = Prices { switch: Nanos::ZERO, wake_idle: Nanos::ZERO, ..Prices::TSAFRIR_2002 };
    let scheduler = Scheduler::Eevdf(Eevdf::LINUX);
    let machine = MachineSpec { cpus, scheduler, prices: free, ..MachineSpec::tsafrir2002() };
    let jobs = (0..).zip(programs).map(|(n, program)| Job::running(format!("task{n}"), 1, program)).collect();
    let study = Study { machine, jobs, stop: Stop::Limit, limit, seed: 1, shuffled: false, record: Record::NOTHING };
    run(&study, || true).unwrap()
}

const LONG: Nanos = Nanos::from_ms(1_000);

#[test]
fn a_sleep_follows_the_run_and_a_timer_keeps_its_period() {
    let sleeper = program(Some(10), &[ProgramStep::Run(us(20)), ProgramStep::Sleep(us(80))]);
    assert_eq!(outcome(1, LONG, vec![sleeper]).time, us(1_000));
    let timer = |absolute| ProgramStep::Timer { timer: 0, period: us(100), absolute };
    // The third round is too long: 10, 10, 150, 10, 10 us of work every 100 us.
    for (absolute, end) in [(false, 550), (true, 500)] {
        let rounds =
            [10, 10, 150, 10, 10].map(|work| Phase { times: Some(1), steps: vec![ProgramStep::Run(us(work)), timer(absolute)] });
        let all = outcome(1, LONG, vec![ThreadProgram { phases: rounds.into(), ..program(Some(1), &[]) }]);
        assert_eq!((all.time, all.jobs[0].met), (us(end), 1), "absolute: {absolute}");
    }
}

#[test]
fn conditions_wake_one_thread_or_all() {
    let wait = ProgramStep::Wait { condition: 0, mutex: 0 };
    let waiter = || program(Some(1), &[ProgramStep::Lock(0), wait, ProgramStep::Unlock(0), ProgramStep::Run(us(10))]);
    let caller = |call| program(Some(1), &[ProgramStep::Run(us(100)), ProgramStep::Lock(0), call, ProgramStep::Unlock(0)]);
    let all = outcome(3, LONG, vec![waiter(), waiter(), caller(ProgramStep::Broadcast(0))]);
    assert_eq!(all.jobs.iter().map(|job| job.met).collect::<Vec<_>>(), [1, 1, 1]);
    let one = outcome(3, LONG, vec![waiter(), waiter(), caller(ProgramStep::Signal(0))]);
    assert_eq!(one.jobs.iter().map(|job| job.met).sum::<u64>(), 2, "one of them sleeps on");
    assert_eq!(one.jobs[2].split.compute, us(100));
}

#[test]
fn threads_meet_at_a_barrier_and_suspend_until_they_are_resumed() {
    let side = |work| program(Some(3), &[ProgramStep::Run(us(work)), ProgramStep::Barrier(0)]);
    assert_eq!(outcome(2, LONG, vec![side(10), side(30)]).time, us(90));
    let suspended = program(Some(1), &[ProgramStep::Suspend(1), ProgramStep::Run(us(5))]);
    let resumer = program(Some(1), &[ProgramStep::Run(us(50)), ProgramStep::Broadcast(1)]);
    let all = outcome(2, LONG, vec![suspended, resumer]);
    assert_eq!((all.time, all.jobs[0].split.compute), (us(55), us(5)));
}

/// A loop without a span ends, and a program without an end stops at the limit.
#[test]
fn every_round_takes_time() {
    let all = outcome(1, us(1_000), vec![program(None, &[ProgramStep::Signal(0)])]);
    assert!(all.jobs[0].met.abs_diff(1_000) <= 1, "{}", all.jobs[0].met);
}
