//! What null messages promise, seen through the barriers made of them.
use crate::{AsyncProgram, Network, permutations};
use foregather_barrier::{butterfly, dissemination, tree};
use foregather_machine::{Cause, Endpoint, Error, Nanos};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// Everything.
pub fn all(network: &impl Network) {
    for size in 1..=5 {
        for order in permutations(size) {
            let start: Vec<_> = order.into_iter().map(|place| Nanos::from_us(100) * u64::from(place)).collect();
            nobody_leaves_before_the_last_arrives(network, &start);
        }
    }
    let odd_size_refused = network.run(3, &[Nanos::ZERO; 6], Butterfly);
    assert!(odd_size_refused.iter().all(|end| matches!(Error::of(end), Some(Cause::Size { size: 6, .. }))));
    assert_eq!(network.run(2, &[Nanos::ZERO; 2], SignalsAddUp), [Ok(()), Ok(())]);
}

/// Several episodes of every barrier, beginning at these times.
pub fn nobody_leaves_before_the_last_arrives(network: &impl Network, start: &[Nanos]) {
    let size = start.len() as u32;
    let algorithms = if size.is_power_of_two() { 0..3 } else { 0..2 };
    for algorithm in algorithms {
        let arrived = (0..3).map(|_| AtomicU32::new(0)).collect();
        let slots = size.next_power_of_two().trailing_zeros().max(5);
        let ends = network.run(slots, start, Episodes { algorithm, arrived });
        assert!(ends.iter().all(Result::is_ok), "{ends:?}");
    }
}

struct Episodes {
    algorithm: u32,
    arrived: Vec<AtomicU32>,
}

impl AsyncProgram<Result<(), Error>> for Episodes {
    async fn node<E: Endpoint>(&self, endpoint: &E) -> Result<(), Error> {
        for (episode, arrived) in (1u64..).zip(&self.arrived) {
            endpoint.delay(Nanos(u64::from(endpoint.rank()) * 7_000 % (episode * 11_000))).await;
            arrived.fetch_add(1, SeqCst);
            match self.algorithm {
                0 => dissemination(endpoint).await?,
                1 => tree(endpoint).await?,
                _ => butterfly(endpoint).await?,
            }
            assert_eq!(arrived.load(SeqCst), endpoint.size(), "algorithm {}: left too early", self.algorithm);
        }
        Ok(())
    }
}

struct Butterfly;

impl AsyncProgram<Result<(), Error>> for Butterfly {
    async fn node<E: Endpoint>(&self, endpoint: &E) -> Result<(), Error> {
        butterfly(endpoint).await
    }
}

struct SignalsAddUp;

impl AsyncProgram<Result<(), Error>> for SignalsAddUp {
    async fn node<E: Endpoint>(&self, endpoint: &E) -> Result<(), Error> {
        for _ in 0..10 {
            endpoint.signal(1 - endpoint.rank(), 1).await?;
        }
        for _ in 0..10 {
            endpoint.wait(1).await?;
        }
        Ok(())
    }
}
