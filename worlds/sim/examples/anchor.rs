#![allow(missing_docs)]
use foregather_machine::Nanos;
use foregather_sim::smp::*;
use foregather_wait::Policy;
use std::time::Instant;
fn us(n: u64) -> Nanos { Nanos::from_us(n) }
fn study(n: u32, g: Granularity, cv: f64, spin: u64, nb: u64, seed: u64) -> Study {
    let policy = if spin == 0 { Policy::Block } else { Policy::TwoPhase { spin: us(spin) } };
    let mut jobs = vec![Job::meeting("job", 11, nb, g.normal(us(6), cv), policy)];
    if n > 11 { jobs.push(Job::load("load", n - 11)); }
    Study { machine: MachineSpec::tsafrir2002(), jobs, stop: Stop::FirstJob, limit: us(40_000_000), seed, shuffled: true, record: Record::NOTHING }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    match a[1].as_str() {
        "one" => {
            let (n, spin, nb, cpus) = (a[2].parse().unwrap(), a[3].parse().unwrap(), a[4].parse().unwrap(), a[5].parse().unwrap());
            for seed in 1..4 { let mut s = study(n, Granularity::Fine, 0.15, spin, nb, seed); s.machine.cpus = cpus; let t = Instant::now(); let o = run(&s, || true).unwrap(); let el = t.elapsed().as_secs_f64();
            println!("t={} ssr={:.1} met={} events={} {:?} {:.2}M/s", o.time, o.jobs[0].ssr_percent().unwrap_or(0.), o.jobs[0].met, o.events, o.counts, o.events as f64 / el / 1e6); }
        }
        "single" => { let g = if a[2] == "fine" { Granularity::Fine } else { Granularity::Medium }; let cv: f64 = a[3].parse().unwrap(); let step: usize = a[4].parse().unwrap(); let nb: u64 = a[5].parse().unwrap(); let lo: u32 = a[6].parse().unwrap();
            let loads: Vec<u32> = (lo..=210).step_by(step).collect(); let mut ab: Vec<f64> = vec![];
            for spin in [0, 6, 8, 14] { let mut m16 = vec![]; let mut oth = vec![]; let mut all = vec![]; let mut sp = vec![]; let mut line = String::new();
                for (i, &n) in loads.iter().enumerate() { let o = run(&study(n, g, cv, spin, nb, std::env::var("SEED").map_or(1, |s| s.parse().unwrap())), || true).unwrap(); let e = o.jobs[0].elapsed_ns; if spin == 0 { ab.push(e) } let ssr = o.jobs[0].ssr_percent().unwrap_or(0.); line += &format!(" {n}:{ssr:.0}"); all.push(ssr); sp.push(ab[i] / e); if n % 16 == 0 { m16.push(ssr) } else { oth.push(ssr) } }
                let mean = |v: &Vec<f64>| v.iter().sum::<f64>() / v.len() as f64; println!("spin {spin}{line}\n   mean {:.1} (16: {:.1}, other {:.1}) speedup {:.2}", mean(&all), mean(&m16), mean(&oth), mean(&sp)); } }
        "homog" => { let sizes = [4u32, 8, 10, 11, 16, 24, 32]; let (g, cv) = if a[2] == "fine" { (Granularity::Fine, 0.15) } else { (Granularity::Medium, 0.15) };
            for size in sizes { let mut line = format!("size {size}:"); let mut j = 1; while j * size <= 200 { let mut s = study(32, g, cv, 6, 800, 1); s.machine.scheduler = Scheduler::RoundRobin(RoundRobin::TSAFRIR_2002); s.jobs = (0..j).map(|i| Job::meeting(format!("{i}"), size, 800, g.normal(us(6), cv), Policy::TwoPhase { spin: us(6) })).collect();
                let o = run(&s, || true).unwrap(); let w = o.jobs.iter().fold(foregather_wait::Snapshot::default(), |x, y| x.plus(y.waits)); line += &format!(" {}:{:.0}({:.2})", j * size, 100. * w.successful_spin_rate().unwrap_or(0.), o.jobs[0].alternation.index()); j += (j / 4).max(1); } println!("{line}"); } }
        _ => {}
    }
}
