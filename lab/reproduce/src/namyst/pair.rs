//! Two threads of this machine that exchange messages: by the message layer, or by the fabric's own verbs,
//! for comparison.
use super::play::turn;
use anyhow::Result;
use foregather_host::clock;
use foregather_machine::{Address, Error, Fabric, Key, Nanos, Placement, WaitContext, block_on, exposing};
use foregather_message::{Messenger, Path, Settings};
use foregather_shm::{Lane, ShmFabric};
use foregather_thread::Thread;
use foregather_wait::{Policy, WaitFor, Waiter};
use std::sync::Arc;

type ThreadLane = Lane<Thread>;

/// Neither waits longer for the other than all of it may take.
const PATIENCE: Nanos = Nanos::from_ms(20_000);

/// How messages are exchanged; each way has a lane of its own.
pub(super) enum ExchangeMode {
    /// By the message layer.
    Layered(Box<Messenger<ThreadLane>>),
    /// By frames of the fabric, and nothing else.
    Frames(Bare),
    /// By copies of the fabric from memory to memory: announced, made, answered.
    Copies(Bare),
}

/// A lane without a message layer above it, which waits as that does.
pub(super) struct Bare {
    lane: ThreadLane,
    waiter: Waiter,
    deadline: Nanos,
}

fn lane(exchange: &Arc<ShmFabric>, rank: u32, lane: u32) -> Result<ThreadLane, Error> {
    exchange.lane(Thread::current(), Address { rank, lane })
}

impl ExchangeMode {
    /// By the message layer, pieces by that path.
    pub(super) fn layered(exchange: &Arc<ShmFabric>, rank: u32, number: u32, path: Path) -> Result<Self, Error> {
        let messenger = Messenger::new(lane(exchange, rank, number)?, Settings { path, ..Settings::default() })?;
        messenger.set_deadline(clock::now() + PATIENCE);
        Ok(Self::Layered(Box::new(messenger)))
    }

    pub(super) fn frames(exchange: &Arc<ShmFabric>, rank: u32, number: u32) -> Result<Self, Error> {
        Ok(Self::Frames(Bare::new(lane(exchange, rank, number)?)))
    }

    pub(super) fn copies(exchange: &Arc<ShmFabric>, rank: u32, number: u32) -> Result<Self, Error> {
        Ok(Self::Copies(Bare::new(lane(exchange, rank, number)?)))
    }

    /// Sends one message of these bytes to the other of the two, or receives one into them.
    pub(super) fn turn(&self, sends: bool, memory: &mut [u8]) -> Result<(), Error> {
        match (self, sends) {
            (Self::Layered(messenger), _) => block_on(turn(&**messenger, sends, memory)),
            (Self::Frames(bare), true) => bare.send(memory),
            (Self::Frames(bare), false) => bare.receive(memory),
            (Self::Copies(bare), true) => bare.offer(memory),
            (Self::Copies(bare), false) => bare.fetch(memory),
        }
    }
}

impl Bare {
    fn new(lane: ThreadLane) -> Self {
        let policy = Policy::adaptive(&lane.cpu().costs());
        let waiter = Waiter::new(policy, lane.here().rank);
        Self { lane, waiter, deadline: clock::now() + PATIENCE }
    }

    fn peer(&self) -> Address {
        let Address { rank, lane } = self.lane.here();
        Address { rank: 1 - rank, lane }
    }

    fn wait<T>(&self, probe: impl FnMut() -> Option<T>) -> Result<T, Error> {
        let context = || WaitContext::new("bare frames", self.lane.here().rank).of(self.peer().rank).until(self.deadline);
        let why = || (context(), WaitFor::Unknown);
        block_on(self.waiter.wait(self.lane.cpu(), self.lane.bell(), false, why, probe).finish())
    }

    fn send(&self, memory: &[u8]) -> Result<(), Error> {
        let (to, limits) = (self.peer(), self.lane.limits());
        if memory.len() <= limits.inline {
            return self.wait(|| self.lane.post(to, 0, memory).map(|sent| sent.then_some(())).transpose())?;
        }
        for piece in memory.chunks(limits.buffer) {
            self.lane.write_with(to, |buffer| buffer[..piece.len()].copy_from_slice(piece));
            self.wait(|| self.lane.post_filled(to, 0, piece.len()).map(|sent| sent.then_some(())).transpose())??;
        }
        Ok(())
    }

    fn receive(&self, memory: &mut [u8]) -> Result<(), Error> {
        let mut at = 0;
        loop {
            at += self.frame(&mut memory[at..])?;
            if at == memory.len() {
                return Ok(());
            }
        }
    }

    /// Takes one frame; how many bytes it had.
    fn frame(&self, into: &mut [u8]) -> Result<usize, Error> {
        let from = self.peer();
        let length = self.wait(|| {
            self.lane.peek(from, |_, bytes| {
                let length = bytes.len().min(into.len());
                into[..length].copy_from_slice(&bytes[..length]);
                length
            })
        })?;
        self.lane.release(from);
        Ok(length)
    }

    fn offer(&self, memory: &[u8]) -> Result<(), Error> {
        let from = self.peer();
        block_on(exposing(&self.lane, async |lent| {
            self.send(&lent.expose(&[memory])?.0.to_ne_bytes())?;
            // The side that waits does its share of the copy, as the message layer does.
            self.wait(|| {
                self.lane.progress();
                self.lane.peek(from, |_, _| ())
            })?;
            self.lane.release(from);
            Ok(())
        }))
    }

    fn fetch(&self, memory: &mut [u8]) -> Result<(), Error> {
        let mut key = [0; 8];
        self.frame(&mut key)?;
        block_on(self.lane.get(self.peer(), Key(u64::from_ne_bytes(key)), &mut [memory]))?;
        self.send(&[])
    }
}
