//! `[mix]`: random jobs of many sizes and grains, the heterogeneous workload of Tsafrir & Feitelson 2002 §5.1.
use super::compute::{cv, grains};
use super::job;
use super::section::{Section, choice, count};
use super::tree::{Located, ParseResult, mistake};
use foregather_machine::{Nanos, SplitMix};
use foregather_sim::smp::{Granularity, Job, MachineSpec};

pub(super) const KEYS: [&str; 7] = ["sizes", "grains", "cv", "work", "policy", "spin", "kind"];
pub(super) const SIZE_KEYS: [&str; 2] = ["from", "to"];

/// Jobs of random sizes and grains until there are `load` threads. The first is of the first grain. Each is named after
/// its grain and computes for about `work` in all, so that they end at about the same time. Seed and load decide the
/// mix: what else is swept meets the same jobs.
pub(super) fn read(node: &Located, machine: &MachineSpec, load: Option<(u32, usize)>, seed: u64) -> ParseResult<Vec<Job>> {
    let section = Section::new("[mix]", node, &KEYS)?;
    let Some((load, load_line)) = load else {
        return mistake(section.line(), "[mix] needs `load`, the number of threads in all, at the top");
    };
    let (from, to) = sizes(section.need("sizes")?)?;
    if load < from {
        return mistake(load_line, format!("a load of {load} threads has no room for a job of {from}"));
    }
    let grains = grains_of(section.need("grains")?)?;
    let work = section.span("work", Nanos::from_us(2_500))?;
    let (cv, policy) = (cv(&section)?, job::policy(&section, machine)?);
    // The last job may be larger, by what is left.
    let kind = job::kind(&section, to)?;
    let mut random = SplitMix(seed.wrapping_mul(0x1_0000_0000).wrapping_add(u64::from(load)));
    let mut jobs: Vec<Job> = Vec::new();
    let mut rest = load;
    while rest > 0 {
        let size = (from + random.below(u64::from(to - from) + 1) as u32).min(rest);
        rest -= size;
        match jobs.last_mut() {
            Some(last) if size < from => last.threads += size,
            _ => {
                let grain = if jobs.is_empty() { grains[0] } else { grains[random.below(grains.len() as u64) as usize] };
                let compute = grain.normal(machine.prices.switch, cv);
                let barriers = (work.0 as f64 / compute.mean_ns()).round().max(1.0) as u64;
                let mut one = Job::meeting(grain.name(), size, barriers, compute, policy);
                one.kind = kind;
                jobs.push(one);
            }
        }
    }
    if let Some(error) = jobs.iter().find_map(|job| kind.takes(job.threads).err()) {
        return mistake(section.line(), error.to_string());
    }
    job::enough(&jobs, section.line())?;
    Ok(jobs)
}

fn sizes(node: &Located) -> ParseResult<(u32, u32)> {
    let section = Section::new("sizes", node, &SIZE_KEYS)?;
    let size = |key| Ok(count(key, section.need(key)?, 1..=u64::from(job::THREADS_MAX))? as u32);
    let (from, to) = (size("from")?, size("to")?);
    if from > to { mistake(node.line, format!("sizes go from {from} down to {to}: swap them")) } else { Ok((from, to)) }
}

fn grains_of(node: &Located) -> ParseResult<Vec<Granularity>> {
    match node.items().filter(|items| !items.is_empty()) {
        None => mistake(node.line, "`grains` is a list: [\"fine\", \"medium\"]"),
        Some(items) => items.iter().map(|item| choice("grains", item, &grains())).collect(),
    }
}
