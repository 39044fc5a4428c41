//! A common clock for nodes that have none: each learns the offset of its own clock from that of rank 0, and
//! its drift.
//!
//! Along the binomial tree of RDS each node compares its clock with its parent's: the shortest round trip of
//! many gives the offset, half of it the bound of the error (Cristian 1989); two offsets some time apart give
//! the drift. Then the parents tell their children what they know of rank 0, and the children put the two
//! together (hierarchical: Hunold & Carpen-Amarie 2015).
use crate::tree::TreePosition;
use crate::{Protocol, receive, send};
use foregather_machine::{Error, Nanos, Port};

/// The clock of rank 0 as seen from here.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CommonClock {
    /// How far ahead of our own clock it was when that showed `since`, in nanoseconds.
    ahead_ns: i64,
    since: Nanos,
    /// What it gains on our clock, in parts per thousand million.
    drift_ppb: i64,
    /// The bound of its error at `since`.
    pub error: Nanos,
}

/// How carefully clocks are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparing {
    /// Round trips for one offset.
    pub rounds: u32,
    /// The time between two offsets, from which the drift is computed; none is learnt if this is zero.
    pub apart: Nanos,
    /// The messages' tag.
    pub tag: u32,
}

impl Default for Comparing {
    fn default() -> Self {
        Self { rounds: 30, apart: Nanos::from_ms(100), tag: 0x636c_6f63 }
    }
}

impl CommonClock {
    /// How fast the common clock gains on our own, in parts per million.
    pub fn drift_ppm(&self) -> f64 {
        self.drift_ppb as f64 / 1e3
    }

    fn gained(&self, own: Nanos) -> i64 {
        let passed = i128::from(own.0) - i128::from(self.since.0);
        self.ahead_ns + (passed * i128::from(self.drift_ppb) / 1_000_000_000) as i64
    }

    /// What the common clock shows when our own shows `own`.
    pub fn common(&self, own: Nanos) -> Nanos {
        Nanos(own.0.saturating_add_signed(self.gained(own)))
    }

    /// What our own clock shows when the common one shows `common`.
    pub fn own(&self, common: Nanos) -> Nanos {
        // Nearly right, and then right: the drift is far below 1.
        let nearly = Nanos(common.0.saturating_add_signed(-self.gained(common)));
        Nanos(common.0.saturating_add_signed(-self.gained(nearly)))
    }

    /// This pair of clocks with the drift since an earlier comparison.
    fn with_drift_from(self, earlier: &Self) -> Self {
        let passed = i128::from((self.since - earlier.since).0);
        let gained = i128::from(self.ahead_ns - earlier.ahead_ns);
        let drift_ppb = (gained * 1_000_000_000).checked_div(passed).unwrap_or(0) as i64;
        Self { drift_ppb, ..self }
    }

    /// The common clock as this node sees it: `self` is the parent's clock as seen here, `parent` the common
    /// one as seen by the parent.
    fn through(self, parent: &Self) -> Self {
        let (here, there) = (self.since, parent.common(self.common(self.since)));
        let both = self.drift_ppb + parent.drift_ppb + self.drift_ppb * parent.drift_ppb / 1_000_000_000;
        let ahead_ns = there.0.wrapping_sub(here.0) as i64;
        Self { ahead_ns, since: here, drift_ppb: both, error: self.error + parent.error }
    }

    fn to_bytes(self) -> [u8; 32] {
        let words = [self.ahead_ns as u64, self.since.0, self.drift_ppb as u64, self.error.0];
        let mut bytes = [0; 32];
        bytes.chunks_exact_mut(8).zip(words).for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
        bytes
    }

    fn from_bytes(bytes: &[u8; 32]) -> Self {
        let word = |place: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[place * 8..][..8]);
            u64::from_le_bytes(word)
        };
        Self { ahead_ns: word(0) as i64, since: Nanos(word(1)), drift_ppb: word(2) as i64, error: Nanos(word(3)) }
    }
}

/// Compares clocks along the tree; all nodes call it, and each learns the common clock.
///
/// # Errors
/// The port's errors.
pub async fn compare_clocks<P: Port>(port: &P, how: Comparing) -> Result<CommonClock, Error> {
    let mut parents = compare_once(port, how).await?;
    if how.apart > Nanos::ZERO {
        port.delay(how.apart).await;
        parents = compare_once(port, how).await?.with_drift_from(&parents);
    }
    let place = TreePosition::of(port);
    let clock = match place.parent() {
        None => parents,
        Some(parent) => {
            let mut bytes = [0; 32];
            receive(port, parent, how.tag, &mut bytes).await?;
            parents.through(&CommonClock::from_bytes(&bytes))
        }
    };
    for (child, _) in place.children() {
        send(port, child, how.tag, &clock.to_bytes(), Protocol::Short).await?;
    }
    Ok(clock)
}

/// Compares our clock with our parent's, and lets our children compare theirs with ours.
async fn compare_once<P: Port>(port: &P, how: Comparing) -> Result<CommonClock, Error> {
    let place = TreePosition::of(port);
    let clock = match place.parent() {
        None => CommonClock { since: port.now(), ..CommonClock::default() },
        Some(parent) => learn(port, parent, how).await?,
    };
    for (child, _) in place.children() {
        for _ in 0..how.rounds.max(1) {
            receive(port, child, how.tag, &mut [0; 8]).await?;
            send(port, child, how.tag, &port.now().0.to_le_bytes(), Protocol::Short).await?;
        }
    }
    Ok(clock)
}

/// Asks the parent again and again; the shortest round trip counts.
async fn learn<P: Port>(port: &P, parent: u32, how: Comparing) -> Result<CommonClock, Error> {
    let mut best = CommonClock { error: Nanos::MAX, ..CommonClock::default() };
    for _ in 0..how.rounds.max(1) {
        let mut answer = [0; 8];
        let asked = port.now();
        send(port, parent, how.tag, &[0; 8], Protocol::Short).await?;
        receive(port, parent, how.tag, &mut answer).await?;
        let (back, shown) = (port.now(), u64::from_le_bytes(answer));
        let error = Nanos((back - asked).0.div_ceil(2));
        if error < best.error {
            let since = asked + error;
            best = CommonClock { ahead_ns: shown.wrapping_sub(since.0) as i64, since, drift_ppb: 0, error };
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_is_the_same_moment() {
        let clock = CommonClock { ahead_ns: -5_000_000, since: Nanos::from_ms(10), drift_ppb: 80_000, error: Nanos(7) };
        for own in [Nanos::from_ms(6), Nanos::from_ms(10), Nanos::from_ms(100_000)] {
            let common = clock.common(own);
            assert!(clock.own(common).0.abs_diff(own.0) <= 1, "{own} {common} {}", clock.own(common));
        }
        assert_eq!(clock.common(Nanos::from_ms(10)), Nanos::from_ms(5));
        assert_eq!(clock.common(Nanos::from_ms(1_010)), Nanos(1_005_080_000), "80 ppm of a second are 80 us");
    }
}
