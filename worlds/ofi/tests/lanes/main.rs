//! Lanes over libfabric's tcp on this host: frames, memory, leaving, sleeping, and failures.
mod frames;
mod memory;
mod tended;
mod trouble;

use foregather_machine::{Address, Fabric, Nanos, Park, block_on};
use foregather_ofi::{Lane, Opening, Provider};
use std::sync::Arc;

/// The longest wait of a test.
const LONG: Nanos = Nanos::from_ms(20_000);

/// libfabric's tcp on the loopback address. If it is missing, prints why, or fails where all peers must be
/// installed.
fn tcp() -> Option<Arc<Provider>> {
    match Provider::open("tcp", Some("127.0.0.1")) {
        Ok(provider) => Some(Arc::new(provider)),
        Err(why) => {
            assert!(std::env::var_os("FOREGATHER_REQUIRE_PARTS").is_none(), "a part is missing: {why}");
            eprintln!("skipped: {why}");
            None
        }
    }
}

fn at(rank: u32) -> Address {
    Address { rank, lane: 0 }
}

/// The lanes of all ranks of a job, opened and connected in this process.
fn job(provider: &Arc<Provider>, size: u32, lanes: u32) -> Vec<Vec<Lane>> {
    let open = |rank| Opening::new(Arc::clone(provider), (rank, size), lanes, b"a job", None).unwrap();
    let openings: Vec<_> = (0..size).map(open).collect();
    let addresses: Vec<_> = openings.iter().map(Opening::address).collect();
    openings.into_iter().map(|opening| opening.connect(&addresses).unwrap()).collect()
}

/// Runs every rank's only lane in a thread of its own; all leave in the end.
fn ranks(size: u32, body: impl Fn(&Lane) + Sync) {
    let Some(provider) = tcp() else { return };
    std::thread::scope(|scope| {
        for mut lanes in job(&provider, size, 1) {
            let body = &body;
            scope.spawn(move || {
                let lane = lanes.remove(0);
                body(&lane);
                lane.leave();
            });
        }
    });
}

/// Waits as the layer above does: looks, then sleeps on the bell.
fn until<T>(lane: &Lane, mut probe: impl FnMut() -> Option<T>) -> T {
    let (cpu, end) = (lane.cpu(), lane.cpu_now() + LONG);
    loop {
        if let Some(found) = cpu.spin_briefly(&mut probe) {
            return found;
        }
        let armed = cpu.prepare_park(lane.bell());
        if let Some(found) = probe() {
            return found;
        }
        block_on(cpu.park(lane.bell(), armed, end));
        assert!(lane.cpu_now() < end, "it took too long");
        let why = foregather_machine::WaitContext::new("test", 0);
        cpu.check(lane.bell(), &why).unwrap();
    }
}

fn post(lane: &Lane, to: Address, head: u32, bytes: &[u8]) {
    until(lane, || lane.post(to, head, bytes).unwrap().then_some(()));
}

/// The next frame of that lane, released.
fn take(lane: &Lane, from: Address) -> (u32, Vec<u8>) {
    let frame = until(lane, || lane.peek(from, |head, bytes| (head, bytes.to_vec())));
    lane.release(from);
    frame
}

trait Now {
    fn cpu_now(&self) -> Nanos;
}

impl Now for Lane {
    fn cpu_now(&self) -> Nanos {
        foregather_machine::Clock::now(self)
    }
}
