//! Made-up results of `measure dsm`.
use super::empty;
use foregather_results::{Measurement, Results};

pub(crate) fn dsm() -> Results {
    let mut results = empty("measure dsm");
    for (backend, open_us) in [("userfaultfd", 2.2), ("mprotect", 2.3)] {
        for (bytes, data_us) in [("148", 0.4), ("672", 0.5), ("4096", 1.2)] {
            for (touch, more_us) in [("read", 0.0), ("upgrade", 0.9), ("write", 0.2)] {
                results.measurements.push(fault(
                    "dsm-faults",
                    backend,
                    "adaptive",
                    bytes,
                    touch,
                    open_us + more_us + data_us + 1.9,
                ));
                let us = more_us + data_us + 2.6;
                results.measurements.push(fault("dsm-asked", backend, "adaptive", bytes, touch, us));
            }
        }
        for (policy, us) in [("adaptive", 23.0), ("block", 22.0)] {
            for touch in ["read", "upgrade", "write"] {
                results.measurements.push(fault("dsm-faults-owner-computes", backend, policy, "148", touch, us));
            }
        }
    }
    for (kib, worst) in [("256", 2.9), ("16384", 7.7)] {
        for views in [1, 8, 27, 32, 128] {
            results.measurements.push(traversal(kib, &views.to_string(), 1.0 + worst * f64::from(views) / 128.0));
        }
    }
    results
}

fn fault(kind: &str, backend: &str, policy: &str, bytes: &str, touch: &str, us: f64) -> Measurement {
    let ns = (us * 1e3) as u64;
    let id = format!("{kind}/shm/{backend}/{policy}/{bytes}B/{touch}");
    let m = Measurement::from_histogram(id, "a fault", "ns", vec![(ns, 80), (ns * 11 / 10, 19), (ns * 6, 1)]);
    let m =
        m.label("fabric", "shm").label("backend", backend).label("policy", policy).label("bytes", bytes).label("touch", touch);
    let m = m.figure("p10_ns", us * 1e3).figure("cpu_us", us * 1.6);
    if kind == "dsm-faults" || kind == "dsm-asked" { parts(m, us) } else { m }
}

fn parts(m: Measurement, us: f64) -> Measurement {
    m.figure("signal_us", us * 0.5).figure("owner_us", 0.6).figure("frames_us", 0.5).figure("rest_us", us * 0.5 - 1.1)
}

fn traversal(kib: &str, views: &str, ratio: f64) -> Measurement {
    let m = Measurement::from_values(format!("dsm-views/userfaultfd/{kib}KiB/{views}"), "a traversal", "ns", vec![1e5 * ratio]);
    m.label("kib", kib).label("views", views).label("backend", "userfaultfd").figure("ratio", ratio)
}

/// Measurements of `measure dsm` with labels that try to be markup.
pub(crate) fn hostile(evil: &str) -> Vec<Measurement> {
    let faults = ["dsm-faults", "dsm-faults-owner-computes"].map(|kind| fault(kind, evil, evil, evil, evil, 5.0));
    faults.into_iter().chain([traversal("1", "2", 1.5), traversal(evil, evil, 1.5)]).collect()
}
