//! Memory for the arrays of a call, between pages that cannot be touched: a routine that reads or writes
//! beyond an array's end ends the process there.
use super::call::ArrayPlace;
use super::contents::Operand;
use crate::peer_error::PeerError;
use std::ptr::NonNull;

const PAGE: usize = 1 << 16;
const BYTES: usize = 1 << 27;

/// Memory for one array.
#[derive(Debug)]
pub(super) struct Arena {
    first: NonNull<u8>,
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
        // SAFETY: the inner part of the mapping above, which nothing else uses.
        let first = unsafe { map.cast::<u8>().add(PAGE) };
        // SAFETY: that part of the mapping is this process's own, and nothing uses it yet.
        let opened = unsafe { libc::mprotect(first.cast(), BYTES, protection) };
        match NonNull::new(first) {
            Some(first) if opened == 0 => Ok(Self { first, slack }),
            _ => Err(PeerError::Failed("the memory for the arrays cannot be opened; lift `ulimit -v`".to_owned())),
        }
    }

    /// Puts these bytes of an operand where its array shall lie. Returns the address of the array.
    ///
    /// # Panics
    /// If the operand is larger than the memory.
    pub(super) fn load(&mut self, operand: &Operand, bytes: &[u8]) -> NonNull<u8> {
        let region = self.region(operand);
        assert!(bytes.len() == operand.bytes.len(), "the bytes are those of the operand");
        // SAFETY: `region` has room for as many bytes as the operand has, and nothing else uses them.
        unsafe {
            region.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
            region.add(operand.first)
        }
    }

    /// The bytes of the operand that was loaded last.
    pub(super) fn bytes(&self, operand: &Operand) -> Vec<u8> {
        // SAFETY: `load` has written as many bytes there; no call is under way.
        unsafe { std::slice::from_raw_parts(self.region(operand).as_ptr(), operand.bytes.len()) }.to_vec()
    }

    fn region(&self, operand: &Operand) -> NonNull<u8> {
        assert!(operand.bytes.len() + 2 * self.slack <= BYTES, "an array of {} bytes", operand.bytes.len());
        let at = if operand.layout.place == ArrayPlace::Last { BYTES - operand.bytes.len() - self.slack } else { self.slack };
        // SAFETY: by the assertion it lies within the mapping.
        unsafe { self.first.add(at) }
    }
}
