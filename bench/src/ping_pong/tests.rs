//! Every method for real, and every way in which a partner can fail.
use super::*;
use foregather_machine::VALUE_MASK;
use rustix::process::{Pid, Signal, kill_process};

/// The test program itself, running the ignored test below; the arguments that follow name no other test.
fn this_program() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "ping_pong::tests::slave_process", "--ignored", "--nocapture", "--test-threads=1"]);
    command
}

#[test]
#[ignore = "becomes the slave process of the other tests"]
fn slave_process() {
    let args: Vec<String> = std::env::args().skip_while(|arg| arg != VERB).collect();
    if !args.is_empty() {
        slave_main(&args).unwrap();
    }
}

/// Processors for both to share, and one for each if there are two.
fn places() -> Vec<(CpuId, CpuId)> {
    let cpus = affinity::allowed();
    let apart = (cpus.len() > 1).then(|| (cpus[0], cpus[1]));
    apart.into_iter().chain([(cpus[0], cpus[0])]).collect()
}

#[test]
fn every_method_works_between_threads_and_processes_apart_and_together() {
    for method in Method::ALL {
        for side in PartyKind::ALL {
            for (master, slave) in places() {
                // Two spinners on one processor need a tick per hand-over.
                let runs = if method.spins() && master == slave { 3 } else { 100 };
                let setup =
                    Setup { runs, at_most: Nanos::from_ms(30_000), ..Setup::new(method, side, Some(master), Some(slave)) };
                let played = run_with(&setup, this_program()).unwrap_or_else(|error| panic!("{setup:?}: {error}"));
                assert_eq!(played.cycles.len(), runs as usize, "{setup:?}");
                assert!(played.cycles.iter().all(|&cycles| cycles > 0), "{setup:?}");
                assert_eq!(played.master_cpus, BTreeMap::from([(master, runs)]), "{setup:?}");
                assert_eq!(played.slave_cpus, BTreeMap::from([(slave, runs)]), "{setup:?}");
                assert!(played.cpu_time > Nanos::ZERO, "{setup:?}");
            }
        }
    }
}

#[test]
fn unpinned_partners_are_seen_somewhere_and_sleep_in_the_gaps() {
    let gap = Nanos::from_us(300);
    let setup =
        Setup { gap, runs: 20, at_most: Nanos::from_ms(30_000), ..Setup::new(Method::Futex, PartyKind::Processes, None, None) };
    let played = run_with(&setup, this_program()).unwrap();
    for cpus in [&played.master_cpus, &played.slave_cpus] {
        assert_eq!(cpus.values().sum::<u32>(), 20);
    }
    assert!(played.master_switches.voluntary >= 20, "one sleep a gap: {:?}", played.master_switches);
}

#[test]
fn a_series_ends_when_its_time_is_up_and_says_how_far_it_came() {
    for side in PartyKind::ALL {
        let (runs, at_most) = (u32::MAX, Nanos::from_ms(20));
        let setup = Setup { runs, at_most, ..Setup::new(Method::OneSemaphore, side, None, None) };
        let played = run_with(&setup, this_program()).unwrap();
        assert!(!played.cycles.is_empty());
        let sum = clock_time(&played);
        assert!(sum < Nanos::from_ms(10_000), "{sum}");
        assert_eq!(played.master_cpus.values().sum::<u32>() as usize, played.cycles.len());
    }
}

fn clock_time(played: &PingPong) -> Nanos {
    foregather_host::clock::cycles_to_nanos(played.cycles.iter().sum())
}

/// Killed in the middle, in whatever way it waits: the master comes back, and says which process it lost.
#[test]
fn a_killed_slave_is_an_error_that_names_it() {
    let cpus = affinity::allowed();
    let here = Some(cpus[0]);
    let there = Some(*cpus.get(1).unwrap_or(&cpus[0]));
    for method in Method::ALL {
        // With a gap most of the slave's time is a wait; without one it dies somewhere in a hand-over.
        for gap in [Nanos::from_ms(3), Nanos::ZERO] {
            let setup = Setup {
                gap,
                runs: u32::MAX,
                at_most: Nanos::from_ms(60_000),
                ..Setup::new(method, PartyKind::Processes, here, there)
            };
            let kill = |pid: u32| {
                std::thread::spawn(move || {
                    std::thread::sleep(std::time::Duration::from_millis(60));
                    send(Signal::KILL, pid);
                });
            };
            let end = supervisor::supervise(&setup, this_program(), supervisor::GRACE, kill);
            assert_eq!(end, Err(Error::lost(1)), "{setup:?}");
        }
    }
}

fn send(signal: Signal, pid: u32) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
}

/// Alive but mute: the master comes back when the time is up.
#[test]
fn a_stopped_slave_is_a_time_out() {
    for method in Method::ALL {
        let setup = Setup { at_most: Nanos::from_ms(50), ..Setup::new(method, PartyKind::Processes, None, None) };
        let end = supervisor::supervise(&setup, this_program(), Nanos::from_ms(100), |pid| send(Signal::STOP, pid));
        assert!(matches!(Error::of(&end), Some(Cause::TimedOut { rank: 0, peer: Some(1), .. })), "{method:?}: {end:?}");
    }
}

#[test]
fn a_slave_that_is_no_slave_is_an_error() {
    for program in ["true", "/no/such/program"] {
        let setup = Setup::new(Method::Pipe, PartyKind::Processes, None, None);
        assert!(run_with(&setup, Command::new(program)).is_err(), "{program}");
    }
    for args in [&[][..], &[VERB], &[VERB, "spin", "9999", "-"], &["spin", "0", "-"], &["teleport", "0", "-"]] {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        assert!(slave_main(&args).is_err(), "{args:?}");
    }
}

#[test]
fn impossible_processors_and_unknown_methods_are_errors() {
    let setup = Setup::new(Method::Spin, PartyKind::Threads, Some(4_000), None);
    assert!(run(&setup).unwrap_err().to_string().contains("processor 4000"));
    for method in Method::ALL {
        assert_eq!(Method::parse(method.name()), Ok(method));
    }
    assert!(Method::parse("telepathy").unwrap_err().to_string().contains("two-phase"));
}

/// The slave reports through words of 30 bits.
#[test]
fn a_long_processor_time_survives_the_report() {
    let board = sides::PingPongMemory::new(&Setup::new(Method::Spin, PartyKind::Threads, None, None)).unwrap();
    let report = (Nanos(u64::from(VALUE_MASK) * 1_000_003 + 17), BTreeMap::from([(0, 77)]));
    board.report(report.0, &report.1);
    assert_eq!(board.reported(), report);
}
