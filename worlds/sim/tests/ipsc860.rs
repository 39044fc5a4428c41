//! The iPSC/860 of Seidel & Davis 1992 in virtual time, against the formulas and tables of the text.
use foregather_barrier::{SignalCost, butterfly, rds, sync0};
use foregather_machine::{Clock, Error, Member, Nanos, Rank};
use foregather_message::{Protocol, Ring, exchange, synchronised_exchange};
use foregather_sim::event::{Calendar, Heap, Queue};
use foregather_sim::net::{Circuits, Network, Node, profile};

const BYTES: usize = 32 << 10;

fn us(n: u64) -> Nanos {
    Nanos::from_us(n)
}

type Ends = Vec<Nanos>;

/// Runs a program on all nodes, the last of them late; returns when each of them ended.
fn ends<Q: Queue>(size: u32, late: Nanos, program: impl AsyncFn(&Node<'_, Q, Circuits>) -> Result<(), Error>) -> Ends {
    let network = Network::<Q, _>::new(size, 16, profile::IPSC860).unwrap().without_contents();
    let nodes = network.nodes();
    let start = |rank: Rank| if rank + 1 == size { late } else { Nanos::ZERO };
    let run = network.run(&nodes, start, |node| program(node));
    assert!(run.outputs.iter().all(|end| *end == Some(Ok(()))), "{:?}", run.outputs);
    run.finished
}

/// From the first entry to the last exit, and from the first exit to the last one.
fn cost_and_precision(ends: &Ends) -> (u64, u64) {
    let (first, last) = (ends.iter().min().unwrap().0, ends.iter().max().unwrap().0);
    let rounded = |ns: u64| (ns + 500) / 1_000;
    (rounded(last), rounded(last - first))
}

/// §3.1 to §3.3, one node late: cost and precision in microseconds, each dimension's largest delay in its row
/// included.
#[test]
fn barriers_cost_what_the_paper_says_if_the_lowest_dimension_goes_first() {
    for d in [3u32, 5, 7] {
        let of = u64::from(d);
        let (low, d_b_s, apart) = (of * 75, of * 150, of * 31);
        for late in [0, 30, 74, 75, 120, 200, 374, 524, 700] {
            let gsync = cost_and_precision(&ends::<Calendar>(1 << d, us(late), async |node| butterfly(node).await));
            let sync = cost_and_precision(&ends::<Calendar>(1 << d, us(late), async |node| sync0(node).await));
            let doubling =
                cost_and_precision(&ends::<Calendar>(1 << d, us(late), async |node| rds(node, SignalCost::IPSC860).await));
            assert_eq!(doubling, (d_b_s + late, 0), "RDS, d = {d}, {late} us late");
            let (expected_gsync, expected_sync) = match late {
                0..75 => ((low + late, late), (low + 75 + late, 31)),
                _ if late <= low => ((d_b_s, apart), (d_b_s + 75, apart)),
                _ => ((low + late, apart), (low + 75 + late, apart)),
            };
            assert_eq!(gsync, expected_gsync, "gsync, d = {d}, {late} us late");
            assert_eq!(sync, expected_sync, "sync0, d = {d}, {late} us late");
        }
    }
}

/// Two nodes, the second one late; returns when both were done, in microseconds.
fn exchanged(late: u64, protocol: Protocol, synchronised: bool) -> u64 {
    let program = async |node: &Node<'_, Heap, Circuits>| {
        let (out, mut into) = (vec![0; BYTES], vec![0; BYTES]);
        let peer = 1 - node.rank();
        let came = if synchronised {
            synchronised_exchange(node, peer, 3, &out, &mut into, protocol).await?
        } else {
            exchange(node, peer, 3, &out, &mut into, protocol).await?
        };
        assert_eq!(came, BYTES);
        Ok(())
    };
    cost_and_precision(&ends(2, us(late), program)).0
}

/// Table II, for 32 KiB. The step from one message at a time to two comes between 68 and 69 us: there the
/// REQUEST finds the send port taken by the node's own data.
#[test]
fn exchanges_cost_what_table_two_says() {
    let simple = |late| exchanged(late, Protocol::Long, false);
    assert_eq!([simple(0), simple(30), simple(68), simple(69)], [11_932, 11_962, 12_000, 23_797]);
    assert_eq!([simple(5_000), simple(11_864), simple(12_864)], [23_797, 23_797, 24_796]);
    for late in [0, 75, 1_000, 20_000] {
        assert_eq!(exchanged(late, Protocol::Long, true), 11_932 + 75 + late);
        assert_eq!(exchanged(late, Protocol::Forced, true), 11_796 + 150 + late);
    }
}

/// A ring of nodes that shift, the last one late.
fn shifted(size: u32, late: u64, protocol: Protocol) -> u64 {
    let program = async |node: &Node<'_, Heap, Circuits>| {
        let (out, mut into) = (vec![0; BYTES], vec![0; BYTES]);
        let ring = Ring::of(node.rank(), node.size())?;
        ring.post(node, 0)?;
        assert_eq!(ring.shift(node, 0, &out, &mut into, protocol).await?, BYTES);
        Ok(())
    };
    cost_and_precision(&ends(size, us(late), program)).0
}

#[test]
fn shifts_cost_what_table_two_says() {
    for size in [4, 16] {
        let long = |late| shifted(size, late, Protocol::Long);
        // At 68 us sharp the late node's REQUEST and its neighbour's data ask for one port at one moment.
        assert_eq!([long(0), long(67), long(69), long(11_000)], [11_932, 11_999, 23_797, 23_797], "{size} nodes");
    }
    assert_eq!(shifted(2, 3_000, Protocol::Forced), 11_871 + 3_000);
    assert_eq!(shifted(16, 3_000, Protocol::Forced), 11_871 + 3_000);
}

#[test]
fn the_ideal_clock_is_that_of_every_node() {
    let run = ends::<Heap>(2, us(7), async |node| {
        assert_eq!((node.now(), node.ideal()), (us(7) * u64::from(node.rank()), node.ideal()));
        Ok(())
    });
    assert_eq!(run, [Nanos::ZERO, us(7)]);
}
