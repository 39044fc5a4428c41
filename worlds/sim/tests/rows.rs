//! Rows of a square grid, each synchronised by itself (Seidel & Davis 1992 §3.3): precision 0 within a row,
//! whenever it comes.
use foregather_barrier::{SignalCost, Subcube, butterfly, rds};
use foregather_machine::{Clock, Error, Member, Nanos};
use foregather_message::{Protocol, Ring};
use foregather_sim::event::Heap;
use foregather_sim::net::{Circuits, Network, Node, profile};
use proptest::prelude::*;

fn us(n: u64) -> Nanos {
    Nanos::from_us(n)
}

/// Runs `program` on 4 x 4 nodes; returns the results, row by row.
fn grid<T>(start: [[Nanos; 4]; 4], program: impl AsyncFn(&Node<'_, Heap, Circuits>) -> Result<T, Error>) -> Vec<Vec<T>> {
    let network = Network::<Heap, _>::new(16, 4, profile::IPSC860).unwrap();
    let nodes = network.nodes();
    let run = network.run(&nodes, |rank| start[rank as usize / 4][rank as usize % 4], |node| program(node));
    let mut outputs = run.outputs.into_iter().map(|output| output.expect("nobody waits forever").unwrap());
    (0..4).map(|_| outputs.by_ref().take(4).collect()).collect()
}

async fn leave_row(node: &Node<'_, Heap, Circuits>) -> Result<Nanos, Error> {
    rds(&Subcube::row(node, 0)?, SignalCost::IPSC860).await?;
    Ok(node.now())
}

proptest! {
    #[test]
    fn all_of_a_row_leave_at_one_moment_whoever_came_when(
        rows in prop::array::uniform4((0..50_000_000u64, prop::array::uniform4(0..3_000_000u64))),
    ) {
        let start = rows.map(|(row, nodes)| nodes.map(|node| Nanos(row + node)));
        for (exits, came) in grid(start, leave_row).into_iter().zip(start) {
            let last = came.into_iter().max().unwrap();
            prop_assert!(exits.iter().all(|&exit| exit == exits[0]), "{exits:?}");
            // From the last to come to rank 0 of its row and back to the last to hear: at most two hops there
            // and two back.
            prop_assert!(exits[0] > last && exits[0] <= last + us(4 * 75), "{exits:?} after {last}");
        }
    }
}

/// A row does not wait for the others.
#[test]
fn a_row_costs_the_same_wherever_the_others_are() {
    let late = [0, 7_000, 90, 100_000].map(us);
    let exits = grid(late.map(|row| [row, row + us(40), row, row + us(10)]), leave_row);
    let spent: Vec<_> = exits.iter().zip(late).map(|(exits, row)| exits[3] - row).collect();
    assert_eq!(spent, [spent[0]; 4]);
    // As if the four nodes were alone: twice two hops behind the node that came 40 us late.
    assert_eq!(spent[0], us(40 + 4 * 75));
}

/// The butterfly of the same rows leaves unevenly when its members come unevenly; otherwise the check above
/// would be blind.
#[test]
fn a_butterfly_of_a_row_does_not_leave_at_one_moment() {
    let start = [[0, 200, 374, 90].map(us); 4];
    let exits = grid(start, async |node| {
        butterfly(&Subcube::row(node, 0)?).await?;
        Ok(node.now())
    });
    assert!(exits.iter().all(|row| row.iter().any(|&exit| exit != row[0])), "{exits:?}");
}

/// After that, forced shifts within the rows cost each node the formula's `a m + b_s`.
#[test]
fn forced_shifts_of_rows_take_their_time_and_no_more() {
    let start = [[0, 300, 20, 90], [5_000, 5_000, 5_000, 5_700], [1; 4], [40, 30, 20, 10]].map(|row| row.map(us));
    let took = grid(start, async |node| {
        let row = Subcube::row(node, 0)?;
        let ring = Ring::of(row.rank(), row.size())?;
        ring.post(&row, 0)?;
        rds(&row, SignalCost::IPSC860).await?;
        let began = node.now();
        ring.shift(&row, 0, &[1; 10_000], &mut [0; 10_000], Protocol::Forced).await?;
        Ok(node.now() - began)
    });
    assert_eq!(took.concat(), [us(3_600 + 75); 16]);
}
