//! The suite between processes, over every fabric of libfabric that one host has: each plays its part, and
//! its parent tells it the others' addresses.
use foregather_conformance::fabric::Program;
use foregather_host::{child::Child, clock};
use foregather_machine::{Nanos, block_on};
use foregather_ofi::{Opening, Provider, found};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The variable that tells a child its part: `FABRIC PROGRAM RANK`.
const PART: &str = "FOREGATHER_OFI_TEST_PART";
const ROUNDS: u32 = 10;
/// The longest life of a child.
const LONG_S: u64 = 60;

fn open(name: &str) -> Result<Provider, foregather_machine::Error> {
    Provider::open(name, (name == "tcp").then_some("127.0.0.1"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes().chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

/// A child's work; nothing in the parent.
#[test]
fn part() {
    let Ok(part) = std::env::var(PART) else { return };
    // SAFETY: the call takes a number only. Whatever hangs, this process ends.
    unsafe { libc::alarm(LONG_S as u32) };
    let [fabric, program, rank] = part.split(' ').collect::<Vec<_>>().try_into().unwrap();
    let (program, rank) = (Program::parse(program).unwrap(), rank.parse().unwrap());
    let opening = Opening::new(Arc::new(open(fabric).unwrap()), (rank, program.ranks()), 1, b"a job", None).unwrap();
    println!("\naddress {}", hex(&opening.address()));
    let lines = std::io::stdin().lines().take(program.ranks() as usize);
    let addresses: Vec<_> = lines.map(|line| unhex(&line.unwrap())).collect();
    let lane = opening.connect(&addresses).unwrap().remove(0);
    block_on(program.run(lane, ROUNDS));
}

/// Starts the ranks of a program as children, and waits for them.
fn run(fabric: &str, program: Program) {
    let mut children = Vec::new();
    for rank in 0..program.ranks() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "part", "--nocapture"]).env(PART, format!("{fabric} {} {rank}", program.name()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        children.push(Child::spawn(command, &[]).unwrap());
    }
    // Kept open: a process that writes to a closed pipe is killed.
    let (mut addresses, mut outputs) = (Vec::new(), Vec::new());
    for child in &mut children {
        let mut lines = BufReader::new(child.streams().stdout.take().unwrap()).lines().map(Result::unwrap);
        let line = lines.find_map(|line| line.strip_prefix("address ").map(str::to_owned));
        addresses.push(line.expect("a child opens its lane"));
        outputs.push(lines);
    }
    for child in &mut children {
        let input = child.streams().stdin.as_mut().unwrap();
        input.write_all((addresses.join("\n") + "\n").as_bytes()).unwrap();
    }
    let deadline = clock::now() + Nanos::from_ms(1_000 * LONG_S);
    for (rank, mut child) in children.into_iter().enumerate() {
        let status = child.wait_until(deadline).unwrap();
        assert!(status.is_some_and(|status| status.success()), "{fabric}, {program:?}, rank {rank}: {status:?}");
    }
}

#[test]
fn processes_conform_over_tcp_and_shm() {
    let providers = found().map(|found| found.providers).unwrap_or_default();
    for fabric in ["tcp", "shm"] {
        if !providers.iter().any(|name| name.split(';').next() == Some(fabric)) {
            assert!(std::env::var_os("FOREGATHER_REQUIRE_PARTS").is_none(), "a part is missing: libfabric's {fabric}");
            eprintln!("skipped: no {fabric} of libfabric here");
            continue;
        }
        for program in Program::ALL.into_iter().filter(|program| program.lanes() == 1) {
            run(fabric, program);
        }
    }
}
