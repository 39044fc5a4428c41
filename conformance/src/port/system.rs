//! What a node does for others while its program does anything else.
use super::{STEP, contents};
use crate::{PortProgram, Ports};
use foregather_machine::{Error, Nanos, Port};
use foregather_message::{Protocol, receive, send};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

pub(super) fn all(ports: &impl Ports) {
    for waits in [In::Null, In::Accept, In::Requested, In::Transmit] {
        let ends = ports.run(2, &[Nanos::ZERO; 4], &Answers { waits, answered: AtomicBool::new(false) });
        assert_eq!(ends, [const { Ok(()) }; 4], "while waiting in {waits:?}");
    }
    for (count, bytes, protocol) in [(20, 4_096, Protocol::Long), (400, 50, Protocol::Short), (2, 65_536, Protocol::Long)] {
        let ends = ports.run(1, &[Nanos::ZERO; 2], &OnlySend { count, bytes, protocol });
        assert_eq!(ends, [const { Ok(()) }; 2], "{protocol:?}");
    }
}

/// The wait of node 1 while node 0 sends to it by the long protocol.
#[derive(Clone, Copy, Debug)]
enum In {
    Null,
    Accept,
    Requested,
    Transmit,
}

/// Node 2 lets node 1 wait until node 0 has sent its message: so node 1 must answer the PROBE in that wait.
struct Answers {
    waits: In,
    answered: AtomicBool,
}

const LONG: usize = 40_000;

impl Answers {
    async fn asks<P: Port>(&self, port: &P) -> Result<(), Error> {
        send(port, 1, 5, &contents(0, 0, LONG), Protocol::Long).await?;
        self.answered.store(true, SeqCst);
        Ok(())
    }

    async fn waits<P: Port>(&self, port: &P) -> Result<(), Error> {
        let mut buffer = vec![0; LONG];
        match self.waits {
            In::Null => port.wait(0).await?,
            In::Accept => assert_eq!(receive(port, 2, 5, &mut buffer).await?, 3),
            In::Requested => send(port, 2, 5, &[1; 3], Protocol::Long).await?,
            In::Transmit => {
                port.wait(1).await?;
                send(port, 2, 5, &vec![1; LONG], Protocol::Forced).await?;
            }
        }
        receive(port, 0, 5, &mut buffer).await?;
        assert!(buffer == contents(0, 0, LONG));
        Ok(())
    }

    async fn delays<P: Port>(&self, port: &P) -> Result<(), Error> {
        if let In::Transmit = self.waits {
            port.post(1, 5)?;
            port.signal(1, 1).await?;
        }
        // It computes, so its own system may be at rest.
        while !self.answered.load(SeqCst) {
            port.delay(STEP).await;
        }
        match self.waits {
            In::Null => port.signal(1, 0).await,
            In::Accept => send(port, 1, 5, &[1; 3], Protocol::Short).await,
            In::Requested | In::Transmit => receive(port, 1, 5, &mut vec![0; LONG]).await.map(drop),
        }
    }
}

impl PortProgram<Result<(), Error>> for Answers {
    async fn node<P: Port>(&self, port: &P) -> Result<(), Error> {
        match port.rank() {
            0 => self.asks(port).await,
            1 => self.waits(port).await,
            2 => self.delays(port).await,
            // Three nodes are no hypercube.
            _ => Ok(()),
        }
    }
}

/// Both send all they have before either receives anything.
struct OnlySend {
    count: u64,
    bytes: usize,
    protocol: Protocol,
}

impl PortProgram<Result<(), Error>> for OnlySend {
    async fn node<P: Port>(&self, port: &P) -> Result<(), Error> {
        let peer = 1 - port.rank();
        for number in 0..self.count {
            send(port, peer, 0, &contents(port.rank(), number, self.bytes), self.protocol).await?;
        }
        let mut buffer = vec![0; self.bytes];
        for number in 0..self.count {
            receive(port, peer, 0, &mut buffer).await?;
            assert!(buffer == contents(peer, number, self.bytes), "{:?} {number}", self.protocol);
        }
        Ok(())
    }
}

/// For worlds where a node's system is not its program: a PROBE is answered at once although the program
/// computes.
pub fn a_busy_node_answers(ports: &impl Ports) {
    let ends = ports.run(1, &[Nanos::ZERO; 2], &BusyReceiver);
    let done: Vec<Nanos> = ends.into_iter().map(Result::unwrap).collect();
    assert!(done[0] < BUSY && done[1] >= BUSY, "{done:?}");
}

/// Longer than any message takes.
const BUSY: Nanos = Nanos::from_ms(1_000);

struct BusyReceiver;

impl PortProgram<Result<Nanos, Error>> for BusyReceiver {
    async fn node<P: Port>(&self, port: &P) -> Result<Nanos, Error> {
        if port.rank() == 0 {
            send(port, 1, 0, &[1; 500], Protocol::Long).await?;
        } else {
            port.delay(BUSY).await;
            receive(port, 0, 0, &mut [0; 500]).await?;
        }
        Ok(port.now())
    }
}
