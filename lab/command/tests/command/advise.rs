//! `advise`: a program is watched, and keeps its output and its exit code.
use super::{foregather, scratch, stderr, validate};
use std::process::{Command, Stdio};

#[test]
fn the_programs_output_and_exit_code_are_its_own_and_the_advice_is_apart() {
    let kept = scratch("advice.json");
    let advise = |script: &str| {
        let arguments = ["advise", "--no-preload", "--output", kept.to_str().unwrap(), "--", "sh", "-c", script];
        foregather(&arguments).output().unwrap()
    };
    let said = advise("echo own; sleep 0.3; exit 7");
    assert_eq!((said.status.code(), &said.stdout[..]), (Some(7), &b"own\n"[..]), "{}", stderr(&said));
    let screen = stderr(&said);
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("CAUSE nothing to fix") && words.contains("no preload library: --no-preload"), "{screen}");
    assert!(screen.lines().count() <= 24 && screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    validate(&serde_json::from_str(&std::fs::read_to_string(&kept).unwrap()).unwrap(), "advice.schema.json");
    assert_eq!(advise("kill -TERM $$").status.code(), Some(128 + 15), "as shells show it");
}

#[test]
fn a_busy_pair_on_one_processor_is_named_by_proc_alone() {
    // Whatever else runs here, two loops that share a mask of one processor wait for each other.
    let kept = scratch("pair.json");
    let script = "taskset -p -c 0 $$ >/dev/null; (while :; do :; done) & one=$!; (while :; do :; done) & sleep 2; kill $one $!";
    let arguments = ["advise", "--no-preload", "--output", kept.to_str().unwrap(), "--", "sh", "-c", script];
    let said = foregather(&arguments).output().unwrap();
    let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&kept).unwrap()).unwrap();
    validate(&document, "advice.schema.json");
    let causes: Vec<&str> = document["causes"].as_array().unwrap().iter().filter_map(|cause| cause["cause"].as_str()).collect();
    let is_alone = std::thread::available_parallelism().is_ok_and(|processors| processors.get() == 1);
    assert!(causes.contains(&"mask") || is_alone, "{}", stderr(&said));
}

#[test]
fn what_cannot_be_watched_is_said() {
    let end = |arguments: &[&str]| {
        let said = foregather(&[&["advise"], arguments].concat()).output().unwrap();
        (said.status.code(), stderr(&said))
    };
    let (code, said) = end(&["--", "no-such-program"]);
    assert!(code == Some(127) && said.contains("no such program in PATH"), "{code:?}: {said}");
    let (code, said) = end(&["--pid", "4194303"]);
    assert!(code == Some(2) && said.contains("process 4194303 is not running here"), "{code:?}: {said}");
    for wrong in [&["--for", "10ms", "--", "true"][..], &["--pid", "1", "--", "true"], &[]] {
        assert_eq!(end(wrong).0, Some(2), "{wrong:?}");
    }
}

#[test]
fn a_running_process_is_watched_for_the_time_that_is_asked_for() {
    let mut sleeper = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
    let said = foregather(&["advise", "--pid", &sleeper.id().to_string(), "--for", "300ms"]).output().unwrap();
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    assert!(said.status.success() && stderr(&said).contains("nothing to fix"), "{}", stderr(&said));
    assert!(said.stdout.is_empty());
}

#[test]
fn cures_are_tried_beside_the_program_as_it_is() {
    // Two loops that share one of two processors; the cure lets them run on both.
    let script = "taskset -p -c 0 $$ >/dev/null; (while :; do :; done) & one=$!; (while :; do :; done) & \
                  sleep 0.6; kill $one $!; echo done; echo kept > kept";
    let folder = scratch("check");
    std::fs::create_dir_all(&folder).unwrap();
    let document = folder.join("advice.json");
    let arguments = ["advise", "--no-preload", "--check", "--repeatable", "--in-copy", "--result", "kept"];
    let file = ["--output", document.to_str().unwrap(), "--", "sh", "-c", script];
    let said = foregather(&[&arguments[..], &file[..]].concat()).current_dir(&folder).output().unwrap();
    let (screen, is_alone) = (stderr(&said), std::thread::available_parallelism().is_ok_and(|count| count.get() == 1));
    assert_eq!((said.status.code(), &said.stdout[..]), (Some(0), &b"done\n"[..]), "{screen}");
    let document: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&document).unwrap()).unwrap();
    validate(&document, "advice.schema.json");
    let checked = document["checked"].as_array().unwrap();
    // On a busy machine another program may be the only cause.
    let is_busy = screen.contains("at the same time");
    assert!(is_alone || is_busy || !checked.is_empty(), "{screen}");
    for cure in checked {
        assert_eq!((&cure["pairs"], &cure["does_the_same"]), (&5.into(), &true.into()), "{screen}");
        assert!(screen.contains("CHECK  ") && screen.contains("what it prints is the same each time"), "{screen}");
    }
    let refused = foregather(&["advise", "--check", "--", "true"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("give --repeatable"), "{}", stderr(&refused));
    let well = foregather(&["advise", "--no-preload", "--check", "--repeatable", "--", "sleep", "0.2"]).output().unwrap();
    assert!(stderr(&well).contains("CHECK  there is no cure by a setting to try"), "{}", stderr(&well));
}

#[test]
fn a_recording_gives_the_same_advice_elsewhere_and_has_no_arguments() {
    let [kept, advice, again] = ["recording.json", "advice.json", "again.json"].map(|name| scratch(&format!("recorded-{name}")));
    let script = "(while :; do :; done) & sleep 0.7; kill $!; : a-secret-word";
    let files = ["--save", kept.to_str().unwrap(), "--output", advice.to_str().unwrap(), "--with-arguments"];
    let program = ["--", "sh", "-c", script];
    let watch = |files: &[&str]| foregather(&[&["advise", "--no-preload"], files, &program[..]].concat()).output().unwrap();
    let judge =
        || foregather(&["advise", "--from", kept.to_str().unwrap(), "--output", again.to_str().unwrap()]).output().unwrap();
    let (said, later) = (watch(&files), judge());
    assert!(later.status.success(), "{}", stderr(&later));
    assert_eq!(stderr(&said), stderr(&later), "the screens");
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    assert_eq!(read(&advice), read(&again));
    assert!(read(&kept).contains("a-secret-word"));
    watch(&files[..4]);
    assert!(!read(&kept).contains("a-secret-word"));
    let whole = read(&kept);
    for cut in (0..whole.len() - 1).step_by(whole.len() / 40 + 1) {
        std::fs::write(&kept, &whole.as_bytes()[..cut]).unwrap();
        let said = judge();
        assert_eq!(said.status.code(), Some(2), "{cut}: {}", stderr(&said));
    }
}
