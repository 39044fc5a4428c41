//! Faulty networks: named faults, drifting clocks, exhausted header buffers, links held by others.
use foregather_barrier::{Algorithm, Punctual, SignalCost, butterfly, dissemination, rds};
use foregather_machine::{Cause, Clock, Endpoint, Error, LogGp, LogGpVariant, Member, Nanos, Rank};
use foregather_message::{CommonClock, Comparing, Protocol, compare_clocks, harmonize, receive, send};
use foregather_sim::event::{Calendar, Heap, Queue};
use foregather_sim::net::{
    Arbitration, Circuits, Drift, Faults, HeaderBuffers, Interrupts, Model, Network, Node, Pause, profile,
};
use proptest::prelude::*;

fn us(n: u64) -> Nanos {
    Nanos::from_us(n)
}

fn spread(times: &[Nanos]) -> Nanos {
    *times.iter().max().unwrap() - *times.iter().min().unwrap()
}

/// A cluster of today: a few microseconds from node to node.
const CLUSTER: LogGp = LogGp {
    latency: us_const(2),
    send_overhead: Nanos(400),
    receive_overhead: Nanos(300),
    gap: Nanos(500),
    byte_ps: 100,
    variant: LogGpVariant::SenderOnly,
};

const fn us_const(n: u64) -> Nanos {
    Nanos::from_us(n)
}

/// Eight nodes whose clocks began apart and part at up to 80 ppm.
fn drifting() -> Faults {
    let drift =
        |node: Rank| Drift { node, ppm: [0, 80, -80, 3, 40, -17, 66, -55][node as usize], ahead: us(900) * u64::from(node) };
    Faults { drifts: (0..8).map(drift).collect(), ..Faults::default() }
}

/// When eight nodes leave a start line five seconds after they have compared clocks, or without a comparison.
fn start_line(compared: Option<Comparing>) -> (Vec<Nanos>, Vec<Punctual>) {
    let network = Network::<Heap, _>::new(8, 3, CLUSTER).unwrap().faulty(&drifting()).unwrap();
    let nodes = network.nodes();
    let run = network.run(
        &nodes,
        |rank| us(100) * u64::from(rank),
        async |node| {
            let clock = match compared {
                Some(how) => compare_clocks(node, how).await?,
                None => CommonClock::default(),
            };
            node.delay(Nanos::from_ms(5_000)).await;
            Ok::<_, Error>((harmonize(node, &clock, us(50), 9).await?, node.ideal()))
        },
    );
    run.outputs.into_iter().map(|end| end.expect("ends").expect("no error")).map(|(met, left)| (left, met)).unzip()
}

/// Without a common clock, each by its own: they start within the error of the comparison. Without comparing,
/// or with an offset but no drift, some miss it and go as soon as they know, and others wait for a moment of
/// their own.
#[test]
fn nodes_with_drifting_clocks_start_together() {
    let (left, met) = start_line(Some(Comparing::default()));
    assert!(met.iter().all(|met| *met == Punctual::Met), "{met:?}");
    assert!(spread(&left) < us(1), "{}", spread(&left));
    for careless in [Some(Comparing { apart: Nanos::ZERO, ..Comparing::default() }), None] {
        let (left, met) = start_line(careless);
        assert!(spread(&left) > us(20) && met.iter().any(|met| *met != Punctual::Met), "{} {met:?}", spread(&left));
    }
}

#[test]
fn a_slack_that_is_too_short_is_missed_by_those_who_learn_of_it_late() {
    let network = Network::<Heap, _>::new(8, 3, CLUSTER).unwrap();
    let nodes = network.nodes();
    let line = async |node: &Node<'_, Heap, LogGp>, slack| harmonize(node, &CommonClock::default(), slack, 9).await;
    let run = network.run(&nodes, |_| Nanos::ZERO, |node| line(node, us(4)));
    assert_eq!(run.outputs[0], Some(Ok(Punctual::Met)), "the root knows first");
    assert!(matches!(run.outputs[7], Some(Ok(Punctual::Missed { by })) if by > us(3)), "{:?}", run.outputs[7]);
    let endless = network.run(&nodes, |_| Nanos::ZERO, |node| line(node, Nanos::MAX));
    assert!(matches!(Error::of(endless.outputs[3].as_ref().unwrap()), Some(Cause::Setting { .. })));
}

/// Runs a barrier of 16 nodes on a faulty network; returns how many ended, and how many of them too early.
fn faulty(faults: &Faults, kind: Algorithm) -> (usize, usize, Vec<u32>) {
    let network = Network::<Calendar, _>::new(16, kind.slots(16), profile::IPSC860).unwrap().faulty(faults).unwrap();
    let nodes = network.nodes();
    let start = |rank: Rank| us(40) * u64::from(rank * 7 % 16);
    let run = network.run(&nodes, start, |node| kind.over(node));
    let last = (0..16).map(start).max().unwrap();
    let stuck = run.deadlocked();
    assert!(stuck.iter().all(|&node| network.waits_for(node).is_some()), "a stuck node can say what it waits for");
    let ended = run.finished.iter().filter(|&&end| end < Nanos::MAX);
    (ended.clone().count(), ended.filter(|&&end| end < last).count(), stuck)
}

/// Loss makes a node wait forever, never leave early; delay and pause do neither; a duplicate counts as a
/// message that was never sent, so the network must not make any.
#[test]
fn named_faults_do_what_they_say() {
    for kind in [Algorithm::Butterfly, Algorithm::Dissemination, Algorithm::Tree, Algorithm::Rds { hop: SignalCost::IPSC860 }] {
        let lost = (0..40).map(|seed| faulty(&Faults { loss_ppm: 20_000, seed, ..Faults::default() }, kind));
        let (stuck, early) = lost.fold((0, 0), |(stuck, early), (_, e, s)| (stuck + usize::from(!s.is_empty()), early + e));
        assert!(stuck > 3 && early == 0, "{kind:?}: {stuck} of 40 stuck, {early} early");
        let pauses = vec![Pause { node: 3, from: us(100), length: us(900) }];
        let held = Faults { delay_ppm: 300_000, delay: us(700), pauses, seed: 5, ..Faults::default() };
        assert_eq!(faulty(&held, kind), (16, 0, vec![]), "{kind:?}");
    }
    let twice =
        (0..60).map(|seed| faulty(&Faults { duplicate_ppm: 200_000, seed, ..Faults::default() }, Algorithm::Dissemination));
    assert!(twice.map(|(_, early, _)| early).sum::<usize>() == 0, "one episode alone does not see them");
}

/// A packet is held up once, and a copy of it carries the same bytes, on both kinds of network.
#[test]
fn delays_end_and_copies_are_whole() {
    fn got<M: Model>(model: M, faults: &Faults) -> (Vec<Vec<u8>>, Nanos) {
        let network = Network::<Heap, _>::new(2, 1, model).unwrap().faulty(faults).unwrap();
        let nodes = network.nodes();
        let run = network.run(
            &nodes,
            |_| Nanos::ZERO,
            async |node| {
                let mut got = Vec::new();
                if node.rank() == 0 {
                    send(node, 1, 1, &[7; 40], Protocol::Short).await?;
                } else {
                    for _ in 0..if faults.duplicate_ppm > 0 { 2 } else { 1 } {
                        let mut into = [0; 40];
                        receive(node, 0, 1, &mut into).await?;
                        got.push(into.to_vec());
                    }
                }
                Ok::<_, Error>(got)
            },
        );
        assert_eq!(run.deadlocked(), []);
        (run.outputs.into_iter().flatten().flat_map(Result::unwrap).collect(), run.finished[1])
    }
    let twice = Faults { duplicate_ppm: 1_000_000, ..Faults::default() };
    assert_eq!(got(CLUSTER, &twice).0, [[7; 40], [7; 40]]);
    assert_eq!(got(profile::IPSC860, &twice).0, [[7; 40], [7; 40]]);
    let late = Faults { delay_ppm: 1_000_000, delay: us(1_000), ..Faults::default() };
    let on_time = got(CLUSTER, &Faults::default()).1;
    assert_eq!(got(CLUSTER, &late), (vec![vec![7; 40]], on_time + us(1_000)));
    assert_eq!(got(profile::IPSC860, &late).1, got(profile::IPSC860, &Faults::default()).1 + us(1_000));
}

/// A phase stays as it was set, in whatever order a network is put together.
#[test]
fn phases_outlive_what_is_set_after_them() {
    let each = Interrupts { length: us(10), period: us(1_000) };
    let network = Network::<Heap, _>::new(1, 0, CLUSTER).unwrap().interrupted(each, 3).unwrap().phase(0, us(5));
    let network = network.faulty(&Faults::default()).unwrap();
    let nodes = network.nodes();
    let run = network.run(&nodes, |_| Nanos::ZERO, async |node| node.delay(us(6)).await);
    assert_eq!(run.finished, [us(16)]);
}

/// The effect of a duplicate: the receiver of the next episode takes it for that episode's message.
#[test]
fn a_duplicate_lets_somebody_leave_the_next_episode_early() {
    let early = |seed| {
        let faults = Faults { duplicate_ppm: 100_000, seed, ..Faults::default() };
        let network = Network::<Heap, _>::new(8, 3, profile::IPSC860_FREE).unwrap().faulty(&faults).unwrap();
        let nodes = network.nodes();
        let run = network.run(
            &nodes,
            |_| Nanos::ZERO,
            async |node| {
                butterfly(node).await?;
                node.delay(us(if node.rank() == 5 { 2_000 } else { 0 })).await;
                let came = node.ideal();
                butterfly(node).await?;
                Ok::<_, Error>((came, node.ideal()))
            },
        );
        let ends: Vec<_> = run.outputs.into_iter().flatten().map(Result::unwrap).collect();
        let last = ends.iter().map(|end| end.0).max().unwrap();
        ends.iter().any(|end| end.1 < last)
    };
    assert!((0..50).any(early));
}

/// One-sided traffic exhausts the buffers, and from then on each message costs a release message of the other
/// side.
#[test]
fn unbalanced_traffic_runs_out_of_header_buffers_and_balanced_traffic_does_not() {
    let pool = Some(HeaderBuffers { buffers: 8, release: 1 });
    let releases = |balanced: bool, rounds: u32| {
        let network = Network::<Heap, _>::new(2, 1, Circuits { pool, ..profile::IPSC860 }).unwrap().recording();
        let nodes = network.nodes();
        let run = network.run(
            &nodes,
            |_| Nanos::ZERO,
            async |node| {
                for _ in 0..rounds {
                    if balanced || node.rank() == 0 {
                        node.signal(1 - node.rank(), 0).await?;
                    }
                    if balanced || node.rank() == 1 {
                        node.wait(0).await?;
                    }
                }
                Ok::<(), Error>(())
            },
        );
        assert_eq!(run.deadlocked(), []);
        network.record().0.iter().filter(|circuit| circuit.kind.name() == "release").count()
    };
    assert_eq!(releases(true, 100), 0);
    assert_eq!([releases(false, 7), releases(false, 8), releases(false, 100)], [0, 1, 93]);
}

/// Without links only ports are in the way; with them a circuit waits for another one's link although both
/// its ports are free.
#[test]
fn circuits_that_share_a_link_wait_for_each_other() {
    let when = |links: bool| {
        let network = Network::<Heap, _>::new(8, 1, Circuits { links, ..profile::IPSC860 }).unwrap().without_contents();
        let nodes = network.nodes();
        let run = network.run(
            &nodes,
            |rank| us(u64::from(rank)),
            async |node| {
                let out = vec![0; 10_000];
                match node.rank() {
                    // 0 -> 1 -> 3 and 1 -> 3 -> 7 share the link from 1 to 3.
                    0 => send(node, 3, 1, &out, Protocol::Long).await?,
                    1 => send(node, 7, 1, &out, Protocol::Long).await?,
                    3 => drop(receive(node, 0, 1, &mut []).await?),
                    7 => drop(receive(node, 1, 1, &mut []).await?),
                    _ => {}
                }
                Ok::<(), Error>(())
            },
        );
        run.finished[7]
    };
    assert_eq!(when(false), us(1 + 136 + 3_600));
    assert!(when(true) > us(3_600 * 2), "{}", when(true));
}

#[test]
fn contradictory_models_are_refused() {
    let model = profile::IPSC860;
    let refused = |model: Circuits, size| Error::of(&Network::<Heap, _>::new(size, 1, model)).cloned();
    let setting = |model| matches!(refused(model, 4), Some(Cause::Setting { .. }));
    assert!(setting(Circuits { send: us(80), ..model }));
    assert!(setting(Circuits { set_up: us(50), ..model }));
    assert!(setting(Circuits { set_up: us(40), receive: us(40), ..model }));
    assert!(setting(Circuits { null_hold: Some(us(76)), ..model }));
    assert!(setting(Circuits { pool: Some(HeaderBuffers { buffers: 4, release: 5 }), ..model }));
    assert!(matches!(refused(Circuits { links: true, ..model }, 6), Some(Cause::Size { size: 6, .. })));
    assert!(matches!(refused(model, 0), Some(Cause::Size { size: 0, .. })));
    let network = || Network::<Heap, _>::new(4, 1, model).unwrap();
    let always = Interrupts { length: us(10), period: us(10) };
    assert!(matches!(Error::of(&network().interrupted(always, 1)), Some(Cause::Setting { .. })));
    let more_than_all = Faults { loss_ppm: 600_000, delay_ppm: 600_000, ..Faults::default() };
    assert!(matches!(Error::of(&network().faulty(&more_than_all)), Some(Cause::Setting { .. })));
}

/// Ends and trace of a disturbed run.
fn disturbed<Q: Queue>(starts: &[u64], model: Circuits) -> (u64, u64, Vec<Nanos>) {
    let network = Network::<Q, _>::new(starts.len() as u32, 8, model).unwrap();
    let faults = Faults { delay_ppm: 100_000, delay: us(90), seed: 3, ..Faults::default() };
    let network = network.interrupted(profile::CALIBRATED, 4).unwrap().faulty(&faults).unwrap();
    let nodes = network.nodes();
    let run = network.run(
        &nodes,
        |rank| Nanos(starts[rank as usize]),
        async |node| {
            dissemination(node).await?;
            rds(node, SignalCost::IPSC860).await
        },
    );
    assert_eq!(run.deadlocked(), []);
    (run.trace, run.events, run.finished)
}

proptest! {
    /// Ports, interrupts, faults, random arbitration: same seed, same trace, whatever the queue.
    #[test]
    fn the_trace_does_not_depend_on_the_queue(starts in prop::collection::vec(0..900_000u64, 2..40)) {
        for arbitration in Arbitration::ALL {
            let model = Circuits { arbitration, jitter: us(7), set_up: us(5), receive: us(3), ..profile::IPSC860 };
            prop_assert_eq!(disturbed::<Heap>(&starts, model), disturbed::<Calendar>(&starts, model));
        }
    }
}
