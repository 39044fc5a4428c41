//! Arguments, variables and folders that are not UTF-8, as file names in Latin-1 are not: they stay as they
//! are, here and on other hosts, and no verb panics.
use crate::{foregather, scratch, stderr};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;

const NAME: &[u8] = b"caf\xe9";

fn name() -> &'static OsStr {
    OsStr::from_bytes(NAME)
}

/// Two ranks here; and two on hosts that a script stands for, which hands its words to a shell as ssh does.
fn ways() -> [Vec<OsString>; 2] {
    let (hosts, rsh) = (scratch("bytes-hosts"), scratch("bytes-rsh"));
    fs::write(&hosts, "there address=127.0.0.1\nlocalhost address=127.0.0.1\n").unwrap();
    fs::write(&rsh, "#!/bin/sh\nshift\nexec sh -c \"$*\"\n").unwrap();
    fs::set_permissions(&rsh, fs::Permissions::from_mode(0o755)).unwrap();
    let words = |words: &[&str]| words.iter().map(Into::into).collect();
    [words(&["-n", "2"]), words(&["--hosts", hosts.to_str().unwrap(), "--rsh", rsh.to_str().unwrap()])]
}

#[test]
fn ranks_get_arguments_variables_programs_and_folders_as_they_are() {
    let folder = scratch("bytes").join(name());
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join(name());
    fs::write(&program, "#!/bin/sh\nprintf '%s,%s,%s;' \"$1\" \"$FOREGATHER_LATIN\" \"${PWD##*/}\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let once = [NAME, b",", NAME, b",", NAME, b";"].concat();
    for way in ways() {
        let mut command = foregather(&["run", "--no-prefix"]);
        command.args(way).arg("--").arg(&program).arg(name());
        let output = command.env("FOREGATHER_LATIN", name()).env("LATIN", name()).current_dir(&folder).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(OsString::from_vec(output.stdout), OsString::from_vec(once.repeat(2)));
    }
}

#[test]
fn no_verb_panics_at_bytes_that_are_no_text() {
    for words in [
        &["exec", "--", "echo"][..],
        &["exec", "--compare", "2", "--name"],
        &["exec", "--library"],
        &["run", "-n", "2", "--rsh"],
        &["run", "--hosts"],
        &["simulate"],
        &["simulate", "--set"],
        &["simulate", "--threads"],
        &["report"],
        &["report", "--output"],
        &["compare", "x"],
        &["measure"],
        &["measure", "noise", "--seconds", "0.2", "--output"],
        &["reproduce"],
        &["app"],
        &["app", "tsp", "--class"],
        &["demo", "--output", "/no/such", "--format"],
        &["completions"],
        &["man"],
        &["__held"],
        &[],
    ] {
        let mut command = foregather(words);
        let output = command.arg(name()).env("LATIN", name()).current_dir(env!("CARGO_TARGET_TMPDIR")).output().unwrap();
        let said = stderr(&output);
        assert!(output.status.code().is_some_and(|code| code != 101) && !said.contains("panicked"), "{words:?}: {said}");
    }
}

#[test]
fn results_are_written_to_files_with_such_names_and_read_from_them() {
    let folder = scratch("bytes-results");
    fs::create_dir_all(&folder).unwrap();
    let (results, plan) = (folder.join(name()).with_extension("json"), folder.join(name()).with_extension("toml"));
    fs::write(&plan, crate::simulate::SMALL).unwrap();
    let output = foregather(&["simulate", "--quiet", "--output"]).arg(&results).arg(&plan).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = folder.join(name());
    let output = foregather(&["report", "--output"]).arg(&page).arg(&results).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(page.is_file());
}
