//! Wake-up schemes (Tsafrir & Feitelson 2002 §4.3).
use crate::curves::{curves, number};
use crate::{Findings, Trial};
use anyhow::Result;

pub(super) fn wake(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let all = curves("wake", trial, &mut found)?;
    let speedup =
        |workload, policy, scheme| all.with(&[("workload", workload), ("policy", policy), ("wakeup", scheme)]).mean("speedup");
    let big = speedup("2 x 24", "2CS+", "ap-mark");
    found.answer("wake-ap-pays", number(big, "two jobs of 24 threads, 2CS+"));
    let best = all.with(&[("wakeup", "ap-mark")]).all("speedup").into_iter().fold(f64::NAN, f64::max);
    found.answer("wake-ap-largest", number(best, "the largest of all mixes and policies"));
    let mut logs = Vec::new();
    for workload in all.labels("workload") {
        for policy in all.labels("policy") {
            logs.push((speedup(workload, policy, "gv") / speedup(workload, policy, "ap-mark")).ln());
        }
    }
    let geomean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    found.answer("wake-gv-no-better", number(geomean, format!("{} mixes and policies", logs.len())));
    let duplicates = |scheme| all.with(&[("wakeup", scheme)]).mean("duplicate_mark_share");
    for (claim, scheme) in [("wake-same-processor", "linux"), ("wake-ap-never-the-same", "ap-mark")] {
        found.answer(claim, number(duplicates(scheme), "marks of processors marked already"));
    }
    Ok(found)
}
