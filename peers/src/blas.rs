//! The BLAS of other projects, and ours as a file, each alone and with as many threads as the cell asks for:
//! found at run time, never linked with.
use crate::member::give_up_after;
use crate::peer_error::PeerError;
use core::ffi::c_void;
use core::mem::transmute;
use foregather_bench::Cell;
use foregather_bench::blas::{BlasCell, BlasVariant, Operands, Routine, measure};
use foregather_host::clock;
use foregather_host::dl::Library;
use serde_json::{Value, json};
use std::time::Duration;

/// A BLAS, and how to call its symbols.
struct Peer {
    name: &'static str,
    what: &'static str,
    libraries: &'static [&'static str],
    remedy: &'static str,
    /// The text before and after the standard's names.
    around: [&'static str; 2],
    /// The function that sets the number of threads.
    threads: &'static str,
    /// Whether integers have 64 bits, and whether the number of threads has.
    wide: [bool; 2],
    /// The Fortran-like dgemm of a library for small products, which has nothing else and no threads.
    gemm_only: Option<&'static str>,
}

const WHEEL: &str = "put a link `libscipy_openblas64_.so` to the library that NumPy's wheel has in numpy.libs into a folder, and name \
                     that in LD_LIBRARY_PATH";

/// What most of them have.
const USUAL: Peer =
    Peer { name: "", what: "", libraries: &[], remedy: "", around: ["", ""], threads: "", wide: [false, false], gemm_only: None };

const PEERS: [Peer; 7] = [
    Peer {
        name: "drop-in",
        what: "this project's BLAS as the file that programs load",
        libraries: &["libforegather_blas.so"],
        remedy: "build it by `cargo xtask drop-in blas`, and name its folder in LD_LIBRARY_PATH",
        threads: "foregather_blas_set_num_threads",
        ..USUAL
    },
    Peer {
        name: "openblas",
        what: "OpenBLAS",
        libraries: &["libopenblas.so.0", "libopenblas.so"],
        remedy: "install OpenBLAS (Debian: libopenblas0-pthread)",
        threads: "openblas_set_num_threads",
        ..USUAL
    },
    Peer {
        name: "openblas-wheel",
        what: "OpenBLAS as NumPy's wheel brings it",
        libraries: &["libscipy_openblas64_.so"],
        remedy: WHEEL,
        around: ["scipy_", "64_"],
        threads: "scipy_openblas_set_num_threads64_",
        wide: [true, false],
        ..USUAL
    },
    Peer {
        name: "blis",
        what: "BLIS",
        libraries: &["libblis.so.4", "libblis.so.3", "libblis.so"],
        remedy: "install BLIS (Debian: libblis4-openmp)",
        threads: "bli_thread_set_num_threads",
        wide: [false, true],
        ..USUAL
    },
    Peer {
        name: "mkl",
        what: "Intel MKL",
        libraries: &["libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"],
        remedy: "install Intel MKL (`pip install --prefix FOLDER mkl`) and name FOLDER/lib in LD_LIBRARY_PATH",
        threads: "MKL_Set_Num_Threads",
        ..USUAL
    },
    Peer {
        name: "libxsmm",
        what: "LIBXSMM, small products compiled as they are met",
        libraries: &["libxsmm.so.1", "libxsmm.so"],
        remedy: "install LIBXSMM as a shared library (`cargo xtask peers blas` makes one of Debian's libxsmm-dev)",
        gemm_only: Some("libxsmm_dgemm"),
        ..USUAL
    },
    Peer {
        name: "blasfeo",
        what: "BLASFEO, by its interface of the BLAS",
        libraries: &["libblasfeo.so"],
        remedy: "build BLASFEO as a shared library (make shared_library BLAS_API=1 FORTRAN_BLAS_API=0) and name its folder in \
                 LD_LIBRARY_PATH",
        gemm_only: Some("blasfeo_blas_dgemm"),
        ..USUAL
    },
];

/// All of them, for the caller.
pub(crate) fn list() -> Value {
    let one = |peer: &Peer| {
        let library = Library::open(peer.libraries);
        let version = library.as_ref().ok().map(|library| {
            let path = library.path();
            path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string()
        });
        json!({ "name": peer.name, "what": peer.what, "available": library.is_ok(), "version": version, "env": {},
                "remedy": if library.is_ok() { None } else { Some(peer.remedy) } })
    };
    PEERS.iter().map(one).collect()
}

/// Runs the cell in `text`; the result as JSON.
pub(crate) fn run(text: &str) -> Result<String, PeerError> {
    let cell = BlasCell::from_arg(text).map_err(PeerError::Usage)?;
    let peer = PEERS.iter().find(|peer| peer.name == cell.runner);
    let peer = peer.ok_or_else(|| PeerError::Usage(format!("`{}` is no BLAS; see `foregather-peers list-blas`", cell.runner)))?;
    settle_environment(cell.threads);
    clock::init();
    give_up_after(Duration::from_nanos(cell.at_most().0));
    let library = Library::open(peer.libraries).map_err(|error| PeerError::Missing(format!("{error}; {}", peer.remedy)))?;
    let set = threads_of(peer, &library)?;
    let call = call_of(peer, &library, cell.routine)?;
    let mut operands = Operands::new(cell.routine, cell.n);
    let mut now = None;
    let result = measure(&cell, &mut operands, |side, operands| {
        if now.replace(side) != Some(side) {
            set(if side == BlasVariant::Alone { 1 } else { cell.threads });
        }
        call(operands);
    });
    serde_json::to_string(&result).map_err(|error| PeerError::Failed(error.to_string()))
}

/// A library makes the threads it is told to when it is loaded, and chooses its kernels by the processor's
/// features: some libraries know processors by their model only, and choose slow kernels for a new one.
fn settle_environment(threads: u32) {
    let core = if cfg!(target_arch = "x86_64") && has_avx512() { "SkylakeX" } else { "" };
    let threads = threads.to_string();
    let all = ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS"].map(|name| (name, &*threads));
    for (name, value) in all.into_iter().chain([("OPENBLAS_CORETYPE", core)]).filter(|(_, value)| !value.is_empty()) {
        // SAFETY: this process has no other thread yet.
        unsafe { std::env::set_var(name, value) };
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}

fn threads_of(peer: &Peer, library: &Library) -> Result<Box<dyn Fn(u32)>, PeerError> {
    if peer.gemm_only.is_some() {
        return Ok(Box::new(|_| ()));
    }
    let symbol = library.symbol(peer.threads)?;
    Ok(if peer.wide[1] {
        // SAFETY: the library's documentation declares it so, and it is never unloaded.
        let set = unsafe { transmute::<*mut c_void, unsafe extern "C" fn(i64)>(symbol) };
        // SAFETY: a plain call; no other call of the library is under way.
        Box::new(move |threads| unsafe { set(threads.into()) })
    } else {
        // SAFETY: the library's documentation declares it so, and it is never unloaded.
        let set = unsafe { transmute::<*mut c_void, unsafe extern "C" fn(i32)>(symbol) };
        // SAFETY: a plain call; no other call of the library is under way.
        Box::new(move |threads| unsafe { set(threads as i32) })
    })
}

type RoutineFn = Box<dyn Fn(&mut Operands)>;

fn call_of(peer: &Peer, library: &Library, routine: Routine) -> Result<RoutineFn, PeerError> {
    if let Some(name) = peer.gemm_only {
        return small_product(peer, library.symbol(name)?, routine);
    }
    if peer.wide[0] { typed::<i64>(peer, library, routine) } else { typed::<i32>(peer, library, routine) }
}

/// A call of a symbol of that type with these arguments, which are made of the operands.
macro_rules! call {
    ($symbol:expr, fn($($kind:ty),+ $(,)?) $(-> $result:ty)?, |$o:ident| ($($argument:expr),+ $(,)?)) => {{
        // SAFETY: the library declares the function so, by an interface of the BLAS, and is never unloaded.
        let function = unsafe { transmute::<*mut c_void, unsafe extern "C" fn($($kind),+) $(-> $result)?>($symbol) };
        Box::new(move |$o: &mut Operands| {
            // SAFETY: the operands have the extents that are passed, without gaps.
            std::hint::black_box(unsafe { function($($argument),+) });
        })
    }};
}

/// A product of a library that has nothing else, by the standard's Fortran interface.
fn small_product(peer: &Peer, symbol: *mut c_void, routine: Routine) -> Result<RoutineFn, PeerError> {
    type Letter = *const u8;
    type Size = *const i32;
    type Numbers = *const f64;
    if routine != Routine::Dgemm {
        return Err(PeerError::Missing(format!("{} is compared by dgemm only, not by {}", peer.name, routine.name())));
    }
    Ok(call! {
        symbol, fn(Letter, Letter, Size, Size, Size, Numbers, Numbers, Size, Numbers, Size, Numbers, *mut f64, Size),
        |o| (&b'N', &b'N', &int(o.n), &int(o.n), &int(o.n), &1.0, o.a.as_ptr(), &int(o.n), o.b.as_ptr(), &int(o.n), &0.0,
             o.c.as_mut_ptr(), &int(o.n))
    })
}

/// An integer of the library.
trait Int: TryFrom<usize> + Copy + 'static {}
impl Int for i32 {}
impl Int for i64 {}

fn int<I: Int>(n: usize) -> I {
    I::try_from(n).unwrap_or_else(|_| crate::member::give_up("an extent is too large for the library's integers"))
}

const COLUMNS: i32 = 102;
const AS_IT_IS: i32 = 111;
const LOWER: i32 = 122;
const NOT_UNIT: i32 = 131;
const LEFT: i32 = 141;

/// The call with integers of that type, by the C interface; LAPACK's is Fortran's, which passes all by
/// reference.
fn typed<I: Int>(peer: &Peer, library: &Library, routine: Routine) -> Result<RoutineFn, PeerError> {
    type Numbers = *const f64;
    let [before, after] = peer.around;
    let symbol = |name: &str| library.symbol(&format!("{before}{name}{after}"));
    Ok(match routine {
        Routine::Daxpy => call! {
            symbol("cblas_daxpy")?, fn(I, f64, Numbers, I, *mut f64, I),
            |o| (int(o.n), 1e-9, o.b.as_ptr(), int(1), o.c.as_mut_ptr(), int(1))
        },
        Routine::Ddot => call! {
            symbol("cblas_ddot")?, fn(I, Numbers, I, Numbers, I) -> f64,
            |o| (int(o.n), o.b.as_ptr(), int(1), o.c.as_ptr(), int(1))
        },
        Routine::Dgemv => call! {
            symbol("cblas_dgemv")?, fn(i32, i32, I, I, f64, Numbers, I, Numbers, I, f64, *mut f64, I),
            |o| (COLUMNS, AS_IT_IS, int(o.n), int(o.n), 1.0, o.a.as_ptr(), int(o.n), o.b.as_ptr(), int(1), 0.0, o.c.as_mut_ptr(), int(1))
        },
        Routine::Dgemm => call! {
            symbol("cblas_dgemm")?, fn(i32, i32, i32, I, I, I, f64, Numbers, I, Numbers, I, f64, *mut f64, I),
            |o| (COLUMNS, AS_IT_IS, AS_IT_IS, int(o.n), int(o.n), int(o.n), 1.0, o.a.as_ptr(), int(o.n), o.b.as_ptr(), int(o.n), 0.0,
                 o.c.as_mut_ptr(), int(o.n))
        },
        // Pivots have 64 bits of room each, more than some libraries take.
        Routine::Lu => call! {
            symbol("dgetrf_")?, fn(*const I, *const I, *mut f64, *const I, *mut i64, *mut I),
            |o| (&int(o.n), &int(o.n), o.c.as_mut_ptr(), &int(o.n), o.pivots.as_mut_ptr(), &mut int(0))
        },
        Routine::Dsymv => call! {
            symbol("cblas_dsymv")?, fn(i32, i32, I, f64, Numbers, I, Numbers, I, f64, *mut f64, I),
            |o| (COLUMNS, LOWER, int(o.n), 1.0, o.a.as_ptr(), int(o.n), o.b.as_ptr(), int(1), 0.0, o.c.as_mut_ptr(), int(1))
        },
        Routine::Dsymm => call! {
            symbol("cblas_dsymm")?, fn(i32, i32, i32, I, I, f64, Numbers, I, Numbers, I, f64, *mut f64, I),
            |o| (COLUMNS, LEFT, LOWER, int(o.n), int(o.n), 1.0, o.a.as_ptr(), int(o.n), o.b.as_ptr(), int(o.n), 0.0,
                 o.c.as_mut_ptr(), int(o.n))
        },
        Routine::Dsyrk => call! {
            symbol("cblas_dsyrk")?, fn(i32, i32, i32, I, I, f64, Numbers, I, f64, *mut f64, I),
            |o| (COLUMNS, LOWER, AS_IT_IS, int(o.n), int(o.n), 1.0, o.a.as_ptr(), int(o.n), 0.0, o.c.as_mut_ptr(), int(o.n))
        },
        Routine::Dtrmm | Routine::Dtrsm => call! {
            symbol(if routine == Routine::Dtrmm { "cblas_dtrmm" } else { "cblas_dtrsm" })?,
            fn(i32, i32, i32, i32, i32, I, I, f64, Numbers, I, *mut f64, I),
            |o| (COLUMNS, LEFT, LOWER, AS_IT_IS, NOT_UNIT, int(o.n), int(o.n), 1.0, o.a.as_ptr(), int(o.n), o.c.as_mut_ptr(), int(o.n))
        },
    })
}
