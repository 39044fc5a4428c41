//! `[mix]`: random jobs of many sizes and grains, the heterogeneous workload of Tsafrir & Feitelson 2002
//! §5.1.
use super::compute::{CV, GrainName};
use super::job::{self, KindName};
use super::read::{BoundedCount, Span, Variation, read as read_table, table};
use super::tree::{Located, ParseResult, mistake};
use foregather_machine::{Nanos, SplitMix};
use foregather_sim::smp::{Job, MachineSpec};

table! {
    "[mix]" Table {
        sizes: (usize, Sizes), grains: (usize, Vec<GrainName>);
        cv: Variation, work: Span, policy: (usize, String), spin: (usize, Span), kind: (usize, KindName)
    }
}

table! { "" Sizes { from: Size, to: Size; } }

type Size = BoundedCount<1, { job::THREADS_MAX as u64 }>;

/// Jobs of random sizes and grains until there are `load` threads. The first is of the first grain. Each is
/// named after its grain and computes for about `work` in all, so that all end at about the same time. Seed
/// and load decide the mix: points that differ in other choices meet the same jobs.
pub(super) fn read(node: &Located, machine: &MachineSpec, load: Option<(u32, usize)>, seed: u64) -> ParseResult<Vec<Job>> {
    let table: Table = read_table(node)?;
    let Some((load, load_line)) = load else {
        return mistake(node.line, "[mix] needs `load`, the number of threads in all, at the top");
    };
    let (from, to) = (u32::from(table.sizes.1.from), u32::from(table.sizes.1.to));
    if from > to {
        return mistake(table.sizes.0, format!("sizes go from {from} down to {to}: swap them"));
    }
    if load < from {
        return mistake(load_line, format!("a load of {load} threads has no room for a job of {from}"));
    }
    let (line, grains) = table.grains;
    if grains.is_empty() {
        return mistake(line, "`grains` is a list: [\"fine\", \"medium\"]");
    }
    let (work, cv) = (table.work.map_or(Nanos::from_us(2_500), Nanos::from), table.cv.map_or(CV, f64::from));
    let policy = job::policy((table.policy.as_ref(), table.spin.as_ref()), machine)?;
    // The last job may be larger, by the threads that are left over.
    let kind = job::kind(table.kind.as_ref(), to)?;
    let mut random = SplitMix(seed.wrapping_mul(0x1_0000_0000).wrapping_add(u64::from(load)));
    let mut jobs: Vec<Job> = Vec::new();
    let mut rest = load;
    while rest > 0 {
        let size = (from + random.below(u64::from(to - from) + 1) as u32).min(rest);
        rest -= size;
        match jobs.last_mut() {
            Some(last) if size < from => last.threads += size,
            _ => {
                let grain = &grains[if jobs.is_empty() { 0 } else { random.below(grains.len() as u64) as usize }].0;
                let compute = grain.normal(machine.prices.switch, cv);
                let barriers = (work.0 as f64 / compute.mean_ns()).round().max(1.0) as u64;
                jobs.push(Job { kind, ..Job::meeting(grain.name(), size, barriers, compute, policy) });
            }
        }
    }
    if let Some(error) = jobs.iter().find_map(|job| kind.takes(job.threads).err()) {
        return mistake(node.line, error.to_string());
    }
    job::enough(&jobs, node.line)?;
    Ok(jobs)
}
