//! Memory in which the kernel records the events of one processor (`perf_event_open`).
use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, Ordering::*};
use foregather_machine::CpuId;
use rustix::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;

/// `struct perf_event_attr` of `linux/perf_event.h`, in its fifth version.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct EventAttributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: [u32; 5],
    branches: u64,
    registers: u64,
    stack: u32,
    clock: i32,
    rest: [u64; 2],
}

impl EventAttributes {
    /// An event of that kind, of which each occurrence is recorded with what `sample_type` names, and the
    /// time by `CLOCK_MONOTONIC`.
    pub(super) fn new(kind: u32, config: u64, sample_type: u64, flags: u64) -> Self {
        const CLOCK: u64 = 1 << 25;
        let size = size_of::<Self>() as u32;
        Self { kind, size, config, period: 1, sample_type, flags: flags | CLOCK, clock: libc::CLOCK_MONOTONIC, ..Self::default() }
    }
}

/// A page of the kernel lies before the records.
const PAGE: usize = 4_096;
/// Where the kernel writes how far it has written, and reads how far was read.
const HEAD: usize = 1_024;
const TAIL_AT: usize = 1_032;
/// `PERF_EVENT_IOC_SET_OUTPUT`.
const SET_OUTPUT: libc::Ioctl = 0x2405;

/// The records of one processor.
#[derive(Debug)]
pub(super) struct ProcessorRecords {
    start: *mut core::ffi::c_void,
    data: usize,
    event: OwnedFd,
    /// They record for as long as they are open.
    others: Vec<OwnedFd>,
}

// SAFETY: the mapping belongs to this value alone, wherever it is.
unsafe impl Send for ProcessorRecords {}

fn open_event(attributes: &EventAttributes, cpu: CpuId) -> io::Result<OwnedFd> {
    const CLOSE_ON_EXEC: usize = 8;
    // SAFETY: the kernel reads the attributes, which have the size that they state.
    let event =
        unsafe { libc::syscall(libc::SYS_perf_event_open, core::ptr::from_ref(attributes), -1, cpu as c_int, -1, CLOSE_ON_EXEC) };
    if event < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened it for this process.
    Ok(unsafe { OwnedFd::from_raw_fd(event as c_int) })
}

impl ProcessorRecords {
    /// Begins to record an event on a processor, and the others with it, in memory for that many bytes: a
    /// power of two, and of whole pages.
    ///
    /// # Errors
    /// If the system denies it.
    pub(super) fn open(cpu: CpuId, data: usize, first: &EventAttributes, others: &[EventAttributes]) -> io::Result<Self> {
        if rustix::param::page_size() != PAGE {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let event = open_event(first, cpu)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses a free place.
        let start = unsafe { mmap(core::ptr::null_mut(), PAGE + data, access, MapFlags::SHARED, event.as_fd(), 0)? };
        let mut this = Self { start, data, event, others: vec![] };
        for attributes in others {
            let other = open_event(attributes, cpu)?;
            // SAFETY: both are events of this process; the call touches no memory of ours.
            if unsafe { libc::ioctl(other.as_raw_fd(), SET_OUTPUT, this.event.as_raw_fd()) } != 0 {
                return Err(io::Error::last_os_error());
            }
            this.others.push(other);
        }
        Ok(this)
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        // SAFETY: the kernel's page lies at the beginning of the mapping, which lives as long as this value,
        // and both sides use these aligned words as atomics.
        unsafe { AtomicU64::from_ptr(self.start.byte_add(at).cast()) }
    }

    /// Takes what was written since the last call.
    pub(super) fn take(&self) -> Vec<u8> {
        let (head, tail) = (self.word(HEAD).load(Acquire), self.word(TAIL_AT).load(Relaxed));
        let length = (head.wrapping_sub(tail) as usize).min(self.data);
        let first = tail as usize % self.data;
        let mut bytes = Vec::with_capacity(length);
        for (from, count) in [(first, length.min(self.data - first)), (0, length.saturating_sub(self.data - first))] {
            // SAFETY: both parts lie in the data, which the kernel does not write before the tail has moved.
            bytes.extend_from_slice(unsafe { core::slice::from_raw_parts(self.start.byte_add(PAGE + from).cast::<u8>(), count) });
        }
        self.word(TAIL_AT).store(head, Release);
        bytes
    }
}

/// The records in what was taken, each with its head of eight bytes. One that is cut off ends them.
pub(super) fn records(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    core::iter::from_fn(move || {
        let head = bytes.get(..8)?;
        let size = usize::from(u16::from_le_bytes([head[6], head[7]]));
        let record = bytes.get(..size).filter(|_| size >= 8)?;
        bytes = &bytes[size..];
        Some(record)
    })
}

impl Drop for ProcessorRecords {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `open`, and no reference to it is left. An error leaves it there.
        let _ = unsafe { munmap(self.start, PAGE + self.data) };
    }
}
