//! OpenBLAS's threads as a team: products with a small triangular matrix, whose columns they share without
//! meeting before the end.
use crate::peer_error::PeerError;
use core::ffi::c_int;
use core::mem::transmute;
use foregather_bench::CellResult;
use foregather_bench::teams::{TeamCell, measure};
use foregather_host::clock;
use foregather_host::dl::Library;
use foregather_machine::Error;
use serde_json::{Value, json};

const LIBRARIES: [&str; 2] = ["libopenblas.so.0", "libopenblas.so"];
const REMEDY: &str = "install OpenBLAS (Debian: libopenblas0-pthread)";
/// The order of the triangular matrix: a column takes a tenth of a microsecond or so.
const ORDER: usize = 32;
/// Members' columns are a multiple of this, as the library's kernels are.
const TOGETHER: usize = 8;
/// Columns that are timed on one thread, and how often.
const TIMED: (usize, u32) = (512, 40);

type Trmm = unsafe extern "C" fn(c_int, c_int, c_int, c_int, c_int, c_int, c_int, f64, *const f64, c_int, *mut f64, c_int);

struct OpenBlas {
    set_threads: unsafe extern "C" fn(c_int),
    trmm: Trmm,
}

fn open() -> Result<Library, Error> {
    Library::open(&LIBRARIES)
}

/// It, for the caller.
pub(crate) fn describe() -> Value {
    let library = open();
    let version = library.as_ref().ok().and_then(|library| library.path().canonicalize().ok());
    json!({ "name": "openblas", "what": "OpenBLAS: its threads share products with a triangular matrix", "env": {},
            "available": library.is_ok(), "version": version, "remedy": library.is_err().then_some(REMEDY) })
}

impl OpenBlas {
    fn new() -> Result<Self, PeerError> {
        let library = open().map_err(|error| PeerError::Missing(format!("{error}; {REMEDY}")))?;
        let (set_threads, trmm) = (library.symbol("openblas_set_num_threads")?, library.symbol("cblas_dtrmm")?);
        // SAFETY: these are the functions' types by the library's header; it is never unloaded.
        Ok(unsafe {
            Self {
                set_threads: transmute::<*mut _, unsafe extern "C" fn(c_int)>(set_threads),
                trmm: transmute::<*mut _, Trmm>(trmm),
            }
        })
    }

    fn on(&self, threads: u32) {
        // SAFETY: a plain call of the library.
        unsafe { (self.set_threads)(threads as c_int) };
    }

    /// Multiplies `columns` by the unit matrix, which the library takes for a triangular one.
    fn multiply(&self, unit: &[f64], columns: &mut [f64]) {
        const COLUMNS: c_int = 102;
        const LEFT: c_int = 141;
        const LOWER: c_int = 122;
        const AS_IT_IS: c_int = 111;
        const NOT_UNIT: c_int = 131;
        let (order, count) = (ORDER as c_int, (columns.len() / ORDER) as c_int);
        let (a, b) = (unit.as_ptr(), columns.as_mut_ptr());
        // SAFETY: by the C interface of the BLAS: the matrix has ORDER rows and columns, and the columns have
        // ORDER rows each, without gaps.
        unsafe { (self.trmm)(COLUMNS, LEFT, LOWER, AS_IT_IS, NOT_UNIT, order, count, 1.0, a, order, b, order) };
    }
}

/// Runs the cell: members' bodies are as many columns as one thread multiplies in that time.
pub(crate) fn run(cell: &TeamCell) -> Result<CellResult, PeerError> {
    let blas = OpenBlas::new()?;
    let unit: Vec<f64> = (0..ORDER * ORDER).map(|at| f64::from(u8::from(at % (ORDER + 1) == 0))).collect();
    let mut columns = vec![1.0; ORDER * TIMED.0];
    blas.on(1);
    let mut once = || {
        let began = clock::now();
        blas.multiply(&unit, &mut columns);
        (clock::now() - began).0
    };
    let column_ns = (0..TIMED.1).map(|_| once()).min().unwrap_or(1).max(1) as f64 / TIMED.0 as f64;
    let share = (cell.body_ns as f64 / column_ns / TOGETHER as f64).round().max(1.0) as usize * TOGETHER;
    columns.resize(ORDER * share * cell.threads as usize, 1.0);
    blas.on(cell.threads);
    Ok(measure(cell, |_| blas.multiply(&unit, &mut columns)))
}
