//! `top`: one picture as a table or as JSON, and a terminal that is left as it was.
use super::{foregather, json, run, stderr, validate};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A program that is killed when the test ends.
struct StartedProgram(Child);

impl StartedProgram {
    fn start(script: &str) -> Self {
        Self(Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for StartedProgram {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn once(more: &[&str]) -> std::process::Output {
    run(&[&["top", "--once", "--every", "300ms"], more].concat())
}

#[test]
fn a_busy_process_is_in_the_table_and_in_the_document() {
    let busy = StartedProgram::start("while :; do :; done");
    let id = busy.0.id().to_string();
    let table = once(&[]);
    let text = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.status.success(), "{}", stderr(&table));
    assert!(text.lines().nth(1).is_some_and(|line| line.starts_with("PROCESS") && line.contains("LOST %")), "{text}");
    assert!(text.lines().any(|line| line.split_whitespace().next() == Some(&id)), "{text}");
    assert!(text.contains("not seen: ") && text.contains("`foregather advise -- PROGRAM`"), "{text}");
    let document = json(&once(&["--format", "json"]));
    validate(&document, "top.schema.json");
    let rows = document["processes"].as_array().unwrap();
    let row = rows.iter().find(|row| row["process"] == busy.0.id()).unwrap();
    let wanted = row["ran_ns"].as_u64().unwrap() + row["ready_ns"].as_u64().unwrap();
    assert!(wanted * 2 > document["interval_ns"].as_u64().unwrap(), "it ran or was ready all the time: {row}");
    assert!(document["threads"].as_array().unwrap().is_empty());
}

#[test]
fn threads_of_one_process_say_what_they_wait_for() {
    let sleeper = StartedProgram::start("exec sleep 1000");
    let id = sleeper.0.id().to_string();
    // The shell becomes the sleeper.
    let deadline = Instant::now() + Duration::from_secs(20);
    let document = loop {
        let document = json(&once(&["--format", "json", &id]));
        if document["threads"][0]["name"] == "sleep" || Instant::now() > deadline {
            break document;
        }
    };
    validate(&document, "top.schema.json");
    let thread = &document["threads"][0];
    let waits_for = thread["waits_for"].as_str().unwrap_or_default();
    assert!(thread["state"] == "asleep" && (waits_for == "a time" || waits_for.contains("sleep")), "{thread}");
    assert_eq!((document["process"].as_u64(), thread["ran_ns"].as_u64()), (Some(sleeper.0.id().into()), Some(0)));
    let text = String::from_utf8_lossy(&once(&[&id]).stdout).into_owned();
    assert!(text.starts_with(&format!("sleep ({id}), 1 thread: 0.0 ran")), "{text}");
}

#[test]
fn what_top_cannot_show_is_refused_with_a_remedy() {
    for (arguments, code, said) in [
        (&["top"][..], 2, "not a terminal: print one table with `foregather top --once`"),
        (&["top", "4194303", "--once"], 2, "process 4194303 is not running here"),
        (&["top", "--format", "json"], 2, "add --once"),
        (&["top", "--once", "--format", "csv"], 2, "use table or json"),
        (&["top", "0"], 2, "0 is not in 1.."),
        (&["top", "--every", "1ms"], 2, "write 100ms to 86400s"),
    ] {
        let output = foregather(arguments).output().unwrap();
        assert!(output.status.code() == Some(code) && stderr(&output).contains(said), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn a_process_that_exits_meanwhile_is_named() {
    let short = StartedProgram::start("sleep 0.3");
    let output = run(&["top", "--once", "--every", "2s", &short.0.id().to_string()]);
    let said = format!("process {} has exited", short.0.id());
    assert!(output.status.code() == Some(2) && stderr(&output).contains(&said), "{}", stderr(&output));
}

#[test]
fn a_narrow_screen_has_fewer_columns() {
    let output = foregather(&["top", "--once", "--every", "100ms"]).env("COLUMNS", "60").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("READY %") && !text.contains("BLOCKED %"), "{text}");
}
