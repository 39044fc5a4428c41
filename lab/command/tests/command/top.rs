//! `top`: one picture as a table or as JSON, and a terminal that is left as it was.
use super::{foregather, json, run, stderr, validate};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};
use std::fs::File;
use std::io::Read;
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

#[test]
#[cfg(feature = "top")]
fn two_signals_at_once_leave_the_terminal_as_it_was() {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    unlockpt(&master).unwrap();
    let slave = open(ptsname(&master, []).unwrap(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
    let modes = || tcgetattr(&slave).unwrap().local_modes;
    let before = modes();
    let mut top = StartedProgram({
        let stream = || Stdio::from(slave.try_clone().unwrap());
        let mut command = foregather(&["top"]);
        command.env("TERM", "xterm").stdin(stream()).stdout(stream()).stderr(stream()).spawn().unwrap()
    });
    let (mut master, mut shown, mut bytes) = (File::from(master), Vec::new(), [0; 4_096]);
    while !shown.windows(ALTERNATE.len()).any(|window| window == ALTERNATE) {
        let length = master.read(&mut bytes).unwrap();
        shown.extend_from_slice(&bytes[..length]);
    }
    assert!(!modes().contains(LocalModes::ICANON), "a view reads each key");
    let process = Pid::from_child(&top.0);
    // Both are handled before the program goes on.
    for signal in [Signal::STOP, Signal::TERM, Signal::INT, Signal::CONT] {
        kill_process(process, signal).unwrap();
    }
    // The terminal takes only as much as is read. Reading ends when the last descriptor is closed.
    let reader = std::thread::spawn(move || {
        while let Ok(length @ 1..) = master.read(&mut bytes) {
            shown.extend_from_slice(&bytes[..length]);
        }
        shown
    });
    let status = top.0.wait().unwrap();
    let after = modes();
    drop(slave);
    let shown = String::from_utf8_lossy(&reader.join().unwrap()).into_owned();
    assert_eq!((status.code(), after), (Some(130), before));
    assert!(shown.ends_with("\x1b[?1049l\x1b[?25h"), "{:?}", shown.chars().rev().take(40).collect::<String>());
}

/// Switches a terminal to its alternate screen.
const ALTERNATE: &[u8] = b"\x1b[?1049h";
