//! Time: integers only, so that two runs with one seed give one trace.
use core::fmt;
use core::ops::{Add, AddAssign, Mul, Sub};

/// A point in time or a span of it, in nanoseconds. Arithmetic saturates: a bound of [`Nanos::MAX`] is no
/// bound.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// No bound.
    pub const MAX: Self = Self(u64::MAX);

    /// From microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// From milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// As microseconds, for reports.
    pub fn as_us(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// As seconds, for reports.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `percent` hundredths of this span.
    pub const fn percent(self, percent: u64) -> Self {
        Self((self.0 as u128 * percent as u128 / 100) as u64)
    }
}

impl Add for Nanos {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Nanos {
    type Output = Self;
    #[inline]
    fn mul(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            u64::MAX => f.write_str("forever"),
            n if n < 1_000 => write!(f, "{n} ns"),
            n if n < 1_000_000 => write!(f, "{:.2} us", n as f64 / 1e3),
            n if n < 1_000_000_000 => write!(f, "{:.2} ms", n as f64 / 1e6),
            n => write!(f, "{:.2} s", n as f64 / 1e9),
        }
    }
}

impl fmt::Debug for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The only source of time.
pub trait Clock {
    /// The time since some fixed moment of this world.
    fn now(&self) -> Nanos;

    /// [`Clock::now`], read when all that precedes it is done: a processor may read its clock while earlier
    /// loads are still under way.
    fn now_in_order(&self) -> Nanos {
        self.now()
    }

    /// Computes (keeps the processor) for `span`.
    async fn delay(&self, span: Nanos);

    /// Computes until the clock shows `moment`, and returns what the clock shows then: at once if `moment` is
    /// past.
    async fn delay_until(&self, moment: Nanos) -> Nanos {
        self.delay(moment - self.now_in_order()).await;
        self.now_in_order()
    }
}

#[cfg(test)]
mod tests {
    use super::Nanos;

    #[test]
    fn time_saturates_instead_of_wrapping() {
        assert_eq!(Nanos::MAX + Nanos(1), Nanos::MAX);
        assert_eq!(Nanos(1) - Nanos(2), Nanos::ZERO);
        assert_eq!(Nanos::from_us(2).percent(250), Nanos(5_000));
        assert_eq!(Nanos::MAX.percent(50), Nanos(u64::MAX / 2));
    }

    #[test]
    fn time_is_printed_with_its_unit() {
        let shown: Vec<_> = [999, 1_250, 3_000_000, u64::MAX].map(|n| Nanos(n).to_string()).into();
        assert_eq!(shown, ["999 ns", "1.25 us", "3.00 ms", "forever"]);
    }
}
