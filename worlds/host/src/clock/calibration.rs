//! Whether the cycle counter can be used as a clock, how fast it is, and what a reading costs.
use super::Conversion;
use super::counter;
use rustix::time::ClockId;
use std::time::Duration;

/// How long the counter is compared with the kernel's clock.
const CALIBRATION: Duration = Duration::from_millis(10);
/// The number of readings, of which the least disturbed one counts.
const TRIES: usize = 64;
/// The unit of a conversion's factors.
const UNIT: f64 = (1u64 << 32) as f64;

/// The source and the quality of this process's clock.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// `tsc`, the processor's cycle counter, or `monotonic`, the kernel's clock.
    pub source: &'static str,
    /// Whether the cycle counter ticks at one rate in all frequency and sleep states.
    pub invariant: bool,
    /// Steps of the raw counter a second.
    pub hz: f64,
    /// By how much two readings in a row differ, if they do: the counter's own step or the cost of a reading.
    pub precision_ns: f64,
    /// The time that one reading takes.
    pub read_cost_ns: f64,
    /// Bound on the relative error of `hz`, in millionths, from the width of the readings it was computed
    /// from.
    pub calibration_error_ppm: f64,
    /// Why the clock is not the cycle counter, if it is not.
    pub why_not_tsc: Option<String>,
}

/// The state seen when this process first asked for the time.
pub(super) struct FirstLook {
    invariant: bool,
    /// A reading to compare with a later one; or why the counter is no clock.
    raw: Result<Sample, String>,
}

impl FirstLook {
    pub(super) fn take() -> Self {
        let cpuid = counter::cpuid_invariant();
        let read = |path| std::fs::read_to_string(path).ok();
        let evidence = Evidence {
            x86_64: cfg!(target_arch = "x86_64"),
            asked: std::env::var("FOREGATHER_CLOCK").ok(),
            cpuid,
            // The kernel generates the file for each reader, which takes long where there are many
            // processors.
            cpuinfo: if cpuid { None } else { read("/proc/cpuinfo") },
            available: read("/sys/devices/system/clocksource/clocksource0/available_clocksource"),
        };
        let raw = evidence.objection().map_or_else(|| Ok(Sample::take(ClockId::MonotonicRaw)), Err);
        Self { invariant: evidence.invariant(), raw }
    }

    /// For how long the counter has yet to be compared.
    pub(super) fn left(&self) -> Duration {
        let since = |first: &Sample| Duration::from_nanos(counter::kernel(ClockId::MonotonicRaw).saturating_sub(first.nanos));
        self.raw.as_ref().map_or(Duration::ZERO, |first| CALIBRATION.saturating_sub(since(first)))
    }

    /// The clock, once nothing is left.
    pub(super) fn calibrated(&self) -> Calibrated {
        let rate = self.raw.as_ref().map_err(String::clone).and_then(Rate::since);
        let invariant = self.invariant;
        match rate {
            Ok(Rate { hz, error_ppm, conversion }) => Calibrated { conversion, invariant, hz, error_ppm, why_not_tsc: None },
            Err(why) => {
                let anchor = counter::kernel(ClockId::Monotonic);
                let unit = 1 << 32;
                let conversion = Conversion { tsc: false, base: anchor, anchor, nanos_per_cycle: unit, cycles_per_nano: unit };
                Calibrated { conversion, invariant, hz: 1e9, error_ppm: 0.0, why_not_tsc: Some(why) }
            }
        }
    }
}

/// This process's clock.
pub(super) struct Calibrated {
    pub(super) conversion: Conversion,
    invariant: bool,
    hz: f64,
    error_ppm: f64,
    why_not_tsc: Option<String>,
}

impl Calibrated {
    /// The quality of the clock, which takes a while to measure.
    pub(super) fn facts(&self) -> Facts {
        let (precision, cost) = step_and_cost(&self.conversion);
        Facts {
            source: if self.conversion.tsc { "tsc" } else { "monotonic" },
            invariant: self.invariant,
            hz: self.hz,
            precision_ns: precision * 1e9 / self.hz,
            read_cost_ns: cost * 1e9 / self.hz,
            calibration_error_ppm: self.error_ppm,
            why_not_tsc: self.why_not_tsc.clone(),
        }
    }
}

/// The facts that decide whether the cycle counter may be a clock.
struct Evidence {
    x86_64: bool,
    asked: Option<String>,
    cpuid: bool,
    cpuinfo: Option<String>,
    available: Option<String>,
}

impl Evidence {
    fn invariant(&self) -> bool {
        let flags = self.cpuinfo.iter().flat_map(|text| text.lines()).find(|line| line.starts_with("flags"));
        let has = |flag| flags.is_some_and(|line| line.split_ascii_whitespace().any(|word| word == flag));
        self.x86_64 && (self.cpuid || (has("constant_tsc") && has("nonstop_tsc")))
    }

    /// The kernel withdraws `tsc` from its list when it has caught two processors' counters apart.
    fn objection(&self) -> Option<String> {
        let withdrawn = self.available.as_ref().is_some_and(|list| !list.split_ascii_whitespace().any(|name| name == "tsc"));
        if !self.x86_64 {
            Some("this processor is not an x86-64".to_owned())
        } else if self.asked.as_deref() == Some("monotonic") {
            Some("FOREGATHER_CLOCK=monotonic asks for the kernel's clock".to_owned())
        } else if !self.invariant() {
            Some("the processor does not promise one counter rate in all its states (no constant_tsc and nonstop_tsc)".to_owned())
        } else if withdrawn {
            Some("the kernel does not offer the counter as a clock source: it is unstable or was switched off".to_owned())
        } else {
            None
        }
    }
}

/// The counter's rate, measured against the kernel's raw clock, which no time server bends.
struct Rate {
    hz: f64,
    error_ppm: f64,
    conversion: Conversion,
}

impl Rate {
    fn since(first: &Sample) -> Result<Self, String> {
        let last = Sample::take(ClockId::MonotonicRaw);
        let (cycles, nanos) = (last.cycles.saturating_sub(first.cycles) as f64, last.nanos.saturating_sub(first.nanos) as f64);
        let hz = cycles * 1e9 / nanos;
        if !(1e6..1e11).contains(&hz) {
            return Err(format!("the counter seems to run at {hz:.0} Hz against the kernel's raw clock"));
        }
        let error_ppm = (first.width + last.width) as f64 / 2.0 / cycles * 1e6;
        let (cycles_per_nano, now) = (hz / 1e9, Sample::take(ClockId::Monotonic));
        let conversion = Conversion {
            tsc: true,
            // From before the kernel's clock was read: no earlier reading of that clock is later than what
            // follows.
            base: now.cycles - now.width / 2,
            anchor: now.nanos,
            nanos_per_cycle: (UNIT / cycles_per_nano).round() as u64,
            cycles_per_nano: (UNIT * cycles_per_nano).round() as u64,
        };
        Ok(Self { hz, error_ppm, conversion })
    }
}

/// Counter and kernel clock at the same moment, give or take half of `width` cycles.
struct Sample {
    cycles: u64,
    nanos: u64,
    width: u64,
}

impl Sample {
    fn take(clock: ClockId) -> Self {
        let one = || {
            let before = counter::tsc_serialized();
            let nanos = counter::kernel(clock);
            let width = counter::tsc_serialized().saturating_sub(before);
            Self { cycles: before + width / 2, nanos, width }
        };
        (0..TRIES).map(|_| one()).fold(one(), |best, next| if next.width < best.width { next } else { best })
    }
}

/// The step between two readings and the cost of one, in units of the counter. The median step counts, not
/// the smallest: a processor whose counter advances by 26 at a time adds 1 if it is read twice within one
/// step, so as not to repeat itself.
fn step_and_cost(conversion: &Conversion) -> (f64, f64) {
    const READINGS: usize = 64;
    let (mut steps, mut cost) = (Vec::with_capacity(TRIES * READINGS), u64::MAX);
    for _ in 0..TRIES {
        let first = conversion.read();
        let mut last = first;
        for _ in 0..READINGS {
            let next = conversion.read();
            steps.push(next.saturating_sub(last));
            last = next;
        }
        cost = cost.min(last.saturating_sub(first));
    }
    steps.retain(|&step| step > 0);
    steps.sort_unstable();
    let step = steps.get(steps.len() / 2).copied().unwrap_or(cost.max(1));
    (step as f64, cost as f64 / READINGS as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence() -> Evidence {
        Evidence {
            x86_64: true,
            asked: None,
            cpuid: false,
            cpuinfo: Some("model name\t: X\nflags\t\t: fpu constant_tsc nonstop_tsc rdtscp\n".to_owned()),
            available: Some("tsc kvm-clock \n".to_owned()),
        }
    }

    #[test]
    fn an_invariant_counter_that_the_kernel_trusts_is_the_clock() {
        assert_eq!(evidence().objection(), None);
        assert_eq!(Evidence { cpuid: true, cpuinfo: None, available: None, ..evidence() }.objection(), None);
    }

    #[test]
    fn every_objection_falls_back_and_says_why() {
        let slow = Some("flags : constant_tsc rdtscp\n".to_owned());
        for (evidence, word) in [
            (Evidence { x86_64: false, cpuid: true, ..evidence() }, "x86-64"),
            (Evidence { asked: Some("monotonic".to_owned()), ..evidence() }, "FOREGATHER_CLOCK"),
            (Evidence { cpuinfo: slow, ..evidence() }, "nonstop_tsc"),
            (Evidence { cpuinfo: None, ..evidence() }, "nonstop_tsc"),
            (Evidence { available: Some("hpet acpi_pm\n".to_owned()), ..evidence() }, "unstable"),
        ] {
            let why = evidence.objection().unwrap();
            assert!(why.contains(word), "{why}");
        }
    }

    #[test]
    fn the_facts_are_those_of_a_clock() {
        let first = FirstLook::take();
        std::thread::sleep(first.left());
        assert_eq!(first.left(), Duration::ZERO);
        let facts = first.calibrated().facts();
        assert_eq!(facts.source == "tsc", facts.why_not_tsc.is_none(), "{facts:?}");
        assert!(facts.precision_ns > 0.0 && facts.precision_ns < 1e6, "{facts:?}");
        assert!(facts.read_cost_ns > 0.0 && facts.read_cost_ns < 1e6, "{facts:?}");
        assert!(facts.calibration_error_ppm < 1e4, "{facts:?}");
    }
}
