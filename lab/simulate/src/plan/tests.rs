//! Plans that make sense are read, and those that do not are refused at the right line.
use super::read::keys;
use super::*;
use crate::shipped::SHIPPED;
use foregather_machine::Nanos;
use foregather_sim::net::profile;
use foregather_sim::smp::{
    self, Accounting, Distribution, Granularity, Insertion, Linux24, Placement, Prices, Scheduler, Stop, Ties, Wakeup,
};
use proptest::prelude::*;

mod drafts;
mod draws;
mod locks;
mod nodes;

fn parse(text: &str) -> Result<Plan, String> {
    let folder = std::env::temp_dir();
    Plan::parse("x.toml", text, &ReadOptions { folder, ..ReadOptions::default() }).map_err(|error| format!("{error:#}"))
}

fn study(text: &str) -> smp::Study {
    parse(text).unwrap().study(0, 1).unwrap().smp().unwrap()
}

#[track_caller]
fn refused(text: &str, says: &str) {
    match parse(text) {
        Ok(_) => panic!("should be refused with `{says}`:\n{text}"),
        Err(error) => assert!(error.contains(says), "should say `{says}`, not `{error}`:\n{text}"),
    }
}

/// The first five lines, so further text begins on line 6.
const JOB: &str = "[[job]]\nthreads = 4\nbarriers = 10\ngrain = \"fine\"\npolicy = \"block\"\n";

fn with_job(more: &str) -> String {
    format!("{JOB}{more}")
}

#[test]
fn the_shortest_plan_is_the_machine_of_the_paper() {
    let study = study(JOB);
    assert_eq!(study.machine.cpus, 32);
    assert_eq!(study.machine.prices, Prices::TSAFRIR_2002);
    assert!(matches!(study.machine.scheduler, Scheduler::Linux24(Linux24::TSAFRIR_2002)));
    let fine = Granularity::Fine.normal(Nanos::from_us(6), compute::CV);
    assert_eq!((study.jobs.len(), &study.jobs[0].compute, study.seed, study.stop), (1, &fine, 1, Stop::FirstJob));
}

#[test]
fn a_number_of_threads_is_a_plan() {
    let study = study("[[job]]\nthreads = 8");
    let job = &study.jobs[0];
    assert_eq!((job.threads, job.barriers, &job.compute), (8, job::BARRIERS, &Distribution::Constant(job::COMPUTE)));
    assert_eq!(job.policy, Policy::adaptive(&study.machine.costs()));
}

#[test]
fn every_rule_of_the_old_scheduler_can_be_set() {
    let rules = "[machine]\ncpus = 8\nties = \"random\"\nresolution = \"10 ns\"\n[machine.prices]\nswitch = \"3 us\"\nwaker = \"1 us\"\npreempt = \"1 us\"\n\
                 switch-to-idle = \"2 us\"\nwake-idle = \"4 us\"\nyield-call = \"5 us\"\nyield-switch = \"6 us\"\nline = \"100 ns\"\nmigration = \"7 us\"\nmove-call = \"8 us\"\nlook = \"9 us\"\ntick-spread = \"2 us\"\n\
                 [machine.linux24]\ntick = \"10 ms\"\nallocation-ticks = 5\npenalty-ticks = 1\nbonus-ticks = 2\nthreshold-ticks = 3\n\
                 accounting = \"staggered\"\nwhole-ticks = true\ninsertion = \"tail\"\ncharge-switch = false\nhold = false\n\
                 previous-wins = false\nlazy-space = false\natomic-wakes = false\nidle-polls = true\nwakeup = \"gv\"\ncache-flush = \"50 us\"\n";
    let machine = study(&with_job(rules)).machine;
    let us = Nanos::from_us;
    assert_eq!((machine.cpus, machine.ties, machine.resolution), (8, Ties::Random, Nanos(10)));
    let prices = Prices {
        switch: us(3),
        switch_to_idle: us(2),
        wake_idle: us(4),
        waker: us(1),
        preempt: us(1),
        yield_call: us(5),
        yield_switch: us(6),
        line: Nanos(100),
        migration: us(7),
        move_call: us(8),
        look: us(9),
        tick_spread: us(2),
    };
    assert_eq!(machine.prices, prices);
    let Scheduler::Linux24(rules) = machine.scheduler else { panic!("{:?}", machine.scheduler) };
    let expected = Linux24 {
        atomic_wakes: false,
        idle_polls: true,
        tick: us(10_000),
        allocation_ticks: 5,
        penalty_ticks: 1,
        bonus_ticks: 2,
        threshold_ticks: 3,
        accounting: Accounting::Staggered,
        whole_ticks: true,
        insertion: Insertion::Tail,
        charge_switch: false,
        hold: false,
        previous_wins: false,
        lazy_space: false,
        wakeup: Wakeup::GlobalView,
        cache_flush: us(50),
    };
    assert_eq!(rules, expected);
}

#[test]
fn todays_scheduler_has_groups_and_measured_prices() {
    let text = "[[job]]\nthreads = 4\nbarriers = 10\ngrain = \"fine\"\npolicy = \"two-phase:CS:remote\"\ngroup = \"b\"\nnice = -3\npins = [0, [1, 0]]\n\
                [machine]\npreset = \"eevdf\"\ncpus = 2\n[machine.prices]\ncalibration = \"typical\"\nline = \"1 us\"\n\
                [machine.eevdf]\nplacement = \"stay\"\nslice = \"1 ms\"\n[[machine.eevdf.group]]\nname = \"a\"\nweight = 200\n\
                [[machine.eevdf.group]]\nname = \"b\"\nparent = \"a\"\nquota = \"150 ms\"\nburst = \"1 ms\"\n";
    let study = study(text);
    let Scheduler::Eevdf(rules) = &study.machine.scheduler else { panic!("{:?}", study.machine.scheduler) };
    assert_eq!((rules.placement, rules.slice, rules.groups.len()), (Placement::Stay, Nanos::from_ms(1), 2));
    let group = &rules.groups[1];
    assert_eq!((group.parent, group.quota, group.period), (Some(0), Some(Nanos::from_ms(150)), Nanos::from_ms(100)));
    let job = &study.jobs[0];
    assert_eq!((job.group, job.nice, &job.pins[..]), (Some(1), -3, &[vec![0], vec![1, 0]][..]));
    // A multiple of a switch is one of the simulated machine's.
    assert_eq!(job.policy, Policy::TwoPhase { spin: study.machine.prices.wake_idle });
    assert_eq!(
        (study.machine.prices.line, study.machine.prices.switch),
        (Nanos::from_us(1), foregather_machine::Costs::TYPICAL.local_switch)
    );
}

#[test]
fn every_distribution_can_be_given() {
    let trace = std::env::temp_dir().join(format!("foregather-trace-{}.txt", std::process::id()));
    std::fs::write(&trace, "1 us # the first\n\n2500\n").unwrap();
    let of = |compute: &str| {
        study(&format!("[[job]]\nthreads = 2\nbarriers = 1\npolicy = \"spin\"\ncompute = {{ {compute} }}")).jobs[0]
            .compute
            .clone()
    };
    assert_eq!(of("constant = \"5 us\""), Distribution::Constant(Nanos::from_us(5)));
    let plain = study("[[job]]\nthreads = 2\ncompute = \"5 us\"").jobs[0].compute.clone();
    assert_eq!(plain, Distribution::Constant(Nanos::from_us(5)));
    assert_eq!(
        of("normal = { mean = \"5 us\", deviation = \"1 us\" }"),
        Distribution::Normal { mean_ns: 5e3, deviation_ns: 1e3 }
    );
    assert_eq!(of("uniform = { from = \"0 us\", to = \"1 us\" }"), Distribution::Uniform { from: Nanos(0), to: Nanos(1_000) });
    assert_eq!(of("exponential = { mean = \"5 us\" }"), Distribution::Exponential { mean_ns: 5e3 });
    assert_eq!(of("lognormal = { mean = \"5 us\", cv = 0.5 }"), Distribution::LogNormal { mean_ns: 5e3, variation: 0.5 });
    assert_eq!(of("gamma = { mean = \"5 us\", cv = 2 }"), Distribution::Gamma { mean_ns: 5e3, variation: 2.0 });
    assert_eq!(of("weibull = { mean = \"5 us\", shape = 0.7 }"), Distribution::Weibull { mean_ns: 5e3, shape: 0.7 });
    let histogram = [(Nanos(5_000), 3.0), (Nanos(9_000), 0.5)];
    assert_eq!(of("empirical = [[\"5 us\", 3], [\"9 us\", 0.5]]"), Distribution::Empirical(histogram.into()));
    let name = trace.file_name().unwrap().to_string_lossy().into_owned();
    assert_eq!(of(&format!("trace = \"{name}\"")), Distribution::Trace([Nanos(1_000), Nanos(2_500)].into()));
    std::fs::remove_file(trace).unwrap();
    let of =
        |lines: &str| study(&format!("[[job]]\nthreads = 2\nbarriers = 1\npolicy = \"spin\"\n{lines}")).jobs[0].compute.clone();
    let us = Nanos::from_us;
    assert_eq!(of("mean = \"5 us\""), Distribution::Constant(us(5)));
    assert_eq!(of("mean = \"5 us\"\nshape = \"bimodal\""), Distribution::bimodal(us(5)));
    let slow = Distribution::ByRank([5, 15].map(|span| Distribution::Constant(us(span))).into());
    assert_eq!(of("mean = \"5 us\"\nshape = \"slow-member\""), slow);
}

#[test]
fn jobs_and_load_make_up_the_load() {
    let jobs = |text: &str| study(text).jobs.iter().map(|job| (job.threads, job.meets())).collect::<Vec<_>>();
    let meeting = "[[job]]\nthreads = 10\nbarriers = 1\ngrain = \"fine\"\nspin = \"6 us\"\n";
    assert_eq!(jobs(&format!("load = 35\n{meeting}count = \"fill\"\n")), [(10, true); 3]);
    assert_eq!(jobs(&format!("load = 96\n{meeting}[[job]]\nload = true\nthreads = \"fill\"\n")), [(10, true), (86, false)]);
    assert_eq!(jobs(&format!("load = 10\n{meeting}[[job]]\nload = true\nthreads = \"fill\"\n")), [(10, true)]);
    let both = format!(
        "load = \"1.5x\"\n{meeting}count = \"fill\"\n[[job]]\nload = true\nthreads = \"fill\"\n[[job]]\nload = true\nthreads = 2\n"
    );
    assert_eq!(jobs(&both), [(10, true), (10, true), (10, true), (10, true), (6, false), (2, false)]);
}

#[test]
fn mixes_fill_the_load_and_depend_on_the_seed_alone() {
    let text = "load = 61\n[mix]\nsizes = { from = 4, to = 16 }\ngrains = [\"fine\", \"medium\"]\nwork = \"2.5 ms\"\npolicy = \"block\"\n\
                [run]\nseeds = 3\n[sweep]\npolicy = [\"block\", \"spin\"]\n";
    let plan = parse(text).unwrap();
    let mix = |point, seed| {
        let study = plan.study(point, seed).unwrap().smp().unwrap();
        study.jobs.iter().map(|job| (job.name.clone(), job.threads, job.barriers)).collect::<Vec<_>>()
    };
    assert_eq!(mix(0, 1), mix(1, 1));
    assert_ne!(mix(0, 1), mix(0, 2));
    for seed in 1..40 {
        let mix = mix(0, seed);
        assert_eq!(mix.iter().map(|job| job.1).sum::<u32>(), 61);
        assert!(mix[0].0 == "fine" && mix.iter().all(|job| (4..20).contains(&job.1)), "{mix:?}");
        // Fine jobs meet five times as often, in the same time.
        assert!(mix.iter().all(|job| job.2 == if job.0 == "fine" { 497 } else { 99 }), "{mix:?}");
    }
}

#[test]
fn mistakes_are_found_where_they_are() {
    refused("[[job]]\nthredas = 4", "x.toml:2: unknown key `thredas` in [[job]]; did you mean `threads`?");
    refused("colour = 1", "x.toml:1: unknown key `colour` in the plan; there are schema, title, load");
    refused("title = \"a\"", "x.toml:1: a plan needs a [[job]] or a [mix]");
    refused("[[job]\n", "x.toml:1: ");
    refused("schema = \"foregather.plan/9\"", "no schema");
    for (more, says) in [
        ("[machine]\ncpus = 0", "x.toml:7: `cpus` is 1 to 16384, not 0"),
        ("[machine]\ncpus = \"many\"", "x.toml:7: `cpus` is a whole number"),
        ("[machine]\npreset = \"linux24\"", "x.toml:7: `linux24` is no preset; did you mean `linux-2.2`"),
        ("[machine.prices]\nswitch = \"-6 us\"", "x.toml:7: `switch`: `-6 us`: a time cannot be negative"),
        ("[machine.prices]\nswitch = 6", "x.toml:7: `switch`: a time needs its unit: \"6 us\""),
        ("[machine.prices]\ncalibration = \"none.json\"", "x.toml:7: calibration cannot read"),
        ("[machine.linux24]\ntick = \"0 us\"", "x.toml:7: `tick` must be longer than zero"),
        ("[machine.linux24]\nhold = 1", "x.toml:7: `hold` is true or false, not a number"),
        ("[machine.eevdf]\ntick = \"4 ms\"", "x.toml:6: [machine.eevdf] changes nothing under"),
        ("[machine]\npreset = \"round-robin\"\n[machine.linux24]\n", "x.toml:8: [machine.linux24] changes nothing under"),
        ("[run]\nstop = \"limit\"", "x.toml:6: [run] needs `limit`"),
        ("[run]\nseeds = [1, 1]", "x.toml:7: `seeds` are at least one, all different"),
        ("[record]\nsample = \"1 ns\"", "x.toml:7: every 1 ns up to the limit of 40.00 s would be more than"),
        (
            "[sweep]\n\"machine.linux24.thresold-ticks\" = [0, 1]",
            "x.toml:7: unknown key `thresold-ticks` in [machine.linux24]; did",
        ),
        ("[sweep]\ncpus = [32, 0]", "x.toml:7: `cpus` is 1 to 16384, not 0 (at cpus = 0)"),
        ("[figure]\ny = \"srr\"", "x.toml:7: `srr` is no y; did you mean `ssr`?"),
        ("[figure]\nx = \"load\"", "x.toml:7: `load` does not vary: there is no [sweep]"),
        ("[figure]\nrows = \"load\"", "x.toml:7: a figure of lines has x and series, no `rows`"),
        ("[figure]\ny = \"speedup\"", "x.toml:6: a speedup is over"),
        ("[figure]\nof = \"jop\"", "x.toml:7: no job that meets is named `jop`; did you mean `job`?"),
    ] {
        refused(&with_job(more), says);
    }
}

#[test]
fn jobs_that_make_no_sense_are_found_where_they_are() {
    for (more, says) in [
        ("load = true", "x.toml:3: unknown key `barriers` in a [[job]] with load = true"),
        ("count = \"fill\"", "x.toml:1: \"fill\" needs `load`"),
        ("kind = \"butterfly\"\ncount = 2\n[sweep]\nthreads = [4, 5]", "x.toml:6: "),
        ("nice = 20", "x.toml:6: `nice` is a whole number from -20 to 19"),
        ("pins = [32]", "x.toml:6: `pins` is 0 to 31, not 32"),
        ("pins = [[0, 32]]", "x.toml:6: `pins` is 0 to 31, not 32"),
        ("pins = [0, []]", "x.toml:6: a thread of `pins` may run on no processor"),
        ("group = \"a\"", "x.toml:6: only preset = \"eevdf\" has groups"),
        ("slice = \"1 ms\"", "x.toml:6: only under preset = \"eevdf\" has a job a `slice`"),
        ("slice = \"10 us\"\n[machine]\npreset = \"eevdf\"", "x.toml:6: a job's `slice` is 100.00 us to 100.00 ms, not 10.00 us"),
        ("spin = \"1 us\"", "x.toml:6: `spin` is short for a `policy`"),
        ("compute = { constant = \"1 us\" }", "x.toml:6: `compute` takes the place of `grain`"),
        ("mean = \"1 us\"", "x.toml:6: `mean` takes the place of `grain`: give one of them"),
        ("shape = \"bimodal\"", "x.toml:6: `shape` belongs to `mean`: `grain` says all by itself"),
        ("rest = { constant = \"1 us\" }", "x.toml:6: `rest` is for a [[job]] with load = true"),
        (
            "[[job]]\nload = true\nthreads = 1\nrest = { constant = \"1 us\" }",
            "x.toml:9: load that does not compute without end has both",
        ),
        (
            "[[job]]\nload = true\nthreads = 1\ncompute = { constant = \"1 us\" }\nrest = { zeta = 1 }",
            "x.toml:10: unknown key `zeta` in rest",
        ),
        ("[run]\nforbid-oversize = true\n[sweep]\nthreads = [32, 33]", "x.toml:1: `job` has 33 threads on 32 processors"),
    ] {
        refused(&with_job(more), says);
    }
    let with = |line: &str| format!("[[job]]\nthreads = 4\nbarriers = 10\npolicy = \"block\"\n{line}");
    refused(&with("compute = { trace = \"no-such.txt\" }"), "x.toml:5: cannot read the trace ");
    refused(
        &with("compute = { uniform = { from = \"2 us\", to = \"1 us\" } }"),
        "x.toml:5: compute.uniform goes from 2.00 us down",
    );
    refused(&with("compute = { zeta = \"1 us\" }"), "unknown key `zeta` in compute; there are constant, normal");
    refused(&with("mean = \"1 us\"\nshape = \"bimodl\""), "x.toml:6: `bimodl` is no shape; did you mean `bimodal`?");
    refused(&with("mean = \"0 us\""), "x.toml:5: `mean` must be longer than zero");
    refused(&with("compute = { constant = \"1 us\" }\ncv = 0.1"), "x.toml:6: `cv` belongs to `grain`");
    for (compute, says) in [
        ("5", "x.toml:5: `compute`: a time needs its unit: \"5 us\""),
        ("-1", "x.toml:5: `compute`: `-1`: a time cannot be negative"),
        ("\"0 us\"", "x.toml:5: `compute` must be longer than zero"),
        ("true", "x.toml:5: `compute` is a time like \"5 us\", or a table like"),
        ("[]", "x.toml:5: `compute` is a time like \"5 us\", or a table like"),
        ("{ gamma = { mean = \"1 us\", cv = 0 } }", "x.toml:5: `cv` is 0.01 to 100, not 0"),
        ("{ empirical = [] }", "x.toml:5: `empirical` needs a time whose weight is above 0"),
        ("{ empirical = [[\"1 us\"]] }", "x.toml:5: `empirical` is a list of times with weights"),
        ("{\nconstnt = \"1 us\" }", "x.toml:6: unknown key `constnt` in compute; did you mean `constant`?"),
    ] {
        refused(&with(&format!("compute = {compute}")), says);
    }
    refused("[[job]]\nthreads = 4\npolicy = \"blok\"", "x.toml:3: `blok` is not a waiting policy; did you mean `block`?");
    refused(
        "[[job]]\nthreads = 4\npolicy = \"two-phase\"",
        "x.toml:3: unknown waiting policy `two-phase`; expected one of adaptive",
    );
    refused(&with("grain = \"fin\""), "x.toml:5: `fin` is no grain; did you mean `fine`?");
    refused(&with("grain = \"fine\"\n[mix]\n"), "x.toml:6: [mix] takes the place of [[job]]");
    refused(&format!("load = 3\n{}", with("grain = \"fine\"\ncount = \"fill\"")), "no job is left that meets");
    refused(&format!("load = 9\n{}", with("grain = \"fine\"")), "x.toml:1: `load` changes nothing");
    let quota = "[machine]\npreset = \"eevdf\"\ncpus = 2\n[[machine.eevdf.group]]\nname = \"a\"\nquota = \"250 ms\"";
    refused(
        &with_job(quota),
        "x.toml:11: a quota of 250.00 ms per 100.00 ms is more than the 2 processors have: at most 200.00 ms",
    );
}

#[test]
fn every_key_can_be_swept_or_set() {
    let plan = parse(&with_job(
        "name = \"app\"\n[sweep]\ncv = [0.1, 0.2]\n\"machine.linux24.hold\" = [true, false]\n\"job.app.barriers\" = [1, 2]\n",
    ))
    .unwrap();
    assert_eq!(plan.points(), 8);
    let label = |name: &str, label: &str| (name.to_owned(), label.to_owned());
    let expected = [label("cv", "0.2"), label("machine.linux24.hold", "true"), label("job.app.barriers", "2")];
    assert_eq!(plan.labels(5), expected);
    let study = plan.study(5, 1).unwrap().smp().unwrap();
    assert_eq!(study.jobs[0].barriers, 2);
    assert!(matches!(study.machine.scheduler, Scheduler::Linux24(Linux24 { hold: true, .. })));
    assert!((study.jobs[0].compute.mean_ns() - 6e3 / (1.0 + 1.2816 * 0.2)).abs() < 1e-9);

    let set = vec![("job.0.threads".to_owned(), "7".to_owned()), ("sweep.seed".to_owned(), "[5, 6]".to_owned())];
    let plan = Plan::parse("x.toml", JOB, &ReadOptions { set, seed_offset: 100, ..ReadOptions::default() }).unwrap();
    assert_eq!((plan.points(), plan.seeds(1).unwrap()), (2, vec![106]));
    assert_eq!(plan.study(0, 105).unwrap().smp().unwrap().jobs[0].threads, 7);
    let set = vec![("job.0.thread".to_owned(), "7".to_owned())];
    let error = Plan::parse("x.toml", JOB, &ReadOptions { set, ..ReadOptions::default() }).err().unwrap().to_string();
    assert!(error.starts_with("x.toml with --set: unknown key `thread` in [[job]]"), "{error}");
}

#[test]
fn speedups_are_over_blocking_or_what_the_plan_says() {
    let sweep = "[sweep]\ncv = [0.1, 0.2]\npolicy = { CS = \"two-phase:6us\", AB = \"block\" }\n[figure]\ny = \"speedup\"\n";
    let plan = parse(&with_job(sweep)).unwrap();
    assert_eq!([0, 1, 2, 3].map(|point| plan.baseline(point)), [Some(1), Some(1), Some(3), Some(3)]);
    let plan = parse(&with_job(&format!("{sweep}over = {{ cv = \"0.2\" }}"))).unwrap();
    assert_eq!([0, 1, 2, 3].map(|point| plan.baseline(point)), [Some(2), Some(3), Some(2), Some(3)]);
    refused(&with_job(&format!("{sweep}over = {{ policy = \"AA\" }}")), "`AA` is no choice of `policy`; did you mean `AB`?");
}

#[test]
fn shipped_plans_make_sense_with_and_without_more() {
    for (name, text) in SHIPPED {
        for full in [false, true] {
            let plan = Plan::parse(name, text, &ReadOptions { full, ..ReadOptions::default() }).unwrap();
            assert!(plan.title().len() > 10 && plan.points() > 0, "{name}");
        }
    }
}

#[test]
fn the_handbook_lists_every_key() {
    let handbook = include_str!("../../../../plans/README.md");
    let tables = [
        keys::<PlanTable>(),
        keys::<machine::MachineTable>(),
        keys::<machine::PriceTable>(),
        keys::<machine::RoundRobinTable>(),
        keys::<machine::Linux24Table>(),
        keys::<machine::EevdfTable>(),
        keys::<machine::GroupTable>(),
        keys::<job::Table>(),
        keys::<lock::LockTable>(),
        keys::<lock::FaultTable>(),
        keys::<compute::KindTable>(),
        keys::<mix::Table>(),
        keys::<run::Table>(),
        keys::<run::RecordTable>(),
        keys::<draw::Table>(),
        keys::<figure::Table>(),
        keys::<published::Table>(),
        keys::<network::Table>(),
        keys::<network::FaultTable>(),
        keys::<trial::Table>(),
    ];
    let names: [&[&str]; 7] = [
        &compute::SHAPES.map(|(shape, _)| shape),
        &lock::KINDS.map(|(kind, _)| kind),
        &sweep::SHORT.map(|(short, _)| short),
        &trial::SKEWS.map(|(name, _)| name),
        &profile::CIRCUITS.map(|(name, ..)| name),
        &crate::network::METRICS.each_ref().map(|metric| metric.name),
        &crate::metric::METRICS.each_ref().map(|metric| metric.name),
    ];
    let names = names.into_iter().flatten().map(|&name| name.to_owned());
    let words: Vec<String> = tables.into_iter().flatten().chain(names).collect();
    let missing: Vec<_> = words.iter().filter(|key| !handbook.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "plans/README.md does not explain {missing:?}");
    assert!(profile::LOGGP.iter().all(|(name, _)| handbook.contains(&format!("`loggp:{name}`"))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&String::from_utf8_lossy(&bytes));
    }

    /// Plans that are nearer to a sound one: one value is replaced.
    #[test]
    fn no_value_makes_the_reader_panic(
        which in any::<prop::sample::Index>(),
        line in any::<prop::sample::Index>(),
        value in prop::sample::select(vec!["-1", "0", "1.5", "nan", "9223372036854775807", "true", "[]", "[1]", "{}", "{ from = 1, to = -1 }",
            "\"\"", "\"-1 us\"", "\"1 us\"", "\"9x\"", "\"none\"", "\"last 1 us\"", "\"fill\"", "\"block\"", "{ a = { load = 1 } }", "[[1]]", "1979-05-27"]),
    ) {
        let text = SHIPPED[which.index(SHIPPED.len())].1;
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let keyed: Vec<usize> = (0..lines.len()).filter(|&at| lines[at].contains(" = ")).collect();
        let at = keyed[line.index(keyed.len())];
        let key = lines[at].split(" = ").next().unwrap_or_default().to_owned();
        lines[at] = format!("{key} = {value}");
        if let Err(error) = parse(&lines.join("\n")) {
            prop_assert!(error.starts_with("x.toml:"), "{}", error);
        }
    }
}
