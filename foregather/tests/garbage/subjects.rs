//! The subjects under attack: queues and barriers, each used by two handles of the same memory.
use foregather::broadcast::{Reader, Writer};
use foregather::processes::{SharedBarrier, SharedMember};
use foregather::{Broadcast, Error};
use foregather_machine::SplitMix;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

pub(super) trait Subject {
    fn new(random: &mut SplitMix) -> Self;
    fn descriptor(&self) -> BorrowedFd<'_>;
    /// Returns the position of the ring in the file.
    fn ring(&self) -> Range<u64>;
    /// Makes one call with a timeout.
    fn call(&mut self, random: &mut SplitMix) -> Result<(), Error>;
}

fn limit(random: &mut SplitMix) -> Duration {
    Duration::from_micros(random.below(4) * 20)
}

/// A queue, its ends, and a second mapping of it.
pub(super) struct Queue {
    queue: Broadcast,
    /// A second mapping, in which all readers are.
    same: Broadcast,
    ring: Range<u64>,
    writer: Option<Writer>,
    readers: Vec<Option<Reader>>,
    /// Where the ring was mapped in this process: all views lie in one mapping.
    seen: Option<Range<usize>>,
}

impl Subject for Queue {
    fn new(random: &mut SplitMix) -> Self {
        let (readers, bytes) = (1 + random.below(3) as u32, 512 << random.below(4));
        let queue = if random.below(2) == 0 { Broadcast::create(readers, bytes) } else { Broadcast::skipping(readers, bytes) };
        let queue = queue.unwrap();
        // A queue is not a barrier, and a process that mistook it for one would write to its words.
        SharedBarrier::attach(queue.as_fd().try_clone_to_owned().unwrap()).expect_err("a queue is no barrier");
        let same = Broadcast::attach(queue.as_fd().try_clone_to_owned().unwrap()).unwrap();
        let file = std::fs::File::from(queue.as_fd().try_clone_to_owned().unwrap()).metadata().unwrap().len();
        let readers = (1..=readers).map(|rank| Some(same.reader(rank).unwrap())).collect();
        let writer = Some(queue.writer().unwrap());
        Self { queue, same, ring: file - bytes as u64..file, writer, readers, seen: None }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.queue.as_fd()
    }

    fn ring(&self) -> Range<u64> {
        self.ring.clone()
    }

    fn call(&mut self, random: &mut SplitMix) -> Result<(), Error> {
        let (limit, number) = (limit(random), random.below(self.readers.len() as u64) as usize);
        match random.below(42) {
            0..=16 => self.send(random, limit),
            17..=26 => self.reader(number)?.receive_timeout(limit).map(drop),
            27..=36 => self.view(number, limit),
            37 => self.reader(number)?.is_ready().map(drop),
            38 => Broadcast::attach(self.queue.as_fd().try_clone_to_owned().unwrap())?.reader(number as u32 + 1).map(drop),
            39 => self.replace(number),
            40 => self.writer.as_mut().unwrap().lost().map(drop),
            _ => {
                // An end leaves, normally or by failing.
                let reader = self.readers[number].take();
                match reader {
                    Some(reader) if random.below(2) == 0 => reader.fail(),
                    other => drop(other),
                }
                Ok(())
            }
        }
    }
}

impl Queue {
    fn reader(&mut self, number: usize) -> Result<&mut Reader, Error> {
        self.readers[number].as_mut().ok_or_else(|| Error::other("it has left"))
    }

    /// Takes over the rank of a reader that garbage has made look dead.
    fn replace(&mut self, number: usize) -> Result<(), Error> {
        let reader = self.same.replace(number as u32 + 1)?;
        self.readers[number] = Some(reader);
        Ok(())
    }

    fn send(&mut self, random: &mut SplitMix, limit: Duration) -> Result<(), Error> {
        let bytes = random.below((self.ring.end - self.ring.start) * 2) as usize >> random.below(8);
        let message = vec![7; bytes];
        let writer = self.writer.as_mut().unwrap();
        let end = writer.send_timeout(&[&message], limit);
        if end.is_err() && random.below(2) == 0 { writer.go_on_timeout(&[&message], limit) } else { end }
    }

    fn view(&mut self, number: usize, limit: Duration) -> Result<(), Error> {
        let ring = (self.ring.end - self.ring.start) as usize;
        let reader = self.reader(number)?;
        let Some(view) = reader.view(Some(limit))? else { return Ok(()) };
        let (from, bytes) = (view.as_ptr().addr(), view.len());
        view.pass()?;
        // All views lie in one ring, wherever it is.
        let seen = self.seen.get_or_insert(from..from + bytes);
        *seen = seen.start.min(from)..seen.end.max(from + bytes);
        assert!(bytes <= ring && seen.len() <= ring, "a view of {bytes} bytes at {from:x} lies beyond a ring of {ring} bytes");
        let page = from & !4_095;
        assert!(maps(page, from + bytes), "a view of {bytes} bytes at {from:x} lies beyond its mapping");
        Ok(())
    }
}

/// Returns whether a shared mapping contains all of these addresses. The kernel lists a mapping in parts,
/// because some are excluded from core dumps; between two mappings there are guard pages.
fn maps(from: usize, to: usize) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let parse = |text| usize::from_str_radix(text, 16).unwrap_or(0);
    let parts = maps
        .lines()
        .filter(|line| line.contains("memfd:foregather"))
        .map(|line| line.split(' ').next().and_then(|range| range.split_once('-')).map_or((0, 0), |(a, b)| (parse(a), parse(b))));
    // In the order of their addresses.
    parts.fold(from, |seen, (start, end)| if start <= seen && seen < end { end } else { seen }) >= to
}

/// A barrier, and its members.
pub(super) struct Meeting {
    barrier: SharedBarrier,
    members: Vec<SharedMember>,
}

impl Subject for Meeting {
    fn new(random: &mut SplitMix) -> Self {
        let size = 1 + random.below(4) as u32;
        let barrier = SharedBarrier::create(size).unwrap();
        Broadcast::attach(barrier.as_fd().try_clone_to_owned().unwrap()).expect_err("a barrier is no queue");
        let same = SharedBarrier::attach(barrier.as_fd().try_clone_to_owned().unwrap()).unwrap();
        let members = (0..size).map(|rank| same.member(rank).unwrap()).collect();
        Self { barrier, members }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.barrier.as_fd()
    }

    fn ring(&self) -> Range<u64> {
        let bytes = std::fs::File::from(self.barrier.as_fd().try_clone_to_owned().unwrap()).metadata().unwrap().len();
        bytes..bytes
    }

    fn call(&mut self, random: &mut SplitMix) -> Result<(), Error> {
        let limit = limit(random);
        match random.below(20) {
            0 => SharedBarrier::attach(self.barrier.as_fd().try_clone_to_owned().unwrap())?
                .member(random.below(5) as u32)
                .map(drop),
            _ => {
                let number = random.below(self.members.len() as u64) as usize;
                self.members[number].wait_timeout(limit)
            }
        }
    }
}
