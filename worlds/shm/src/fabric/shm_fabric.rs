//! The shared memory through which the lanes of all ranks exchange frames.
use super::attached::{Attached, MemberInfo};
use super::exposure::Exposure;
use super::ring::{RingBuffer, Slot};
use super::shape::{BUFFER, EXPOSURES, LINE, Layout, PORT_LINES, SegmentSpec};
use super::stage::{STAGE, STAGE_CHUNK, STAGE_SLOTS};
use crate::mapping::{Mapping, wrong};
use crate::os::inherited;
use core::mem::{align_of, size_of};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use foregather_machine::{Address, CachePadded, Cause, Error, WordLine};
use foregather_thread::Word;
use rustix::fd::{BorrowedFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, OnceLock};

/// "fg-lanes" in ASCII: marks a fabric of this library that is ready.
const MAGIC: u64 = u64::from_be_bytes(*b"fg-lanes");
/// Changes whenever the layout does.
const VERSION: u32 = 2;

/// The first page. All fields except `come` are written before the magic number.
#[repr(C)]
struct Header {
    magic: AtomicU64,
    version: AtomicU32,
    ranks: AtomicU32,
    lanes: AtomicU32,
    direct: AtomicU32,
    budget: AtomicU64,
    /// How many ranks have joined and, after that, how many have checked the others.
    come: CachePadded<Word>,
}

/// The part of a lane that all lanes can see.
#[repr(C)]
pub(crate) struct VisibleLane {
    /// The word on which its owner sleeps.
    pub(crate) bell: CachePadded<Word>,
    pub(crate) state: CachePadded<PortState>,
    /// One bit for each port that has ever sent to this one, so that no other ring is polled.
    pub(crate) senders: CachePadded<[AtomicU64; 16]>,
}

pub(crate) struct PortState {
    pub(crate) taken: AtomicU32,
    /// The port whose copy uses this port's stage, plus one.
    pub(crate) stage: AtomicU32,
    pub(crate) left: AtomicU32,
}

const _: () =
    assert!(size_of::<Header>() <= BUFFER && size_of::<VisibleLane>() == PORT_LINES * LINE && align_of::<VisibleLane>() == LINE);

/// The memory for the frames of a job's lanes: rings, static buffers, bells, and the list of exposed memory.
///
/// 1. One process creates it ([`ShmFabric::new`]); the others attach to its descriptor, which they inherit or
///    receive.
/// 2. Each process registers its rank ([`ShmFabric::join`]); a process can be several ranks.
/// 3. All wait for each other ([`ShmFabric::meet`]) and find out whether they may read each other's memory.
/// 4. Each process creates the lanes of its ranks ([`ShmFabric::lane`]), each lane once.
///
/// The memory has no name, so nothing is left after the last process has exited, and only processes with the
/// descriptor have access.
#[derive(Debug)]
pub struct ShmFabric {
    mapping: Mapping,
    pub(crate) layout: Layout,
    pub(crate) attached: OnceLock<Attached>,
    /// Held while one thread of a process waits for the other processes.
    pub(crate) meeting: Mutex<()>,
}

impl ShmFabric {
    /// Creates a fabric for processes.
    ///
    /// # Errors
    /// [`Cause::Setting`] for an invalid shape; an error if the system has no memory for it or does not
    /// support memory files.
    pub fn new(shape: SegmentSpec) -> Result<Self, Error> {
        let layout = shape.layout()?;
        let exchange = Self::over(Mapping::new(layout.bytes)?, layout);
        let header = exchange.header();
        header.version.store(VERSION, Relaxed);
        header.ranks.store(shape.ranks, Relaxed);
        header.lanes.store(shape.lanes, Relaxed);
        header.direct.store(u32::from(shape.direct), Relaxed);
        header.budget.store(shape.budget as u64, Relaxed);
        header.magic.store(MAGIC, Release);
        Ok(exchange)
    }

    /// Creates a fabric all of whose ranks are threads of this process; they have already joined.
    ///
    /// # Errors
    /// As for [`ShmFabric::new`].
    pub fn between_threads(shape: SegmentSpec) -> Result<Arc<Self>, Error> {
        let exchange = Self::new(shape)?;
        for rank in 0..shape.ranks {
            exchange.join(rank)?;
        }
        exchange.meet(&foregather_thread::Thread::current(), foregather_machine::Nanos::MAX)?;
        Ok(Arc::new(exchange))
    }

    /// Attaches to a fabric that another process created.
    ///
    /// # Errors
    /// If the descriptor is something else, or a fabric of another version of this library.
    pub fn attach(fd: OwnedFd) -> Result<Self, Error> {
        let mapping = Mapping::attach(fd, BUFFER)?;
        // SAFETY: the mapping has at least one page and begins at a page; all fields are atomics, for which
        // any bytes are valid.
        let header = unsafe { mapping.at(0).cast::<Header>().as_ref() };
        if header.magic.load(Acquire) != MAGIC {
            return Err(wrong("it is somebody else's memory file: pass the descriptor that `Exchange::fd` gave".to_owned()));
        }
        let version = header.version.load(Relaxed);
        let shape = SegmentSpec {
            ranks: header.ranks.load(Relaxed),
            lanes: header.lanes.load(Relaxed),
            budget: header.budget.load(Relaxed) as usize,
            direct: header.direct.load(Relaxed) != 0,
        };
        match shape.layout() {
            Ok(layout) if version == VERSION && layout.bytes == mapping.bytes() => Ok(Self::over(mapping, layout)),
            _ => Err(wrong(format!(
                "it has version {version}, this program has {VERSION}: start all processes from the same executable ({} ranks of {} \
                 lanes in {} bytes)",
                shape.ranks,
                shape.lanes,
                mapping.bytes()
            ))),
        }
    }

    /// Attaches to a fabric through a descriptor that this process has inherited with that number.
    ///
    /// # Errors
    /// If no such descriptor is open, or if it is something else.
    pub fn inherited(number: RawFd) -> Result<Self, Error> {
        Self::attach(inherited(number)?)
    }

    fn over(mapping: Mapping, layout: Layout) -> Self {
        mapping.keep_out_of_cores(0);
        Self { mapping, layout, attached: OnceLock::new(), meeting: Mutex::new(()) }
    }

    /// Returns the descriptor, for other processes.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.mapping.fd()
    }

    /// Returns the number of ranks and lanes.
    pub fn shape(&self) -> SegmentSpec {
        self.layout.shape
    }

    /// Returns the port of an address.
    #[inline]
    pub(crate) fn port_of(&self, at: Address) -> Result<usize, Error> {
        let SegmentSpec { ranks, lanes, .. } = self.layout.shape;
        if at.rank < ranks && at.lane < lanes { Ok(at.index(lanes)) } else { Err(self.nowhere(at)) }
    }

    #[cold]
    fn nowhere(&self, at: Address) -> Error {
        let SegmentSpec { ranks, lanes, .. } = self.layout.shape;
        if at.rank < ranks {
            return Error::from(Cause::Slot { slot: at.lane, slots: lanes });
        }
        Error::from(Cause::Rank { rank: at.rank, size: ranks })
    }

    /// Returns the address of a port.
    #[inline]
    pub(crate) fn address_of(&self, port: usize) -> Address {
        Address::of_index(port, self.layout.shape.lanes)
    }

    /// # Panics
    /// If there is no such port.
    #[inline]
    pub(crate) fn port(&self, port: usize) -> &VisibleLane {
        assert!(port < self.layout.ports);
        // SAFETY: the port's number was checked; the layout has that many ports there, aligned, within the
        // mapping. Ports are atomics, for which any bytes are valid.
        unsafe { self.at(self.layout.port_lines + port * size_of::<VisibleLane>()).cast().as_ref() }
    }

    /// # Panics
    /// If there is no such rank.
    pub(crate) fn member(&self, rank: u32) -> &MemberInfo {
        assert!(rank < self.layout.shape.ranks);
        // SAFETY: the rank was checked; the layout has a line for each rank there, aligned, within the
        // mapping. Members are atomics, for which any bytes are valid.
        unsafe { self.at(self.layout.members + rank as usize * LINE).cast().as_ref() }
    }

    /// Returns the word that counts how many ranks have joined and, after that, how many have checked the
    /// others.
    pub(crate) fn come(&self) -> &Word {
        &self.header().come
    }

    /// # Panics
    /// If there is no such lane.
    #[inline]
    pub(crate) fn roster(&self, lane: u32) -> &[WordLine<Word>] {
        let lines = 1 + self.layout.shape.ranks as usize;
        assert!(lane < self.layout.shape.lanes);
        let first = self.at(self.layout.rosters + lane as usize * lines * LINE);
        // SAFETY: the lane's number was checked; the layout has `lines` lines for each lane number there,
        // aligned, within the mapping. Words are atomics, for which any bytes are valid.
        unsafe { core::slice::from_raw_parts(first.cast().as_ptr(), lines) }
    }

    /// Returns one of a port's exposures.
    ///
    /// # Panics
    /// If there is no such port or number.
    #[inline]
    pub(crate) fn exposure(&self, port: usize, number: usize) -> &Exposure {
        assert!(port < self.layout.ports && number < EXPOSURES);
        let at = self.layout.exposures + (port * EXPOSURES + number) * size_of::<Exposure>();
        // SAFETY: port and number were checked; the layout has that many exposures there, aligned, within the
        // mapping. Exposures are atomics, for which any bytes are valid.
        unsafe { self.at(at).cast().as_ref() }
    }

    /// Returns a slot of a port's stage.
    ///
    /// # Panics
    /// If there is no such port.
    #[inline]
    pub(crate) fn stage(&self, port: usize, chunk: u32) -> NonNull<[u8; STAGE_CHUNK]> {
        assert!(port < self.layout.ports);
        self.at(self.layout.stages + port * STAGE + (chunk % STAGE_SLOTS) as usize * STAGE_CHUNK).cast()
    }

    /// Returns the ring from one port to another.
    ///
    /// # Panics
    /// If there is no such port.
    #[inline]
    pub(crate) fn ring(&self, from: usize, to: usize) -> RingBuffer<'_> {
        assert!(from < self.layout.ports && to < self.layout.ports);
        let at = self.layout.ring(from, to);
        // SAFETY: the layout has a ring of that many slots there, behind a line for the count of released
        // frames, within the mapping; all of it is atomics or cells.
        unsafe {
            let slots = self.at(at + LINE).cast::<Slot>();
            RingBuffer {
                consumed: self.at(at).cast().as_ref(),
                slots: core::slice::from_raw_parts(slots.as_ptr(), self.layout.slots),
            }
        }
    }

    /// Returns a static buffer from one port to another.
    ///
    /// # Panics
    /// If there is no such port or buffer.
    #[inline]
    pub(crate) fn buffer(&self, from: usize, to: usize, index: usize) -> NonNull<[u8; BUFFER]> {
        assert!(from < self.layout.ports && to < self.layout.ports && index <= self.layout.credits as usize);
        self.at(self.layout.buffer(from, to, index)).cast()
    }

    fn header(&self) -> &Header {
        // SAFETY: the first page is the header's; all fields are atomics, for which any bytes are valid.
        unsafe { self.at(0).cast().as_ref() }
    }

    #[inline]
    fn at(&self, offset: usize) -> NonNull<u8> {
        self.mapping.at(offset)
    }
}
