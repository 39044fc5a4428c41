//! Pieces of memory of two processes, and the system calls that copy between them. No pointer is dereferenced
//! here, so a wrong address is an error, not a fault.
use core::ops::Range;

/// The maximum number of pieces that one system call moves.
pub(crate) const GATHER: usize = 16;

/// A range of bytes in some process.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RemoteRange {
    pub(crate) at: usize,
    pub(crate) bytes: usize,
}

/// The direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyDirection {
    /// The caller: it reads from the other process.
    Read,
    /// The other process: the caller writes there.
    Write,
}

/// The system's error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) i32);

/// Returns the total size in bytes, or `None` if it overflows.
pub(crate) fn total(pieces: &[RemoteRange]) -> Option<usize> {
    pieces.iter().try_fold(0_usize, |sum, piece| sum.checked_add(piece.bytes)).filter(|&sum| sum <= isize::MAX as usize)
}

/// A position within a list of pieces.
struct Cursor<'p> {
    rest: &'p [RemoteRange],
    /// Bytes of the first piece that were already passed.
    into: usize,
}

impl Cursor<'_> {
    fn advance(&mut self, mut bytes: usize) {
        while let Some(first) = self.rest.first() {
            let left = first.bytes - self.into;
            if bytes < left {
                self.into += bytes;
                return;
            }
            bytes -= left;
            (self.rest, self.into) = (&self.rest[1..], 0);
        }
    }

    /// Returns the next bytes, at most `most`, in the kernel's format, and the number of entries.
    fn next(&self, mut most: usize) -> ([libc::iovec; GATHER], usize) {
        let mut vector = [libc::iovec { iov_base: core::ptr::null_mut(), iov_len: 0 }; GATHER];
        let (mut used, mut into) = (0, self.into);
        for piece in self.rest {
            let length = (piece.bytes - into).min(most);
            if used == GATHER || most == 0 {
                break;
            }
            // An address may be anything: it is never dereferenced here, and the kernel rejects unmapped
            // ones.
            let base = core::ptr::without_provenance_mut::<u8>(piece.at.wrapping_add(into));
            vector[used] = libc::iovec { iov_base: base.cast(), iov_len: length };
            (used, most, into) = (used + 1, most - length, 0);
        }
        (vector, used)
    }
}

/// Copies the bytes of `range`, counted over all pieces of `here` and over all pieces of `there`, in the
/// given direction.
///
/// # Safety
/// The pieces of `here` are live memory of this process. With [`CopyDirection::Read`], only the caller
/// borrows their range. With [`CopyDirection::Write`], if `pid` is this process, it has exposed the range of
/// `there` to the caller.
pub(crate) unsafe fn transfer(
    direction: CopyDirection,
    pid: i32,
    here: &[RemoteRange],
    there: &[RemoteRange],
    range: Range<usize>,
) -> Result<(), Errno> {
    let (mut local, mut remote) = (Cursor { rest: here, into: 0 }, Cursor { rest: there, into: 0 });
    local.advance(range.start);
    remote.advance(range.start);
    let mut left = range.len();
    while left > 0 {
        let ((ours, count), (theirs, others)) = (local.next(left), remote.next(left));
        // SAFETY: both vectors have as many entries as the counts say; their memory is as the `# Safety`
        // section demands.
        let moved = unsafe {
            match direction {
                CopyDirection::Read => libc::process_vm_readv(pid, ours.as_ptr(), count as _, theirs.as_ptr(), others as _, 0),
                CopyDirection::Write => libc::process_vm_writev(pid, ours.as_ptr(), count as _, theirs.as_ptr(), others as _, 0),
            }
        };
        match usize::try_from(moved) {
            // Nothing is copied if a list is too short.
            Ok(0) => return Err(Errno(libc::EFAULT)),
            Ok(moved) => {
                local.advance(moved);
                remote.advance(moved);
                left = left.saturating_sub(moved);
            }
            Err(_) => return Err(Errno(crate::os::last_errno())),
        }
    }
    Ok(())
}

/// Returns the parts of the pieces that cover that range of their bytes.
pub(crate) fn parts_within(pieces: &[RemoteRange], range: Range<usize>) -> impl Iterator<Item = RemoteRange> {
    let mut start = 0_usize;
    pieces.iter().filter_map(move |piece| {
        let (first, end) = (range.start.max(start), range.end.min(start.saturating_add(piece.bytes)));
        let part = (first < end).then(|| RemoteRange { at: piece.at + (first - start), bytes: end - first });
        start = start.saturating_add(piece.bytes);
        part
    })
}

/// Returns the pieces of these slices.
pub(crate) fn of_shared(slices: &[&[u8]]) -> impl Iterator<Item = RemoteRange> {
    slices.iter().map(|slice| RemoteRange { at: slice.as_ptr().expose_provenance(), bytes: slice.len() })
}

/// Returns the pieces of slices that will be written.
pub(crate) fn of_mutable(slices: &mut [&mut [u8]]) -> impl Iterator<Item = RemoteRange> {
    slices.iter_mut().map(|slice| RemoteRange { at: slice.as_mut_ptr().expose_provenance(), bytes: slice.len() })
}

/// Returns whether the system refuses such copies here, as in some containers, and prints it. For tests of
/// the copies themselves.
#[cfg(test)]
pub(crate) fn are_refused() -> bool {
    let (mut to, from) = ([0], [1]);
    let (here, there): (Vec<_>, Vec<_>) = (of_mutable(&mut [&mut to]).collect(), of_shared(&[&from]).collect());
    // SAFETY: the call reads one byte of this process; it alone borrows both pieces.
    let end = unsafe { transfer(CopyDirection::Read, std::process::id() as i32, &here, &there, 0..1) };
    let refused = end == Err(Errno(libc::EPERM));
    if refused {
        assert!(std::env::var_os("FOREGATHER_REQUIRE_PARTS").is_none(), "a part is missing: process_vm_readv");
        println!("not run: this system refuses process_vm_readv");
    }
    refused
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(direction: CopyDirection, here: &mut [&mut [u8]], there: &mut [&mut [u8]], range: Range<usize>) -> Result<(), Errno> {
        let here: Vec<_> = of_mutable(here).collect();
        let there: Vec<_> = of_mutable(there).collect();
        // SAFETY: this call alone borrows both lists.
        unsafe { transfer(direction, std::process::id() as i32, &here, &there, range) }
    }

    /// Splits the bytes into pieces of odd sizes, some of them empty, more than one call takes.
    fn cut(bytes: &mut [u8], step: usize) -> Vec<&mut [u8]> {
        let mut pieces: Vec<&mut [u8]> = Vec::new();
        for piece in bytes.chunks_mut(step) {
            pieces.push(&mut []);
            pieces.push(piece);
        }
        pieces
    }

    #[test]
    fn a_range_is_moved_between_lists_of_other_pieces_and_nothing_else() {
        if are_refused() {
            return;
        }
        for direction in [CopyDirection::Read, CopyDirection::Write] {
            for range in [0..1_000, 0..1, 999..1_000, 17..800, 500..500] {
                let mut one: Vec<u8> = (0..1_000).map(|i| i as u8).collect();
                let mut two = vec![0xAA; 1_000];
                copy(direction, &mut cut(&mut one, 13), &mut cut(&mut two, 7), range.clone()).unwrap();
                let (to, from) = if direction == CopyDirection::Read { (&one, vec![0xAA; 1_000]) } else { (&two, one.clone()) };
                let before: Vec<u8> =
                    if direction == CopyDirection::Read { (0..1_000).map(|i| i as u8).collect() } else { vec![0xAA; 1_000] };
                for at in 0..1_000 {
                    assert_eq!(to[at], if range.contains(&at) { from[at] } else { before[at] }, "{direction:?} {range:?} {at}");
                }
            }
        }
    }

    #[test]
    fn the_parts_within_a_range_are_all_of_its_bytes_and_nothing_else() {
        let mut bytes: Vec<u8> = (0..200).collect();
        let pieces: Vec<_> = of_mutable(&mut cut(&mut bytes, 13)).collect();
        for range in [0..200, 0..1, 12..14, 13..26, 199..200, 50..50, 190..300] {
            let parts = parts_within(&pieces, range.clone());
            let seen: Vec<usize> = parts.flat_map(|part| (0..part.bytes).map(move |at| part.at + at)).collect();
            let first = pieces[1].at;
            assert_eq!(seen, range.clone().filter(|&at| at < 200).map(|at| first + at).collect::<Vec<_>>(), "{range:?}");
        }
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        if are_refused() {
            return;
        }
        let mut ours = [0; 16];
        let pid = std::process::id() as i32;
        let here: Vec<_> = of_mutable(&mut [&mut ours]).collect();
        for there in [vec![RemoteRange { at: 8, bytes: 16 }], vec![RemoteRange { at: usize::MAX - 4, bytes: 16 }], vec![]] {
            // SAFETY: this call alone borrows `ours`.
            let end = unsafe { transfer(CopyDirection::Read, pid, &here, &there, 0..16) };
            assert_eq!(end, Err(Errno(libc::EFAULT)), "{there:?}");
        }
        // SAFETY: there is no such process, so nothing is written; this call alone borrows `here`.
        assert_eq!(unsafe { transfer(CopyDirection::Read, i32::MAX, &here, &here, 0..16) }, Err(Errno(libc::ESRCH)));
        assert_eq!(total(&[RemoteRange { at: 0, bytes: usize::MAX }, RemoteRange { at: 0, bytes: 2 }]), None);
    }
}
