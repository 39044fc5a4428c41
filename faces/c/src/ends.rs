//! The ends of a broadcast: its writer and its readers.
use crate::border::{alone, bytes, call, elements_mut, limit, place, room, tell};
use crate::failure::{IN_PIECES, INVALID, LENGTH, Refusal};
use crate::slots::{self, Handle, Thing};
use core::ffi::{c_char, c_int, c_void};
use core::mem::MaybeUninit;
use core::time::Duration;
use foregather::broadcast::{Reader, Writer};
use foregather::engine::{Account, Cause};
use std::sync::{Arc, Mutex};

pub(crate) struct WritingEnd {
    writer: Mutex<Writer>,
    account: Arc<Account>,
}

impl WritingEnd {
    pub(crate) fn new(mut writer: Writer) -> Result<Self, Refusal> {
        let account = writer.account()?;
        Ok(Self { writer: Mutex::new(writer), account })
    }
}

pub(crate) struct ReadingEnd {
    reader: Mutex<HeldMessage>,
    account: Arc<Account>,
}

/// A reader, and a message that it has taken out of the ring and not yet given to the caller.
struct HeldMessage {
    reader: Reader,
    held: Vec<u8>,
    holds: bool,
    /// Whether messages can be read in place. They cannot if the writer never waits for readers.
    shows: bool,
}

impl ReadingEnd {
    pub(crate) fn new(mut reader: Reader) -> Result<Self, Refusal> {
        let account = reader.account()?;
        Ok(Self { reader: Mutex::new(HeldMessage { reader, held: Vec::new(), holds: false, shows: true }), account })
    }
}

impl HeldMessage {
    /// The next message, if it lies whole in the ring or is held; `None` if it has to be taken out.
    fn look(&mut self, limit: Option<Duration>) -> Result<Option<(*const u8, usize)>, Refusal> {
        if self.holds {
            return Ok(Some((self.held.as_ptr(), self.held.len())));
        }
        if !self.shows {
            return Ok(None);
        }
        match self.reader.view(limit) {
            Ok(view) => Ok(view.map(|view| {
                let message = view.into_raw();
                (message.as_ptr().cast::<u8>().cast_const(), message.len())
            })),
            Err(error) if matches!(error.cause(), Cause::Setting { .. }) => {
                self.shows = false;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Takes the next message out of the ring.
    fn take(&mut self, limit: Option<Duration>) -> Result<(*const u8, usize), Refusal> {
        match limit {
            None => {
                self.held.clear();
                self.reader.receive_into(&mut self.held)?;
            }
            Some(limit) => self.held = self.reader.receive_timeout(limit)?,
        }
        self.holds = true;
        Ok((self.held.as_ptr(), self.held.len()))
    }

    /// The caller has the message that was shown.
    fn pass(&mut self) -> Result<(), Refusal> {
        if core::mem::take(&mut self.holds) { Ok(()) } else { Ok(self.reader.pass()?) }
    }
}

/// Some bytes of a message: `fg_part`.
#[repr(C)]
pub(crate) struct MessagePart {
    at: *const u8,
    bytes: usize,
}

/// # Safety
/// `parts` is null or points to `count` parts, each of which is null or points to its bytes; nothing of that
/// is written during `'a`.
unsafe fn slices<'a>(parts: *const MessagePart, count: usize) -> Result<Vec<&'a [u8]>, Refusal> {
    if count > 0 && parts.is_null() || count > 1 << 20 {
        return Err(Refusal::new(INVALID, format!("{count} parts of a message at {parts:?}")));
    }
    // SAFETY: by this function's contract; the number was checked.
    let parts = if count == 0 { &[] } else { unsafe { core::slice::from_raw_parts(parts, count) } };
    // SAFETY: by this function's contract.
    parts.iter().map(|part| unsafe { bytes(part.at, part.bytes) }).collect()
}

/// # Safety
/// `at` is null, or points to `length` bytes that are not written during the call.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_writer_send(writer: Handle, timeout_ns: i64, at: *const c_void, length: usize) -> c_int {
    let part = MessagePart { at: at.cast(), bytes: length };
    // SAFETY: by this function's contract; the one part is here.
    unsafe { fg_writer_send_parts(writer, timeout_ns, &raw const part, 1) }
}

/// # Safety
/// As [`slices`], during the call.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_writer_send_parts(
    writer: Handle,
    timeout_ns: i64,
    parts: *const MessagePart,
    count: usize,
) -> c_int {
    call(|| {
        let end = slots::enter::<WritingEnd>(writer)?;
        let mut writer = alone(&end.writer, WritingEnd::NAME)?;
        // SAFETY: by this function's contract.
        let parts = unsafe { slices(parts, count) }?;
        Ok(match limit(timeout_ns) {
            None => writer.send_parts(&parts),
            Some(limit) => writer.send_timeout(&parts, limit),
        }?)
    })
}

/// # Safety
/// As [`slices`], during the call.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_writer_go_on(
    writer: Handle,
    timeout_ns: i64,
    parts: *const MessagePart,
    count: usize,
) -> c_int {
    call(|| {
        let end = slots::enter::<WritingEnd>(writer)?;
        let mut writer = alone(&end.writer, WritingEnd::NAME)?;
        // SAFETY: by this function's contract.
        let parts = unsafe { slices(parts, count) }?;
        Ok(writer.go_on_timeout(&parts, limit(timeout_ns).unwrap_or(Duration::MAX))?)
    })
}

/// # Safety
/// `into` is null or has `size` bytes, `length` is null or a number, and both are the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_writer_statistics(
    writer: Handle,
    into: *mut c_char,
    size: usize,
    length: *mut usize,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { tell::<WritingEnd>(writer, |it| it.account.snapshot().to_string(), into, size, length) }
}

/// # Safety
/// `into` is null or has room for `size` numbers, `count` is null or a number, and both are the caller's
/// alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_writer_lost(writer: Handle, into: *mut u32, size: usize, count: *mut usize) -> c_int {
    call(|| {
        let end = slots::enter::<WritingEnd>(writer)?;
        let mut writer = alone(&end.writer, WritingEnd::NAME)?;
        let lost = writer.lost()?;
        // SAFETY: by this function's contract.
        let (into, count) = unsafe { (elements_mut(into, size)?, count.cast::<MaybeUninit<usize>>().as_mut()) };
        for (to, rank) in into.iter_mut().zip(lost) {
            *to = *rank;
        }
        if let Some(count) = count {
            count.write(lost.len());
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_writer_destroy(writer: Handle) -> c_int {
    call(|| slots::remove::<WritingEnd>(writer))
}

/// # Safety
/// `into` is null or has room for `size` bytes, `length` is null or a number, and both are the caller's
/// alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_reader_receive(
    reader: Handle,
    timeout_ns: i64,
    into: *mut c_void,
    size: usize,
    length: *mut usize,
) -> c_int {
    call(|| {
        let end = slots::enter::<ReadingEnd>(reader)?;
        let mut reader = alone(&end.reader, ReadingEnd::NAME)?;
        // SAFETY: by this function's contract.
        let (into, length) = unsafe { (room(into.cast(), size)?, length.cast::<MaybeUninit<usize>>().as_mut()) };
        let limit = limit(timeout_ns);
        let (at, bytes) = match reader.look(limit)? {
            Some(shown) => shown,
            None => reader.take(limit)?,
        };
        if let Some(length) = length {
            length.write(bytes);
        }
        let Some(into) = into.get_mut(..bytes) else {
            let what = format!("a message of {bytes} bytes does not fit into {size}: it stays for the next call");
            return Err(Refusal::new(LENGTH, what));
        };
        // SAFETY: the message is held, or in the ring until it is passed; `into` has its length, and is the
        // caller's, while the message is this library's.
        unsafe { at.copy_to_nonoverlapping(into.as_mut_ptr().cast(), bytes) };
        reader.pass()
    })
}

/// # Safety
/// `at` and `length` are null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_reader_view(
    reader: Handle,
    timeout_ns: i64,
    at: *mut *const c_void,
    length: *mut usize,
) -> c_int {
    call(|| {
        let end = slots::enter::<ReadingEnd>(reader)?;
        let mut reader = alone(&end.reader, ReadingEnd::NAME)?;
        // SAFETY: by this function's contract.
        let (at, length) = unsafe { (place(at)?, place(length)?) };
        let shown = reader.look(limit(timeout_ns))?;
        let (address, bytes) = shown.ok_or_else(|| {
            let what = "this message does not lie whole in the ring, where it would stay: receive it";
            Refusal::new(IN_PIECES, what)
        })?;
        at.write(address.cast());
        length.write(bytes);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_reader_pass(reader: Handle) -> c_int {
    call(|| alone(&slots::enter::<ReadingEnd>(reader)?.reader, ReadingEnd::NAME)?.pass())
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_reader_is_ready(reader: Handle, into: *mut c_int) -> c_int {
    call(|| {
        let end = slots::enter::<ReadingEnd>(reader)?;
        let mut reader = alone(&end.reader, ReadingEnd::NAME)?;
        let is_ready = reader.holds || reader.reader.is_ready()?;
        // SAFETY: by this function's contract.
        unsafe { place(into) }?.write(is_ready.into());
        Ok(())
    })
}

/// # Safety
/// `into` is null or has `size` bytes, `length` is null or a number, and both are the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_reader_statistics(
    reader: Handle,
    into: *mut c_char,
    size: usize,
    length: *mut usize,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { tell::<ReadingEnd>(reader, |it| it.account.snapshot().to_string(), into, size, length) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_reader_destroy(reader: Handle) -> c_int {
    call(|| slots::remove::<ReadingEnd>(reader))
}
