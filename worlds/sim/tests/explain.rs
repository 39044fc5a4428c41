//! Why a program was late, from the record: the interrupt of Seidel & Davis 1992 figures 3-11 and 3-12, and
//! hangs.
use foregather_barrier::{Algorithm, SignalCost, butterfly};
use foregather_machine::{Clock, Endpoint, Error, Member, Nanos, Rank};
use foregather_message::{Protocol, Ring};
use foregather_sim::event::Calendar;
use foregather_sim::net::{Circuits, Faults, Held, Interrupts, Network, Record, describe, profile};
use std::cell::RefCell;

const BYTES: usize = 32 << 10;
/// `a m + b_s` of these messages.
const SHIFT: Nanos = Nanos(11_871_480);
/// How late node 0 comes.
const LATE: Nanos = Nanos::from_us(200);
/// It begins with its message to node 2, which has it after 75 us.
const RECEIVED: Nanos = Nanos::from_us(275);
/// The length of each node's interrupt, if it has one.
const INTERRUPT: Nanos = Nanos::from_us(50);

struct Shifted {
    record: Record,
    /// When each node had left the barrier, and when it had shifted.
    times: Vec<(Nanos, Nanos)>,
}

impl Shifted {
    /// The node that took longest for its shift, and how long.
    fn slowest(&self) -> (Rank, Nanos) {
        let spans = (0..).zip(self.times.iter().map(|(left, done)| *done - *left));
        spans.max_by_key(|(_, span)| *span).unwrap()
    }

    fn chain(&self) -> Vec<Held> {
        let node = self.slowest().0;
        self.record.explain(node, Nanos::ZERO, self.times[node as usize].1)
    }

    /// The chain in words.
    fn describe(&self) -> Vec<String> {
        describe(&self.chain(), Nanos::ZERO, 10)
    }
}

/// Four nodes of which node 0 is late; they synchronise and shift. `interrupted` is a node and the time of
/// its interrupt.
fn synchronise_and_shift(barrier: Algorithm, interrupted: Option<(Rank, Nanos)>) -> Shifted {
    let size = 4;
    // Once in a period that is longer than all of it; the other nodes' interrupts come after the end.
    let period = Nanos::from_ms(500);
    let network = Network::<Calendar, Circuits>::new(size, barrier.slots(size), profile::IPSC860).unwrap();
    let network = network.without_contents().recording();
    let network = network.interrupted(Interrupts { length: INTERRUPT, period }, 1).unwrap();
    let network = (0..size).fold(network, |network, node| network.phase(node, Nanos::from_ms(400)));
    let network = interrupted.into_iter().fold(network, |network, (node, when)| network.phase(node, when));
    let (nodes, times) = (network.nodes(), RefCell::new(vec![(Nanos::ZERO, Nanos::ZERO); size as usize]));
    let out = vec![0; BYTES];
    let run = network.run(
        &nodes,
        |_| Nanos::ZERO,
        async |node| {
            if node.rank() == 0 {
                node.delay(LATE).await;
            }
            let ring = Ring::of(node.rank(), node.size())?;
            ring.post(node, 0)?;
            barrier.over(node).await?;
            let left = node.now();
            ring.shift(node, 0, &out, &mut [], Protocol::Forced).await?;
            times.borrow_mut()[node.rank() as usize] = (left, node.now());
            Ok::<(), Error>(())
        },
    );
    assert!(run.outputs.iter().all(|end| *end == Some(Ok(()))), "{:?}", run.outputs);
    Shifted { record: network.record(), times: times.into_inner() }
}

/// Figure 3-11(b): the interrupt lets the shift of node 1 pass the null message that node 2 owes node 3.
#[test]
fn an_interrupt_behind_a_receipt_doubles_the_shift_after_gsync_and_the_chain_says_so() {
    let all = synchronise_and_shift(Algorithm::Butterfly, Some((2, RECEIVED)));
    let span = all.slowest().1;
    assert!(span > SHIFT.percent(195) && span < SHIFT.percent(205), "{span}");
    let lines = all.describe();
    let blocked = lines.iter().find(|line| line.starts_with("null 2 -> 3")).unwrap_or_else(|| panic!("{lines:#?}"));
    assert_eq!(
        blocked,
        "null 2 -> 3: sent at 325.0 us, there at 12265.5 us; waited from 325.0 to 12190.5 us for the receive port of 3, \
         held by forced 1 -> 3 from 319.0 to 12190.5 us; 2 had null 0 -> 2 at 275.0 us, but was interrupted from 275.0 to 325.0 us"
    );
    let last = lines.last().unwrap();
    assert_eq!(last, "null 0 -> 2: sent at 200.0 us, there at 275.0 us; 0 computed from 0.0 to 200.0 us");
    assert!(lines.len() <= 5, "{lines:#?}");
}

/// Figure 3-11(a): without it, no packet waits for a longer time than a null message takes.
#[test]
fn without_an_interrupt_nobody_waits_for_a_shift_to_pass() {
    let all = synchronise_and_shift(Algorithm::Butterfly, None);
    assert!(all.slowest().1 < SHIFT.percent(101), "{}", all.slowest().1);
    let waited = |held: &Held| held.packet.granted - held.packet.asked;
    assert!(all.chain().iter().all(|held| waited(held) < profile::IPSC860.null), "{:#?}", all.describe());
}

/// Figure 3-12: after RDS the same interrupt, wherever it strikes in node 2, leaves the shift as it is.
#[test]
fn the_busy_wait_of_rds_keeps_the_shift_apart_from_the_interrupt() {
    let barrier = Algorithm::Rds { hop: SignalCost::IPSC860 };
    let calm = synchronise_and_shift(barrier, None);
    let receipt = calm.record.0.iter().rfind(|circuit| circuit.kind.name() == "null" && circuit.to == 2).unwrap().arrived;
    for after in [0, 10, 20, 43] {
        let all = synchronise_and_shift(barrier, Some((2, receipt + Nanos::from_us(after))));
        let span = all.slowest().1;
        assert!(span < SHIFT + INTERRUPT * 2, "interrupted {after} us behind the receipt: {span}\n{:#?}", all.describe());
    }
}

/// The chain ends where time begins, and every link comes before the one that it explains.
#[test]
fn causes_come_before_what_they_cause() {
    for barrier in [Algorithm::Butterfly, Algorithm::Sync0, Algorithm::Rds { hop: SignalCost::IPSC860 }, Algorithm::Dissemination]
    {
        for when in (0..500).step_by(25).map(Nanos::from_us) {
            let all = synchronise_and_shift(barrier, Some((2, when)));
            for node in 0..4 {
                let chain = all.record.explain(node, Nanos::ZERO, all.times[node as usize].1);
                for pair in chain.windows(2) {
                    assert_eq!(pair[0].after.map(|last| *last.packet()), Some(pair[1].packet));
                    assert!(pair[1].packet.asked <= pair[0].packet.asked);
                }
                assert!(chain.last().is_none_or(Held::is_late), "the chain ends with the node that was held up first");
            }
        }
    }
}

/// Every packet is lost: each node waits for its first message, and the record says which.
#[test]
fn a_hang_says_who_waits_for_what_since_when() {
    let faults = Faults { loss_ppm: 1_000_000, ..Faults::default() };
    let network = Network::<Calendar, Circuits>::new(4, 2, profile::IPSC860).unwrap().faulty(&faults).unwrap().recording();
    let nodes = network.nodes();
    let run = network.run(&nodes, |rank| Nanos::from_us(10) * u64::from(rank), butterfly);
    assert_eq!(run.deadlocked(), [0, 1, 2, 3]);
    let told = |node| network.record().waits_for(node).unwrap().to_string();
    assert_eq!(told(0), "0 waits for a null message in slot 1 since 44.0 us; null 2 -> 0, sent at 20.0 us, was lost");
    assert_eq!(told(3), "3 waits for a null message in slot 1 since 74.0 us; null 1 -> 3, sent at 10.0 us, was lost");
}

/// No node sends: the peer of a null message is unknown; that of a sized one is known, and whether it waits,
/// too.
#[test]
fn a_hang_of_two_names_both() {
    let network = Network::<Calendar, Circuits>::new(3, 1, profile::IPSC860).unwrap().recording();
    let nodes = network.nodes();
    let run = network.run(
        &nodes,
        |rank| Nanos::from_us(u64::from(rank)),
        async |node| match node.rank() {
            0 => node.wait(0).await,
            1 => foregather_message::receive(node, 0, 7, &mut []).await.map(drop),
            _ => Ok(()),
        },
    );
    assert_eq!(run.deadlocked(), [0, 1]);
    let record = network.record();
    assert_eq!(record.waits_for(2), None);
    assert_eq!(record.waits_for(0).unwrap().to_string(), "0 waits for a null message in slot 0 since 0.0 us");
    let second = record.waits_for(1).unwrap();
    assert_eq!(
        second.to_string(),
        "1 waits for a message of 0 with tag 7 since 1.0 us; 0, who sends it, waits for a null message in slot 0 itself since 0.0 us"
    );
}

/// The processor comes back from its first send late, by an interrupt that is over before that packet has
/// left.
#[test]
fn an_interrupt_within_a_send_is_found_too() {
    let period = Nanos::from_ms(500);
    let network = Network::<Calendar, Circuits>::new(3, 1, profile::IPSC860).unwrap().recording();
    let network = network.interrupted(Interrupts { length: INTERRUPT, period }, 1).unwrap();
    // Until 10 us after the beginning.
    let network =
        network.phase(0, Nanos::from_ms(500) - Nanos::from_us(40)).phase(1, Nanos::from_ms(400)).phase(2, Nanos::from_ms(400));
    let nodes = network.nodes();
    let run = network.run(
        &nodes,
        |_| Nanos::ZERO,
        async |node| match node.rank() {
            0 => {
                node.signal(1, 0).await?;
                node.signal(2, 0).await
            }
            _ => node.wait(0).await,
        },
    );
    let lines = describe(&network.record().explain(2, Nanos::ZERO, run.finished[2]), Nanos::from_us(5), 10);
    let expected = "null 0 -> 2: sent at 49.0 us, there at 124.0 us; null 0 -> 1 had left at 39.0 us, but 0 was interrupted from -5.0 to 5.0 us";
    assert_eq!(lines, [expected], "times are told from 5 us on");
}
