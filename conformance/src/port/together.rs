//! All nodes send and receive: exchanges, and shifts around rings.
use super::{SIZES, STEP, contents};
use crate::{PortProgram, Ports};
use foregather_barrier::{SignalCost, Subcube, butterfly, rds};
use foregather_machine::{Error, Nanos, Port, SplitMix};
use foregather_message::{Protocol, Ring, exchange, synchronised_exchange};

pub(super) fn all(ports: &impl Ports) {
    for start in [[0, 0], [0, 3], [3, 0]] {
        let start = start.map(|late| STEP * late);
        for bytes in SIZES {
            for (protocol, synchronised) in [(Protocol::Long, false), (Protocol::Long, true), (Protocol::Forced, true)] {
                assert_eq!(ports.run(2, &start, &Exchange { bytes, protocol, synchronised }), [Ok(()), Ok(())]);
            }
        }
        for synchronised in [false, true] {
            let short = Exchange { bytes: 50, protocol: Protocol::Short, synchronised };
            assert_eq!(ports.run(2, &start, &short), [Ok(()), Ok(())]);
        }
    }
    for size in [2, 4, 8] {
        for start in lateness(size) {
            for (bytes, protocol) in [(50, Protocol::Short), (101, Protocol::Long), (65_536, Protocol::Long)] {
                shift(ports, &start, ShiftProgram { bytes, protocol, after: After::Nothing });
            }
            for after in [After::Butterfly, After::Rds] {
                for (bytes, protocol) in [(4_096, Protocol::Forced), (20_000, Protocol::Long)] {
                    shift(ports, &start, ShiftProgram { bytes, protocol, after });
                }
            }
        }
    }
    for seed in 0..3 {
        rows_shift(ports, seed);
    }
}

/// No node is late; the first is, or the last; each by another time.
fn lateness(size: usize) -> [Vec<Nanos>; 4] {
    let one = |late: usize| (0..size).map(|node| STEP * u64::from(node == late)).collect();
    let mut random = SplitMix(size as u64);
    [one(size), one(0), one(size - 1), (0..size).map(|_| Nanos(random.below(STEP.0))).collect()]
}

struct Exchange {
    bytes: usize,
    protocol: Protocol,
    synchronised: bool,
}

impl PortProgram<Result<(), Error>> for Exchange {
    async fn node<P: Port>(&self, port: &P) -> Result<(), Error> {
        let (me, peer) = (port.rank(), 1 - port.rank());
        let mut buffer = vec![0; self.bytes];
        for turn in 0..3 {
            let (tag, out) = (turn as u32 % 2, contents(me, turn, self.bytes));
            let came = match self.synchronised {
                true => synchronised_exchange(port, peer, tag, &out, &mut buffer, self.protocol).await?,
                false => exchange(port, peer, tag, &out, &mut buffer, self.protocol).await?,
            };
            assert_eq!(came, self.bytes);
            assert!(buffer == contents(peer, turn, came), "{:?} of {came} bytes", self.protocol);
        }
        Ok(())
    }
}

/// How the nodes meet before a shift.
#[derive(Clone, Copy, Debug)]
enum After {
    Nothing,
    Butterfly,
    Rds,
}

#[derive(Clone, Copy, Debug)]
struct ShiftProgram {
    bytes: usize,
    protocol: Protocol,
    after: After,
}

fn shift(ports: &impl Ports, start: &[Nanos], shift: ShiftProgram) {
    let ends = ports.run(4, start, &shift);
    assert!(ends.iter().all(Result::is_ok) && ends.len() == start.len(), "{shift:?}, beginning at {start:?}: {ends:?}");
}

impl PortProgram<Result<(), Error>> for ShiftProgram {
    async fn node<P: Port>(&self, port: &P) -> Result<(), Error> {
        let ring = Ring::of(port.rank(), port.size())?;
        let mut buffer = vec![0; self.bytes];
        for turn in 0..3 {
            if self.protocol == Protocol::Forced {
                ring.post(port, 0)?;
            }
            match self.after {
                After::Nothing => {}
                After::Butterfly => butterfly(port).await?,
                After::Rds => rds(port, SignalCost { send: Nanos(50), latency: Nanos(150) }).await?,
            }
            let out = contents(port.rank(), turn, self.bytes);
            assert_eq!(ring.shift(port, 0, &out, &mut buffer, self.protocol).await?, self.bytes);
            assert!(buffer == contents(ring.previous, turn, self.bytes), "{self:?}: shift {turn} brought something else");
        }
        Ok(())
    }
}

/// Each row of a square grid of 16 synchronises by RDS and shifts by itself, and then each column.
pub fn rows_shift(ports: &impl Ports, seed: u64) {
    let mut random = SplitMix(seed);
    let start: Vec<_> = (0..16).map(|_| Nanos(random.below(3 * STEP.0))).collect();
    assert_eq!(ports.run(4, &start, &GridExchange), [const { Ok(()) }; 16], "beginning at {start:?}");
}

struct GridExchange;

impl PortProgram<Result<(), Error>> for GridExchange {
    async fn node<P: Port>(&self, port: &P) -> Result<(), Error> {
        let mut buffer = [0; 2_000];
        for turn in 0..4 {
            let group = if turn % 2 == 0 { Subcube::row(port, 0)? } else { Subcube::column(port, 2)? };
            let ring = Ring::of(foregather_machine::Member::rank(&group), 4)?;
            ring.post(&group, turn)?;
            rds(&group, SignalCost { send: Nanos(50), latency: Nanos(150) }).await?;
            let out = contents(port.rank(), u64::from(turn), buffer.len());
            ring.shift(&group, turn, &out, &mut buffer, Protocol::Forced).await?;
            assert!(buffer[..] == contents(group.to_parent_rank(ring.previous)?, u64::from(turn), buffer.len()), "turn {turn}");
        }
        Ok(())
    }
}
