//! Plans about networks: what they say, and what they must not.
use super::{Plan, parse, refused};
use crate::network::{self, Interconnect, Shift};
use crate::plan::ReadOptions;
use foregather_barrier::{Algorithm, SignalCost};
use foregather_machine::{LogGp, LogGpVariant, Nanos};
use foregather_message::Protocol;
use foregather_sim::net::{Arbitration, Circuits, Drift, Faults, HeaderBuffers, Interrupts, Pause, Skew, profile};

/// The first five lines, so further text begins on line 6 and belongs to the trial.
const NET: &str = "[network]\nprofile = \"ipsc860\"\nnodes = 8\n[trial]\nbarrier = \"gsync\"\n";

fn study(text: &str) -> network::Study<Interconnect> {
    parse(text).unwrap().study(0, 1).unwrap().network().unwrap()
}

fn nodes(text: &str) -> String {
    format!("{text}\n[trial]\nbarrier = \"gsync\"\n")
}

#[test]
fn the_shortest_plan_is_the_natural_loop_of_the_paper() {
    let study = study(NET);
    assert_eq!(study.model, Interconnect::Circuits(profile::IPSC860));
    assert_eq!((study.nodes, study.barrier, study.shift, study.interrupts), (8, Some(Algorithm::Butterfly), None, None));
    assert_eq!((study.skew, study.resynchronised, study.trials, study.skipped), (Skew::Carried, false, 50, 0));
    let plan = parse(&format!("{NET}[run]\nseeds = [3, 4]\n")).unwrap();
    assert_eq!(
        (plan.is_network(), plan.seeds(0).unwrap(), plan.shows().as_str()),
        (true, vec![3, 4], "cost of the barrier (us)")
    );
}

#[test]
fn every_rule_of_circuits_can_be_set() {
    let text = "[network]\nprofile = \"ipsc860-calibrated\"\ndimension = 3\ninterrupts = { length = \"50 us\" }\nnull = \"80 us\"\n\
                send = \"40 us\"\nlong = \"100 us\"\nbyte = \"0.5 us\"\nshort-limit = 64\nset-up = \"10 us\"\nreceive = \"5 us\"\n\
                null-hold = \"20 us\"\njitter = \"1 us\"\narbitration = \"fifo\"\nlinks = true\nhop = \"2 us\"\n\
                pool = { buffers = 8, release = 4 }\n";
    let study = study(&nodes(text));
    let us = Nanos::from_us;
    let expected = Circuits {
        null: us(80),
        send: us(40),
        long: us(100),
        byte_ps: 500_000,
        short_limit: 64,
        set_up: us(10),
        receive: us(5),
        null_hold: Some(us(20)),
        jitter: us(1),
        arbitration: Arbitration::Fifo,
        links: true,
        hop: us(2),
        pool: Some(HeaderBuffers { buffers: 8, release: 4 }),
        seed: 1,
    };
    assert_eq!((study.model, study.nodes), (Interconnect::Circuits(expected), 8));
    assert_eq!(study.interrupts, Some(Interrupts { length: us(50), period: us(1_000) }), "the period is the profile's");
}

#[test]
fn profiles_differ_as_their_names_say() {
    let of = |name: &str| study(&nodes(&format!("[network]\nprofile = \"{name}\"\nnodes = 4")));
    let arbitration = |name: &str| match of(name).model {
        Interconnect::Circuits(model) => model.arbitration,
        Interconnect::LogGp(_) => panic!("{name} is circuits"),
    };
    assert_eq!(of("ipsc860").interrupts, None);
    assert_eq!(
        (of("ipsc860-as-stated").interrupts, arbitration("ipsc860-as-stated")),
        (Some(profile::AS_STATED), Arbitration::Fifo)
    );
    assert_eq!(
        (of("ipsc860-calibrated").interrupts, arbitration("ipsc860-calibrated")),
        (Some(profile::CALIBRATED), Arbitration::Random)
    );
    assert_eq!(of("loggp:infiniband-tukey").model, Interconnect::LogGp(profile::INFINIBAND_TUKEY));
    let own = "[network]\nprofile = \"loggp\"\nnodes = 4\nlatency = \"1 us\"\nsend-overhead = \"200 ns\"\nreceive-overhead = \"0 ns\"\n\
               gap = \"300 ns\"\nbyte = \"40 ps\"";
    let expected = LogGp {
        latency: Nanos(1_000),
        send_overhead: Nanos(200),
        receive_overhead: Nanos::ZERO,
        gap: Nanos(300),
        byte_ps: 40,
        variant: LogGpVariant::BothSides,
    };
    assert_eq!(study(&nodes(own)).model, Interconnect::LogGp(expected));
}

#[test]
fn trials_say_what_nodes_do() {
    let trial = |text: &str| study(&format!("[network]\nprofile = \"ipsc860\"\nnodes = 8\n[trial]\n{text}"));
    let all = trial(
        "barrier = \"rds\"\nshift = { protocol = \"long\", bytes = \"32 KiB\" }\nskew = \"one 600 us\"\ntrials = 7\nskipped = 2",
    );
    // The waits of RDS are those of the machine.
    assert_eq!(all.barrier, Some(Algorithm::Rds { hop: SignalCost::IPSC860 }));
    assert_eq!(all.shift, Some(Shift { protocol: Protocol::Long, bytes: 32_768 }));
    assert_eq!((all.skew, all.resynchronised, all.trials, all.skipped), (Skew::One(Nanos::from_us(600)), true, 7, 2));
    for (skew, expected, together) in [
        ("\"none\"", Skew::Last(Nanos::ZERO), true),
        ("\"carried\"", Skew::Carried, false),
        ("\"last 75us\"", Skew::Last(Nanos::from_us(75)), true),
        ("{ uniform = \"100 us\" }\nresynchronised = false", Skew::Uniform(Nanos::from_us(100)), false),
        ("\"exponential 50 us\"", Skew::Exponential(Nanos::from_us(50)), true),
    ] {
        let study = trial(&format!("barrier = \"dissemination-3\"\nskew = {skew}"));
        assert_eq!((study.barrier, study.skew, study.resynchronised), (Some(Algorithm::KDissemination(3)), expected, together));
    }
    let shift = trial("barrier = \"none\"\nshift = { protocol = \"short\", bytes = 100 }");
    assert_eq!((shift.barrier, shift.shift), (None, Some(Shift { protocol: Protocol::Short, bytes: 100 })));
    assert_eq!(trial("barrier = \"gsync\"\nshift = \"none\"").shift, None);
}

#[test]
fn faults_have_rates_nodes_and_clocks() {
    let text = "[network]\nprofile = \"ipsc860\"\nnodes = 4\n[network.faults]\nloss = 0.001\nduplicate = 2e-6\ndelayed = 0.5\ndelay = \"9 us\"\n\
                pauses = [{ node = 3, from = \"1 ms\", length = \"2 ms\" }]\ndrifts = [{ node = 0, ppm = -80, ahead = \"5 us\" }]\n";
    let us = Nanos::from_us;
    let expected = Faults {
        loss_ppm: 1_000,
        duplicate_ppm: 2,
        delay_ppm: 500_000,
        delay: us(9),
        pauses: vec![Pause { node: 3, from: us(1_000), length: us(2_000) }],
        drifts: vec![Drift { node: 0, ppm: -80, ahead: us(5) }],
        seed: 1,
    };
    assert_eq!(study(&nodes(text)).faults, expected);
}

#[test]
fn everything_of_a_network_can_be_swept() {
    let sweep = "skew = { last = \"0 us\" }\nshift = { protocol = \"long\", bytes = 8 }\n[sweep]\ndimension = { from = 2, to = 3 }\n\
                 barrier = [\"gsync\", \"rds\"]\nprotocol = [\"forced\"]\nbytes = [\"4 KiB\", 9]\n\
                 delta = { from = \"0 us\", to = \"50 us\", step = \"25 us\" }\narbitration = [\"fifo\"]\n\
                 interrupts = { none = \"none\", some = { length = \"1 us\", period = \"5 us\" } }\n\"network.send\" = [\"30 us\"]\n";
    let plan = parse(&format!("{NET}{sweep}")).unwrap();
    assert_eq!(plan.points(), 48);
    let last = plan.study(plan.points() - 1, 1).unwrap().network().unwrap();
    assert_eq!((last.nodes, last.skew), (8, Skew::Last(Nanos::from_us(50))), "the dimension takes the place of nodes");
    assert_eq!(last.shift, Some(Shift { protocol: Protocol::Forced, bytes: 9 }));
    assert!(last.interrupts.is_some());
    // What RDS waits follows a swept key of the network.
    let hop = SignalCost { send: Nanos::from_us(30), latency: Nanos::from_us(75) };
    assert_eq!(last.barrier, Some(Algorithm::Rds { hop }));
    let profiles = parse(&format!("{NET}[sweep]\nprofile = [\"ipsc860\", \"loggp:ipsc860\"]\ntrials = [1, 2]\n")).unwrap();
    assert!(matches!(
        profiles.study(3, 1).unwrap().network().unwrap(),
        network::Study { model: Interconnect::LogGp(_), trials: 2, .. }
    ));
}

#[test]
fn contradictions_in_a_network_are_named_with_key_and_line() {
    let net = |text: &str| nodes(&format!("[network]\nprofile = \"ipsc860\"\n{text}"));
    for (text, says) in [
        ("nodes = 0", "x.toml:3: `nodes` is 1 to 16777216, not 0"),
        ("", "x.toml:1: [network] needs `nodes`"),
        ("nodes = 8\ndimension = 3", "x.toml:4: `dimension` is short for 2^dimension `nodes`"),
        ("nodes = 8\ngap = \"1 us\"", "x.toml:4: `gap` is of a profile of LogGP, but here are circuits"),
        ("nodes = 8\nnull-hold = \"80 us\"", "x.toml:4: `null-hold`: the hold of a null message is invalid"),
        ("nodes = 8\nsend = \"80 us\"", "x.toml:4: `send`: the send time"),
        ("nodes = 8\nnull = \"40 us\"", "x.toml:4: `null`: the send time"),
        ("nodes = 8\nset-up = \"50 us\"", "x.toml:4: `set-up`: the set-up time"),
        ("nodes = 8\nset-up = \"40 us\"\nreceive = \"40 us\"", "x.toml:5: `receive`: set-up and receive time"),
        ("nodes = 8\npool = { buffers = 2, release = 3 }", "x.toml:4: `pool`: the pool"),
        ("nodes = 8\ninterrupts = { length = \"2 ms\", period = \"1 ms\" }", "x.toml:4: `interrupts`: interrupts is invalid"),
        ("nodes = 8\ninterrupts = { length = \"2 ms\" }", "x.toml:4: interrupts needs `period`"),
        ("nodes = 8\nfaults = { loss = 0.9, duplicate = 0.9 }", "x.toml:4: `faults`: faults is invalid"),
        ("nodes = 8\nfaults = { delayed = 0.1 }", "x.toml:4: [network.faults] needs `delay`"),
        ("nodes = 8\nfaults = { pauses = [{ node = 8, length = \"1 us\" }] }", "x.toml:4: `node` is 0 to 7, not 8"),
        ("nodes = 8\nbyte = \"0.1 ps\"", "x.toml:4: `byte`: `0.1 ps` is no whole number of picoseconds"),
        ("nodes = 8\narbitraton = \"fifo\"", "x.toml:4: unknown key `arbitraton` in [network]; did you mean `arbitration`?"),
        ("nodes = 8\narbitration = \"fify\"", "x.toml:4: `fify` is no arbitration; did you mean `fifo`?"),
    ] {
        refused(&net(text), says);
    }
    refused(
        "[network]\nprofile = \"ipsc860\"\nnodes = 6\nlinks = true\n[trial]\nbarrier = \"rds\"",
        "x.toml:4: `links`: 6 nodes are no hypercube: links need a power of two",
    );
    refused(
        &nodes("[network]\nprofile = \"loggp:infiniband-tukey\"\nnodes = 8\narbitration = \"fifo\""),
        "x.toml:4: `arbitration` is of circuits, but here are a profile of LogGP",
    );
    refused(&nodes("[network]\nprofile = \"loggp:infinband-tukey\"\nnodes = 8"), "did you mean `loggp:infiniband-tukey`?");
    refused(&nodes("[network]\nprofile = \"loggp\"\nnodes = 8\ngap = \"1 us\""), "x.toml:1: [network] needs `latency`");
}

#[test]
fn contradictions_in_a_trial_are_named_with_key_and_line() {
    let trial = |nodes: u32, text: &str| format!("[network]\nprofile = \"ipsc860\"\nnodes = {nodes}\n[trial]\n{text}");
    for (nodes, text, says) in [
        (
            6,
            "barrier = \"gsync\"",
            "x.toml:5: butterfly cannot synchronise 6 members: it needs a power of two; rds, dissemination",
        ),
        (6, "barrier = \"sync0\"", "a power of two; rds, dissemination"),
        (
            6,
            "barrier = \"rds\"\nshift = { protocol = \"long\", bytes = 1 }",
            "x.toml:6: a shift goes around the Gray code's ring, which 6 nodes have not: it needs a power of two",
        ),
        (8, "barrier = \"gsink\"", "x.toml:5: `gsink` is no barrier; did you mean `gsync`?"),
        (8, "barrier = \"central\"", "x.toml:5: the central barrier is made of words"),
        (8, "barrier = \"none\"", "x.toml:4: there is nothing to do"),
        (8, "", "x.toml:4: [trial] needs `barrier`"),
        (
            8,
            "barrier = \"rds\"\nshift = { protocol = \"forced\", bytes = \"300 MiB\" }",
            "x.toml:6: a message of 314572800 bytes is beyond what one node's memory would hold",
        ),
        (8, "barrier = \"rds\"\nshift = { protocol = \"forced\", bytes = \"9 GB\" }", "x.toml:6: `9 GB` is no length"),
        (
            8,
            "barrier = \"rds\"\nshift = { protocol = \"short\", bytes = 101 }",
            "x.toml:6: a short message has at most 100 bytes",
        ),
        (8, "barrier = \"rds\"\nskew = \"lats 6 us\"", "x.toml:6: `lats` is no law of skew; did you mean `last`?"),
        (8, "barrier = \"rds\"\nskew = \"last 6\"", "x.toml:6: `skew`, as in \"last 50 us\": a time needs its unit"),
        (8, "barrier = \"rds\"\nskew = {}", "x.toml:6: `skew` has one law"),
        (8, "barrier = \"rds\"\nresynchronised = true", "x.toml:6: nothing is carried over"),
        (8, "barrier = \"rds\"\ntrials = 5\nskipped = 5", "x.toml:7: of 5 trials, 5 skipped ones leave none"),
        (8192, "barrier = \"rds\"\ntrials = 9999", "x.toml:6: 9999 trials of 8192 nodes are more than"),
        (8, "barrier = \"rds\"\n[run]\nstop = \"limit\"", "x.toml:7: unknown key `stop` in the [run] of a network"),
        (8, "barrier = \"rds\"\n[figure]\ny = \"ssr\"", "x.toml:7: `ssr` is no y; there are cost"),
        (
            8,
            "barrier = \"rds\"\n[figure]\nover = { barrier = \"rds\" }",
            "x.toml:7: unknown key `over` in the [figure] of a network",
        ),
    ] {
        refused(&trial(nodes, text), says);
    }
    let unknown_byte =
        "[network]\nprofile = \"ipsc2\"\nnodes = 8\n[trial]\nbarrier = \"rds\"\nshift = { protocol = \"long\", bytes = 1 }";
    refused(unknown_byte, "x.toml:6: what a byte takes on that machine is not known");
}

#[test]
fn a_plan_is_about_processors_or_about_nodes() {
    refused(&format!("{NET}[machine]\ncpus = 3"), "x.toml:6: `machine` is of processors, and [network] on line 1 of nodes");
    refused(&format!("load = 3\n{NET}"), "x.toml:1: `load` is of processors");
    refused("[trial]\nbarrier = \"rds\"", "x.toml:1: [trial] is what the nodes of a [network] do");
    refused("[network]\nprofile = \"ipsc860\"\nnodes = 8", "needs `trial`");
    refused(&format!("{NET}[sweep]\nload = [1, 2]"), "`load` is of processors");
    let set = vec![("network.nodes".to_owned(), "6".to_owned())];
    let error = Plan::parse("x.toml", NET, &ReadOptions { set, ..ReadOptions::default() }).err().unwrap().to_string();
    assert!(error.starts_with("x.toml:5: butterfly cannot synchronise 6"), "{error}");
}
