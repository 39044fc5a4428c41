//! The layout of libfabric's records, so that calling it needs no header and no C compiler.
//!
//! All but five of libfabric's calls are inline functions over tables in the objects that it returns. The
//! offsets are those of 64-bit machines, the same in the headers of 1.17 and 2.x; `tests/layout.rs` asks a C
//! compiler for them again.
use core::ffi::{c_char, c_int, c_void};

/// Any object, record or table of libfabric.
pub(crate) type Fid = *mut c_void;

/// One table for the constants, and for the test that compares them with the headers.
macro_rules! layout {
    ($($name:ident = $value:literal is $c:literal;)*) => {
        $(pub(crate) const $name: u64 = $value;)*
        /// Every number that is taken for granted, and the C expression that must give it.
        #[doc(hidden)]
        pub const LAYOUT: &[(&str, u64)] = &[$(($c, $value)),*];
    };
}

layout! {
    INFO_NEXT = 0 is "offsetof(struct fi_info, next)";
    INFO_CAPS = 8 is "offsetof(struct fi_info, caps)";
    INFO_MODE = 16 is "offsetof(struct fi_info, mode)";
    INFO_TX = 72 is "offsetof(struct fi_info, tx_attr)";
    INFO_RX = 80 is "offsetof(struct fi_info, rx_attr)";
    INFO_EP = 88 is "offsetof(struct fi_info, ep_attr)";
    INFO_DOMAIN = 96 is "offsetof(struct fi_info, domain_attr)";
    INFO_FABRIC = 104 is "offsetof(struct fi_info, fabric_attr)";
    TX_INJECT_SIZE = 40 is "offsetof(struct fi_tx_attr, inject_size)";
    TX_SIZE = 48 is "offsetof(struct fi_tx_attr, size)";
    TX_IOV_LIMIT = 56 is "offsetof(struct fi_tx_attr, iov_limit)";
    RX_SIZE = 48 is "offsetof(struct fi_rx_attr, size)";
    EP_TYPE = 0 is "offsetof(struct fi_ep_attr, type)";
    EP_MAX_MSG_SIZE = 16 is "offsetof(struct fi_ep_attr, max_msg_size)";
    DOMAIN_THREADING = 16 is "offsetof(struct fi_domain_attr, threading)";
    DOMAIN_CONTROL_PROGRESS = 20 is "offsetof(struct fi_domain_attr, control_progress)";
    DOMAIN_DATA_PROGRESS = 24 is "offsetof(struct fi_domain_attr, data_progress)";
    DOMAIN_MR_MODE = 36 is "offsetof(struct fi_domain_attr, mr_mode)";
    FABRIC_PROVIDER = 16 is "offsetof(struct fi_fabric_attr, prov_name)";

    OBJECT_OPS = 16 is "offsetof(struct fid, ops)";
    OPS_CLOSE = 8 is "offsetof(struct fi_ops, close)";
    OPS_BIND = 16 is "offsetof(struct fi_ops, bind)";
    OPS_CONTROL = 24 is "offsetof(struct fi_ops, control)";
    FABRIC_OPS = 24 is "offsetof(struct fid_fabric, ops)";
    FABRIC_DOMAIN = 8 is "offsetof(struct fi_ops_fabric, domain)";
    FABRIC_TRYWAIT = 40 is "offsetof(struct fi_ops_fabric, trywait)";
    DOMAIN_OPS = 24 is "offsetof(struct fid_domain, ops)";
    DOMAIN_MR = 32 is "offsetof(struct fid_domain, mr)";
    DOMAIN_AV_OPEN = 8 is "offsetof(struct fi_ops_domain, av_open)";
    DOMAIN_CQ_OPEN = 16 is "offsetof(struct fi_ops_domain, cq_open)";
    DOMAIN_ENDPOINT = 24 is "offsetof(struct fi_ops_domain, endpoint)";
    MR_REG = 8 is "offsetof(struct fi_ops_mr, reg)";
    MR_DESC = 24 is "offsetof(struct fid_mr, mem_desc)";
    MR_KEY = 32 is "offsetof(struct fid_mr, key)";
    AV_OPS = 24 is "offsetof(struct fid_av, ops)";
    AV_INSERT = 8 is "offsetof(struct fi_ops_av, insert)";
    EP_CM = 32 is "offsetof(struct fid_ep, cm)";
    EP_RMA = 48 is "offsetof(struct fid_ep, rma)";
    EP_TAGGED = 56 is "offsetof(struct fid_ep, tagged)";
    CM_GETNAME = 16 is "offsetof(struct fi_ops_cm, getname)";
    TAGGED_RECV = 8 is "offsetof(struct fi_ops_tagged, recv)";
    TAGGED_SEND = 32 is "offsetof(struct fi_ops_tagged, send)";
    TAGGED_INJECT = 56 is "offsetof(struct fi_ops_tagged, inject)";
    RMA_READV = 16 is "offsetof(struct fi_ops_rma, readv)";
    CQ_OPS = 24 is "offsetof(struct fid_cq, ops)";
    CQ_READ = 8 is "offsetof(struct fi_ops_cq, read)";
    CQ_READERR = 24 is "offsetof(struct fi_ops_cq, readerr)";

    AV_ATTR_TYPE = 0 is "offsetof(struct fi_av_attr, type)";
    CQ_ATTR_SIZE = 0 is "offsetof(struct fi_cq_attr, size)";
    CQ_ATTR_FORMAT = 16 is "offsetof(struct fi_cq_attr, format)";
    CQ_ATTR_WAIT = 20 is "offsetof(struct fi_cq_attr, wait_obj)";
    ENTRY_SIZE = 48 is "sizeof(struct fi_cq_tagged_entry)";
    ENTRY_CONTEXT = 0 is "offsetof(struct fi_cq_tagged_entry, op_context)";
    ENTRY_LEN = 16 is "offsetof(struct fi_cq_tagged_entry, len)";
    ENTRY_TAG = 40 is "offsetof(struct fi_cq_tagged_entry, tag)";
    ERROR_CONTEXT = 0 is "offsetof(struct fi_cq_err_entry, op_context)";
    ERROR_TAG = 40 is "offsetof(struct fi_cq_err_entry, tag)";
    ERROR_NUMBER = 56 is "offsetof(struct fi_cq_err_entry, err)";
    CONTEXT_SIZE = 64 is "sizeof(struct fi_context2)";

    CAP_MSG = 0x2 is "FI_MSG";
    CAP_RMA = 0x4 is "FI_RMA";
    CAP_TAGGED = 0x8 is "FI_TAGGED";
    READ = 0x100 is "FI_READ";
    RECV = 0x400 is "FI_RECV";
    SEND = 0x800 is "FI_SEND";
    REMOTE_READ = 0x1000 is "FI_REMOTE_READ";
    TRANSMIT = 0x800 is "FI_TRANSMIT";
    SOURCE = 0x200_0000_0000_0000 is "FI_SOURCE";
    CONTEXT = 0x800_0000_0000_0000 is "FI_CONTEXT";
    CONTEXT2 = 0x10_0000_0000_0000 is "FI_CONTEXT2";
    EP_RDM = 3 is "FI_EP_RDM";
    THREAD_DOMAIN = 3 is "FI_THREAD_DOMAIN";
    PROGRESS_MANUAL = 2 is "FI_PROGRESS_MANUAL";
    MR_LOCAL = 0x4 is "FI_MR_LOCAL";
    MR_VIRT_ADDR = 0x10 is "FI_MR_VIRT_ADDR";
    MR_ALLOCATED = 0x20 is "FI_MR_ALLOCATED";
    MR_PROV_KEY = 0x40 is "FI_MR_PROV_KEY";
    AV_TABLE = 2 is "FI_AV_TABLE";
    FORMAT_TAGGED = 4 is "FI_CQ_FORMAT_TAGGED";
    WAIT_NONE = 0 is "FI_WAIT_NONE";
    WAIT_FD = 3 is "FI_WAIT_FD";
    GET_WAIT = 5 is "FI_GETWAIT";
    ENABLE = 6 is "FI_ENABLE";
    ADDRESS_UNSPECIFIED = 0xffff_ffff_ffff_ffff is "FI_ADDR_UNSPEC";
    EAGAIN = 11 is "FI_EAGAIN";
    ENODATA = 61 is "FI_ENODATA";
    ECANCELED = 125 is "FI_ECANCELED";
    EAVAIL = 259 is "FI_EAVAIL";
}

pub(crate) type GetInfo = unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const c_void, *mut Fid) -> c_int;
pub(crate) type DupInfo = unsafe extern "C" fn(*const c_void) -> Fid;
pub(crate) type FreeInfo = unsafe extern "C" fn(Fid);
pub(crate) type OpenFn = unsafe extern "C" fn(Fid, *mut Fid, Fid) -> c_int;
pub(crate) type Version = unsafe extern "C" fn() -> u32;
pub(crate) type Close = unsafe extern "C" fn(Fid) -> c_int;
pub(crate) type Bind = unsafe extern "C" fn(Fid, Fid, u64) -> c_int;
pub(crate) type Control = unsafe extern "C" fn(Fid, c_int, Fid) -> c_int;
/// Opens a domain by a fabric, or an address vector, a queue or an endpoint by a domain.
pub(crate) type Open = unsafe extern "C" fn(Fid, Fid, *mut Fid, Fid) -> c_int;
pub(crate) type TryWait = unsafe extern "C" fn(Fid, *mut Fid, c_int) -> c_int;
pub(crate) type Register = unsafe extern "C" fn(Fid, *const c_void, usize, u64, u64, u64, u64, *mut Fid, Fid) -> c_int;
pub(crate) type Insert = unsafe extern "C" fn(Fid, *const c_void, usize, *mut u64, u64, Fid) -> c_int;
pub(crate) type GetName = unsafe extern "C" fn(Fid, *mut c_void, *mut usize) -> c_int;
pub(crate) type ReceiveTagged = unsafe extern "C" fn(Fid, *mut c_void, usize, Fid, u64, u64, u64, Fid) -> isize;
pub(crate) type SendTagged = unsafe extern "C" fn(Fid, *const c_void, usize, Fid, u64, u64, Fid) -> isize;
pub(crate) type Inject = unsafe extern "C" fn(Fid, *const c_void, usize, u64, u64) -> isize;
pub(crate) type ReadV = unsafe extern "C" fn(Fid, *const libc::iovec, *mut Fid, usize, u64, u64, u64, Fid) -> isize;
pub(crate) type ReadQueue = unsafe extern "C" fn(Fid, *mut c_void, usize) -> isize;
pub(crate) type ReadError = unsafe extern "C" fn(Fid, *mut c_void, u64) -> isize;

/// The field at offset `offset`.
///
/// # Safety
/// `object` must be a record with a `T` there.
#[inline]
pub(crate) unsafe fn field<T>(object: Fid, offset: u64) -> *mut T {
    // SAFETY: the field is within the record, by this function's `# Safety` section.
    unsafe { object.cast::<u8>().add(offset as usize).cast() }
}

/// The object or table to which the field at that offset points.
///
/// # Safety
/// `object` must be a record with a pointer there.
#[inline]
pub(crate) unsafe fn pointer(object: Fid, offset: u64) -> Fid {
    // SAFETY: a pointer stands there, by this function's `# Safety` section.
    unsafe { *field::<Fid>(object, offset) }
}

/// The function at offset `entry` of the table to which the field at offset `table` points.
///
/// # Safety
/// `object` must live and have that table, and its entry must be a function of type `F`.
#[inline]
pub(crate) unsafe fn operation<F: Copy>(object: Fid, table: u64, entry: u64) -> F {
    const { assert!(size_of::<F>() == size_of::<Fid>()) };
    // SAFETY: the table has an `F` there, by this function's `# Safety` section.
    unsafe { *field::<F>(pointer(object, table), entry) }
}
