//! The launcher's key-value store on a PMIx server, through the library `libpmix.so.2`, which is loaded only
//! if needed. Open MPI's `mpirun` needs it over several hosts, and so does `prterun`, which does not pass the
//! size in a variable.
//!
//! The layouts are those of PMIx 3 to 5 (`pmix_common.h`), and part of its stable interface.
use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use core::ptr::{null, null_mut};
use foregather_host::dl::Library;
use foregather_machine::{Cause, Error, Rank};
use std::ffi::CString;

const LIBRARY: [&str; 1] = ["libpmix.so.2"];
const KEY: &CStr = c"foregather-root";
/// The scope of all ranks of all hosts (`PMIX_GLOBAL`).
const EVERYBODY: u8 = 3;
/// A question about the whole job rather than one rank (`PMIX_RANK_WILDCARD`).
const JOB: u32 = u32::MAX - 1;
const STRING: u16 = 3;
const UINT32: u16 = 14;

/// `pmix_proc_t`.
#[repr(C)]
#[derive(Clone, Copy)]
struct PmixProc {
    namespace: [c_char; 256],
    rank: u32,
}

/// `pmix_value_t`, with room to spare after its union.
#[repr(C)]
struct PmixValue {
    kind: u16,
    data: [*mut c_void; 7],
}

type Init = unsafe extern "C" fn(*mut PmixProc, *const c_void, usize) -> c_int;
type PmixPut = unsafe extern "C" fn(u8, *const c_char, *mut PmixValue) -> c_int;
type Commit = unsafe extern "C" fn() -> c_int;
type Fence = unsafe extern "C" fn(*const PmixProc, usize, *const c_void, usize) -> c_int;
type Get = unsafe extern "C" fn(*const PmixProc, *const c_char, *const c_void, usize, *mut *mut PmixValue) -> c_int;
type Finalize = unsafe extern "C" fn(*const c_void, usize) -> c_int;

/// A connection to the server.
pub(crate) struct Pmix {
    library: Library,
    me: PmixProc,
}

impl Pmix {
    /// Opens a connection.
    pub(crate) fn open() -> Result<Self, Error> {
        let library = Library::open(&LIBRARY).map_err(|error| {
            let remedy = format!(
                "install libpmix2, or give all ranks FOREGATHER_ROOT=host:port and a launcher that tells the size ({error})"
            );
            Error::from(Cause::Unavailable { what: "a way to find the other ranks of this PMIx job".to_owned(), remedy })
        })?;
        let mut me = PmixProc { namespace: [0; 256], rank: 0 };
        // SAFETY: the library declares `PMIx_Init` with this type; it writes one process, and no options are
        // given.
        let status = unsafe { transmute::<*mut c_void, Init>(library.symbol("PMIx_Init")?)(&raw mut me, null(), 0) };
        succeeded("PMIx_Init", status)?;
        Ok(Self { library, me })
    }

    /// Returns this rank's number, and the number of ranks.
    pub(crate) fn place(&self) -> Result<(Rank, u32), Error> {
        let value = self.get(JOB, c"pmix.job.size")?;
        // SAFETY: the library returned a value that stays; a value of this kind begins its union with 32
        // bits.
        let size = unsafe { ((*value).kind == UINT32).then(|| (&raw const (*value).data).cast::<u32>().read()) };
        let size = size.ok_or_else(|| refused("the job's size is no number of 32 bits".to_owned()))?;
        Ok((self.me.rank, size))
    }

    /// Distributes rank 0's address and returns it; `mine` is the address if this is rank 0.
    pub(crate) fn spread(&self, mine: Option<&str>) -> Result<String, Error> {
        if let Some(text) = mine {
            let text = CString::new(text).map_err(|_| refused("an address has a zero byte".to_owned()))?;
            let mut value = PmixValue { kind: STRING, data: [null_mut(); 7] };
            value.data[0] = text.as_ptr().cast_mut().cast();
            let put = self.library.symbol("PMIx_Put")?;
            // SAFETY: the library declares `PMIx_Put` with this type, and copies the value and its string
            // before it returns.
            succeeded("PMIx_Put", unsafe { transmute::<*mut c_void, PmixPut>(put)(EVERYBODY, KEY.as_ptr(), &raw mut value) })?;
            // SAFETY: the library declares `PMIx_Commit` with this type.
            succeeded("PMIx_Commit", unsafe { transmute::<*mut c_void, Commit>(self.library.symbol("PMIx_Commit")?)() })?;
        }
        let fence = self.library.symbol("PMIx_Fence")?;
        // SAFETY: the library declares `PMIx_Fence` with this type; no processes mean all, and no options are
        // given.
        succeeded("PMIx_Fence", unsafe { transmute::<*mut c_void, Fence>(fence)(null(), 0, null(), 0) })?;
        let value = self.get(0, KEY)?;
        // SAFETY: the library returned a value that stays; a value of this kind begins its union with a C
        // string.
        let text = unsafe {
            let string = (*value).data[0].cast_const().cast::<c_char>();
            ((*value).kind == STRING && !string.is_null()).then(|| CStr::from_ptr(string).to_string_lossy().into_owned())
        };
        text.ok_or_else(|| refused("rank 0 put no text".to_owned()))
    }

    /// Returns a value of the store. It is never freed, because a process reads only two.
    fn get(&self, rank: u32, key: &CStr) -> Result<*const PmixValue, Error> {
        let (of, mut value) = (PmixProc { rank, ..self.me }, null_mut());
        let get = self.library.symbol("PMIx_Get")?;
        // SAFETY: the library declares `PMIx_Get` with this type; it writes one pointer, and no options are
        // given.
        succeeded("PMIx_Get", unsafe {
            transmute::<*mut c_void, Get>(get)(&raw const of, key.as_ptr(), null(), 0, &raw mut value)
        })?;
        if value.is_null() { Err(refused("PMIx_Get gave nothing".to_owned())) } else { Ok(value) }
    }
}

impl Drop for Pmix {
    fn drop(&mut self) {
        if let Ok(finalize) = self.library.symbol("PMIx_Finalize") {
            // SAFETY: the library declares `PMIx_Finalize` with this type; no options are given.
            unsafe { transmute::<*mut c_void, Finalize>(finalize)(null(), 0) };
        }
    }
}

fn succeeded(what: &str, status: c_int) -> Result<(), Error> {
    if status == 0 {
        Ok(())
    } else {
        Err(refused(format!("{what} answered {status}: is a PMIx server of this launcher still there?")))
    }
}

fn refused(why: String) -> Error {
    Error::from(Cause::Refused { why: format!("PMIx: {why}") })
}
