//! Determines the access of a faulting thread from the processor state that the kernel saved.
use crate::Access;
use core::ffi::c_void;

/// A load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) needs: Access,
    /// As in [`Fault::code`](crate::views::Fault::code).
    pub(super) code: u64,
}

/// Returns the access, or `None` if the thread tried to execute the page.
///
/// # Safety
/// `context` is what the kernel has passed to the handler of a fault.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn decode(context: *mut c_void, _: usize) -> Option<Decoded> {
    // SAFETY: by this function's contract it is a context of the kernel.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    of_code(context.uc_mcontext.gregs[libc::REG_ERR as usize] as u64)
}

#[cfg(target_arch = "x86_64")]
fn of_code(code: u64) -> Option<Decoded> {
    const WRITE: u64 = 1 << 1;
    const EXECUTE: u64 = 1 << 4;
    let needs = if code & WRITE != 0 { Access::Write } else { Access::Read };
    (code & EXECUTE == 0).then_some(Decoded { needs, code })
}

/// Returns the access from the exception syndrome, or `None` if the thread tried to execute the page.
///
/// # Safety
/// `context` is what the kernel has passed to the handler of a fault.
#[cfg(target_arch = "aarch64")]
pub(super) unsafe fn decode(context: *mut c_void, address: usize) -> Option<Decoded> {
    // SAFETY: by this function's contract it is a context of the kernel.
    let last = unsafe { &raw const (*context.cast::<libc::ucontext_t>()).uc_mcontext.pstate };
    let records = last.wrapping_add(1).map_addr(|addr| addr.next_multiple_of(16)).cast::<u8>();
    // SAFETY: behind the registers, at a multiple of 16, the kernel keeps 4096 bytes for records.
    match syndrome(unsafe { core::slice::from_raw_parts(records, 4_096) }) {
        Some(syndrome) => of_syndrome(syndrome),
        None => Some(Decoded { needs: guess(address), code: 0 }),
    }
}

/// Returns the exception syndrome from the records of an aarch64 signal frame. Each record begins with its
/// kind and its length.
#[cfg(any(test, target_arch = "aarch64"))]
fn syndrome(mut records: &[u8]) -> Option<u64> {
    const ESR: u32 = 0x4553_5201;
    loop {
        let (magic, rest) = records.split_first_chunk()?;
        let (bytes, rest) = rest.split_first_chunk()?;
        match (u32::from_ne_bytes(*magic), u32::from_ne_bytes(*bytes) as usize) {
            (ESR, _) => return rest.first_chunk().map(|esr| u64::from_ne_bytes(*esr)),
            (0, _) | (_, 0..8) => return None,
            (_, bytes) => records = records.get(bytes..)?,
        }
    }
}

/// Uses the bit for writes, except for cache maintenance, which always sets it.
#[cfg(any(test, target_arch = "aarch64"))]
fn of_syndrome(syndrome: u64) -> Option<Decoded> {
    let (class, status) = (syndrome >> 26 & 0x3F, syndrome & 0x3F);
    let (maintenance, write) = (syndrome & 1 << 8 != 0, syndrome & 1 << 6 != 0);
    let write = write && !maintenance;
    let permission = (0x0C..=0x0F).contains(&status);
    let needs = if write { Access::Write } else { Access::Read };
    let code = 4 | u64::from(write) << 1 | u64::from(permission);
    matches!(class, 0x24 | 0x25).then_some(Decoded { needs, code })
}

/// Guesses the access on processors whose error code is unknown.
///
/// # Safety
/// No conditions: it is unsafe only because the other two are.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) unsafe fn decode(_: *mut c_void, address: usize) -> Option<Decoded> {
    Some(Decoded { needs: guess(address), code: 0 })
}

/// Assumes that the first fault at an address is a read, and an immediately following one in the same thread
/// a write. So a store costs one more fault.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn guess(address: usize) -> Access {
    use core::cell::Cell;
    // Constant-initialised and never dropped, so a handler may use it.
    thread_local! { static READ: Cell<usize> = const { Cell::new(0) } }
    let again = READ.replace(address) == address;
    if again {
        READ.set(0);
    }
    if again { Access::Write } else { Access::Read }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn loads_and_stores_are_told_apart_and_executing_is_neither() {
        let needs = |code| of_code(code).map(|decoded| decoded.needs);
        assert_eq!([4, 5, 6, 7].map(needs), [Access::Read, Access::Read, Access::Write, Access::Write].map(Some));
        assert_eq!(needs(0x15), None);
    }

    #[test]
    fn a_second_fault_at_an_address_is_taken_for_a_write() {
        assert_eq!([8, 8, 8, 16, 8, 8].map(guess), [1, 2, 1, 1, 1, 2].map(|n| [Access::Read, Access::Write][n - 1]));
    }

    #[test]
    fn a_syndrome_is_found_behind_other_records() {
        let record = |magic: u32, body: &[u8]| [&magic.to_ne_bytes()[..], &(body.len() as u32 + 8).to_ne_bytes(), body].concat();
        let esr = record(0x4553_5201, &0x9200_0047_u64.to_ne_bytes());
        let end = record(0, &[]);
        assert_eq!(syndrome(&[record(0x4650_8001, &[1; 520]), esr.clone(), end.clone()].concat()), Some(0x9200_0047));
        assert_eq!(syndrome(&[record(0x4650_8001, &[1; 520]), end.clone(), esr].concat()), None);
        assert_eq!([syndrome(&[7, 0, 0, 0, 0, 0, 0, 0]), syndrome(&end[..6]), syndrome(&record(7, &[0; 90])[..20])], [None; 3]);
    }

    #[test]
    fn a_syndrome_says_what_was_wanted() {
        let of = |syndrome| of_syndrome(syndrome).map(|decoded| (decoded.needs, decoded.code));
        assert_eq!(of(0x24 << 26 | 0x07), Some((Access::Read, 4)));
        assert_eq!(of(0x24 << 26 | 0x47), Some((Access::Write, 6)));
        assert_eq!(of(0x24 << 26 | 0x4F), Some((Access::Write, 7)));
        assert_eq!(of(0x24 << 26 | 0x147), Some((Access::Read, 4)), "the maintenance of a cache");
        assert_eq!(of(0x20 << 26 | 0x0F), None, "an instruction");
    }
}
