//! Memory for the arrays of a call, between pages that cannot be touched: a routine that reads or writes
//! beyond an array's end ends the process there.
use super::call::ArrayPlace;
use super::contents::Operand;
use crate::peer_error::PeerError;
use std::ops::Range;

const PAGE: usize = 1 << 16;
const BYTES: usize = 1 << 27;

/// Memory for one array.
#[derive(Debug)]
pub(super) struct Arena {
    memory: &'static mut [u8],
    /// Bytes that may be touched between the arrays and those pages.
    slack: usize,
}

impl Arena {
    /// Takes the address space; pages come with their first use.
    pub(super) fn new(slack: usize) -> Result<Self, PeerError> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
        // SAFETY: a new mapping at a place that the kernel chooses.
        let map = unsafe { libc::mmap(std::ptr::null_mut(), BYTES + 2 * PAGE, libc::PROT_NONE, flags, -1, 0) };
        if map == libc::MAP_FAILED {
            return Err(PeerError::Failed("no address space for the arrays; lift `ulimit -v`".to_owned()));
        }
        let first = map.cast::<u8>().wrapping_add(PAGE);
        // SAFETY: the inner part of the mapping above, which nothing else uses.
        if unsafe { libc::mprotect(first.cast(), BYTES, protection) } != 0 {
            return Err(PeerError::Failed("the memory for the arrays cannot be opened; lift `ulimit -v`".to_owned()));
        }
        // SAFETY: that part is readable, writable, full of zeros, mapped forever, and nothing else uses it.
        Ok(Self { memory: unsafe { std::slice::from_raw_parts_mut(first, BYTES) }, slack })
    }

    /// Puts these bytes of an operand where its array shall lie. Returns the address of the array.
    ///
    /// # Panics
    /// If the operand is larger than the memory, or has not as many bytes.
    pub(super) fn load(&mut self, operand: &Operand, bytes: &[u8]) -> *mut u8 {
        let place = self.place(operand);
        self.memory[place.clone()].copy_from_slice(bytes);
        // The pointer may be used for all of the memory: arrays have elements before their first one.
        self.memory.as_mut_ptr().wrapping_add(place.start + operand.first)
    }

    /// The bytes of the operand that was loaded last.
    pub(super) fn bytes(&self, operand: &Operand) -> Vec<u8> {
        self.memory[self.place(operand)].to_vec()
    }

    fn place(&self, operand: &Operand) -> Range<usize> {
        let bytes = operand.bytes.len();
        assert!(bytes + 2 * self.slack <= BYTES, "an array of {bytes} bytes");
        let at = if operand.layout.place == ArrayPlace::Last { BYTES - bytes - self.slack } else { self.slack };
        at..at + bytes
    }
}
