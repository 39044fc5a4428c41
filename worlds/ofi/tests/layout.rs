//! Every offset and number that this world takes for granted equals that of libfabric's headers, by a C
//! compiler.
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// Prints why a test does nothing, or fails where all peers must be installed.
fn skip(why: &str) {
    assert!(std::env::var_os("FOREGATHER_REQUIRE_PARTS").is_none(), "a part is missing: {why}");
    eprintln!("skipped: {why}");
}

/// A C program that prints each number on a line.
fn program() -> String {
    let mut text = String::from("#include <stddef.h>\n#include <stdio.h>\n#include <sys/uio.h>\n");
    for header in ["fabric", "fi_domain", "fi_endpoint", "fi_cm", "fi_tagged", "fi_rma", "fi_eq", "fi_errno"] {
        let _ = writeln!(text, "#include <rdma/{header}.h>");
    }
    text.push_str("int main(void) {\n");
    for (expression, _) in foregather_ofi::LAYOUT {
        let _ = writeln!(text, "printf(\"%llu\\n\", (unsigned long long)({expression}));");
    }
    text.push_str("return 0;\n}\n");
    text
}

/// The numbers of this machine's headers, or why there are none.
fn numbers() -> Result<Vec<u64>, String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (source, binary) = (folder.join("ofi-layout.c"), folder.join("ofi-layout"));
    std::fs::write(&source, program()).map_err(|error| format!("{}: {error}", source.display()))?;
    let compiled = Command::new("cc").arg("-o").arg(&binary).arg(&source).output().map_err(|error| format!("cc: {error}"))?;
    if !compiled.status.success() {
        let complaint = String::from_utf8_lossy(&compiled.stderr).into_owned();
        assert!(complaint.contains("No such file or directory"), "the headers lack something:\n{complaint}");
        return Err("no headers of libfabric (`apt-get install libfabric-dev`)".to_owned());
    }
    let printed = Command::new(&binary).output().map_err(|error| format!("{}: {error}", binary.display()))?;
    let text = String::from_utf8_lossy(&printed.stdout).into_owned();
    Ok(text.lines().map(|line| line.parse().expect("a number a line")).collect())
}

#[test]
fn the_records_are_as_the_headers_say() {
    let found = match numbers() {
        Ok(found) => found,
        Err(why) => return skip(&why),
    };
    assert_eq!(found.len(), foregather_ofi::LAYOUT.len());
    for ((expression, ours), theirs) in foregather_ofi::LAYOUT.iter().zip(found) {
        assert_eq!(*ours, theirs, "{expression}");
    }
}
