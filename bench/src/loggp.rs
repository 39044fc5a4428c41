//! The LogGP parameters of this machine, between two threads that send each other null messages over flags.
//!
//! The overheads and the gap come from parametrised round trips (Culler et al. 1996; Kielmann, Bal & Verstoep
//! 2000; Hoefler et al. 2007): `n` messages, sent as fast as possible or each after a delay, and one answer.
//! A byte is what a longer payload costs more when the sender writes it and the receiver reads it.
use crate::noise;
use crate::prices::Price;
use foregather_barrier::{SignalMatrix, Signaller};
use foregather_host::{affinity, clock};
use foregather_machine::{Cause, Clock, Endpoint, Error, LogGp, LogGpVariant, Nanos, block_on};
use foregather_thread::Thread;
use foregather_wait::Policy;
use std::sync::Mutex;

/// Messages of a long round trip.
const MANY: u32 = 16;
/// The delay between them: longer than any message takes from thread to thread.
const DELAY: Nanos = Nanos::from_us(2);
/// Round trips of each sort, and those before the first that counts.
const ROUNDS: usize = 400;
const WARM_UP: usize = 40;
/// Payloads, in bytes, and how often each.
const PAYLOADS: [usize; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];
const COPIES: usize = 60;

/// Null messages and their answers; and those whose receiver is late.
const SLOT: u32 = 0;
const LATE: u32 = 1;

/// Measures between the first two processors that this process may use: the parameters, and all that they
/// came from. About a tenth of a second.
///
/// # Errors
/// If there is only one processor, or a thread cannot be pinned.
pub fn measure() -> Result<(LogGp, Vec<Price>), Error> {
    let allowed = affinity::allowed();
    let [here, there, ..] = allowed[..] else {
        let remedy = "allow this process two (taskset, the container's cpuset)".to_owned();
        return Err(Cause::Unavailable { what: "a second processor".to_owned(), remedy }.into());
    };
    clock::init();
    let flags = SignalMatrix::new(2, 2);
    let payload = Mutex::new(vec![0; PAYLOADS[PAYLOADS.len() - 1]]);
    let told = foregather_thread::run(
        2,
        |rank| Some([here, there][rank as usize]),
        |cpu, rank| {
            let end = flags.endpoint(cpu, rank, Policy::Spin);
            if rank == 0 { Asker(&end, &payload).ask().map(Some) } else { Answerer(&end, &payload).answer().map(|()| None) }
        },
    )?;
    let told: Option<Samples> = told.into_iter().collect::<Result<Vec<_>, _>>()?.swap_remove(0);
    Ok(told.unwrap_or_default().parameters())
}

/// Each in nanoseconds.
#[derive(Default)]
struct Samples {
    half_round_trip: Vec<f64>,
    gap: Vec<f64>,
    send: Vec<f64>,
    receive: Vec<f64>,
    /// Bytes, and what it took to write, hand over and read them.
    copies: Vec<(f64, f64)>,
}

impl Samples {
    fn parameters(self) -> (LogGp, Vec<Price>) {
        let half = median(&self.half_round_trip);
        // What the parts come to must be the whole: a receiver that is late pays for part of the way, too.
        let send = median(&self.send).clamp(0.0, half);
        let receive = median(&self.receive).clamp(0.0, half - send);
        let byte_ns = noise::line(&self.copies).0.max(0.0);
        let ns = |ns: f64| Nanos(ns.round() as u64);
        let parameters = LogGp {
            latency: ns(half - send - receive),
            send_overhead: ns(send),
            receive_overhead: ns(receive),
            gap: ns(median(&self.gap).max(send)),
            byte_ps: (byte_ns * 1e3).round() as u64,
            variant: LogGpVariant::SenderOnly,
        };
        let largest = PAYLOADS[PAYLOADS.len() - 1] as f64;
        let copies = self.copies.iter().filter(|copy| copy.0 == largest).map(|copy| copy.1).collect();
        let price = |name, what, samples_ns| Price { name, what, samples_ns };
        let prices = vec![
            price("half_round_trip_ns", "a null message from thread to thread: half of a round trip", self.half_round_trip),
            price("send_overhead_ns", "for how long a null message keeps its sender", self.send),
            price("receive_overhead_ns", "for how long one that has come keeps its receiver", self.receive),
            price("gap_ns", "from one null message to the next, sent as fast as possible", self.gap),
            price("copy_64k_ns", "write 64 KiB here, read them there, and answer", copies),
        ];
        (parameters, prices)
    }
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

type ThreadSignaller<'a> = Signaller<Thread>;

/// The side that holds the watch.
struct Asker<'a>(&'a ThreadSignaller<'a>, &'a Mutex<Vec<u8>>);

impl Asker<'_> {
    fn ask(&self) -> Result<Samples, Error> {
        let mut samples = Samples::default();
        let per_message = |nanos: f64| nanos / f64::from(MANY - 1);
        for round in 0..WARM_UP + ROUNDS {
            let one = self.round_trip(1, Nanos::ZERO)?;
            let burst = self.round_trip(MANY, Nanos::ZERO)?;
            let spaced = self.round_trip(MANY, DELAY)?;
            let delays = nanos(|| (1..MANY).try_for_each(|_| self.delay(DELAY)))?;
            let receive = self.receive_late()?;
            if round >= WARM_UP {
                samples.half_round_trip.push(one / 2.0);
                samples.gap.push(per_message(burst - one));
                samples.send.push(per_message(spaced - one - delays));
                samples.receive.push(receive);
            }
        }
        for copy in 0..COPIES {
            for bytes in PAYLOADS {
                let took = self.copy(bytes, copy as u8)?;
                // The first copies touch the memory.
                if copy >= COPIES / 10 {
                    samples.copies.push((bytes as f64, took));
                }
            }
        }
        Ok(samples)
    }

    /// `n` messages, a delay between each two, and one answer.
    fn round_trip(&self, n: u32, delay: Nanos) -> Result<f64, Error> {
        nanos(|| {
            for message in 0..n {
                block_on(self.0.signal(1, SLOT))?;
                if message + 1 < n {
                    self.delay(delay)?;
                }
            }
            block_on(self.0.wait(SLOT))
        })
    }

    /// Computes from when all before it is done: a processor would otherwise send and delay at the same time.
    fn delay(&self, span: Nanos) -> Result<(), Error> {
        if span > Nanos::ZERO {
            let end = clock::cycles_serialized() + clock::nanos_to_cycles(span);
            while clock::cycles() < end {}
        }
        Ok(())
    }

    /// A message that came while no thread looked.
    fn receive_late(&self) -> Result<f64, Error> {
        block_on(self.0.signal(1, SLOT))?;
        block_on(self.0.delay(DELAY));
        let watch = nanos(|| Ok(()))?;
        Ok(nanos(|| block_on(self.0.wait(LATE)))? - watch)
    }

    fn copy(&self, bytes: usize, value: u8) -> Result<f64, Error> {
        nanos(|| {
            self.1.lock().expect("nobody panics with it")[..bytes].fill(value);
            block_on(self.0.signal(1, SLOT))?;
            block_on(self.0.wait(SLOT))
        })
    }
}

/// What that took, by readings in order with the instructions around them.
fn nanos(what: impl FnOnce() -> Result<(), Error>) -> Result<f64, Error> {
    let began = clock::cycles_serialized();
    what()?;
    let cycles = clock::cycles_serialized().saturating_sub(began);
    Ok(cycles as f64 * 1e9 / clock::facts().hz)
}

/// The other side.
struct Answerer<'a>(&'a ThreadSignaller<'a>, &'a Mutex<Vec<u8>>);

impl Answerer<'_> {
    fn answer(&self) -> Result<(), Error> {
        for _ in 0..WARM_UP + ROUNDS {
            for n in [1, MANY, MANY] {
                (0..n).try_for_each(|_| block_on(self.0.wait(SLOT)))?;
                block_on(self.0.signal(0, SLOT))?;
            }
            block_on(self.0.wait(SLOT))?;
            block_on(self.0.signal(0, LATE))?;
        }
        let mut here = vec![0; PAYLOADS[PAYLOADS.len() - 1]];
        for copy in 0..COPIES {
            for bytes in PAYLOADS {
                block_on(self.0.wait(SLOT))?;
                here[..bytes].copy_from_slice(&self.1.lock().expect("nobody panics with it")[..bytes]);
                assert_eq!(here[bytes - 1], copy as u8, "what was written before the message is there after it");
                block_on(self.0.signal(0, SLOT))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_message_come_to_its_whole() {
        if affinity::allowed().len() < 2 {
            return assert!(measure().is_err());
        }
        let (parameters, prices) = measure().unwrap();
        assert!(prices.iter().all(|price| price.samples_ns.len() >= COPIES * 9 / 10), "{prices:?}");
        let half = median(&prices[0].samples_ns);
        assert!((parameters.null().0 as f64 - half).abs() <= 2.0, "{parameters:?}: {half}");
        assert!(parameters.gap >= parameters.send_overhead && parameters.byte_ps > 0, "{parameters:?}");
    }

    #[test]
    fn parameters_are_those_of_the_samples() {
        let samples = Samples {
            half_round_trip: vec![120.0; 3],
            gap: vec![50.0; 3],
            send: vec![30.0; 3],
            receive: vec![200.0; 3],
            copies: (1..9).map(|kib| (f64::from(kib * 1_024), 300.0 + 0.25 * f64::from(kib * 1_024))).collect(),
        };
        let expected = LogGp {
            latency: Nanos::ZERO,
            send_overhead: Nanos(30),
            receive_overhead: Nanos(90),
            gap: Nanos(50),
            byte_ps: 250,
            variant: LogGpVariant::SenderOnly,
        };
        assert_eq!(samples.parameters().0, expected);
    }
}
