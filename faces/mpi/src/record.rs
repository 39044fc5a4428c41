//! The page, the slot of the calling thread, and what each call notes there.
use crate::abi::constants;
use crate::arguments::{Arguments, MpiHandle};
use crate::communicators::{self, KnownCommunicator, ask};
use crate::requests;
use core::cell::Cell;
use core::ffi::c_int;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering::*};
use foregather_host::usage::this_thread;
use foregather_host::watched::calls::{self, AWAITED, AwaitedMessage, CallPage, CallSlot, MpiCall};
use foregather_machine::Rank;
use std::path::Path;
use std::sync::OnceLock;

/// What a call means, by the places of its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CallEffect {
    /// Waits for messages: the peer and the tag of each.
    Messages {
        send: Option<(usize, usize)>,
        receive: Option<(usize, usize)>,
        communicator: usize,
    },
    /// Waits until there is a message.
    Probes {
        receive: (usize, usize),
        communicator: usize,
    },
    /// Begins to send or receive, and returns.
    Starts {
        send: Option<(usize, usize)>,
        receive: Option<(usize, usize)>,
        communicator: usize,
        request: Option<usize>,
    },
    /// Makes a request that is begun later, again and again.
    Prepares {
        is_send: bool,
        peer: usize,
        tag: usize,
        communicator: usize,
        request: usize,
    },
    /// Begins such requests.
    Activates {
        count: Option<usize>,
        requests: usize,
    },
    /// Waits for requests or tests or frees them: some of them end.
    Requests {
        count: Option<usize>,
        requests: usize,
    },
    /// Wants the message of a request no more.
    Cancels {
        request: usize,
    },
    /// A call of all members.
    Collective {
        root: Option<usize>,
        communicator: usize,
    },
    /// Such a call that makes a communicator.
    Makes {
        communicator: usize,
        new: usize,
    },
    FreesCommunicator {
        communicator: usize,
    },
    /// The first call of MPI, and where it stores the level of threads.
    Begins {
        level: Option<usize>,
    },
    Ends,
}

/// Requests of a call as they were before it.
pub(crate) struct OpenRequests {
    first: [MpiHandle; FIRST],
    count: usize,
    more: Vec<MpiHandle>,
}

const FIRST: usize = 8;

/// What this library knows of a thread.
struct CallingThread {
    slot: Cell<Option<&'static CallSlot>>,
    has_asked: Cell<bool>,
    /// Whether the thread is in a function of this library: MPI may call its own functions by name.
    is_inside: Cell<bool>,
    /// What the end of a call needs of its beginning: the word of a message, or a handle.
    kept: Cell<u64>,
}

thread_local! {
    static CALLING: CallingThread =
        const {
            CallingThread {
                slot: Cell::new(None),
                has_asked: Cell::new(false),
                is_inside: Cell::new(false),
                kept: Cell::new(0),
            }
        };
}

/// The rank of this process and the number of ranks, plus 1; 0 if they are not known.
static JOB: AtomicU64 = AtomicU64::new(0);
static LEVEL: AtomicU64 = AtomicU64::new(0);
/// The threads of this process when `MPI_Init` returned.
static THREADS: AtomicU64 = AtomicU64::new(0);

/// The page that the environment names, unless there is none.
pub(crate) fn page() -> Option<&'static CallPage> {
    static PAGE: OnceLock<Option<CallPage>> = OnceLock::new();
    PAGE.get_or_init(|| CallPage::open(Path::new(&std::env::var_os(calls::VARIABLE)?))).as_ref()
}

/// Opens the page when the library is loaded: the program may close descriptors or change its user later.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = open_page;

extern "C" fn open_page() {
    page();
}

/// A call that is noted. It ends in the thread that began it.
pub(crate) struct NotedCall {
    slot: &'static CallSlot,
    calling: NonNull<CallingThread>,
}

impl NotedCall {
    fn calling(&self) -> &CallingThread {
        // SAFETY: `enter` made it of the calling thread's own, which lives as long as the thread.
        unsafe { self.calling.as_ref() }
    }

    /// Notes that the thread leaves the call and this library.
    #[inline]
    pub(crate) fn leave(&self, call: Option<MpiCall>) {
        if call.is_some() {
            self.slot.end();
        }
        self.calling().is_inside.set(false);
    }
}

/// Notes that the thread enters this library. `None` if there is no page, or MPI itself calls.
#[inline]
fn enter(is_initialized: bool) -> Option<NotedCall> {
    CALLING.with(|calling| {
        if calling.is_inside.get() {
            return None;
        }
        let slot = match calling.slot.get() {
            None if calling.has_asked.get() => None,
            None => take(calling, is_initialized),
            slot => slot,
        };
        calling.is_inside.set(slot.is_some());
        Some(NotedCall { slot: slot?, calling: NonNull::from(calling) })
    })
}

/// Notes the beginning of a call that waits for messages. In each function of its own, so that the places of
/// the arguments are known.
#[inline(always)]
pub(crate) fn begin_messages(
    call: Option<MpiCall>,
    send: Option<(usize, usize)>,
    receive: Option<(usize, usize)>,
    communicator: usize,
    arguments: &Arguments<'_>,
) -> Option<NotedCall> {
    let noted = enter(true)?;
    let known = communicators::of(arguments.handle(communicator));
    let (mut words, mut count) = ([0; 2], 0);
    for (is_send, at) in [(true, send), (false, receive)] {
        if let Some(message) = at.and_then(|at| message(arguments, is_send, at, known)) {
            noted.slot.count(message, 1);
            words[count] = message.to_word();
            count += 1;
        }
    }
    if let Some(call) = call {
        noted.slot.begin(call, &words[..count], known.is_none(), None, None);
    }
    Some(noted)
}

/// Notes the beginning of a call that begins to send or to receive.
#[inline(always)]
pub(crate) fn begin_start(
    send: Option<(usize, usize)>,
    receive: Option<(usize, usize)>,
    communicator: usize,
    arguments: &Arguments<'_>,
) -> Option<NotedCall> {
    let noted = enter(true)?;
    let known = communicators::of(arguments.handle(communicator));
    let mut kept = 0;
    for (is_send, at) in [(true, send), (false, receive)] {
        if let Some(message) = at.and_then(|at| message(arguments, is_send, at, known)) {
            noted.slot.count(message, 1);
            kept = message.to_word();
        }
    }
    noted.calling().kept.set(kept);
    Some(noted)
}

/// Notes the end of such a call: which message the request stands for.
#[inline(never)]
pub(crate) fn end_start(noted: &NotedCall, request: Option<usize>, arguments: &Arguments<'_>, result: usize) {
    if let Some(request) = request.filter(|_| arguments.succeeded(result)) {
        requests::enter(arguments.handle_of(request, 0), noted.calling().kept.get());
    }
    noted.leave(None);
}

/// Notes the beginning of a call.
#[inline(never)]
pub(crate) fn begin(call: Option<MpiCall>, effect: &CallEffect, arguments: &Arguments<'_>) -> Option<NotedCall> {
    let noted = enter(!matches!(effect, CallEffect::Begins { .. }))?;
    let slot = noted.slot;
    let (mut communicator, mut root) = (None, None);
    match *effect {
        CallEffect::Probes { receive, communicator } => {
            let known = communicators::of(arguments.handle(communicator));
            let message = message(arguments, false, receive, known).map(AwaitedMessage::to_word);
            if let Some(call) = call {
                slot.begin(call, message.as_slice(), known.is_none(), None, None);
            }
            return Some(noted);
        }
        CallEffect::Activates { count, requests } => {
            let open = OpenRequests::read(arguments, count, requests);
            let messages = open.all().filter_map(|request| AwaitedMessage::of_word(requests::message(request)?));
            messages.for_each(|message| slot.count(message, 1));
        }
        CallEffect::Cancels { request } => {
            let message = requests::message(arguments.handle_of(request, 0)).and_then(AwaitedMessage::of_word);
            // A send may have been matched; a count too many is only careful.
            message.into_iter().filter(|message| !message.is_send).for_each(|message| slot.count(message, -1));
        }
        CallEffect::Collective { communicator: at, .. } | CallEffect::Makes { communicator: at, .. } => {
            let known = communicators::of(arguments.handle(at));
            communicator = joins(slot, call, known);
            if let CallEffect::Collective { root: Some(at), .. } = *effect {
                root = known.and_then(|known| known.rank(arguments.integer(at)));
            }
        }
        CallEffect::FreesCommunicator { communicator: at } => {
            let freed = arguments.handle_of(at, 0);
            noted.calling().kept.set(freed as u64);
            communicator = joins(slot, call, communicators::of(freed));
        }
        // The others have functions of their own.
        _ => {}
    }
    if let Some(call) = call {
        slot.begin(call, &[], false, communicator, root);
    }
    Some(noted)
}

/// Notes the end of a call.
#[inline(never)]
pub(crate) fn end(noted: &NotedCall, call: Option<MpiCall>, effect: &CallEffect, arguments: &Arguments<'_>, result: usize) {
    match *effect {
        CallEffect::Prepares { is_send, peer, tag, communicator, request } if arguments.succeeded(result) => {
            let known = communicators::of(arguments.handle(communicator));
            let message = message(arguments, is_send, (peer, tag), known);
            requests::enter(arguments.handle_of(request, 0), message.map_or(0, AwaitedMessage::to_word));
        }
        CallEffect::Makes { new, .. } if arguments.succeeded(result) => communicators::made(arguments.handle_of(new, 0)),
        CallEffect::FreesCommunicator { .. } => communicators::forget(noted.calling().kept.get() as MpiHandle),
        CallEffect::Begins { level } if arguments.succeeded(result) => {
            LEVEL.store(level.map_or(0, |at| arguments.integer_of(at)) as u64, Relaxed);
            know_rank(noted.slot);
        }
        CallEffect::Ends => noted.slot.finalizes(),
        _ => {}
    }
    noted.leave(call);
}

/// Notes the beginning of a call with requests.
#[inline(never)]
pub(crate) fn begin_requests(
    call: Option<MpiCall>,
    (count, requests): (Option<usize>, usize),
    arguments: &Arguments<'_>,
) -> Option<(NotedCall, OpenRequests)> {
    let noted = enter(true)?;
    let open = OpenRequests::read(arguments, count, requests);
    if let Some(call) = call {
        let (mut words, mut known, mut has_unknown) = ([0; AWAITED], 0, false);
        let null = arguments.request_null();
        for request in open.all().filter(|request| *request != null) {
            match (requests::message(request), words.get_mut(known)) {
                (Some(message), Some(word)) => (*word, known) = (message, known + 1),
                (_, None) => {
                    has_unknown = true;
                    break;
                }
                _ => has_unknown = true,
            }
        }
        noted.slot.begin(call, &words[..known], has_unknown, None, None);
    }
    Some((noted, open))
}

/// Notes the end of such a call: requests that have ended are forgotten.
#[inline(never)]
pub(crate) fn end_requests(
    noted: &NotedCall,
    open: &OpenRequests,
    call: Option<MpiCall>,
    requests: usize,
    arguments: &Arguments<'_>,
) {
    let ended = open.all().enumerate().filter(|(at, request)| arguments.handle_of(requests, *at) != *request);
    ended.for_each(|(_, request)| requests::forget(request));
    noted.leave(call);
}

impl OpenRequests {
    #[inline]
    fn read(arguments: &Arguments<'_>, count: Option<usize>, requests: usize) -> Self {
        let count = count.map_or(1, |at| arguments.integer(at).max(0) as usize);
        let first = core::array::from_fn(|at| if at < count { arguments.handle_of(requests, at) } else { 0 });
        Self { first, count, more: (FIRST..count).map(|at| arguments.handle_of(requests, at)).collect() }
    }

    #[inline]
    fn all(&self) -> impl Iterator<Item = MpiHandle> {
        self.first[..self.count.min(FIRST)].iter().chain(&self.more).copied()
    }
}

/// The message of a call at one end. `None` for one to or from no rank, or if its communicator is not known.
#[inline(always)]
fn message(
    arguments: &Arguments<'_>,
    is_send: bool,
    (peer, tag): (usize, usize),
    known: Option<&'static KnownCommunicator>,
) -> Option<AwaitedMessage> {
    let (known, constants) = (known?, arguments.constants);
    let (peer, tag) = (arguments.integer(peer), arguments.integer(tag));
    if peer == constants.proc_null {
        return None;
    }
    let is_any = !is_send && peer == constants.any_source;
    let peer = if is_any { None } else { Some(known.rank(peer)?) };
    let tag = if is_send || tag != constants.any_tag { u32::try_from(tag).ok() } else { None };
    Some(AwaitedMessage { is_send, peer, tag, communicator: known.number })
}

/// Counts a call of all members. Returns the number of the communicator.
fn joins(slot: &CallSlot, call: Option<MpiCall>, known: Option<&'static KnownCommunicator>) -> Option<u16> {
    let (call, known) = (call?, known?);
    let (number, last) = known.count(call as u8);
    slot.count_collective(known.number, number, last);
    Some(known.number)
}

/// Takes a slot for the calling thread.
#[cold]
fn take(calling: &CallingThread, is_initialized: bool) -> Option<&'static CallSlot> {
    let slot = page().and_then(|page| page.slot(std::process::id(), this_thread()));
    calling.has_asked.set(true);
    calling.slot.set(slot);
    if let Some(slot) = slot.filter(|_| is_initialized) {
        know_rank(slot);
    }
    slot
}

/// Notes which rank this process is, if MPI can tell.
fn know_rank(slot: &CallSlot) {
    if JOB.load(Acquire) == 0 {
        let (mut rank, mut size): (c_int, c_int) = (-1, 0);
        let address = |of: &mut c_int| (&raw mut *of).expose_provenance();
        let world = constants().world;
        let asked = ask(c"PMPI_Comm_rank", [world, address(&mut rank), 0, 0, 0])
            .and_then(|()| ask(c"PMPI_Comm_size", [world, address(&mut size), 0, 0, 0]));
        if asked.is_none() || rank < 0 {
            return;
        }
        THREADS.store(std::fs::read_dir("/proc/self/task").map_or(1, |threads| threads.count() as u64), Relaxed);
        JOB.store((rank as u64) << 32 | size as u64, Release);
    }
    let job = JOB.load(Acquire);
    slot.is_rank((job >> 32) as Rank, job as u32, LEVEL.load(Relaxed) as u32, THREADS.load(Relaxed) as u32);
}
