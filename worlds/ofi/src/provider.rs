//! The network that libfabric is to drive, and libfabric's answer about it.
use crate::abi::*;
use crate::library::Api;
use core::ffi::{CStr, c_char, c_int};
use core::ptr::{NonNull, null, null_mut};
use foregather_machine::{Cause, Error};
use std::ffi::CString;
use std::path::PathBuf;

/// The variable with the address of this host at which the others reach it: a name or a number.
const HOST_ADDRESS: &str = "FOREGATHER_HOST_ADDRESS";
/// The version of the interface that this code uses.
const API: u32 = 1 << 16 | 14;

/// A network that libfabric drives, by name: `tcp`, `shm`, `verbs`, `efa`.
#[derive(Debug)]
pub struct Provider {
    pub(crate) api: Api,
    /// libfabric's answer; only read.
    info: NonNull<core::ffi::c_void>,
    name: String,
}

// SAFETY: the record belongs to the provider alone and is only read; any thread may call libfabric's five
// functions.
unsafe impl Send for Provider {}
// SAFETY: the record is only read, and any thread may call libfabric's five functions.
unsafe impl Sync for Provider {}

/// The providers found on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderInfo {
    /// The version of the interface, major and minor.
    pub version: (u32, u32),
    /// The file that was loaded.
    pub path: PathBuf,
    /// The names of the providers that work here, layered ones with their full names (`tcp;ofi_rxm`).
    pub providers: Vec<String>,
}

/// The installed libfabric and its providers.
///
/// # Errors
/// [`Cause::Unavailable`] if libfabric is not installed.
pub fn found() -> Result<ProviderInfo, Error> {
    let api = Api::load()?;
    Ok(ProviderInfo { version: api.version(), path: api.path().to_owned(), providers: providers(&api) })
}

fn providers(api: &Api) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    // Without hints libfabric lists all providers.
    if let Ok(list) = ask(api, null_mut(), None) {
        // SAFETY: the list is libfabric's, and not freed yet.
        unsafe {
            let mut at = list;
            while !at.is_null() {
                names.push(name_of(at));
                at = pointer(at, INFO_NEXT);
            }
            (api.free_info)(list);
        }
    }
    names.sort();
    names.dedup();
    names
}

/// # Safety
/// `info` must be a record of libfabric's.
unsafe fn name_of(info: Fid) -> String {
    // SAFETY: every record of libfabric's answers has a fabric and its provider's name, a C string.
    unsafe { CStr::from_ptr(pointer(pointer(info, INFO_FABRIC), FABRIC_PROVIDER).cast()).to_string_lossy().into_owned() }
}

/// Returns whether that is an address of this host. libfabric checks this only when it opens an endpoint.
fn is_here(host: &str) -> bool {
    std::net::UdpSocket::bind((host, 0)).is_ok()
}

/// The list that answers the hints, or the error number.
fn ask(api: &Api, hints: Fid, host: Option<&CStr>) -> Result<Fid, c_int> {
    let (node, flags) = host.map_or((null(), 0), |host| (host.as_ptr(), SOURCE));
    let mut list = null_mut();
    // SAFETY: the node is null or a C string, the hints are null or a record of libfabric's; the answer is
    // written to `list`.
    match unsafe { (api.get_info)(API, node, null::<c_char>(), flags, hints, &raw mut list) } {
        0 if !list.is_null() => Ok(list),
        0 => Err(ENODATA as c_int),
        error => Err(-error),
    }
}

impl Provider {
    /// The provider of that name: as it is, or with libfabric's layer for reliable datagrams (`ofi_rxm`) on
    /// top.
    ///
    /// `host` is the address by which the others reach this host; without it the variable
    /// `FOREGATHER_HOST_ADDRESS` counts, and without that libfabric takes the first network that it finds.
    /// Only `tcp` and `verbs` have such addresses.
    ///
    /// # Errors
    /// [`Cause::Unavailable`] if libfabric or the provider is missing, or the address is not one of this
    /// host.
    pub fn open(name: &str, host: Option<&str>) -> Result<Self, Error> {
        let api = Api::load()?;
        let host = host.map(str::to_owned).or_else(|| std::env::var(HOST_ADDRESS).ok()).filter(|host| !host.is_empty());
        // The other providers do not address by host.
        let host = host.filter(|_| matches!(name.split(';').next(), Some("tcp" | "verbs")));
        let (Ok(c_name), Ok(c_host)) = (CString::new(name), host.as_deref().map(CString::new).transpose()) else {
            return Err(Cause::Setting { what: "the fabric's name or address", needs: "text without zero bytes" }.into());
        };
        // Not all providers let memory be read: without it there are frames only.
        let candidates = if host.as_deref().is_none_or(is_here) { &[CAP_RMA | READ | REMOTE_READ, 0][..] } else { &[] };
        let info = candidates.iter().find_map(|more| {
            let hints = Hints::new(&api, &c_name, CAP_MSG | CAP_TAGGED | SEND | RECV | more)?;
            let list = ask(&api, hints.0, c_host.as_deref()).ok()?;
            choose(&api, list, name)
        });
        let Some(info) = info else {
            let at = host.map(|host| format!(" at the address {host} ({HOST_ADDRESS})")).unwrap_or_default();
            let what = format!("libfabric's provider `{name}`{at}");
            let (major, minor) = api.version();
            let others = providers(&api).join(", ");
            let remedy =
                format!("name one of those that libfabric {major}.{minor} has here, and an address of this host: {others}");
            return Err(Cause::Unavailable { what, remedy }.into());
        };
        // SAFETY: the record is libfabric's, and not freed yet.
        let name = unsafe { name_of(info.as_ptr()) };
        Ok(Self { api, info, name })
    }

    /// libfabric's name for it, layers and all.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// libfabric's answer, for calls that take it.
    pub(crate) fn info(&self) -> Fid {
        self.info.as_ptr()
    }

    /// A number in one of the answer's records.
    fn number<T: Copy>(&self, record: u64, offset: u64) -> T {
        // SAFETY: libfabric fills in all records of an answer; the constants name their fields and `T` is the
        // field's type.
        unsafe { *field::<T>(pointer(self.info(), record), offset) }
    }

    /// Returns whether the provider supports remote reads.
    pub(crate) fn reads(&self) -> bool {
        // SAFETY: `INFO_CAPS` is a 64-bit field of the answer's record.
        let caps = unsafe { *field::<u64>(self.info(), INFO_CAPS) };
        caps & CAP_RMA != 0 && caps & REMOTE_READ != 0
    }

    pub(crate) fn memory_mode(&self) -> u64 {
        u64::from(self.number::<u32>(INFO_DOMAIN, DOMAIN_MR_MODE))
    }
    pub(crate) fn inject_size(&self) -> usize {
        self.number(INFO_TX, TX_INJECT_SIZE)
    }
    pub(crate) fn pieces(&self) -> usize {
        self.number::<usize>(INFO_TX, TX_IOV_LIMIT).max(1)
    }
    pub(crate) fn operations(&self) -> usize {
        self.number::<usize>(INFO_TX, TX_SIZE) + self.number::<usize>(INFO_RX, RX_SIZE)
    }
    pub(crate) fn message_size(&self) -> usize {
        self.number(INFO_EP, EP_MAX_MSG_SIZE)
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        // SAFETY: the record came from libfabric, and all that was opened with it is closed, since that holds
        // the provider.
        unsafe { (self.api.free_info)(self.info.as_ptr()) }
    }
}

/// Takes the record that fits best out of a list, and frees the list.
fn choose(api: &Api, list: Fid, name: &str) -> Option<NonNull<core::ffi::c_void>> {
    let layered = format!("{name};ofi_rxm");
    let (mut plain, mut above): (Fid, Fid) = (null_mut(), null_mut());
    // SAFETY: the list is libfabric's; the record chosen is copied before it is freed.
    unsafe {
        let mut at = list;
        while !at.is_null() {
            let found = name_of(at);
            if found == name && plain.is_null() {
                plain = at;
            } else if found == layered && above.is_null() {
                above = at;
            }
            at = pointer(at, INFO_NEXT);
        }
        let chosen = if plain.is_null() { above } else { plain };
        let copy = if chosen.is_null() { null_mut() } else { (api.dup_info)(chosen) };
        (api.free_info)(list);
        NonNull::new(copy)
    }
}

/// The hints for libfabric.
struct Hints<'a>(Fid, &'a Api);

impl<'a> Hints<'a> {
    fn new(api: &'a Api, name: &CStr, caps: u64) -> Option<Self> {
        // SAFETY: a copy of nothing is an empty record of the library's own size, with all its parts, which
        // the constants name. The name is freed with the record, by C's `free`.
        unsafe {
            let hints = (api.dup_info)(null());
            if hints.is_null() {
                return None;
            }
            let domain = pointer(hints, INFO_DOMAIN);
            *field::<u64>(hints, INFO_CAPS) = caps;
            *field::<u64>(hints, INFO_MODE) = CONTEXT | CONTEXT2;
            *field::<u32>(pointer(hints, INFO_EP), EP_TYPE) = EP_RDM as u32;
            // A lane has a domain of its own, and one owner: libfabric need not lock.
            *field::<u32>(domain, DOMAIN_THREADING) = THREAD_DOMAIN as u32;
            *field::<u32>(domain, DOMAIN_CONTROL_PROGRESS) = PROGRESS_MANUAL as u32;
            *field::<u32>(domain, DOMAIN_DATA_PROGRESS) = PROGRESS_MANUAL as u32;
            *field::<u32>(domain, DOMAIN_MR_MODE) = (MR_LOCAL | MR_VIRT_ADDR | MR_ALLOCATED | MR_PROV_KEY) as u32;
            *field::<*mut c_char>(pointer(hints, INFO_FABRIC), FABRIC_PROVIDER) = libc::strdup(name.as_ptr());
            Some(Self(hints, api))
        }
    }
}

impl Drop for Hints<'_> {
    fn drop(&mut self) {
        // SAFETY: libfabric has made the record, and no other value holds it.
        unsafe { (self.1.free_info)(self.0) }
    }
}
