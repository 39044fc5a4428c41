//! Every number in the tables equals that in the header of the installed MPI, according to its own compiler.
use foregather_mpi::abi::{Abi, MPICH, OPEN_MPI, STANDARD};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// The compilers that may be installed, and the interface of each. `FOREGATHER_TEST_MPICC_ABI` names a
/// compiler for the standard interface in another place.
fn compilers() -> [(String, &'static Abi); 3] {
    let standard = std::env::var("FOREGATHER_TEST_MPICC_ABI").unwrap_or_else(|_| "mpicc_abi".to_owned());
    [(standard, &STANDARD), ("mpicc.openmpi".to_owned(), &OPEN_MPI), ("mpicc.mpich".to_owned(), &MPICH)]
}

/// Returns a C program that prints each number on its own line.
fn program(abi: &Abi) -> String {
    let mut text = String::from("#include <stddef.h>\n#include <stdio.h>\n#include <mpi.h>\nint main(void) {\n");
    for (expression, _) in abi.expectations() {
        let _ = writeln!(text, "printf(\"%ld\\n\", (long)({expression}));");
    }
    text.push_str("return 0;\n}\n");
    text
}

/// Returns the numbers from the header of this compiler, or the reason why there are none.
fn numbers(compiler: &str, abi: &Abi) -> Result<Vec<i64>, String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let name = compiler.rsplit('/').next().unwrap_or(compiler);
    let (source, binary) = (folder.join(format!("{name}-layout.c")), folder.join(format!("{name}-layout")));
    std::fs::write(&source, program(abi)).map_err(|error| format!("{}: {error}", source.display()))?;
    let compiled = Command::new(compiler).arg("-o").arg(&binary).arg(&source).output();
    let compiled = compiled.map_err(|error| format!("no {compiler} here ({error})"))?;
    let said = String::from_utf8_lossy(&compiled.stderr).into_owned();
    assert!(compiled.status.success(), "{compiler}: the header lacks something:\n{said}");
    let printed = Command::new(&binary).output().map_err(|error| format!("{}: {error}", binary.display()))?;
    let text = String::from_utf8_lossy(&printed.stdout).into_owned();
    Ok(text.lines().map(|line| line.parse().expect("a number a line")).collect())
}

#[test]
fn the_tables_are_as_the_headers_say() {
    for (compiler, abi) in compilers() {
        match numbers(&compiler, abi) {
            Err(why) => {
                // The standard interface comes with a wheel, which is not everywhere.
                let is_needed = std::env::var_os("FOREGATHER_REQUIRE_PARTS").is_some() && *abi != STANDARD;
                assert!(!is_needed, "a part is missing: {why}");
                eprintln!("skipped: {why}");
            }
            Ok(found) => {
                let expected = abi.expectations();
                assert_eq!(found.len(), expected.len());
                for ((expression, ours), theirs) in expected.into_iter().zip(found) {
                    assert_eq!(ours, theirs, "{compiler}: {expression}");
                }
            }
        }
    }
}
