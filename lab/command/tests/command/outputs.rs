//! Where results go: a place that takes nothing is known before the work, and what was worked for is never
//! lost.
use crate::simulate::{SMALL, plan};
use crate::{foregather, run, scratch, stderr};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Each verb that writes a file, without the file.
const VERBS: [&[&str]; 9] = [
    &["measure", "waits", "--output"],
    &["measure", "barriers", "--full", "--output"],
    &["measure", "noise", "--seconds", "60", "--output"],
    &["simulate", "fig3", "--full", "--yes", "--output"],
    &["simulate", "fig3", "--full", "--yes", "--trace"],
    &["reproduce", "--full", "--output"],
    &["demo", "--output"],
    &["report", "/no/such/results.json", "--output"],
    &["app", "tsp", "--repeat", "900", "--output"],
];

/// Ends with 2 and one line that names the place, before any work: none of these verbs would be done in less
/// than a minute.
#[track_caller]
fn refused_at_once(args: &[&str], place: &Path) {
    let mut command = Command::new("timeout");
    command.args(["-k", "1", "40", env!("CARGO_BIN_EXE_foregather")]).args(args).arg(place).stdin(Stdio::null());
    let output = command.env("FOREGATHER_MACHINE", scratch("outputs-machine.json")).output().unwrap();
    let said = stderr(&output);
    assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{args:?}: {said}");
    assert!(said.contains(&place.display().to_string()) && said.contains("choose another place"), "{args:?}: {said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn every_verb_says_at_once_that_a_place_cannot_be_written() {
    for verb in VERBS {
        refused_at_once(verb, Path::new("/no/such/x.json"));
    }
    for place in ["/", "/dev/full", "/proc/x.json"] {
        refused_at_once(VERBS[3], Path::new(place));
    }
}

#[test]
fn a_folder_without_rights_is_known_at_once() {
    let folder = scratch("read-only");
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(folder.join("root"), "").is_ok() {
        let _ = fs::remove_file(folder.join("root"));
        return eprintln!("skipped: this user may write everywhere");
    }
    refused_at_once(VERBS[3], &folder.join("x.json"));
}

/// A file system of four pages, mounted until it is dropped.
struct Disk(PathBuf);

impl Disk {
    /// `None` without the right to mount one.
    fn mounted(name: &str) -> Option<Self> {
        let disk = scratch(name);
        fs::create_dir_all(&disk).unwrap();
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=16k", "none"]).arg(&disk).output();
        mount.is_ok_and(|output| output.status.success()).then_some(Self(disk))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_known_at_once_and_one_that_fills_up_loses_nothing() {
    let Some(Disk(disk)) = &Disk::mounted("full-disk") else {
        return eprintln!("skipped: this user may not mount a file system");
    };
    let saved = scratch("full-disk-saved");
    fs::create_dir_all(&saved).unwrap();
    // Its document is larger than the disk.
    let large = plan("large.toml", &SMALL.replace("[1, 2]", "{ from = 1, to = 60 }"));
    let command = |format: &str| {
        let mut command = foregather(&["simulate", &large, "--quiet", "--format", format, "--output"]);
        command.arg(disk.join("x.json"));
        command
    };
    let output = command("csv").env("TMPDIR", &saved).output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("No space left on device") && String::from_utf8_lossy(&output.stdout).starts_with("id,what,"),
        "{said}"
    );
    let files: Vec<_> = fs::read_dir(&saved).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() == 1 && said.contains(&files[0].display().to_string()), "{files:?}: {said}");
    let document: serde_json::Value = serde_json::from_str(&fs::read_to_string(&files[0]).unwrap()).unwrap();
    assert!(!document["measurements"].as_array().unwrap().is_empty());
    assert_eq!(fs::read_dir(disk).unwrap().count(), 0, "no part is left");

    // Nowhere to save it: then it is printed whole.
    let output = command("csv").env("TMPDIR", "/no/such").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(!document["measurements"].as_array().unwrap().is_empty());

    // By then it is full to the last page.
    let mut filling = fs::File::create(disk.join("filling")).unwrap();
    while std::io::Write::write_all(&mut filling, &[0; 4096]).is_ok() {}
    refused_at_once(VERBS[3], &disk.join("x.json"));
    fs::remove_dir_all(saved).unwrap();
}

#[test]
fn what_cannot_be_printed_is_saved() {
    let saved = scratch("printed-saved");
    fs::create_dir_all(&saved).unwrap();
    let mut command = foregather(&["simulate", &plan("unprinted.toml", SMALL), "--quiet"]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command.env("TMPDIR", &saved).stdout(full).output().unwrap();
    let said = stderr(&output);
    let files: Vec<_> = fs::read_dir(&saved).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!((output.status.code(), files.len()), (Some(2), 1), "{said}");
    assert!(said.contains("standard output") && said.contains(&files[0].display().to_string()), "{said}");
    fs::remove_dir_all(saved).unwrap();
}

/// Opening a pipe would wait for its other end.
#[test]
fn files_that_are_none_are_refused_and_not_waited_for() {
    let pipe = scratch("a-pipe");
    let _ = fs::remove_file(&pipe);
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let plan = scratch("piped.toml");
    let piped = "schema = \"foregather.plan/1\"\n[machine]\ncpus = 2\n[[job]]\nthreads = 2\nbarriers = 2\npolicy = \"block\"\ncompute = { trace = \"a-pipe\" }\n";
    fs::write(&plan, piped).unwrap();
    let [pipe, plan] = [&pipe, &plan].map(|path| path.to_str().unwrap());
    for args in [&["report", pipe][..], &["compare", pipe, pipe], &["simulate", pipe], &["simulate", plan]] {
        let mut child = foregather(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let ended = (0..2_000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            child.try_wait().unwrap().is_some()
        });
        if !ended {
            child.kill().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        let said = stderr(&output);
        assert!(ended && output.status.code() == Some(2) && said.contains("a pipe, not a regular file"), "{args:?}: {said}");
    }
    let doctor = foregather(&["doctor"]).env("FOREGATHER_MACHINE", pipe).output().unwrap();
    let said = String::from_utf8_lossy(&doctor.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("machine costs: file cannot read") && said.contains("a pipe"), "{said}");
    for (args, path) in [(["report"], "/dev/zero"), (["simulate"], "/")] {
        let output = run(&[args[0], path]);
        assert!(output.status.code() == Some(2) && stderr(&output).contains("not a regular file"), "{}", stderr(&output));
    }
}

/// The user's plan and results stay as they are.
#[test]
fn no_verb_overwrites_what_it_reads() {
    let plan = plan("input.toml", SMALL);
    let results = scratch("input.json");
    assert!(run(&["simulate", &plan, "--quiet", "--output", results.to_str().unwrap()]).status.success());
    let results = results.to_str().unwrap();
    let program = scratch("input-program");
    fs::copy("/bin/true", &program).unwrap();
    let program = program.to_str().unwrap();
    for (args, input) in [
        (&["simulate", &plan, "--output", &plan][..], &plan[..]),
        (&["simulate", &plan, "--trace", &plan], &plan),
        (&["report", results, "--output", results], results),
        (&["exec", "--compare", "2", "--output", program, "--", program], program),
    ] {
        let before = fs::read(input).unwrap();
        let output = run(args);
        let said = stderr(&output);
        assert!(
            output.status.code() == Some(2) && said.contains("this command reads it; choose another place"),
            "{args:?}: {said}"
        );
        assert!(fs::read(input).unwrap() == before, "{args:?}");
    }
    let output = run(&["simulate", &plan, "--output", "both.json", "--trace", "both.json"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("twice"), "{}", stderr(&output));
}

/// The files that a plan names are the user's, too.
#[test]
fn no_verb_overwrites_what_its_plan_reads() {
    let times = scratch("times.txt");
    fs::write(&times, "1 us\n2 us\n").unwrap();
    let job = "[[job]]\nthreads = 2\nbarriers = 2\npolicy = \"block\"\ncompute = { trace = \"times.txt\" }\n";
    let traced = plan("traced.toml", &format!("schema = \"foregather.plan/1\"\n[machine]\ncpus = 2\n{job}"));
    assert!(run(&["simulate", &traced, "--quiet"]).status.success());
    let link = scratch("link-to-times");
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink(&times, &link).unwrap();
    for option in ["--output", "--trace"] {
        for place in [&times, &link] {
            let output = run(&["simulate", &traced, "--quiet", option, place.to_str().unwrap()]);
            let said = stderr(&output);
            assert!(output.status.code() == Some(2) && said.contains("this command reads it; choose another place"), "{said}");
            assert_eq!(fs::read_to_string(&times).unwrap(), "1 us\n2 us\n", "{option} {}", place.display());
        }
    }
}

#[test]
fn a_value_that_is_missing_has_a_reason() {
    let output = run(&["simulate", "--threads", "4", "--cpus", "2", "--policy", "block", "--compute", "50s"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("1 of 1 values are missing (-)") && said.contains("run.limit"), "{said}");
}
