//! One simulated butterfly: `butterfly NODES SKEW_US ports|free [EPISODES]`. Prints one line of JSON, for comparisons with other simulators.
use foregather_barrier::butterfly;
use foregather_host::{clock, usage};
use foregather_machine::{Error, LogGp, Nanos, Rank, SplitMix};
use foregather_sim::event::Calendar;
use foregather_sim::net::{Circuits, Model, Network, profile};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default| arguments.get(place).map_or(default, |text| text.parse().expect("a number"));
    let (nodes, skew_us, episodes) = (number(0, 16_384) as u32, number(1, 100), number(3, 1));
    let slots = nodes.ilog2();
    let line = match arguments.get(2).map(String::as_str) {
        Some("ports") | None => {
            let interrupted =
                |network: Network<Calendar, Circuits>| network.interrupted(profile::AS_STATED, 7).expect("a profile");
            run(nodes, skew_us, episodes, interrupted(Network::new(nodes, slots, profile::IPSC860).expect("a network")))
        }
        Some("free") => {
            let free = LogGp { gap: profile::IPSC860_FREE.send_overhead, ..profile::IPSC860_FREE };
            run(nodes, skew_us, episodes, Network::<Calendar, LogGp>::new(nodes, slots, free).expect("a network"))
        }
        Some(other) => panic!("`{other}` is neither ports nor free"),
    };
    println!("{line}");
}

fn run<M: Model>(size: u32, skew_us: u64, episodes: u64, network: Network<Calendar, M>) -> String {
    clock::init();
    let skew = skew_us * 1_000;
    let start = |rank: Rank| Nanos(SplitMix(u64::from(rank)).below(skew.max(1)));
    let began = clock::now();
    let nodes = network.nodes();
    // Many in a row need a larger future.
    let run = if episodes == 1 {
        network.run(&nodes, start, butterfly)
    } else {
        network.run(&nodes, start, async |node| {
            for _ in 0..episodes {
                butterfly(node).await?;
            }
            Ok::<(), Error>(())
        })
    };
    let seconds = (clock::now() - began).as_secs();
    assert!(run.stuck().is_empty(), "nobody waits for ever");
    let messages = u64::from(size) * u64::from(size.trailing_zeros()) * episodes;
    let (rate, rss) = (messages as f64 / seconds, usage::peak_memory_kib() as f64 / 1024.0);
    format!(
        r#"{{"nodes":{size},"messages":{messages},"events":{},"seconds":{seconds:.4},"messages_per_s":{rate:.0},"rss_mib":{rss:.1},"skew_us":{skew_us},"trace":"{:016x}"}}"#,
        run.events, run.trace
    )
}
