//! The plainest fabric, for random schedules: queues behind locks. And mistakes that a fabric could make.
use crate::scheduled::{Scheduled, Word, team};
use foregather_conformance::fabric::Program;
use foregather_machine::{
    Address, Cause, Clock, Error, Fabric, FabricCosts, Key, LastingPieces, Limits, Member, Nanos, Rank, Slope, WordLine, Words,
    block_on,
};
use shuttle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use shuttle::sync::{Arc, Mutex};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};

/// The mistake of the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    Nothing,
    /// The bell is rung before the frame is there.
    RingsFirst,
    /// No lane is told of a release.
    RoomIsSilent,
    /// A frame is lost.
    LosesFrames,
    /// There is less room than promised.
    TooLittleRoom,
    /// The third of three frames overtakes the second.
    Overtakes,
    /// Concealed memory stays readable.
    Remembers,
    /// A static buffer is cut off.
    CutsOff,
}

const LIMITS: Limits = Limits { lanes: 2, inline: 8, buffer: 24, credits: 3, spare: 4, gather: 4, direct: true };

type Queue = Mutex<VecDeque<(u32, Vec<u8>)>>;

/// The data that all lanes share.
struct Hall {
    ranks: u32,
    lanes: u32,
    mistake: Mistake,
    /// The queue from each lane to each.
    queues: Vec<Queue>,
    bells: Vec<Word>,
    left: Vec<AtomicBool>,
    exposed: Mutex<BTreeMap<u64, Vec<u8>>>,
    /// By number of the lane.
    rosters: Vec<Box<[WordLine<Word>]>>,
}

impl Hall {
    fn number(&self, of: Address) -> usize {
        of.index(self.lanes)
    }

    fn queue(&self, from: Address, to: Address) -> &Queue {
        &self.queues[self.number(from) * self.bells.len() + self.number(to)]
    }

    fn ring(&self, whose: Address) {
        Scheduled.fetch_add(&self.bells[self.number(whose)], 1);
    }

    fn addresses(&self) -> impl Iterator<Item = Address> {
        let lanes = self.lanes;
        (0..self.ranks).flat_map(move |rank| (0..lanes).map(move |lane| Address { rank, lane }))
    }

    fn known(&self, to: Address) -> Result<(), Error> {
        let size = self.ranks;
        if to.rank < size && to.lane < self.lanes { Ok(()) } else { Err(Cause::Rank { rank: to.rank, size }.into()) }
    }
}

/// One lane.
pub(crate) struct Plain {
    hall: Arc<Hall>,
    here: Address,
    /// The open buffer towards each lane.
    buffers: RefCell<BTreeMap<Address, Vec<u8>>>,
    keys: Cell<u64>,
}

impl Plain {
    fn send(&self, to: Address, head: u32, bytes: &[u8], room: usize) -> Result<bool, Error> {
        self.hall.known(to)?;
        if bytes.len() > room {
            return Err(Cause::Length { what: "a frame", bytes: bytes.len(), room }.into());
        }
        let mistake = self.hall.mistake;
        if mistake == Mistake::RingsFirst {
            self.hall.ring(to);
        }
        let mut queue = self.hall.queue(self.here, to).lock().unwrap();
        let most = LIMITS.credits + LIMITS.spare - u32::from(mistake == Mistake::TooLittleRoom);
        if queue.len() >= most as usize {
            return Ok(false);
        }
        if mistake == Mistake::LosesFrames && head == 1 {
            return Ok(true);
        }
        let place = if mistake == Mistake::Overtakes && queue.len() == 2 { 1 } else { queue.len() };
        queue.insert(place, (head, bytes.to_vec()));
        drop(queue);
        if mistake != Mistake::RingsFirst {
            self.hall.ring(to);
        }
        Ok(true)
    }
}

impl Clock for Plain {
    fn now(&self) -> Nanos {
        Scheduled.now()
    }
    async fn delay(&self, span: Nanos) {
        Scheduled.delay(span).await;
    }
}

impl Member for Plain {
    fn rank(&self) -> Rank {
        self.here.rank
    }
    fn size(&self) -> u32 {
        self.hall.ranks
    }
}

impl Fabric for Plain {
    type Cpu = Scheduled;

    fn cpu(&self) -> &Scheduled {
        &Scheduled
    }
    fn bell(&self) -> &Word {
        &self.hall.bells[self.hall.number(self.here)]
    }
    fn roster(&self) -> &[WordLine<Word>] {
        &self.hall.rosters[self.here.lane as usize]
    }
    fn here(&self) -> Address {
        self.here
    }
    fn limits(&self) -> Limits {
        Limits { lanes: self.hall.lanes, ..LIMITS }
    }
    fn costs(&self) -> FabricCosts {
        let slope = Slope { fixed: Nanos(100), byte_ps: 100 };
        FabricCosts { buffered: slope, direct: slope }
    }

    fn post(&self, to: Address, head: u32, bytes: &[u8]) -> Result<bool, Error> {
        self.send(to, head, bytes, LIMITS.inline)
    }
    fn write_with<R>(&self, to: Address, write: impl FnOnce(&mut [u8]) -> R) -> R {
        write(self.buffers.borrow_mut().entry(to).or_insert_with(|| vec![0; LIMITS.buffer]))
    }
    fn post_filled(&self, to: Address, head: u32, len: usize) -> Result<bool, Error> {
        let cut = usize::from(self.hall.mistake == Mistake::CutsOff && len == LIMITS.buffer);
        if len > LIMITS.buffer {
            return Err(Cause::Length { what: "a static buffer", bytes: len, room: LIMITS.buffer }.into());
        }
        let bytes = self.write_with(to, |buffer| buffer[..len - cut].to_vec());
        self.send(to, head, &bytes, LIMITS.buffer)
    }

    fn arrived(&self, after: Option<Address>) -> Option<Address> {
        let first = after.map_or(0, |after| self.hall.number(after) + 1);
        self.hall.addresses().skip(first).find(|&from| !self.hall.queue(from, self.here).lock().unwrap().is_empty())
    }
    fn peek<R>(&self, from: Address, read: impl FnOnce(u32, &[u8]) -> R) -> Option<R> {
        // Nothing is locked while others are asked to read.
        let frame = self.hall.queue(from, self.here).lock().unwrap().front().cloned();
        frame.map(|(head, bytes)| read(head, &bytes))
    }
    fn release(&self, from: Address) {
        self.hall.queue(from, self.here).lock().unwrap().pop_front();
        if self.hall.mistake != Mistake::RoomIsSilent {
            self.hall.ring(from);
        }
    }

    fn expose(&self, pieces: LastingPieces<'_>) -> Result<Key, Error> {
        self.keys.set(self.keys.get() + 1);
        let key = (self.keys.get() << 32) + self.hall.number(self.here) as u64 + 1_000;
        self.hall.exposed.lock().unwrap().insert(key, pieces.as_slices().concat());
        Ok(Key(key))
    }
    fn unexpose(&self, key: Key) {
        if self.hall.mistake != Mistake::Remembers {
            self.hall.exposed.lock().unwrap().remove(&key.0);
        }
    }
    async fn get(&self, from: Address, key: Key, into: &mut [&mut [u8]]) -> Result<(), Error> {
        self.hall.known(from)?;
        let bytes = self.hall.exposed.lock().unwrap().get(&key.0).cloned().unwrap_or_default();
        let mut rest = &bytes[..];
        for piece in into {
            let Some((bytes, more)) = rest.split_at_checked(piece.len()) else {
                return Err(Cause::Unexposed { rank: from.rank }.into());
            };
            piece.copy_from_slice(bytes);
            rest = more;
        }
        Ok(())
    }

    fn leave(&self) {
        self.hall.left[self.hall.number(self.here)].store(true, SeqCst);
        self.hall.addresses().for_each(|other| self.hall.ring(other));
    }
    fn has_left(&self, peer: Address) -> bool {
        self.hall.left[self.hall.number(peer)].load(SeqCst)
    }
}

/// The lanes of `ranks` ranks, in the order of ranks.
pub(crate) fn lanes(ranks: u32, lanes: u32, mistake: Mistake) -> Vec<Plain> {
    let all = (ranks * lanes) as usize;
    let hall = Arc::new(Hall {
        ranks,
        lanes,
        mistake,
        queues: (0..all * all).map(|_| Queue::default()).collect(),
        bells: (0..all).map(|_| Word::default()).collect(),
        left: (0..all).map(|_| AtomicBool::new(false)).collect(),
        exposed: Mutex::default(),
        rosters: (0..lanes).map(|_| (0..=ranks).map(|_| WordLine::default()).collect()).collect(),
    });
    let lane = |here| Plain { hall: hall.clone(), here, buffers: RefCell::default(), keys: Cell::new(0) };
    hall.addresses().map(lane).collect()
}

/// One schedule of a program.
pub(crate) fn run_schedule(program: Program, rounds: u32, mistake: Mistake) {
    let lanes: Vec<_> = lanes(program.ranks(), program.lanes(), mistake).into_iter().map(|lane| Cell::new(Some(lane))).collect();
    let lanes = Mutex::new(lanes);
    team(program.ranks() * program.lanes(), move |number| {
        let lane = lanes.lock().unwrap()[number as usize].take();
        lane.into_iter().for_each(|lane| block_on(program.run(lane, rounds)));
    });
}
