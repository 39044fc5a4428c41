//! `exec`: a program as it is, with a library before its own.
use super::{foregather, scratch, stderr, validate};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;

/// A library that every program has already, so that loading it first changes nothing.
pub(crate) fn harmless() -> String {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter_map(|line| line.split_whitespace().nth(5)).find(|path| path.contains("libc.so")).unwrap().to_owned()
}

#[test]
fn the_library_comes_first_and_the_programs_end_is_its_own() {
    let library = harmless();
    let exec = |script: &str| {
        foregather(&["exec", "--library", &library, "--", "sh", "-c", script]).env("LD_PRELOAD", "").output().unwrap()
    };
    let said = exec("echo $LD_PRELOAD $ASAN_OPTIONS; exit 7");
    let seen = String::from_utf8_lossy(&said.stdout).into_owned();
    // Where programs linked with musl can run, a part precedes that only the GNU loader understands.
    let (before, after) = seen.trim().split_once(&library).unwrap_or_default();
    assert!(matches!(before, "" | "/$LIB/../../../.."), "{seen} {}", stderr(&said));
    assert_eq!((said.status.code(), after), (Some(7), " verify_asan_link_order=0"), "{}", stderr(&said));
    assert_eq!(exec("kill -TERM $$").status.signal(), Some(15));
}

#[test]
fn the_way_back_changes_nothing_and_needs_no_library() {
    let said = foregather(&["exec", "--", "sh", "-c", "echo \"<$LD_PRELOAD>\""])
        .env("FOREGATHER", "off")
        .env_remove("LD_PRELOAD")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), "<>", "{}", stderr(&said));
}

#[test]
fn what_there_is_not_is_said_with_the_exit_codes_of_shells() {
    let library = harmless();
    let end = |args: &[&str]| {
        let said = foregather(&[&["exec"], args].concat()).output().unwrap();
        (said.status.code(), stderr(&said))
    };
    let (code, said) = end(&["--library", &library, "--", "no-such-program"]);
    assert!(code == Some(127) && said.contains("no-such-program"), "{code:?}: {said}");
    assert!(said.contains("no such program in PATH"), "{said}");
    let (code, said) = end(&["--library", &library, "--", "./no-such-file"]);
    assert!(code == Some(127) && said.contains("./no-such-file: no such file"), "{code:?}: {said}");
    let (code, said) = end(&["--stat", "--", "true"]);
    assert!(code == Some(2) && said.contains("'--stat'") && said.contains("'--stats'"), "{code:?}: {said}");
    let (code, said) = end(&["--library", "/no/such.so", "--", "true"]);
    assert!(code == Some(2) && said.contains("/no/such.so"), "{code:?}: {said}");
    // A command that has no libraries beside it, whatever was built here.
    let alone = scratch("alone");
    fs::create_dir_all(&alone).unwrap();
    let alone = alone.join("foregather");
    fs::copy(env!("CARGO_BIN_EXE_foregather"), &alone).unwrap();
    let said = std::process::Command::new(&alone).args(["exec", "--", "true"]).output().unwrap();
    let (code, said) = (said.status.code(), stderr(&said));
    assert!(code == Some(3) && said.contains("name it by --library") && !said.contains("cargo"), "{said}");
    let text = scratch("no-program");
    fs::write(&text, "neither").unwrap();
    fs::set_permissions(&text, fs::Permissions::from_mode(0o644)).unwrap();
    let (code, said) = end(&["--", text.to_str().unwrap()]);
    assert!(code == Some(126) && said.contains("nothing of"), "{code:?}: {said}");
}

#[test]
fn a_program_with_its_owners_rights_runs_unchanged_and_that_is_said() {
    let program = scratch("with-rights");
    fs::copy("/bin/true", &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o4755)).unwrap();
    let said = foregather(&["exec", "--", program.to_str().unwrap()]).output().unwrap();
    assert!(said.status.success() && stderr(&said).contains("rights of its owner"), "{}", stderr(&said));
    let quiet = foregather(&["exec", "--quiet", "--", program.to_str().unwrap()]).output().unwrap();
    assert_eq!(stderr(&quiet), "");
}

#[test]
fn a_program_is_compared_with_itself() {
    let library = harmless();
    let compare = |more: &[&str], script: &str| {
        let said = foregather(&[&["exec", "--library", &library, "--compare", "2"], more, &["--", "sh", "-c", script]].concat())
            .env_remove("LD_PRELOAD")
            .output()
            .unwrap();
        (said.status.code(), String::from_utf8_lossy(&said.stdout).into_owned(), stderr(&said))
    };
    let (code, said, trouble) = compare(&[], "echo same");
    assert_eq!(code, Some(0), "{trouble}");
    assert!(said.contains("without/with") && trouble.contains("what it prints is the same"), "{said}{trouble}");
    let sentence = said.lines().next().unwrap_or_default();
    assert!(sentence.contains("times as fast with Foregather (") && sentence.contains(", 2 pairs): "), "{said}");
    let (code, said, trouble) = compare(&[], "echo \"<$LD_PRELOAD>\"");
    assert!(code == Some(1) && trouble.contains("differs with the libraries"), "{code:?}: {said}{trouble}");
    assert_eq!(compare(&["--same-output", "off"], "echo \"<$LD_PRELOAD>\"").0, Some(0));
    assert_eq!(compare(&[], "exit 7").0, Some(7));
    let (code, _, trouble) = compare(&["--same-output", "perhaps"], "true");
    assert!(code == Some(2) && trouble.contains("on or off"), "{code:?}: {trouble}");
    let kept = scratch("compared.json");
    let named = ["--name", "nothing", "--output", kept.to_str().unwrap()];
    let (code, ..) = compare(&named, "true");
    let results: foregather_results::Results = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
    assert_eq!((code, results.measurements[1].id.as_str()), (Some(0), "program/time/with/nothing"));
    let nothing = foregather(&["exec", "--compare", "2", "--", "true"]).env("FOREGATHER", "off").output().unwrap();
    assert!(nothing.status.code() == Some(2) && stderr(&nothing).contains("nothing to compare"), "{}", stderr(&nothing));
}

#[test]
fn statistics_are_the_page_of_advise() {
    let (library, kept) = (harmless(), scratch("statistics.json"));
    let arguments = ["exec", "--library", &library, "--stats", "--output", kept.to_str().unwrap(), "--", "sh", "-c"];
    // A line that a runtime appends, and one of something else.
    let waits = r#"{"last":1,"at_once":0,"spun":3,"yielded":0,"slept":0,"failed":0,"yields":0,"moves":0,"moves_refused":0,
        "pulls":0,"scouts":0,"scouts_back":0,"waited_ns":5,"spun_ns":4,"longest_ns":3000,"rules":{"spin":3}}"#
        .replace([' ', '\n'], "");
    let line = format!(r#"{{"process":7,"regions":12,"cpu_ns":9,"last":[1,0],"joins":{waits},"barriers":{waits}}}"#);
    let script = format!("echo own; echo '{line}' >> $FOREGATHER_STATS; echo other >> $FOREGATHER_STATS; exit 7");
    let said = foregather(&[&arguments[..], &[&script]].concat()).output().unwrap();
    let page = stderr(&said);
    assert_eq!((said.status.code(), &said.stdout[..]), (Some(7), &b"own\n"[..]), "{page}");
    assert!(page.contains("Foregather's runtime: 12 regions, longest wait 3.00 us") && page.contains("CAUSE  "), "{page}");
    let document: serde_json::Value = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
    validate(&document, "advice.schema.json");
    assert_eq!((document["runtime"].as_array().map(Vec::len), &document["runtime"][0]["regions"]), (Some(1), &12.into()));
    let refused = foregather(&["exec", "--output", "file", "--", "true"]).output().unwrap();
    assert!(refused.status.code() == Some(2) && stderr(&refused).contains("--stats"), "{}", stderr(&refused));
}

#[test]
fn a_program_is_watched_once_and_what_is_kept_can_be_removed() {
    let cache = scratch("auto-cache");
    let run = |options: &[&str], ci: &str| {
        let mut command = foregather(&[&["exec"], options, &["--", "sh", "-c", "echo own; exit 5"]].concat());
        for name in ["GITHUB_ACTIONS", "GITLAB_CI", "SUDO_UID", "DOAS_USER"] {
            command.env_remove(name);
        }
        command.env("XDG_CACHE_HOME", &cache).env("HOME", &cache).env("CI", ci);
        let said = command.output().unwrap();
        (said.status.code(), String::from_utf8_lossy(&said.stdout).into_owned(), stderr(&said))
    };
    std::fs::create_dir_all(&cache).unwrap();
    let kept = || std::fs::read_dir(cache.join("foregather/cures")).map_or(0, |files| files.count());
    let (code, own, said) = run(&["--auto"], "");
    assert_eq!((code, own.as_str(), kept()), (Some(5), "own\n", 1), "{said}");
    assert!(said.contains("no setting that keeps results' bits"), "{said}");
    assert_eq!(run(&["--auto"], ""), (Some(5), "own\n".to_owned(), String::new()), "it is run as it is");
    let (code, own, said) = run(&["--auto"], "true");
    assert!(code == Some(5) && own == "own\n" && said.contains("nothing is kept: this is a CI job"), "{said}");
    let (code, own, said) = run(&["--forget"], "");
    assert_eq!((code, own.as_str(), kept()), (Some(0), "", 0), "{said}");
    assert!(run(&["--forget"], "").2.contains("nothing was kept for this program"));
}
