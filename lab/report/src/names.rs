//! Plain names of what results name shortly: `central/adaptive` is Foregather, `2t + 2 hogs` two threads
//! beside two busy programs. What has no plain name keeps its own.
use foregather_results::Measurement;
use foregather_results::ids::CANDIDATE;
use foregather_results::load::{BackgroundLoad, WorkDistribution};
use foregather_results::row::Row;

/// The product, as every figure names it.
pub(super) const PRODUCT: &str = "Foregather";

/// Returns whether this is the product, not an alternative that it is compared with.
pub(super) fn is_product(name: &str) -> bool {
    name == PRODUCT
}

/// Puts the product first; the others keep their order.
pub(super) fn product_first<T>(all: &mut [T], name: impl Fn(&T) -> &str) {
    all.sort_by_key(|one| !is_product(name(one)));
}

/// Libraries, and the ways in which they are used.
const LIBRARIES: [(&str, &str); 26] = [
    ("foregather", PRODUCT),
    ("team", PRODUCT),
    ("team-fitting", "Foregather, fitting"),
    ("foregather-block", "Foregather, sleeps"),
    ("foregather-spin", "Foregather, spins"),
    ("team-block", "Foregather, sleeps"),
    ("team-spin", "Foregather, spins"),
    ("foregather-always", "Foregather, always shared"),
    ("foregather-python", "Foregather, from Python"),
    ("rust-std", "Rust std"),
    ("std-scope", "Rust std"),
    ("pthread", "POSIX threads"),
    ("gomp", "GNU OpenMP"),
    ("omp", "LLVM OpenMP"),
    ("iomp", "Intel OpenMP"),
    ("rayon-broadcast", "rayon broadcast"),
    ("rayon-join", "rayon join"),
    ("fork-union", "fork_union"),
    ("openblas", "OpenBLAS"),
    ("blis", "BLIS"),
    ("mkl", "Intel MKL"),
    ("zmq", "ZeroMQ"),
    ("vllm", "vLLM"),
    ("futex", "sleep at once"),
    ("yield-1s", "yield, sleep after 1 s"),
    ("serial", "one thread alone"),
];

/// A library, a runtime or a runner: `gomp-passive` is GNU OpenMP that sleeps.
pub(super) fn library(name: &str) -> String {
    let (base, told) = match name {
        _ if name.ends_with("-active") => (name.trim_end_matches("-active"), ", spins"),
        _ if name.ends_with("-passive") => (name.trim_end_matches("-passive"), ", sleeps"),
        _ => (name, ""),
    };
    let known = LIBRARIES.iter().find(|(known, _)| *known == base);
    known.map_or_else(|| name.to_owned(), |(_, plain)| format!("{plain}{told}"))
}

/// A waiter of the barrier matrix: a barrier with its policy, or a library.
pub(super) fn waiter(name: &str) -> String {
    if name == CANDIDATE {
        return PRODUCT.to_owned();
    }
    let Some((kind, policy_name)) = name.split_once('/') else { return library(name) };
    let told = if policy_name == "adaptive" { PRODUCT.to_owned() } else { policy(policy_name) };
    if kind == "central" { told } else { format!("{told} ({kind})") }
}

/// A fixed way of waiting, as results name it: `two-phase:2CS+:remote`.
pub(super) fn policy(name: &str) -> String {
    match name.split_once(':') {
        None if name == "block" => "sleep at once".to_owned(),
        Some(("spin-yield", bound)) => format!("spin {}, then yield", bounded(bound)),
        Some(("two-phase", bound)) => format!("spin {}, then sleep", bounded(bound)),
        _ => name.to_owned(),
    }
}

/// How long a spin is: a time, or a multiple of a context switch, on one processor or from one to another.
fn bounded(bound: &str) -> String {
    let (times, place) = bound.split_once(':').unwrap_or((bound, ""));
    let place = match place {
        "local" => "near ",
        "remote" => "far ",
        _ => "",
    };
    match times {
        "CS" => format!("1 {place}switch"),
        "CS+" => format!("1.25 {place}switches"),
        "2CS+" => format!("2.5 {place}switches"),
        _ => bound.to_owned(),
    }
}

/// A row of the barrier matrix in two parts: the work between two barriers, and the load. `None` if the name
/// is that of no row.
pub(super) fn row(name: &str) -> Option<[String; 2]> {
    Some([work(&Row::parse(name)?), load(&Row::parse(name)?)])
}

/// A row in one part: `2 threads beside 2 busy programs, 1 us of work`.
pub(super) fn row_whole(name: &str) -> String {
    row(name).map_or_else(|| name.to_owned(), |[work, load]| format!("{load}, {work}"))
}

fn work(row: &Row) -> String {
    let shape = match row.shape {
        WorkDistribution::Uniform => "",
        WorkDistribution::Exponential => ", exponential",
        WorkDistribution::LogNormal => ", log-normal",
        WorkDistribution::Imbalanced => ", imbalanced",
        WorkDistribution::Constant => ", constant",
        WorkDistribution::Bimodal => ", bimodal",
        WorkDistribution::SlowMember => ", one slow",
        WorkDistribution::Graph => ", a graph",
    };
    let meets = if row.fork_join { ", fork and join" } else { "" };
    match row.grain_us {
        0 => format!("no work{shape}{meets}"),
        us => format!("{us} us of work{shape}{meets}"),
    }
}

fn load(row: &Row) -> String {
    let pinned = if row.pinned { ", pinned" } else { "" };
    let beside = match (row.hogs, row.background) {
        (0, _) => String::new(),
        (n, BackgroundLoad::Hog) => format!(" beside {}", busy(&n.to_string())),
        (_, BackgroundLoad::Team) => " beside a second team".to_owned(),
        (n, BackgroundLoad::Bursts(ms)) => format!(" beside {n} bursts of {ms} ms"),
        (n, BackgroundLoad::Wakes) => format!(" beside {n} brief wake-ups"),
    };
    let quota = row.quota.map_or(String::new(), |cpus| format!(" on a quota of {cpus:.1}"));
    format!("{} threads{pinned}{beside}{quota}", row.threads)
}

/// How many busy programs run beside: `alone`, `beside 2 busy programs`.
pub(super) fn hogs(count: &str) -> String {
    if count == "0" { "alone".to_owned() } else { format!("beside {}", busy(count)) }
}

/// A number of busy programs: `1 busy program`.
pub(super) fn busy(count: &str) -> String {
    format!("{count} busy program{}", if count == "1" { "" } else { "s" })
}

/// The runner and the load of a measurement; nothing of what has neither.
pub(super) fn runner_and_load(m: &Measurement) -> Vec<(&'static str, String)> {
    let runner = m.labels.get("runner").map(|runner| ("runner", library(runner)));
    let beside = m.labels.get("hogs").map(|load| ("beside", hogs(load)));
    runner.into_iter().chain(beside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_become_plain_ones() {
        let waiters = ["central/adaptive", "tree/adaptive", "central/block", "central/two-phase:2CS+:remote", "gomp-passive"];
        let plain = waiters.map(waiter);
        assert_eq!(plain[..3], ["Foregather", "Foregather (tree)", "sleep at once"]);
        assert_eq!(plain[3..], ["spin 2.5 far switches, then sleep", "GNU OpenMP, sleeps"]);
        assert_eq!(plain.iter().filter(|name| is_product(name)).count(), 1);
        assert_eq!(row_whole("2t + 2 hogs, 20 us"), "2 threads beside 2 busy programs, 20 us of work");
        assert_eq!(row_whole("8t log-normal fork-join, 0 us"), "8 threads, no work, log-normal, fork and join");
        assert_eq!([row_whole("<b>"), library("new")], ["<b>", "new"]);
    }
}
