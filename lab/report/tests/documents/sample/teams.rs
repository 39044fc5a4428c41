//! Made-up results of `measure teams`, `measure openmp`, `measure broadcast`, `exec --compare` and `measure
//! blas`.
use super::empty;
use foregather_results::{Measurement, Results};

pub(crate) fn teams() -> Results {
    let mut results = empty("measure teams");
    for (threads, least) in [("2", 0.4), ("4", 3.0)] {
        for (hogs, times) in [("0", 1.0), ("2", 4.0)] {
            for (runner, more) in [("team", 1.0), ("gomp", 2.5), ("rayon-broadcast", 9.0)] {
                let id = format!("teams/{threads}t/1us/{hogs}h/{runner}");
                let us = 1.0 + least * times * more;
                let m = Measurement::from_values(id, "a region", "us", vec![us, us * 1.1, us * 1.3]);
                let m = m.label("threads", threads).label("body_us", "1").label("hogs", hogs).label("runner", runner);
                results.measurements.push(m.figure("cpu_us_per_region", us * 1.9));
            }
        }
    }
    let other = Measurement::from_values("teams/2t/0us/0h/team", "a region of another length", "us", vec![0.5]);
    results.measurements.push(other.label("threads", "2").label("body_us", "0").label("hogs", "0").label("runner", "team"));
    results
}

pub(crate) fn openmp() -> Results {
    let mut results = empty("measure openmp");
    for (construct, us) in [("region", 2.0), ("dynamic", 6.0), ("task-tree", 40.0), ("task-chain", 30.0)] {
        for threads in ["2", "4"] {
            for (hogs, times) in [("0", 1.0), ("1", 1.5)] {
                for (runtime, more) in [("foregather", 1.0), ("gomp", 900.0 * (times - 0.99)), ("omp", 1.2)] {
                    let (id, us) = (format!("openmp/{construct}/{threads}t/{hogs}h/{runtime}"), us * times * more);
                    results.measurements.push(of_openmp(id, us, [construct, threads, hogs, runtime]));
                }
            }
        }
    }
    results
}

pub(crate) fn queues() -> Results {
    let mut results = empty("measure broadcast");
    for (gaps, times) in [("regular", 1.0), ("exponential", 3.0)] {
        for (gap_us, share) in [("200", 10.0), ("2000", 2.0), ("50000", 0.1)] {
            for (queue, us, cpu) in [("foregather", 5.0 * times, share), ("spin", 4.0, 98.0), ("futex", 30.0, share / 5.0)] {
                let id = format!("broadcast/{gaps}/{gap_us}us/{queue}");
                let m = Measurement::from_values(id, "a message", "us", vec![us, us * 1.1, us * 1.3]);
                let m = m.label("queue", queue).label("gaps", gaps).label("gap_us", gap_us);
                results.measurements.push(m.figure("cpu_percent", cpu).figure("p99_us", us * 9.0));
            }
        }
    }
    results
}

/// A program of which every run without the libraries was cut off, and one that they change little.
pub(crate) fn programs() -> Results {
    let mut results = empty("exec");
    for (program, ms, ratio, cut) in [("forks", 9.0, 111.0, 5.0), ("fit, 8 threads", 200.0, 1.1, 0.0)] {
        results.measurements.push(of_program(program, "without", ms * ratio).figure("cut_off", cut));
        let with = of_program(program, "with", ms).figure("ratio", ratio);
        results.measurements.push(with.figure("ratio_least", ratio * 0.8).figure("ratio_most", ratio * 1.2));
    }
    results
}

fn of_program(program: &str, libraries: &str, ms: f64) -> Measurement {
    let id = format!("program/time/{libraries}/{program}");
    Measurement::from_values(id, "a program", "ms", vec![ms, ms * 1.1, ms * 1.3])
        .label("program", program)
        .label("libraries", libraries)
}

fn of_openmp(id: String, us: f64, labels: [&str; 4]) -> Measurement {
    let m = Measurement::from_values(id, "a construct", "us", vec![us, us * 1.1, us * 1.3]);
    ["construct", "threads", "hogs", "runner"].into_iter().zip(labels).fold(m, |m, (name, label)| m.label(name, label))
}

pub(crate) fn blas() -> Results {
    let mut results = empty("measure blas");
    for (runner, late) in [("foregather", 1.0), ("openblas", 3.0)] {
        for (routine, half) in [("dgemm", 40.0), ("ddot", 9_000.0)] {
            for n in [16_u32, 64, 256, 4_096, 65_536] {
                let ratio = 2.0 * f64::from(n) / (f64::from(n) + half * late);
                let m = call(&format!("blas/{routine}/{n}/{runner}"), routine, &n.to_string(), "0", runner);
                results.measurements.push(m.figure("ratio", ratio).figure("ratio_low", ratio * 0.9));
            }
        }
        for (hogs, us) in [("0", 300.0), ("2", 600.0 * late)] {
            let m = call(&format!("blas-collapse/{hogs}h/{runner}"), "dgemm", "256", hogs, runner);
            results.measurements.push(m.figure("mean_us", us).figure("p99_us", us * 3.0));
        }
    }
    results
}

fn call(id: &str, routine: &str, n: &str, hogs: &str, runner: &str) -> Measurement {
    let m = Measurement::from_values(id.to_owned(), "a call", "us", vec![1.0]);
    m.label("routine", routine).label("n", n).label("hogs", hogs).label("runner", runner)
}

/// Measurements with labels that would do harm in a page, wherever a name can stand.
pub(crate) fn hostile(evil: &str) -> Vec<Measurement> {
    let team = Measurement::from_values(format!("teams/{evil}"), evil, evil, vec![1.0]);
    let team = team.label("threads", evil).label("body_us", evil).label("hogs", evil).label("runner", evil);
    let size = call(&format!("blas/{evil}"), evil, "64", evil, evil).figure("ratio", 1.5).figure("ratio_low", 1.0);
    let collapse = call(&format!("blas-collapse/{evil}"), evil, evil, evil, evil);
    let construct = of_openmp(format!("openmp/{evil}"), 1.0, [evil; 4]);
    let task = format!("task-{evil}");
    let task = of_openmp(format!("openmp/task/{evil}"), 1.0, [&task, evil, evil, evil]);
    let program = of_program(evil, evil, 1.0).figure("ratio", 1.0).figure("ratio_least", 1.0).figure("ratio_most", 1.0);
    let queue = Measurement::from_values(format!("broadcast/{evil}"), evil, evil, vec![1.0]).figure("cpu_percent", 1.0);
    let queue = queue.label("queue", evil).label("gaps", evil).label("gap_us", "5");
    vec![team, construct, task, program, queue, size, collapse.figure("mean_us", 1.0).figure("p99_us", 2.0)]
}
