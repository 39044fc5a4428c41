//! Plans that are made of a few answers are plans like any other.
use super::super::{Plan, PlanDraft, ReadOptions};
use crate::Study;

/// A draft with these answers, as a command line gives them.
fn draft(answers: &[(&'static str, &str)]) -> PlanDraft {
    answers.iter().fold(PlanDraft::default(), |draft, (name, values)| {
        draft.with(name, &values.split(',').map(str::to_owned).collect::<Vec<_>>())
    })
}

fn plan(answers: &[(&'static str, &str)]) -> Result<Plan, String> {
    Plan::of_draft(&draft(answers), &ReadOptions::default()).map_err(|error| format!("{error:#}"))
}

#[test]
fn what_is_written_is_read_as_what_was_asked_for() {
    let answers =
        [("threads", "4,6"), ("cpus", "2"), ("compute", "20us,1ms"), ("hogs", "0,1"), ("quota", "0.5,1.5"), ("seeds", "2")];
    let asked = plan(&answers).unwrap();
    let written = Plan::parse("own.toml", &draft(&answers).text().unwrap(), &ReadOptions::default()).unwrap();
    assert_eq!((asked.points(), asked.title()), (2 * 2 * 2 * 2 * 5, written.title()));
    for point in 0..asked.points() {
        assert_eq!((asked.labels(point), asked.seeds(point).unwrap()), (written.labels(point), vec![1, 2]));
        let study = |plan: &Plan| format!("{:?}", plan.study(point, 1).unwrap());
        assert_eq!(study(&asked), study(&written));
    }
    let last = asked.study(asked.points() - 1, 1).unwrap().smp().unwrap();
    assert_eq!((last.jobs[0].threads, last.jobs.len(), last.machine.cpus), (6, 2, 2));
}

#[test]
fn all_answers_can_be_varied_and_without_policies_five_are_compared() {
    let one = plan(&[("threads", "4"), ("policy", "spin")]).unwrap();
    assert_eq!((one.points(), one.labels(0).len(), one.figure().y.name), (1, 0, "barrier-time"));
    let odd = plan(&[("threads", "007"), ("policy", "spin"), ("cpus", "1,2,3,4,5,6,8")]).unwrap();
    assert_eq!((odd.title(), odd.points()), ("007 threads on 1 to 8 processors", 7));
    let five = plan(&[("threads", "4")]).unwrap();
    assert_eq!(five.labels(0), [("policy".to_owned(), "adaptive".to_owned())]);
    let all = plan(&[("threads", "4"), ("scheduler", "eevdf,linux-2.4.16"), ("barriers", "10,20"), ("policy", "spin,block")]);
    let Study::Smp(last) = all.unwrap().study(7, 1).unwrap() else { panic!("it is about processors") };
    assert_eq!((last.jobs[0].barriers, last.jobs[0].policy), (20, foregather_wait::Policy::Block));
}

#[test]
fn what_is_wrong_is_said_by_the_name_of_its_answer() {
    let four = ("threads", "4");
    for (answers, says) in [
        (&[("cpus", "4")][..], "how many threads are to wait for each other? say it by --threads 8"),
        (&[("threads", "0")], "--threads: `threads` is 1 to 100000, not 0"),
        (&[("threads", "4,0")], "--threads: `threads` is 1 to 100000, not 0 (at threads = 0, policy = adaptive)"),
        (&[("threads", "a\"b\\")], "--threads: `threads` is a number, not `a\"b\\`; write 48"),
        (&[("threads", ".5")], "--threads: `threads` is a whole number, not 0.5"),
        (&[four, ("cpus", "nan")], "--cpus: `cpus` is a whole number from 1 to 16384, not a text"),
        (&[four, ("cpus", "0")], "--cpus: `cpus` is 1 to 16384, not 0"),
        (&[four, ("cpus", "4,4")], "--cpus: `cpus` has two choices called 4"),
        (&[four, ("compute", "5")], "--compute: `compute`: a time needs its unit: \"5 us\""),
        (&[four, ("compute", "-1")], "--compute: `compute`: `-1`: a time cannot be negative"),
        (&[four, ("compute", "1us,x")], "--compute: `compute`: `x` is no time"),
        (&[four, ("hogs", "-1")], "--hogs: `hogs` is 0 to 100000, not -1"),
        (&[four, ("policy", "spinn")], "--policy: `spinn` is not a waiting policy; did you mean `spin`?"),
        (&[four, ("scheduler", "eevf")], "--scheduler: `eevf` is no preset; did you mean `eevdf`?"),
        (&[four, ("scheduler", "linux-2.2"), ("quota", "1")], "--quota: only the scheduler eevdf keeps quotas, not `linux-2.2`"),
        (
            &[four, ("cpus", "2"), ("quota", "3")],
            "--quota: a quota of 300.00 ms per 100.00 ms is more than the 2 processors have",
        ),
        (&[four, ("quota", "much")], "--quota: `much` is no number of processors"),
        (&[four, ("seeds", "0")], "--seeds: `seeds` is 1 to 10000, not 0"),
    ] {
        let said = plan(answers).err().unwrap_or_default();
        assert!(said.starts_with(says), "{answers:?} should say `{says}`: {said}");
    }
    let many = (1..=400).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    let many: &'static str = many.leak();
    assert_eq!(plan(&[("threads", many), ("cpus", many)]).err().unwrap(), "more than 100000 runs: choose fewer points or seeds");
}
