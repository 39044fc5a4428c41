//! The spans of a simulation as a trace that Perfetto (<https://ui.perfetto.dev>) and Chrome open: jobs as
//! processes, their threads as threads, and once more by processor.
use foregather_machine::Nanos;
use foregather_sim::smp::{Outcome, State, Study};
use serde_json::json;

/// The process that has a row for each processor.
const PROCESSORS: usize = 0;

/// The trace, in the JSON of Chrome's trace viewer.
pub fn trace(study: &Study, outcome: &Outcome) -> String {
    // Threads are numbered job by job.
    let owners: Vec<(usize, u32)> =
        study.jobs.iter().enumerate().flat_map(|(job, spec)| (0..spec.threads).map(move |rank| (job, rank))).collect();
    let mut events = vec![name("process_name", PROCESSORS, 0, "processors")];
    events.extend(study.jobs.iter().enumerate().map(|(job, spec)| {
        name(
            "process_name",
            job + 1,
            0,
            &format!("job {} {}, {}", job + 1, spec.name, if spec.meets() { "meets" } else { "load" }),
        )
    }));
    for (thread, &(job, rank)) in owners.iter().enumerate() {
        events.push(name("thread_name", job + 1, thread, &format!("thread {rank}")));
    }
    events.extend((0..study.machine.cpus as usize).map(|cpu| name("thread_name", PROCESSORS, cpu, &format!("processor {cpu}"))));
    let us = |time: Nanos| time.as_us();
    for span in &outcome.recorded.spans {
        let (thread, cpu) = (span.thread as usize, span.cpu as usize);
        let Some(&(job, rank)) = owners.get(thread) else { continue };
        let (from, length) = (us(span.from), us(span.to - span.from));
        let complete = |pid: usize, tid: usize, name: &str, about: serde_json::Value| json!({"ph": "X", "pid": pid, "tid": tid, "ts": from, "dur": length, "name": name, "args": about});
        events.push(complete(job + 1, thread, span.state.name(), json!({"processor": cpu})));
        if matches!(span.state, State::Compute | State::Spin) {
            let who = format!("{} {rank}", study.jobs[job].name);
            events.push(complete(PROCESSORS, cpu, &who, json!({"state": span.state.name(), "job": job + 1})));
        }
    }
    let epoch = |time: &Nanos| json!({"ph": "i", "s": "g", "pid": PROCESSORS, "tid": 0, "ts": us(*time), "name": "epoch"});
    events.extend(outcome.recorded.epochs.iter().map(epoch));
    let lines: Vec<String> = events.iter().map(ToString::to_string).collect();
    format!("{{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n{}\n]}}\n", lines.join(",\n"))
}

fn name(what: &str, pid: usize, tid: usize, name: &str) -> serde_json::Value {
    json!({"ph": "M", "pid": pid, "tid": tid, "name": what, "args": {"name": name}})
}
