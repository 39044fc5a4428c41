//! One message between two processes, by this project and through a pipe of the kernel, in turn.
use crate::cells::{CellProgram, Within};
use crate::matrix::{BackgroundOfRow, CellLoop, TurnOrder};
use crate::messages;
use crate::waits::{Circumstance, Placement, cycles};
use crate::{Measured, machine_file};
use anyhow::Result;
use foregather_bench::messages::{Answer, Measurand, MessageCell, Transport, World};
use foregather_bench::ping_pong::{self, Method, PartyKind};
use foregather_host::{affinity, clock};
use foregather_machine::Nanos;
use foregather_results::Measurement;
use foregather_results::ids::MESSAGES;

/// Bytes of the message: one word.
pub const BYTES: usize = 8;
/// The way of this project, and the pipe's name beside it.
pub const OURS: &str = "chosen";
/// See [`OURS`].
pub const PIPE: &str = "pipe";
/// Round trips through the pipe in a turn, and how long a turn of messages lasts.
const ROUND_TRIPS: u32 = 400;
const BATCH: Nanos = Nanos::from_ms(5);

/// What one turn gave.
enum PipeTurn {
    Messages(Box<Answer>),
    /// Nanoseconds of half a round trip, on average.
    Pipe(f64),
}

/// Half a round trip by both, `turns` times each, on two processors if there are two.
///
/// # Errors
/// If neither could be measured.
pub fn measure(turns: u32, quiet: bool) -> Result<Measured> {
    let allowed = affinity::allowed();
    let placement = if allowed.len() > 1 { Placement::TwoCpus } else { Placement::OneCpu };
    let task = Measurand::Size { bytes: BYTES, transports: vec![Transport::Chosen], batches: 1, batch_ns: BATCH.0 };
    let cell = MessageCell { world: World::Shm, cpus: [allowed[0], allowed[1 % allowed.len()]], task };
    let pipe = Circumstance { side: PartyKind::Processes, placement, gap: Nanos::ZERO, runs: ROUND_TRIPS };
    machine_file::load_or_measure()?;
    let mut matrix = CellLoop::new("message", 2, turns, TurnOrder::Alternating, quiet);
    let columns = [OURS, PIPE];
    let runs = matrix.row(
        BackgroundOfRow::default(),
        &columns,
        |name| (*name).to_owned(),
        |&name, _| {
            if name == OURS {
                let answer = CellProgram::default().run_to_end(&cell, Within::default())?;
                return Ok(answer.map(|answer| PipeTurn::Messages(Box::new(answer))));
            }
            let round_trips = cycles(&[ping_pong::run(&pipe.setup(Method::Pipe, ROUND_TRIPS))?]);
            let mean = round_trips.iter().sum::<u64>() / round_trips.len().max(1) as u64;
            Ok(Some(PipeTurn::Pipe(clock::cycles_to_nanos(mean).0 as f64 / 2.0)))
        },
    )?;
    let (mut answers, mut through) = (vec![], vec![]);
    for sent in runs.into_iter().flat_map(|runs| runs.results) {
        match sent {
            PipeTurn::Messages(answer) => answers.push(*answer),
            PipeTurn::Pipe(ns) => through.push(ns),
        }
    }
    matrix.found.measurements.extend(messages::of_turns(&cell, answers));
    if !through.is_empty() {
        matrix.found.measurements.push(of_pipe(through));
    }
    matrix.end()
}

fn of_pipe(through: Vec<f64>) -> Measurement {
    let id = format!("{MESSAGES}process/ping-pong/{BYTES}B/{PIPE}");
    Measurement::from_values(id, "half a round trip of a byte through two pipes", "ns", through)
        .label("world", "process")
        .label("pattern", "ping-pong")
        .label("bytes", BYTES.to_string())
        .label("way", PIPE)
}
