//! Lanes over libfabric's tcp pass the suite of all fabrics.
use foregather_conformance::fabric::{Fabrics, Program, all};
use foregather_machine::block_on;
use foregather_ofi::{Opening, Provider};
use std::sync::Arc;

/// All ranks in this process, each lane on a thread of its own.
struct Network(Arc<Provider>);

impl Fabrics for Network {
    fn run(&self, program: Program, rounds: u32) {
        eprintln!("{program:?}");
        let open = |rank| Opening::new(Arc::clone(&self.0), (rank, program.ranks()), program.lanes(), b"a job", None).unwrap();
        let openings: Vec<_> = (0..program.ranks()).map(open).collect();
        let addresses: Vec<_> = openings.iter().map(Opening::address).collect();
        std::thread::scope(|scope| {
            for lane in openings.into_iter().flat_map(|opening| opening.connect(&addresses).unwrap()) {
                scope.spawn(move || block_on(program.run(lane, rounds)));
            }
        });
    }
}

#[test]
fn lanes_over_tcp_conform() {
    match Provider::open("tcp", Some("127.0.0.1")) {
        Ok(provider) => all(&Network(Arc::new(provider)), 20),
        Err(why) => {
            assert!(std::env::var_os("FOREGATHER_REQUIRE_PARTS").is_none(), "a part is missing: {why}");
            eprintln!("skipped: {why}");
        }
    }
}
