//! One endpoint with the queue of its completions, its address book and its domain: libfabric's objects as
//! Rust values.
//!
//! An endpoint has one user at a time, and acts within that user's calls (manual progress): a completion is
//! seen, and a connection made, only in [`ActiveEndpoint::poll`].
use crate::abi::*;
use crate::provider::Provider;
use core::cell::Cell;
use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering::*};
use foregather_machine::{Cause, Error, Nanos};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{BorrowedFd, RawFd};
use std::sync::Arc;

fn refused(what: &'static str, error: i64) -> Error {
    let remedy = "FI_LOG_LEVEL=warn makes libfabric say more";
    Cause::Os { what, errno: error.unsigned_abs() as i32, remedy }.into()
}

fn done(what: &'static str, result: c_int) -> Result<(), Error> {
    if result == 0 { Ok(()) } else { Err(refused(what, i64::from(result))) }
}

/// # Safety
/// `object` must be one of libfabric's, not closed yet and not used afterwards.
unsafe fn close(object: Fid) {
    // SAFETY: every object begins with the table of its close function; the object is open, by this
    // function's `# Safety` section.
    unsafe { operation::<Close>(object, OBJECT_OPS, OPS_CLOSE)(object) };
}

/// The domain with which memory is registered.
#[derive(Debug)]
pub(crate) struct Domain {
    pub(crate) provider: Arc<Provider>,
    fabric: Fid,
    domain: Fid,
}

// SAFETY: only the owner of the endpoint that opened it calls into it; other holders only keep it open.
unsafe impl Send for Domain {}
// SAFETY: a shared reference allows no calls into the domain: only the owner of the endpoint makes them.
unsafe impl Sync for Domain {}

impl Domain {
    fn open(provider: Arc<Provider>) -> Result<Self, Error> {
        let (info, mut fabric, mut domain) = (provider.info(), null_mut(), null_mut());
        // SAFETY: the record is libfabric's own answer; a domain is opened through the fabric's table.
        unsafe {
            done("fi_fabric", (provider.api.open_fabric)(pointer(info, INFO_FABRIC), &raw mut fabric, null_mut()))?;
            let open = operation::<Open>(fabric, FABRIC_OPS, FABRIC_DOMAIN);
            if let Err(error) = done("fi_domain", open(fabric, info, &raw mut domain, null_mut())) {
                close(fabric);
                return Err(error);
            }
        }
        Ok(Self { provider, fabric, domain })
    }

    /// Opens a queue, an address book or an endpoint by the domain.
    fn opened(&self, what: &'static str, entry: u64, attributes: Fid) -> Result<Fid, Error> {
        let mut object = null_mut();
        // SAFETY: the three functions take these parameters; the attributes are a record of the kind that
        // `entry` takes, with room to spare.
        unsafe {
            let open = operation::<Open>(self.domain, DOMAIN_OPS, entry);
            done(what, open(self.domain, attributes, &raw mut object, null_mut()))?;
        }
        Ok(object)
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        // SAFETY: all that was opened or registered with the domain holds it, so all of that is closed.
        unsafe {
            close(self.domain);
            close(self.fabric);
        }
    }
}

/// Memory that libfabric may touch.
#[derive(Debug)]
pub(crate) struct MemoryRegion {
    region: Fid,
    /// Held, so that the domain stays open.
    _domain: Arc<Domain>,
}

// SAFETY: it belongs to one lane, as its domain does, and moves with that.
unsafe impl Send for MemoryRegion {}
// SAFETY: a shared reference only allows reading its two numbers.
unsafe impl Sync for MemoryRegion {}

impl MemoryRegion {
    /// The descriptor for operations on this memory.
    pub(crate) fn descriptor(&self) -> Fid {
        // SAFETY: the region is open, and `MR_DESC` is a pointer in its record.
        unsafe { pointer(self.region, MR_DESC) }
    }
    /// What a peer needs to read it.
    pub(crate) fn key(&self) -> u64 {
        // SAFETY: the region is open, and `MR_KEY` is a 64-bit number in its record.
        unsafe { *field::<u64>(self.region, MR_KEY) }
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        // SAFETY: no other value holds the region; operations on it have ended, or the endpoint is closed.
        unsafe { close(self.region) }
    }
}

/// An operation that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    /// The context lent to it; null if none was.
    pub(crate) context: Fid,
    pub(crate) len: usize,
    pub(crate) tag: u64,
    /// 0, or its error number.
    pub(crate) error: u32,
}

/// The number of completions read at once.
const BATCH: usize = 16;

/// The result of operations on an endpoint that was silenced: it is not connected.
const CLOSED: isize = -(libc::ENOTCONN as isize);

/// Entries as libfabric writes them, and room for those of an error, which have grown before and may again.
#[repr(C, align(8))]
struct CompletionEntries([u8; BATCH * ENTRY_SIZE as usize]);

pub(crate) struct ActiveEndpoint {
    domain: Arc<Domain>,
    endpoint: Fid,
    queue: Fid,
    addresses: Fid,
    /// The descriptor to sleep on, if the provider has one.
    wait: Option<RawFd>,
    silent: Cell<bool>,
    next_key: Cell<u64>,
    _turn: Option<ShmTurn>,
}

// SAFETY: any thread may call libfabric's objects, as long as it is one at a time; an endpoint is not `Sync`.
unsafe impl Send for ActiveEndpoint {}

/// Whether this process has an endpoint over libfabric's shm. Two of them share what the first one unmaps
/// when it is closed, and the other one's next look at the network is a crash (seen in 1.17): so there is one
/// at a time.
static SHM_TAKEN: AtomicBool = AtomicBool::new(false);

/// Released when the last object of an endpoint is closed.
struct ShmTurn;

impl ShmTurn {
    fn of(provider: &Provider) -> Result<Option<Self>, Error> {
        if provider.name() != "shm" {
            return Ok(None);
        }
        if SHM_TAKEN.swap(true, AcqRel) {
            let needs = "one lane in each process, or another fabric";
            return Err(Cause::Setting { what: "libfabric's shm", needs }.into());
        }
        Ok(Some(Self))
    }
}

impl Drop for ShmTurn {
    fn drop(&mut self) {
        SHM_TAKEN.store(false, Release);
    }
}

impl ActiveEndpoint {
    /// Opens an endpoint, with a descriptor to sleep on if that is wanted and the provider has it: it costs a
    /// little with every completion.
    pub(crate) fn open(provider: Arc<Provider>, wait: u64) -> Result<Self, Error> {
        let turn = ShmTurn::of(&provider)?;
        let domain = Arc::new(Domain::open(provider)?);
        let mut made = Self {
            domain,
            endpoint: null_mut(),
            queue: null_mut(),
            addresses: null_mut(),
            wait: None,
            silent: Cell::new(false),
            next_key: Cell::new(1),
            _turn: turn,
        };
        // The caller's records have grown from version to version: these have room to spare, all zero.
        let (mut book, mut queue) = ([0_u64; 16], [0_u64; 16]);
        let (book, queue): (Fid, Fid) = (book.as_mut_ptr().cast(), queue.as_mut_ptr().cast());
        // SAFETY: the constants name fields within the zeroed records.
        unsafe {
            *field::<u32>(book, AV_ATTR_TYPE) = AV_TABLE as u32;
            *field::<usize>(queue, CQ_ATTR_SIZE) = made.domain.provider.operations().clamp(1_024, 65_536);
            *field::<u32>(queue, CQ_ATTR_FORMAT) = FORMAT_TAGGED as u32;
            *field::<u32>(queue, CQ_ATTR_WAIT) = wait as u32;
        }
        made.addresses = made.domain.opened("fi_av_open", DOMAIN_AV_OPEN, book)?;
        if let Ok(with_wait) = made.domain.opened("fi_cq_open", DOMAIN_CQ_OPEN, queue) {
            made.queue = with_wait;
            made.wait = made.descriptor();
        } else {
            // SAFETY: `CQ_ATTR_WAIT` is a field within the zeroed record.
            unsafe { *field::<u32>(queue, CQ_ATTR_WAIT) = WAIT_NONE as u32 };
            made.queue = made.domain.opened("fi_cq_open", DOMAIN_CQ_OPEN, queue)?;
        }
        made.endpoint = made.domain.opened("fi_endpoint", DOMAIN_ENDPOINT, made.domain.provider.info())?;
        // SAFETY: all of them are open, and of one domain.
        unsafe {
            let bind = operation::<Bind>(made.endpoint, OBJECT_OPS, OPS_BIND);
            done("fi_ep_bind", bind(made.endpoint, made.addresses, 0))?;
            done("fi_ep_bind", bind(made.endpoint, made.queue, TRANSMIT | RECV))?;
            let control = operation::<Control>(made.endpoint, OBJECT_OPS, OPS_CONTROL);
            done("fi_enable", control(made.endpoint, ENABLE as c_int, null_mut()))?;
        }
        Ok(made)
    }

    /// The file descriptor that becomes readable when there is something to do.
    fn descriptor(&self) -> Option<RawFd> {
        let mut fd: c_int = -1;
        // SAFETY: for this request and this kind of queue libfabric writes an `int`.
        let result = unsafe {
            operation::<Control>(self.queue, OBJECT_OPS, OPS_CONTROL)(self.queue, GET_WAIT as c_int, (&raw mut fd).cast())
        };
        (result == 0 && fd >= 0).then_some(fd)
    }

    pub(crate) fn provider(&self) -> &Provider {
        &self.domain.provider
    }
    pub(crate) fn can_sleep(&self) -> bool {
        self.wait.is_some() && !self.silent.get()
    }
    pub(crate) fn is_silent(&self) -> bool {
        self.silent.get()
    }

    /// The name by which other endpoints reach this one.
    pub(crate) fn name(&self) -> Result<Vec<u8>, Error> {
        let mut name = vec![0; 512];
        let mut len = name.len();
        // SAFETY: libfabric writes at most `len` bytes, and the length into `len`.
        let result = unsafe {
            operation::<GetName>(self.endpoint, EP_CM, CM_GETNAME)(self.endpoint, name.as_mut_ptr().cast(), &raw mut len)
        };
        done("fi_getname", result)?;
        name.truncate(len);
        Ok(name)
    }

    /// Enters a peer's name into the address book. It must be as long as this endpoint's own.
    pub(crate) fn insert(&self, name: &[u8]) -> Result<u64, Error> {
        let mut address = 0;
        // SAFETY: libfabric reads one name, of the length of names here, and writes one number.
        let result = unsafe {
            let insert = operation::<Insert>(self.addresses, AV_OPS, AV_INSERT);
            insert(self.addresses, name.as_ptr().cast(), 1, &raw mut address, 0, null_mut())
        };
        if result == 1 { Ok(address) } else { Err(refused("fi_av_insert", i64::from(result))) }
    }

    /// Waits for a message of any peer in that memory.
    ///
    /// # Safety
    /// The memory and the context belong to libfabric until the completion, or until
    /// [`ActiveEndpoint::silence`].
    pub(crate) unsafe fn receive(&self, into: *mut u8, len: usize, descriptor: Fid, context: Fid) -> isize {
        if self.silent.get() {
            return CLOSED;
        }
        // SAFETY: the caller lends memory and context, by this function's `# Safety` section; any tag
        // matches.
        unsafe {
            let receive = operation::<ReceiveTagged>(self.endpoint, EP_TAGGED, TAGGED_RECV);
            receive(self.endpoint, into.cast(), len, descriptor, ADDRESS_UNSPECIFIED, 0, u64::MAX, context)
        }
    }

    /// Sends that memory.
    ///
    /// # Safety
    /// As for [`ActiveEndpoint::receive`], if the result is 0.
    pub(crate) unsafe fn send(&self, (from, len): (*const u8, usize), descriptor: Fid, to: u64, tag: u64, context: Fid) -> isize {
        if self.silent.get() {
            return CLOSED;
        }
        // SAFETY: the caller lends memory and context, by this function's `# Safety` section.
        unsafe {
            let send = operation::<SendTagged>(self.endpoint, EP_TAGGED, TAGGED_SEND);
            send(self.endpoint, from.cast(), len, descriptor, to, tag, context)
        }
    }

    /// Sends a few bytes (at most [`Provider::inject_size`]), copied before it returns. They have no
    /// completion.
    pub(crate) fn inject(&self, bytes: &[u8], to: u64, tag: u64) -> isize {
        if self.silent.get() {
            return CLOSED;
        }
        // SAFETY: the bytes are read during the call only.
        unsafe {
            operation::<Inject>(self.endpoint, EP_TAGGED, TAGGED_INJECT)(
                self.endpoint,
                bytes.as_ptr().cast(),
                bytes.len(),
                to,
                tag,
            )
        }
    }

    /// Reads a peer's memory into these pieces.
    ///
    /// # Safety
    /// As for [`ActiveEndpoint::receive`], if the result is 0; there are as many descriptors as pieces.
    pub(crate) unsafe fn read(
        &self,
        pieces: &[libc::iovec],
        descriptors: &mut [Fid],
        from: u64,
        (address, key): (u64, u64),
        context: Fid,
    ) -> isize {
        if self.silent.get() {
            return CLOSED;
        }
        // SAFETY: the caller lends memory and context, by this function's `# Safety` section; the lists are
        // read during the call only.
        unsafe {
            let read = operation::<ReadV>(self.endpoint, EP_RMA, RMA_READV);
            read(self.endpoint, pieces.as_ptr(), descriptors.as_mut_ptr(), pieces.len(), from, address, key, context)
        }
    }

    /// Lets libfabric touch that memory.
    ///
    /// # Safety
    /// The memory must stay where it is until the registration is dropped.
    pub(crate) unsafe fn register(&self, memory: *const u8, len: usize, access: u64) -> Result<MemoryRegion, Error> {
        let (mut region, wish) = (null_mut(), self.next_key.get());
        self.next_key.set(wish + 1);
        let domain = self.domain.domain;
        // SAFETY: the memory stays, by this function's `# Safety` section; the domain is open.
        let result = unsafe {
            let register = operation::<Register>(domain, DOMAIN_MR, MR_REG);
            register(domain, memory.cast(), len, access, 0, wish, 0, &raw mut region, null_mut())
        };
        done("registering memory (fi_mr_reg)", result)?;
        Ok(MemoryRegion { region, _domain: Arc::clone(&self.domain) })
    }

    /// Makes progress, and passes on the operations that have ended. `true`: there may be more.
    pub(crate) fn poll(&self, mut ended: impl FnMut(Completion)) -> bool {
        if self.silent.get() {
            return false;
        }
        let mut entries = MaybeUninit::<CompletionEntries>::uninit();
        let room: Fid = entries.as_mut_ptr().cast();
        // SAFETY: there is room for `BATCH` entries of this queue's kind.
        let count = unsafe { operation::<ReadQueue>(self.queue, CQ_OPS, CQ_READ)(self.queue, room, BATCH) };
        if count == -(EAVAIL as isize) {
            return self.failed(&mut ended);
        }
        for at in 0..usize::try_from(count).unwrap_or(0).min(BATCH) {
            // SAFETY: libfabric has written `count` entries.
            ended(unsafe {
                let entry = field::<u8>(room, at as u64 * ENTRY_SIZE).cast();
                Completion {
                    context: pointer(entry, ENTRY_CONTEXT),
                    len: *field::<usize>(entry, ENTRY_LEN),
                    tag: *field::<u64>(entry, ENTRY_TAG),
                    error: 0,
                }
            });
        }
        count == BATCH as isize
    }

    #[cold]
    fn failed(&self, ended: &mut impl FnMut(Completion)) -> bool {
        let mut entry = [0_u64; 32];
        let room: Fid = entry.as_mut_ptr().cast();
        // SAFETY: the record has grown from version to version; there is room to spare, all zero, so it
        // offers no room for details.
        let count = unsafe { operation::<ReadError>(self.queue, CQ_OPS, CQ_READERR)(self.queue, room, 0) };
        if count > 0 {
            // SAFETY: libfabric has written one entry.
            ended(unsafe {
                Completion {
                    context: pointer(room, ERROR_CONTEXT),
                    len: 0,
                    tag: *field::<u64>(room, ERROR_TAG),
                    error: (*field::<u32>(room, ERROR_NUMBER)).max(1),
                }
            });
        }
        count > 0
    }

    /// Sleeps until there is something to do, for `longest` at most. It does not sleep if there is something
    /// already, or no descriptor.
    pub(crate) fn rest(&self, longest: Nanos) {
        let Some(fd) = self.wait.filter(|_| !self.silent.get()) else { return };
        let mut queues = [self.queue];
        let fabric = self.domain.fabric;
        // SAFETY: fabric and queue are open; the call reads one object.
        if unsafe { operation::<TryWait>(fabric, FABRIC_OPS, FABRIC_TRYWAIT)(fabric, queues.as_mut_ptr(), 1) } != 0 {
            return;
        }
        // SAFETY: the queue owns the descriptor and is open.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        let timeout = Timespec { tv_sec: (longest.0 / 1_000_000_000) as i64, tv_nsec: (longest.0 % 1_000_000_000) as _ };
        // An interrupted sleep is a short one.
        let _ = poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout));
    }

    /// Ends the endpoint: from now on libfabric touches no memory that was lent to it.
    pub(crate) fn silence(&self) {
        if !self.silent.replace(true) && !self.endpoint.is_null() {
            // SAFETY: closed once, and never used when silent. Its operations are discarded with it.
            unsafe { close(self.endpoint) };
        }
    }
}

impl Drop for ActiveEndpoint {
    fn drop(&mut self) {
        self.silence();
        for object in [self.queue, self.addresses] {
            if !object.is_null() {
                // SAFETY: closed once, after the endpoint that used it and before their domain.
                unsafe { close(object) };
            }
        }
    }
}
