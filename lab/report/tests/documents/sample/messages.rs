//! Made-up results of `measure messages`.
use super::empty;
use foregather_results::{Measurement, Results};

pub(crate) fn messages() -> Results {
    let mut results = empty("measure messages");
    for (way, fixed, per_byte) in
        [("chosen", 110.0, 0.05), ("direct", 2_500.0, 0.03), ("frames", 64.0, 0.16), ("memcpy", 2.0, 0.02)]
    {
        for pattern in ["ping-pong", "stream"] {
            for bytes in [1_u32, 64, 4_096, 65_536] {
                let ns = fixed + per_byte * f64::from(bytes);
                let ns = if pattern == "stream" { ns * 0.6 } else { ns };
                results.measurements.push(sized(pattern, &bytes.to_string(), way, ns));
            }
        }
    }
    let thread = sized("ping-pong", "8", "chosen", 90.0);
    results
        .measurements
        .push(Measurement { id: "messages/thread/ping-pong/8B/chosen".to_owned(), ..thread.label("world", "thread") });
    let policies = [("spin", 7e5, 0.49), ("yield", 280.0, 1.0), ("block", 1e4, 0.75), ("adaptive", 1.4e5, 0.74)];
    for (policy, rate, share) in policies {
        results.measurements.push(beside("0", policy, 10.0 * rate, f64::NAN));
        results.measurements.push(beside("1", policy, rate, share));
    }
    results
}

fn sized(pattern: &str, bytes: &str, way: &str, ns: f64) -> Measurement {
    let id = format!("messages/process/{pattern}/{bytes}B/{way}");
    let m = Measurement::from_values(id, "half a round trip", "ns", vec![ns, ns * 1.04, ns * 1.2]);
    let m = m.label("world", "process").label("pattern", pattern).label("bytes", bytes).label("way", way);
    m.figure("gb_per_s", 1.0 / ns).figure("messages_per_s", 1e9 / ns).figure("processors", 2.0)
}

fn beside(hogs: &str, policy: &str, rate: f64, share: f64) -> Measurement {
    let id = format!("messages-beside-hogs/process/{hogs}/{policy}");
    let m = Measurement::from_values(id, "round trips of 8 bytes", "round trips/s", vec![rate]);
    let m = m.label("hogs", hogs).label("policy", policy).figure("half_mean_us", 5e5 / rate);
    m.figure("half_p99_us", 1e6 / rate).figure("hog_share", share)
}

/// Measurements of `measure messages` with labels that try to be markup.
pub(crate) fn hostile(evil: &str) -> Vec<Measurement> {
    let way = |pattern| sized(pattern, "8", evil, 1.0).label("world", evil);
    vec![way("ping-pong"), way("stream"), sized("ping-pong", evil, evil, f64::NAN), beside(evil, evil, 1.0, 0.5)]
}
