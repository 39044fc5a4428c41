//! Workloads are read and run, and what cannot be is refused at its line.
use super::{Workload, measurements, table};
use foregather_machine::{Nanos, SplitMix};
use foregather_sim::smp::ProgramStep;

fn parse(text: &str, ignore: bool) -> Result<Workload, String> {
    Workload::parse("x.json", text, 2, &[], 1, ignore).map_err(|error| format!("{error:#}"))
}

#[track_caller]
fn refused(text: &str, says: &str) {
    match parse(text, false) {
        Ok(_) => panic!("should be refused with `{says}`: {text}"),
        Err(error) => assert!(error.contains(says), "should say `{says}`, not `{error}`"),
    }
}

fn task(events: &str) -> String {
    format!("{{ \"tasks\" : {{ \"a\" : {{ {events} }} }}, \"global\" : {{ \"duration\" : 1 }} }}")
}

#[test]
fn events_are_steps_in_their_order() {
    let text = task(
        "\"run\" : 10, \"lock\" : \"m\", \"wait\" : { \"ref\" : \"q\", \"mutex\" : \"m\" }, \"sync1\" : { \"ref\" : \"q\", \"mutex\" : \"m\" },\n\
         \"unlock\" : \"m\", \"run2\" : 20, \"run\" : 30, \"suspend\", \"resume\" : \"a\", \"broad\" : \"q\", \"yield\" : \"\", \"sleep\" : 5",
    );
    let workload = parse(&text, false).unwrap();
    let program = workload.study.jobs[0].program.clone().unwrap();
    let wait = ProgramStep::Wait { condition: 0, mutex: 0 };
    let (run, us) = (|us| ProgramStep::Run(Nanos::from_us(us)), Nanos::from_us);
    let expected = [
        run(10),
        ProgramStep::Lock(0),
        wait,
        ProgramStep::Signal(0),
        wait,
        ProgramStep::Unlock(0),
        run(20),
        run(30),
        ProgramStep::Suspend(1),
        ProgramStep::Broadcast(1),
        ProgramStep::Broadcast(0),
        ProgramStep::Yield,
        ProgramStep::Sleep(us(5)),
    ];
    assert_eq!((&program.phases[0].steps[..], program.objects), (&expected[..], [1, 2, 0]));
    assert_eq!((program.times, workload.study.limit), (None, Nanos::from_ms(1_000)));
}

#[test]
fn unique_timers_are_each_threads_own() {
    let timer = "\"timer\" : { \"ref\" : \"uniqueA\", \"period\" : 100 }, \"timer2\" : { \"ref\" : \"t\", \"period\" : 100 }";
    let workload = parse(&task(&format!("\"instance\" : 2, \"cpus\" : [1], \"priority\" : -5, {timer}")), false).unwrap();
    let timers = workload.study.jobs.iter().map(|job| {
        let steps = job.program.as_ref().unwrap().phases[0].steps.clone();
        steps.into_iter().map(|step| if let ProgramStep::Timer { timer, .. } = step { timer } else { 9 }).collect::<Vec<_>>()
    });
    assert_eq!(timers.collect::<Vec<_>>(), [[0, 1], [2, 1]]);
    assert_eq!((workload.study.jobs[1].nice, &workload.study.jobs[1].pins[..]), (-5, &[vec![1]][..]));
}

/// 10 % and 20 % of a processor, 1 s long.
#[test]
fn a_workload_becomes_a_table() {
    let text = "{ \"tasks\" : { \"light\" : { \"run\" : 1000, \"timer\" : { \"ref\" : \"unique\", \"period\" : 10000 } },\n\
                \"heavy\" : { \"instance\" : 2, \"run\" : 2000, \"timer\" : { \"ref\" : \"unique\", \"period\" : 10000 } } },\n\
                \"global\" : { \"duration\" : 1, \"calibration\" : \"CPU0\" } }";
    let workload = parse(text, false).unwrap();
    let all = measurements("x", &workload, &workload.simulate().unwrap());
    let (tasks, departures) = all.split_at(2);
    assert_eq!(tasks.iter().map(|m| m.text("task")).collect::<Vec<_>>(), ["light", "heavy"]);
    // Each of the three threads sleeps a hundred times.
    assert!(departures[0].id.ends_with("/departures") && departures[0].median() >= 297.0, "{departures:?}");
    let processors: Vec<f64> = tasks.iter().map(|m| m.figures["processors"]).collect();
    assert!((processors[0] - 0.1).abs() < 0.003 && (processors[1] - 0.4).abs() < 0.01, "{processors:?}");
    let table = table(&all);
    assert!(table.rows.len() == 2 && table.to_text().contains("heavy"), "{table:?}");
}

#[test]
fn mistakes_have_a_line_and_a_remedy() {
    refused("{}", "x.json:1: no `tasks`; name threads");
    refused("{ \"task\" : {} }", "unknown key `task`; did you mean `tasks`?");
    refused(&task("\"run\" : -1"), "`run` is 0 to 3600000000, not -1");
    refused(&task("\"runs\" : 1"), "unknown event `runs`; did you mean `run`?");
    refused(&task("\"run\" : 1,\n\"mem\" : 1000"), "x.json:2: `mem` is not simulated; remove it, or leave it out by --ignore");
    refused(&task("\"exec\" : 5"), "`exec` is of files before rt-app 1.0");
    refused(&task("\"policy\" : \"SCHED_FIFO\""), "the policy SCHED_FIFO is not simulated");
    refused(&task("\"cpus\" : [2]"), "`cpus` is 0 to 1, not 2");
    refused(&task("\"timer\" : { \"period\" : 5 }"), "a timer needs `ref`");
    refused(&task("\"wait\" : \"q\""), "the condition and its mutex");
    refused(&task("\"phases\" : { \"p\" : { \"run\" : 1 } }, \"run\" : 1"), "`run` stands beside `phases`");
    let endless = parse("{ \"tasks\" : { \"a\" : { \"run\" : 1 } } }", false).unwrap();
    assert_eq!(endless.ignored, ["line 1: `a` never ends, and `global` has no `duration`: 10.00 s are simulated"]);
    let left = parse(&task("\"run\" : 1,\n\"mem\" : 1000,\n\"cpus\" : [0]"), true).unwrap().ignored;
    assert_eq!(left, ["line 2: `mem` is left out"]);
}

/// 10,000 files: a sound one with bytes changed, removed and repeated. None makes the reader panic.
#[test]
fn no_file_makes_the_reader_panic() {
    let sound = task(
        "\"phases\" : { \"p\" : { \"loop\" : 2, \"run\" : 10, \"timer\" : { \"ref\" : \"unique\", \"period\" : 100 } } },\n\
         \"cpus\" : [0, 1], \"instance\" : 3, \"delay\" : 5, /* text */ \"loop\" : -1",
    );
    let (mut random, mut refused) = (SplitMix(7), 0);
    for _ in 0..10_000 {
        let mut bytes = sound.clone().into_bytes();
        for _ in 0..1 + random.below(3) {
            if bytes.is_empty() {
                break;
            }
            let at = random.below(bytes.len() as u64) as usize;
            let other = b"{}[]\",:0-9.eE/*\n\\a\xc3"[random.below(19) as usize];
            match random.below(4) {
                0 => bytes[at] = other,
                1 => _ = bytes.remove(at),
                2 => bytes.insert(at, other),
                _ => bytes.truncate(at.max(1)),
            }
        }
        if let Err(error) = parse(&String::from_utf8_lossy(&bytes), random.below(2) == 0) {
            assert!(error.starts_with("x.json"), "{error}");
            refused += 1;
        }
    }
    assert!(refused > 5_000, "{refused}");
}
