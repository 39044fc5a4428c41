//! The suite of all fabrics, over the plainest one and under random schedules: it must ask nothing that a
//! fabric need not keep, and find what a fabric could get wrong.
mod explore;
mod plain;
mod scheduled;

use explore::{check_pct, check_random};
use foregather_conformance::fabric::{Fabrics, Program, all};
use plain::{Mistake, run_schedule};

/// Runs each program under this many schedules.
struct Plain(usize);

impl Fabrics for Plain {
    fn run(&self, program: Program, rounds: u32) {
        let schedule = move || run_schedule(program, rounds, Mistake::Nothing);
        check_random(schedule, self.0);
        check_pct(schedule, self.0, 4);
    }
}

#[test]
fn the_plainest_fabric_conforms_whatever_the_schedule() {
    all(&Plain(8), 3);
    Plain(8).run(Program::Overrun, 3);
}

#[test]
fn every_program_has_a_name_of_its_own() {
    for program in Program::ALL {
        assert_eq!(Program::parse(&program.name()), Some(program));
    }
    assert_eq!(Program::parse("Nothing"), None);
}

fn found(program: Program, mistake: Mistake) {
    check_random(move || run_schedule(program, 3, mistake), 300);
}

#[test]
#[should_panic(expected = "deadlock")]
fn ringing_before_the_frame_is_there_is_found() {
    found(Program::Bell, Mistake::RingsFirst);
}

#[test]
#[should_panic(expected = "deadlock")]
fn room_that_nobody_hears_of_is_found() {
    found(Program::Overrun, Mistake::RoomIsSilent);
}

#[test]
#[should_panic(expected = "another frame from")]
fn a_lost_frame_is_found() {
    found(Program::Stream, Mistake::LosesFrames);
}

#[test]
#[should_panic(expected = "no room for frame")]
fn less_room_than_was_said_is_found() {
    found(Program::Room, Mistake::TooLittleRoom);
}

#[test]
#[should_panic(expected = "another frame from")]
fn a_frame_that_overtakes_is_found() {
    found(Program::Stream, Mistake::Overtakes);
}

#[test]
#[should_panic(expected = "Ok(())")]
fn memory_that_stays_readable_is_found() {
    found(Program::Unexposed, Mistake::Remembers);
}

#[test]
#[should_panic(expected = "another frame from")]
fn a_buffer_that_is_cut_off_is_found() {
    found(Program::Stream, Mistake::CutsOff);
}
