//! The suite of all fabrics on the table, where every delivery may come before or after every other one.
use foregather_conformance::fabric::{Fabrics, Program};
use foregather_conformance::table::{Chooser, Table};
use foregather_machine::{Address, Limits};

const NARROW: Limits = Limits { lanes: 1, inline: 24, buffer: 64, credits: 4, spare: 6, gather: 3, direct: true };

/// Runs each program in this many orders; reads may end only once the other side has helped.
struct Tables {
    orders: u64,
    helped: bool,
}

impl Fabrics for Tables {
    fn run(&self, program: Program, rounds: u32) {
        for seed in 0..self.orders {
            let limits = Limits { lanes: program.lanes(), ..NARROW };
            let table = Table::new(program.ranks(), limits, Chooser::random(seed));
            let table = if self.helped { table.helped() } else { table };
            let lanes = (0..program.ranks()).flat_map(|rank| (0..program.lanes()).map(move |lane| Address { rank, lane }));
            let play = |at: Address| Box::pin(program.run(table.lane(at.rank, at.lane), rounds)) as _;
            let ends = table.run(lanes.map(play).collect(), |_| ());
            assert!(ends.iter().all(Option::is_some), "{program:?}, seed {seed}: {:?}", table.deadlocked());
        }
    }
}

#[test]
fn the_table_conforms_whatever_the_order() {
    // It refuses by a panic; and a yield there, as by the policy of messengers, lets no time pass.
    let programs = Program::ALL.into_iter().filter(|&program| program != Program::Refused && !program.is_over_messages());
    for program in programs {
        for helped in [false, true] {
            Tables { orders: 10, helped }.run(program, 4);
        }
    }
}
