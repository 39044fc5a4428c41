//! What was found, as measurements and as two tables.
use foregather_bench::messages::{Answer, Beside, Pattern, Plan, Task, Timed, Transport, Waits, World};
use foregather_results::number::{digits, short};
use foregather_results::table::ResultTable;
use foregather_results::{Distribution, Measurement};

/// What ids of ways begin with, and those of policies beside hogs.
pub const SIZES: &str = "messages/";
/// See [`SIZES`].
pub const HOGS: &str = "messages-beside-hogs/";

/// All that an answer says.
pub(super) fn measurements(plan: &Plan, answer: &Answer) -> Vec<Measurement> {
    let world = match &plan.world {
        World::Thread => "thread".to_owned(),
        World::Shm => "process".to_owned(),
        World::Ofi(provider) => format!("ofi:{provider}"),
    };
    match plan.task {
        Task::Size { bytes, .. } => {
            let one = |timed: &Timed| of_way(&world, bytes, timed, answer);
            answer.sizes.iter().map(one).collect()
        }
        Task::Hogs { per_cpu, within, .. } => {
            let hogs = format!("{per_cpu}{}", if within { " within" } else { "" });
            answer.hogs.iter().map(|beside| of_policy(&world, &hogs, beside)).collect()
        }
    }
}

fn of_way(world: &str, bytes: usize, timed: &Timed, answer: &Answer) -> Measurement {
    let (way, pattern) = (timed.way.name(), timed.pattern.name());
    let what = match timed.pattern {
        _ if timed.way == Transport::Memcpy => "a copy in memory",
        Pattern::PingPong => "half a round trip",
        Pattern::Stream => "one message of a stream",
        Pattern::BothWays => "one message each way",
    };
    let ratio = |other: Transport| ratios(timed, answer, other).map_or(f64::NAN, |ratios| ratios.quantile(0.5));
    let m = Measurement::from_values(format!("{SIZES}{world}/{pattern}/{bytes}B/{way}"), what, "ns", timed.ns.clone())
        .label("world", world)
        .label("pattern", pattern)
        .label("bytes", bytes.to_string())
        .label("way", way)
        .figure("ratio_to_frames", ratio(Transport::Frames))
        .figure("ratio_to_read_helped", ratio(Transport::ReadHelped))
        .figure("ratio_to_memcpy", ratio(Transport::Memcpy))
        .figure(
            "direct_at_bytes",
            answer.direct_at.filter(|_| timed.way == Transport::Chosen).map_or(f64::NAN, |bytes| bytes as f64),
        );
    let per_s = 1e9 / m.summary.p50.unwrap_or(f64::NAN);
    let m = m.figure("messages_per_s", per_s).figure("gb_per_s", per_s * bytes as f64 / 1e9);
    waits(processors(m, timed.cpu_ns, timed.wall_ns), timed.waits)
}

/// Batch by batch, what it takes for each nanosecond of another way.
fn ratios(timed: &Timed, answer: &Answer, other: Transport) -> Option<Distribution> {
    // A copy has one pattern, against which both are held.
    let pattern = if other == Transport::Frames && timed.pattern == Pattern::Stream { timed.pattern } else { Pattern::PingPong };
    if timed.way == other {
        return None;
    }
    let other = answer.sizes.iter().find(|of| of.way == other && of.pattern == pattern)?;
    let ratios: Vec<f64> = timed.ns.iter().zip(&other.ns).map(|(own, other)| own / other).collect();
    Distribution::of_values(&ratios)
}

fn of_policy(world: &str, hogs: &str, beside: &Beside) -> Measurement {
    let share = Distribution::of_values(&beside.hog_shares).map_or(f64::NAN, |all| all.quantile(0.5));
    let id = format!("{HOGS}{world}/{hogs}/{}", beside.policy);
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
pub fn text(all: &[Measurement]) -> String {
    let tables = [sizes(all), hogs(all)].map(|table| if table.rows.is_empty() { String::new() } else { table.to_text() });
    tables.iter().filter(|text| !text.is_empty()).cloned().collect::<Vec<_>>().join("\n")
}

fn label(m: &Measurement, name: &str) -> String {
    m.labels.get(name).cloned().unwrap_or_default()
}

fn sizes(all: &[Measurement]) -> ResultTable {
    let figures = [
        ("GB/s", "gb_per_s"),
        ("messages/s", "messages_per_s"),
        ("/ frames", "ratio_to_frames"),
        ("/ read helped", "ratio_to_read_helped"),
        ("/ memcpy", "ratio_to_memcpy"),
        ("processors", "processors"),
    ];
    let own = ["bytes", "pattern", "way", "p50 ns", "min ns"];
    let mut table = ResultTable::new(own.into_iter().chain(figures.map(|(heading, _)| heading)));
    for m in all.iter().filter(|m| m.id.starts_with(SIZES)) {
        let ns = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |ns| digits(ns, 3));
        let mut row = ["bytes", "pattern", "way"].map(|name| label(m, name)).to_vec();
        row.extend([ns(m.summary.p50), ns(m.summary.min)]);
        row.extend(figures.map(|(_, name)| shown(m, name)));
        table.rows.push(row);
    }
    table
}

fn hogs(all: &[Measurement]) -> ResultTable {
    let figures = [
        ("half: mean us", "half_mean_us"),
        ("p50 us", "half_p50_us"),
        ("p99 us", "half_p99_us"),
        ("max us", "half_max_us"),
        ("hogs keep", "hog_share"),
        ("processors", "processors"),
    ];
    let own = ["hogs a cpu", "policy", "round trips/s"];
    let mut table = ResultTable::new(own.into_iter().chain(figures.map(|(heading, _)| heading)));
    for m in all.iter().filter(|m| m.id.starts_with(HOGS)) {
        let rate = m.summary.p50.map_or_else(|| "-".to_owned(), short);
        let mut row = vec![label(m, "hogs"), label(m, "policy"), rate];
        row.extend(figures.map(|(_, name)| shown(m, name)));
        table.rows.push(row);
    }
    table
}

fn shown(m: &Measurement, figure: &str) -> String {
    m.figures.get(figure).map_or_else(|| "-".to_owned(), |&value| if value >= 1e4 { short(value) } else { digits(value, 3) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(way: Transport, pattern: Pattern, ns: [f64; 2]) -> Timed {
        Timed { way, pattern, ns: ns.to_vec(), cpu_ns: [30, 10], wall_ns: 20, waits: None }
    }

    #[test]
    fn ratios_are_taken_batch_by_batch_within_a_pattern() {
        let task = Task::Size { bytes: 4_096, ways: vec![], batches: 2, batch_ns: 1 };
        let plan = Plan { world: World::Shm, cpus: [0, 1], task, bound_ns: 1 };
        let sizes = vec![
            timed(Transport::Chosen, Pattern::PingPong, [200.0, 600.0]),
            timed(Transport::Chosen, Pattern::Stream, [90.0, 90.0]),
            timed(Transport::Frames, Pattern::PingPong, [100.0, 300.0]),
            timed(Transport::Frames, Pattern::Stream, [45.0, 30.0]),
            timed(Transport::Memcpy, Pattern::PingPong, [50.0, 60.0]),
        ];
        let all = measurements(&plan, &Answer { sizes, direct_at: Some(16_384), ..Answer::default() });
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
            let task = Task::Hogs { policies: vec![], per_cpu, within: false, cells: 1, cell_ns: 1 };
            let plan = Plan { world: World::Thread, cpus: [0, 1], task, bound_ns: 1 };
            measurements(&plan, &Answer { hogs: vec![hogs(shares)], ..Answer::default() }).remove(0)
        };
        let (alone, beside) = (of(0, vec![]), of(1, vec![0.5, 0.4, 0.6]));
        assert_eq!((alone.figures.get("hog_share"), beside.figures["hog_share"]), (None, 0.5));
        assert_eq!(beside.id, "messages-beside-hogs/thread/1/spin");
        assert!(text(&[alone, beside]).contains("0.15"));
    }
}
