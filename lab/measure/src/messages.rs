//! What messages cost: two ranks on a processor each, by every way and size, and beside hogs by every policy.
//!
//! Each size, and each number of hogs, is measured in processes of its own; the ways or policies take turns
//! there.
use crate::cells::{CellProgram, Within};
use crate::matrix::{BackgroundOfRow, CellLoop, TurnOrder};
use crate::options::{MessageExperiment, Messages, RankWorld};
use crate::{Experiment, Measured, machine_file};
use anyhow::{Context, Result, anyhow, bail};
use foregather_bench::messages::{Answer, Beside, Measurand, MessageCell, Pattern, Timed, Transport, Waits, World};
use foregather_host::affinity;
use foregather_machine::{Costs, Nanos};
use foregather_results::ids::{MESSAGES, MESSAGES_LOADED};
use foregather_results::number::short;
use foregather_results::table::Shows::{By, Figure, Label};
use foregather_results::table::{Heading, ResultTable, texts, three_digits};
use foregather_results::{Distribution, Measurement, Results};
use foregather_wait::Policy;

/// Bytes, if none are asked for.
const BYTES: [usize; 9] = [1, 8, 56, 64, 512, 4 << 10, 64 << 10, 1 << 20, 4 << 20];
const QUICK_BYTES: [usize; 4] = [8, 512, 4 << 10, 64 << 10];
/// How they wait beside hogs. Fifty microseconds are about 2000 pauses: more than any round trip takes on
/// processors of one's own.
const POLICIES: &str = "spin,yield,two-phase:50us,block,adaptive";
/// Batches of a way, and how long each is about.
const BATCHES: (u32, Nanos) = (11, Nanos::from_ms(5));
const QUICK_BATCHES: (u32, Nanos) = (3, Nanos::from_ms(1));
/// Cells of a policy.
const CELLS: u32 = 3;
/// Shorter ones hide that a rank is preempted: it happens every few milliseconds.
const CELL: Nanos = Nanos::from_ms(800);
const QUICK_CELL: Nanos = Nanos::from_ms(40);
const OF_SIZES: [Heading; 11] = [
    ("bytes", Label("bytes")),
    ("pattern", Label("pattern")),
    ("way", Label("way")),
    ("p50 ns", By(|m| three_digits(m.median()))),
    ("min ns", By(|m| three_digits(m.summary.min.unwrap_or(f64::NAN)))),
    ("GB/s", Figure("gb_per_s")),
    ("messages/s", Figure("messages_per_s")),
    ("/ frames", Figure("ratio_to_frames")),
    ("/ read helped", Figure("ratio_to_read_helped")),
    ("/ memcpy", Figure("ratio_to_memcpy")),
    ("processors", Figure("processors")),
];
const OF_HOGS: [Heading; 9] = [
    ("hogs a cpu", Label("hogs")),
    ("policy", Label("policy")),
    ("round trips/s", By(|m| m.summary.p50.map_or_else(|| "-".to_owned(), short))),
    ("half: mean us", Figure("half_mean_us")),
    ("p50 us", Figure("half_p50_us")),
    ("p99 us", Figure("half_p99_us")),
    ("max us", Figure("half_max_us")),
    ("hogs keep", Figure("hog_share")),
    ("processors", Figure("processors")),
];

impl Experiment for Messages {
    fn measure(&self, quiet: bool) -> Result<Measured> {
        let cpus = affinity::allowed();
        let mut notes = vec![];
        let transports = transports(self, cpus.len(), &mut notes)?;
        let policies = policies(self)?;
        let world = match (self.world, self.fabric.as_str()) {
            (RankWorld::Thread, "shm") => World::Thread,
            (RankWorld::Thread, fabric) => bail!("threads send by shm only: leave out --world thread or --fabric {fabric}"),
            (RankWorld::Process, "shm") => World::Shm,
            (RankWorld::Process, "mpi") => World::Mpi,
            (RankWorld::Process, fabric) => World::Ofi(fabric.strip_prefix("ofi:").unwrap_or("tcp").to_owned()),
        };
        let cpus = [cpus[0], cpus[1 % cpus.len()]];
        let cell = |task| MessageCell { world: world.clone(), cpus, task };
        let cells: Vec<MessageCell> = tasks(self, &transports, &policies).into_iter().map(cell).collect();
        machine_file::load_or_measure()?;
        let mut matrix = CellLoop::new("messages", cells.len(), 1, TurnOrder::Alternating, quiet);
        matrix.found.notes = notes;
        let runs = matrix.row(
            BackgroundOfRow::default(),
            &cells,
            |cell| name_of(&cell.task),
            |cell, _| CellProgram::default().run_to_end(cell, Within::default()),
        )?;
        for (cell, answer) in cells.iter().zip(&runs).flat_map(|(cell, runs)| runs.results.iter().map(move |of| (cell, of))) {
            matrix.found.measurements.extend(measurements(cell, answer));
            answer.notes.iter().for_each(|note| matrix.found.note(note.clone()));
        }
        matrix.end()
    }

    fn text(&self, results: &Results) -> String {
        text(&results.measurements)
    }
}

/// The ways that are asked for; on one processor none that spins.
fn transports(options: &Messages, cpus: usize, notes: &mut Vec<String>) -> Result<Vec<Transport>> {
    let mut transports = match &options.transports {
        Some(names) => {
            let known = |name: &str| Transport::parse(name.trim()).map_err(|error| anyhow!("--ways: {error}"));
            names.split(',').map(known).collect::<Result<_>>()?
        }
        None => Transport::ALL.to_vec(),
    };
    if cpus < 2 {
        transports.retain(|transport| transport.is_message() || *transport == Transport::Memcpy);
        notes.push("both ranks share a processor, since this process may use only one: no yardsticks that spin".into());
    }
    if transports.is_empty() {
        bail!("none of these ways can be measured on one processor: add chosen, buffered or direct");
    }
    Ok(transports)
}

fn policies(options: &Messages) -> Result<Vec<String>> {
    let names = options.policies.as_deref().unwrap_or(POLICIES);
    let known = |name: &str| Policy::parse(name.trim(), &Costs::TYPICAL).map(|_| name.trim().to_owned());
    names.split(',').map(known).collect::<Result<_, _>>().context("--policies")
}

fn tasks(options: &Messages, transports: &[Transport], policies: &[String]) -> Vec<Measurand> {
    let usual: &[usize] = if options.quick { &QUICK_BYTES } else { &BYTES };
    let asked: Vec<usize> = options.sizes.iter().map(|&bytes| bytes as usize).collect();
    let sizes = if asked.is_empty() { usual } else { &asked };
    let (batches, batch) = if options.quick { QUICK_BATCHES } else { BATCHES };
    let batches = options.batches.unwrap_or(batches);
    let of_size = |&bytes: &usize| Measurand::Size { bytes, transports: transports.to_vec(), batches, batch_ns: batch.0 };
    let cell = options.ms.map_or(if options.quick { QUICK_CELL } else { CELL }, Nanos::from_ms);
    let beside = |per_cpu: u32| Measurand::Hogs {
        policies: policies.to_vec(),
        per_cpu,
        within: options.hogs_within && per_cpu > 0,
        cells: CELLS,
        cell_ns: cell.0,
    };
    let mut tasks: Vec<Measurand> = Vec::new();
    if options.only != Some(MessageExperiment::Hogs) {
        tasks.extend(sizes.iter().map(of_size));
    }
    if options.only != Some(MessageExperiment::Sizes) {
        tasks.push(beside(0));
        tasks.extend((options.hogs > 0).then(|| beside(options.hogs)));
    }
    tasks
}

fn name_of(task: &Measurand) -> String {
    match task {
        Measurand::Size { bytes, .. } => format!("{bytes} bytes"),
        Measurand::Hogs { per_cpu, .. } => format!("{per_cpu} hogs a processor"),
    }
}

/// All that an answer says.
fn measurements(cell: &MessageCell, answer: &Answer) -> Vec<Measurement> {
    let world = match &cell.world {
        World::Thread => "thread".to_owned(),
        World::Shm => "process".to_owned(),
        World::Ofi(provider) => format!("ofi:{provider}"),
        World::Mpi => "mpi".to_owned(),
    };
    match cell.task {
        Measurand::Size { bytes, .. } => {
            let one = |timed: &Timed| of_transport(&world, bytes, timed, answer);
            answer.sizes.iter().map(one).collect()
        }
        Measurand::Hogs { per_cpu, within, .. } => {
            let hogs = format!("{per_cpu}{}", if within { " within" } else { "" });
            answer.hogs.iter().map(|beside| of_policy(&world, &hogs, beside)).collect()
        }
    }
}

/// What several turns of one cell gave, put together.
pub(super) fn of_turns(cell: &MessageCell, answers: Vec<Answer>) -> Vec<Measurement> {
    let together = answers.into_iter().reduce(|mut all, answer| {
        for (timed, more) in all.sizes.iter_mut().zip(answer.sizes) {
            timed.ns.extend(more.ns);
            timed.wall_ns += more.wall_ns;
            timed.cpu_ns = [0, 1].map(|rank| timed.cpu_ns[rank] + more.cpu_ns[rank]);
        }
        all
    });
    together.map_or(vec![], |answer| measurements(cell, &answer))
}

fn of_transport(world: &str, bytes: usize, timed: &Timed, answer: &Answer) -> Measurement {
    let (transport, pattern) = (timed.transport.name(), timed.pattern.name());
    let what = match timed.pattern {
        _ if timed.transport == Transport::Memcpy => "a copy in memory",
        Pattern::PingPong => "half a round trip",
        Pattern::Stream => "one message of a stream",
        Pattern::BothWays => "one message each way",
    };
    let ratio = |other: Transport| ratios(timed, answer, other).map_or(f64::NAN, |ratios| ratios.quantile(0.5));
    let m = Measurement::from_values(format!("{MESSAGES}{world}/{pattern}/{bytes}B/{transport}"), what, "ns", timed.ns.clone())
        .label("world", world)
        .label("pattern", pattern)
        .label("bytes", bytes.to_string())
        .label("way", transport)
        .figure("ratio_to_frames", ratio(Transport::Frames))
        .figure("ratio_to_read_helped", ratio(Transport::ReadHelped))
        .figure("ratio_to_memcpy", ratio(Transport::Memcpy))
        .figure(
            "direct_at_bytes",
            answer.direct_at.filter(|_| timed.transport == Transport::Chosen).map_or(f64::NAN, |bytes| bytes as f64),
        );
    let per_s = 1e9 / m.median();
    let m = m.figure("messages_per_s", per_s).figure("gb_per_s", per_s * bytes as f64 / 1e9);
    waits(processors(m, timed.cpu_ns, timed.wall_ns), timed.waits)
}

/// Batch by batch, what it takes for each nanosecond of another way.
fn ratios(timed: &Timed, answer: &Answer, other: Transport) -> Option<Distribution> {
    // A copy has one pattern, against which both are held.
    let pattern = if other == Transport::Frames && timed.pattern == Pattern::Stream { timed.pattern } else { Pattern::PingPong };
    if timed.transport == other {
        return None;
    }
    let other = answer.sizes.iter().find(|of| of.transport == other && of.pattern == pattern)?;
    let ratios: Vec<f64> = timed.ns.iter().zip(&other.ns).map(|(own, other)| own / other).collect();
    Distribution::of_values(&ratios)
}

fn of_policy(world: &str, hogs: &str, beside: &Beside) -> Measurement {
    let share = Distribution::quantile_of(beside.hog_shares.iter().copied(), 0.5);
    let id = format!("{MESSAGES_LOADED}{world}/{hogs}/{}", beside.policy);
    let m = Measurement::from_values(id, "round trips of 8 bytes", "round trips/s", beside.round_trips_per_s.clone())
        .label("world", world)
        .label("hogs", hogs)
        .label("policy", beside.policy.clone())
        .figure("half_mean_us", beside.mean_ns / 1e3)
        .figure("half_p50_us", beside.p50_ns as f64 / 1e3)
        .figure("half_p99_us", beside.p99_ns as f64 / 1e3)
        .figure("half_max_us", beside.max_ns as f64 / 1e3)
        .figure("hog_share", share);
    waits(processors(m, beside.cpu_ns, beside.wall_ns), Some(beside.waits))
}

/// How many processors the two ranks kept busy.
fn processors(m: Measurement, cpu_ns: [u64; 2], wall_ns: u64) -> Measurement {
    m.figure("processors", (cpu_ns[0] + cpu_ns[1]) as f64 / wall_ns as f64)
}

fn waits(m: Measurement, waits: Option<Waits>) -> Measurement {
    let Some(of) = waits else { return m };
    let counts = [of.first_look, of.spun, of.yielded, of.slept];
    let names = ["waits_first_look", "waits_spun", "waits_yielded", "waits_slept"];
    names.iter().zip(counts).fold(m, |m, (name, count)| m.figure(name, count as f64))
}

/// Both tables, as far as there is something to show.
fn text(all: &[Measurement]) -> String {
    let number = |value: f64| if value >= 1e4 { short(value) } else { three_digits(value) };
    let of =
        |columns: &[Heading], prefix: &str| ResultTable::with(columns, number, all.iter().filter(|m| m.id.starts_with(prefix)));
    texts([of(&OF_SIZES, MESSAGES), of(&OF_HOGS, MESSAGES_LOADED)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(transport: Transport, pattern: Pattern, ns: [f64; 2]) -> Timed {
        Timed { transport, pattern, ns: ns.to_vec(), cpu_ns: [30, 10], wall_ns: 20, waits: None }
    }

    #[test]
    fn ratios_are_taken_batch_by_batch_within_a_pattern() {
        let task = Measurand::Size { bytes: 4_096, transports: vec![], batches: 2, batch_ns: 1 };
        let cell = MessageCell { world: World::Shm, cpus: [0, 1], task };
        let sizes = vec![
            timed(Transport::Chosen, Pattern::PingPong, [200.0, 600.0]),
            timed(Transport::Chosen, Pattern::Stream, [90.0, 90.0]),
            timed(Transport::Frames, Pattern::PingPong, [100.0, 300.0]),
            timed(Transport::Frames, Pattern::Stream, [45.0, 30.0]),
            timed(Transport::Memcpy, Pattern::PingPong, [50.0, 60.0]),
        ];
        let all = measurements(&cell, &Answer { sizes, direct_at: Some(16_384), ..Answer::default() });
        assert_eq!(all[0].id, "messages/process/ping-pong/4096B/chosen");
        let figures: Vec<f64> =
            ["ratio_to_frames", "ratio_to_memcpy", "processors", "direct_at_bytes"].map(|name| all[0].figures[name]).to_vec();
        assert_eq!(figures, [2.0, 7.0, 2.0, 16_384.0]);
        assert_eq!(all[1].figures["ratio_to_frames"], 2.5);
        assert_eq!(all[2].figures.get("ratio_to_frames"), None, "nothing is held against itself");
        assert!((all[1].figures["gb_per_s"] - 4_096.0 / 90.0).abs() < 0.01);
        assert_eq!(text(&all).lines().count(), 6);
    }

    #[test]
    fn turns_of_a_cell_are_put_together_way_by_way() {
        let cell = MessageCell {
            world: World::Shm,
            cpus: [0, 1],
            task: Measurand::Size { bytes: 8, transports: vec![], batches: 1, batch_ns: 1 },
        };
        let turn = |ns: f64| Answer {
            sizes: [Pattern::PingPong, Pattern::Stream].map(|of| timed(Transport::Chosen, of, [ns, ns + 10.0])).into(),
            ..Answer::default()
        };
        let all = of_turns(&cell, vec![turn(100.0), turn(200.0)]);
        assert_eq!((all.len(), all[0].values.as_deref()), (2, Some(&[100.0, 110.0, 200.0, 210.0][..])));
        assert_eq!(all[1].number("processors"), 2.0);
        assert!(of_turns(&cell, vec![]).is_empty());
    }

    #[test]
    fn hogs_without_a_share_show_none() {
        let hogs = |shares: Vec<f64>| Beside {
            policy: "spin".to_owned(),
            round_trips_per_s: vec![1e6],
            mean_ns: 150.0,
            p50_ns: 140,
            p99_ns: 190,
            max_ns: 5_000,
            hog_shares: shares,
            cpu_ns: [1, 1],
            wall_ns: 1,
            waits: Waits::default(),
        };
        let of = |per_cpu, shares| {
            let task = Measurand::Hogs { policies: vec![], per_cpu, within: false, cells: 1, cell_ns: 1 };
            let cell = MessageCell { world: World::Thread, cpus: [0, 1], task };
            measurements(&cell, &Answer { hogs: vec![hogs(shares)], ..Answer::default() }).remove(0)
        };
        let (alone, beside) = (of(0, vec![]), of(1, vec![0.5, 0.4, 0.6]));
        assert_eq!((alone.figures.get("hog_share"), beside.figures["hog_share"]), (None, 0.5));
        assert_eq!(beside.id, "messages-beside-hogs/thread/1/spin");
        assert!(text(&[alone, beside]).contains("0.15"));
    }
}
