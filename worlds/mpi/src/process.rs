//! This process as a rank of its MPI, which is initialised once and finalized at the end of the process.
//!
//! One lock serialises all calls, because MPI is initialised with `MPI_THREAD_SERIALIZED` only. A program
//! that has initialised MPI itself may call it at any time, so it must have requested `MPI_THREAD_MULTIPLE`.
use crate::abi::{STATUS_ROOM, TEXT_ROOM};
use crate::functions::{Functions, MpiHandle};
use crate::library::{FoundMpi, MpiInfo, OVERRIDE, refused};
use core::ffi::{CStr, c_char, c_int};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use core::time::Duration;
use foregather_host::failure_detector::FailureDetector;
use foregather_machine::{Error, Nanos, Rank};
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread::sleep;

/// The maximum sleep between two polls, because MPI does not wake threads.
pub(crate) const NAP: Nanos = Nanos::from_us(200);

/// Sleeps for `span`.
pub(crate) fn nap(span: Nanos) {
    sleep(Duration::from_nanos(span.0));
}
/// The maximum length of the text of [`Mpi::spread`], in bytes.
const SPREAD: usize = 1_024;

/// An `MPI_Status` of any interface.
#[repr(C, align(8))]
pub(crate) struct Status(pub(crate) [u8; STATUS_ROOM]);

impl Status {
    fn number(&self, at: usize) -> c_int {
        self.0[at..].first_chunk().map_or(-1, |bytes| c_int::from_ne_bytes(*bytes))
    }
}

/// This process as a rank of its MPI.
#[derive(Debug)]
pub struct Mpi {
    pub(crate) found: FoundMpi,
    /// A duplicate of `MPI_COMM_WORLD`, so that messages of the program never match those of lanes.
    pub(crate) comm: MpiHandle,
    pub(crate) byte: MpiHandle,
    pub(crate) request_null: MpiHandle,
    rank: Rank,
    size: u32,
    lock: Mutex<()>,
    /// The number of threads that wait for the lock.
    wanting: AtomicU32,
    /// The number of groups of lanes created so far. All ranks create them in the same order.
    pub(crate) groups: AtomicU32,
    /// The number of sends of all lanes that MPI has not completed.
    pub(crate) under_way: AtomicU32,
    /// Whether no wait can succeed any more, because a rank was lost or MPI has failed.
    over: AtomicBool,
    failure_detector: Mutex<Option<Arc<FailureDetector>>>,
}

/// The functions of MPI, while this thread holds the lock and no other thread of this process calls MPI.
pub(crate) struct Calls<'a> {
    functions: &'a Functions,
    _alone: MutexGuard<'a, ()>,
}

impl Deref for Calls<'_> {
    type Target = Functions;
    #[inline]
    fn deref(&self) -> &Functions {
        self.functions
    }
}

static JOINED: OnceLock<Result<Mpi, Error>> = OnceLock::new();

impl Mpi {
    /// Initialises MPI, unless the program has done so, and duplicates `MPI_COMM_WORLD`. Later calls return
    /// the same object. All ranks must call it. `expected` is the number of ranks according to the launcher's
    /// variables, and `by_open_mpi` says whether the launcher is Open MPI's.
    ///
    /// # Errors
    /// If no MPI library or more than one is found, its binary interface is unknown, the launcher belongs to
    /// another MPI, the program has initialised MPI with too low a thread level, or MPI has been finalized.
    pub fn join((expected, by_open_mpi): (Option<u32>, bool)) -> Result<&'static Self, Error> {
        let joined = JOINED.get_or_init(|| Self::begin(FoundMpi::find(by_open_mpi)?, expected));
        joined.as_ref().map_err(Clone::clone)
    }

    /// Returns the object that [`Mpi::join`] returned, or `None` if it was not called or failed.
    pub fn joined() -> Option<&'static Self> {
        JOINED.get()?.as_ref().ok()
    }

    fn begin(found: FoundMpi, expected: Option<u32>) -> Result<Self, Error> {
        let begun = initialise(&found)?;
        let [world, byte, request_null, errors_return] =
            [found.abi.comm_world, found.abi.byte, found.abi.request_null, found.abi.errors_return].map(|of| found.handle(of));
        let (mut comm, mut rank, mut size) = (MpiHandle(0), 0, 0);
        let functions = &found.functions;
        // SAFETY: MPI is initialised. Either no other thread of this library calls it yet, or MPI is
        // thread-safe. Each result has room.
        let codes = unsafe {
            [
                (functions.comm_dup)(world?, &raw mut comm),
                (functions.comm_set_errhandler)(comm, errors_return?),
                (functions.comm_rank)(comm, &raw mut rank),
                (functions.comm_size)(comm, &raw mut size),
            ]
        };
        if let Some(&code) = codes.iter().find(|&&code| code != 0) {
            return Err(refused(format!("MPI's first calls failed: {}", error_text(functions, code).0)));
        }
        let (rank, size) = (rank as u32, size as u32);
        if expected.is_some_and(|expected| expected != size) {
            return Err(another_launcher(&found, size, expected.unwrap_or(0)));
        }
        if begun {
            crate::end::finalise_at_exit();
        }
        Ok(Self {
            comm,
            byte: byte?,
            request_null: request_null?,
            found,
            rank,
            size,
            lock: Mutex::default(),
            wanting: AtomicU32::new(0),
            groups: AtomicU32::new(0),
            under_way: AtomicU32::new(0),
            over: AtomicBool::new(false),
            failure_detector: Mutex::default(),
        })
    }

    /// Returns this process's rank in `MPI_COMM_WORLD`.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the path, the version and the interface of the library.
    pub fn info(&self) -> MpiInfo {
        self.found.info()
    }

    /// Returns the library's version text and file, for messages.
    pub fn name(&self) -> String {
        format!("{} ({})", self.info().version, self.found.path().display())
    }

    /// Broadcasts a text of at most 1 KiB from rank 0 to all ranks. All ranks must call it. If rank 0 passes
    /// `None`, the text is empty.
    ///
    /// # Errors
    /// If the text is too long, or MPI fails.
    pub fn spread(&self, text: Option<&str>) -> Result<String, Error> {
        let mut bytes = vec![0; SPREAD];
        if let Some(text) = text.filter(|_| self.rank == 0) {
            let room = bytes.get_mut(..text.len()).ok_or_else(|| refused("rank 0's address is too long".to_owned()))?;
            room.copy_from_slice(text.as_bytes());
        }
        let calls = self.calls();
        // SAFETY: MPI reads `SPREAD` bytes on rank 0, and writes at most as many on the other ranks.
        let code = unsafe { (calls.bcast)(bytes.as_mut_ptr().cast(), SPREAD as c_int, self.byte, 0, self.comm) };
        self.done("MPI_Bcast", None, code)?;
        bytes.truncate(bytes.iter().position(|&byte| byte == 0).unwrap_or(SPREAD));
        String::from_utf8(bytes).map_err(|_| refused("rank 0's address is not text".to_owned()))
    }

    /// Waits for the lock, so that no other thread of this process calls MPI while the result exists.
    #[inline]
    pub(crate) fn calls(&self) -> Calls<'_> {
        self.try_calls().unwrap_or_else(|| {
            self.wanting.fetch_add(1, Relaxed);
            let _alone = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.wanting.fetch_sub(1, Relaxed);
            Calls { functions: &self.found.functions, _alone }
        })
    }

    /// Takes the lock like [`Mpi::try_calls`], unless another thread is waiting for it. For polls that can be
    /// skipped.
    #[inline]
    pub(crate) fn idle_calls(&self) -> Option<Calls<'_>> {
        if self.wanting.load(Relaxed) == 0 { self.try_calls() } else { None }
    }

    /// Takes the lock like [`Mpi::calls`], or returns `None` if another thread holds it.
    #[inline]
    pub(crate) fn try_calls(&self) -> Option<Calls<'_>> {
        let _alone = match self.lock.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Calls { functions: &self.found.functions, _alone })
    }

    /// Converts an MPI error code into an error with MPI's text, or into one that names a lost rank if MPI
    /// reports one. The caller must hold the lock.
    #[inline]
    pub(crate) fn done(&self, what: &str, peer: Option<Rank>, code: c_int) -> Result<(), Error> {
        if code == 0 { Ok(()) } else { Err(self.failed(what, peer, code)) }
    }

    #[cold]
    fn failed(&self, what: &str, peer: Option<Rank>, code: c_int) -> Error {
        let (text, class) = error_text(&self.found.functions, code);
        if self.found.abi.loss_classes.contains(&class)
            && let Some(rank) = self.lost_rank().or(peer)
        {
            return Error::lost(rank);
        }
        let with = peer.map(|rank| format!(" with rank {rank}")).unwrap_or_default();
        refused(format!(
            "{what}{with} failed: {text} (class {class}); a lost rank shows only as this MPI reports it: look at its launcher's output, and \
             restart the job"
        ))
    }

    /// Returns the source and the length of a received message.
    #[inline]
    pub(crate) fn received(&self, calls: &Calls<'_>, status: &mut Status) -> (c_int, usize) {
        let mut count = 0;
        // SAFETY: MPI has filled the status; the count has room.
        unsafe { (calls.get_count)(status.0.as_mut_ptr(), self.byte, &raw mut count) };
        (status.number(self.found.abi.status_source), usize::try_from(count).unwrap_or(0))
    }

    /// Probes for any message and returns its source and tag. The call also lets MPI continue transfers that
    /// have begun.
    pub(crate) fn probe(&self, calls: &Calls<'_>, status: &mut Status) -> Option<(c_int, c_int)> {
        let (mut flag, abi) = (0, self.found.abi);
        // SAFETY: flag and status have room; the communicator exists until MPI is finalized.
        let code = unsafe { (calls.iprobe)(abi.any_source, abi.any_tag, self.comm, &raw mut flag, status.0.as_mut_ptr()) };
        (code == 0 && flag != 0).then(|| (status.number(abi.status_source), status.number(abi.status_tag)))
    }

    pub(crate) fn any_source(&self) -> c_int {
        self.found.abi.any_source
    }

    /// Lets MPI continue transfers that have begun, unless another thread is calling MPI. Receives nothing.
    pub(crate) fn nudge(&self) {
        if let Some(calls) = self.try_calls()
            && !self.is_over()
        {
            self.probe(&calls, &mut Status([0; STATUS_ROOM]));
        }
    }

    /// Records that MPI cannot be expected to complete anything any more.
    pub(crate) fn give_up(&self) {
        self.over.store(true, Release);
    }

    /// Returns whether no wait can succeed any more, because MPI has failed or a rank was lost.
    pub(crate) fn is_over(&self) -> bool {
        let watch = self.failure_detector.try_lock();
        self.over.load(Acquire) || watch.is_ok_and(|watch| watch.as_ref().is_some_and(|watch| watch.lost().is_some()))
    }

    /// Makes every wait of this process fail with an error that names `rank`, which MPI has reported as lost.
    #[cold]
    pub(crate) fn declare_lost(&self, rank: Rank) {
        let failure_detector = self.failure_detector.lock().unwrap_or_else(PoisonError::into_inner);
        failure_detector.iter().for_each(|failure_detector| failure_detector.declare_lost(rank));
    }

    /// Sets the failure detector of the job, which is also checked at the end of the process.
    pub(crate) fn watch(&self, failure_detector: &Arc<FailureDetector>) {
        *self.failure_detector.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(failure_detector));
    }
}

/// Initialises MPI. Returns false if the program had already done so.
fn initialise(found: &FoundMpi) -> Result<bool, Error> {
    let (functions, abi) = (&found.functions, found.abi);
    let (mut begun, mut ended, mut level) = (0, 0, 0);
    // SAFETY: the two functions may be called at any time; the results have room.
    unsafe {
        (functions.initialized)(&raw mut begun);
        (functions.finalized)(&raw mut ended);
    }
    if ended != 0 {
        return Err(refused("this process has finalized its MPI already: finalize it after the job".to_owned()));
    }
    if begun != 0 {
        // SAFETY: MPI is initialised.
        unsafe { (functions.query_thread)(&raw mut level) };
        return if level == abi.thread_multiple {
            Ok(false)
        } else {
            Err(refused(format!(
                "this program has initialised {} for fewer threads than jobs need: initialise it with MPI_THREAD_MULTIPLE, or \
                 leave that to the job",
                abi.name
            )))
        };
    }
    // SAFETY: MPI accepts null for the program's arguments, and no thread has initialised it.
    let code = crate::end::explained(|| unsafe {
        (functions.init_thread)(null_mut(), null_mut(), abi.thread_serialized, &raw mut level)
    });
    if code != 0 || level < abi.thread_serialized {
        let path = found.path().display();
        return Err(refused(format!(
            "{path} could not be initialised for several threads (code {code}, level {level}): use another build of it, or name \
             another MPI in {OVERRIDE}"
        )));
    }
    Ok(true)
}

fn another_launcher(found: &FoundMpi, size: u32, expected: u32) -> Error {
    refused(format!(
        "the launcher has started {expected} ranks, but {} sees {size}: it is the launcher of another MPI; use the `mpiexec` that \
         belongs to {}, or name the launcher's own library in {OVERRIDE}",
        found.info().version,
        found.path().display()
    ))
}

/// Returns MPI's text for an error code, and its error class.
fn error_text(functions: &Functions, code: c_int) -> (String, c_int) {
    let (mut text, mut len, mut class): (Vec<c_char>, c_int, c_int) = (vec![0; TEXT_ROOM], 0, 0);
    // SAFETY: MPI's texts are shorter than the buffer, which stays NUL-terminated.
    let text = unsafe {
        (functions.error_class)(code, &raw mut class);
        (functions.error_string)(code, text.as_mut_ptr(), &raw mut len);
        CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned()
    };
    (text.split_whitespace().collect::<Vec<_>>().join(" "), class)
}
