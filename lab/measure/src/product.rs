//! A product of two matrices: by our BLAS, by that which NumPy uses here, and by others that are installed,
//! in turn, each in a process of its own.
use crate::Measured;
use crate::blas::{KIND, one_size};
use crate::machine_file;
use crate::matrix::{BackgroundOfRow, CellLoop, TurnOrder};
use crate::peers::CellRunner;
use anyhow::{Result, anyhow};
use foregather_bench::blas::{BlasCell, BlasResult, Routine};
use foregather_bench::python;
use foregather_host::affinity;
use foregather_machine::Nanos;
use foregather_results::Measurement;
use foregather_results::ids::BLAS;

/// Measures NumPy's products.
const PROGRAM: &str = include_str!("product.py");
/// Says whether there is NumPy.
const PROBE: &str = "import json, numpy; print(json.dumps(numpy.__version__))";
/// NumPy may take this long to load, or to make three products.
const PATIENCE: Nanos = Nanos::from_ms(20_000);
/// The runner of our BLAS.
pub const OURS: &str = "foregather";
/// The one that is NumPy, whatever BLAS it uses.
pub const NUMPY: &str = "numpy";

/// What makes products.
enum Maker {
    Runner(CellRunner),
    NumPy,
}

/// What one turn gave.
enum ProductTurn {
    Cell(BlasResult),
    /// How long each product took in nanoseconds, and the files that may be NumPy's BLAS.
    NumPy(Vec<u64>, Vec<String>),
}

impl Maker {
    fn name(&self) -> String {
        match self {
            Self::Runner(runner) => runner.name.clone(),
            Self::NumPy => NUMPY.to_owned(),
        }
    }
}

/// Those of `wanted` that can make products here.
fn makers(wanted: &[&str], notes: &mut Vec<String>) -> Result<Vec<Maker>> {
    let runners = KIND.runners(None, notes)?.into_iter().filter(|runner| wanted.contains(&runner.name.as_str()));
    let mut all: Vec<Maker> = runners.map(Maker::Runner).collect();
    if wanted.contains(&NUMPY) {
        match numpy() {
            Ok(_) => all.push(Maker::NumPy),
            Err(why) => notes.push(format!("no NumPy: {why}; FOREGATHER_PYTHON names the interpreter that has it")),
        }
    }
    Ok(all)
}

/// The version of the NumPy that is here.
///
/// # Errors
/// Why there is none.
pub fn numpy() -> Result<String, String> {
    python::run(PROBE, "", PATIENCE)
}

/// Products of order `n` by those of `wanted` that are here, with all processors, each for about that many
/// milliseconds; those that are not here are noted.
///
/// # Errors
/// If none could be measured.
pub fn measure(n: u32, wanted: &[&str], ms: u64, quiet: bool) -> Result<Measured> {
    let mut notes = vec![];
    let makers = makers(wanted, &mut notes)?;
    machine_file::load_or_measure()?;
    let threads = affinity::allowed().len() as u32;
    let mut matrix = CellLoop::new("product", makers.len(), 1, TurnOrder::Alternating, quiet);
    let runs = matrix.row(BackgroundOfRow::default(), &makers, Maker::name, |maker, _| match maker {
        Maker::Runner(runner) => {
            let (routine, name) = (Routine::Dgemm, runner.name.clone());
            let cell = BlasCell { runner: name, routine, n, threads, gap_ns: 0, span_ns: ms * 1_000_000 };
            Ok(runner.run_to_end(&cell)?.map(ProductTurn::Cell))
        }
        Maker::NumPy => {
            let span_ns = ms * 1_000_000;
            let (times, files) = python::run(PROGRAM, &format!("[{n}, {span_ns}]"), PATIENCE).map_err(|error| anyhow!(error))?;
            Ok(Some(ProductTurn::NumPy(times, files)))
        }
    })?;
    let done = makers.iter().zip(&runs).filter_map(|(maker, runs)| Some((maker, runs.results.first()?)));
    matrix.found.measurements.extend(done.map(|(maker, made)| match made {
        ProductTurn::Cell(result) => one_size(Routine::Dgemm, n, threads, &maker.name(), result),
        ProductTurn::NumPy(times, files) => of_numpy(n, threads, times, files),
    }));
    matrix.found.notes.splice(0..0, notes);
    matrix.end()
}

fn of_numpy(n: u32, threads: u32, times: &[u64], files: &[String]) -> Measurement {
    let id = format!("{BLAS}{}/{n}/{NUMPY}", Routine::Dgemm.name());
    let us = times.iter().map(|&ns| ns as f64 / 1e3).collect();
    Measurement::from_values(id, "a product by NumPy, as it comes", "us", us)
        .label("routine", Routine::Dgemm.name())
        .label("n", n.to_string())
        .label("threads", threads.to_string())
        .label("runner", NUMPY)
        .label("blas", blas_of(files))
}

/// The name of the BLAS in these files. Debian's alternatives have one name, in folders that tell them;
/// beside it may be one that LAPACK has brought.
fn blas_of(files: &[String]) -> &'static str {
    const KNOWN: [(&str, &str); 5] = [
        ("libforegather", "Foregather"),
        ("openblas", "OpenBLAS"),
        ("mkl", "MKL"),
        ("blis", "BLIS"),
        ("/libblas.so", "the reference BLAS"),
    ];
    let chosen: Vec<&String> = files.iter().filter(|file| file.contains(KNOWN[0].0) || file.contains(KNOWN[4].0)).collect();
    let candidates = if chosen.is_empty() { files.iter().collect() } else { chosen };
    let known = KNOWN.iter().find(|(part, _)| candidates.iter().any(|file| file.contains(part)));
    known.map_or("a BLAS of its own", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numpys_blas_is_known_by_its_files() {
        let of = |files: &[&str]| blas_of(&files.iter().map(|&file| file.to_owned()).collect::<Vec<_>>());
        let debian = "/usr/lib/x86_64-linux-gnu";
        let lapack = format!("{debian}/openblas-pthread/libopenblasp-r0.3.21.so");
        assert_eq!(of(&[&format!("{debian}/blas/libblas.so.3.11.0"), &lapack]), "the reference BLAS");
        assert_eq!(of(&[&format!("{debian}/openblas-pthread/libblas.so.3")]), "OpenBLAS");
        assert_eq!(of(&["/x/numpy.libs/libscipy_openblas64_-ff651d7f.so"]), "OpenBLAS");
        assert_eq!(of(&[&format!("{debian}/blas/libblas.so.3"), "/opt/libforegather_blas.so"]), "Foregather");
        assert_eq!(of(&[]), "a BLAS of its own");
    }

    #[test]
    fn products_of_numpy_are_measurements_with_the_name_of_its_blas() {
        let m = of_numpy(512, 2, &[3_000, 1_000, 2_000], &["libblis.so.4".to_owned()]);
        assert_eq!((m.id.as_str(), m.median(), m.text("blas")), ("blas/dgemm/512/numpy", 2.0, "BLIS"));
    }
}
