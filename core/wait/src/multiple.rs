//! Spin bounds as multiples of a context switch.
use core::fmt;
use core::str::FromStr;
use foregather_machine::{Costs, Nanos, Switch};

/// A spin bound as a multiple of one context switch. Three have names (Tsafrir & Feitelson 2002 §4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Multiple {
    /// One context switch: never costs more than twice the best choice in hindsight.
    Cs,
    /// Slightly more than one (1.25).
    CsPlus,
    /// Slightly more than two (2.5): long enough for a thread that has just decided to block to be switched
    /// out and back in.
    TwoCsPlus,
    /// This many hundredths of one: 54 for exponential waits, 62 for uniform ones
    /// ([`competitive`](crate::competitive)), 500 for clusters (Arpaci-Dusseau, Culler & Mainwaring 1998).
    Percent(u32),
}

impl Multiple {
    /// The named multiples, shortest first.
    pub const ALL: [Self; 3] = [Self::Cs, Self::CsPlus, Self::TwoCsPlus];

    /// Returns the multiple in hundredths of a context switch.
    pub const fn percent(self) -> u32 {
        match self {
            Self::Cs => 100,
            Self::CsPlus => 125,
            Self::TwoCsPlus => 250,
            Self::Percent(percent) => percent,
        }
    }

    /// Returns the bound if a context switch takes `switch`.
    pub const fn times(self, switch: Nanos) -> Nanos {
        switch.percent(self.percent() as u64)
    }

    /// Returns the bound on a machine with these costs, for a local or a remote switch.
    pub const fn of(self, costs: &Costs, switch: Switch) -> Nanos {
        self.times(costs.switch(switch))
    }

    /// Parses `CS`, `CS+`, `2CS+`, or a number with at most two decimals followed by `CS`, such as `0.54CS`
    /// or `5CS`.
    pub fn parse(text: &str) -> Option<Self> {
        let named = Self::ALL.into_iter().find(|multiple| multiple.to_string() == text);
        named.or_else(|| hundredths(text.strip_suffix("CS")?).map(Self::Percent))
    }
}

/// Parses a decimal number with at most two decimals. Returns it in hundredths.
fn hundredths(text: &str) -> Option<u32> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(decimals) || decimals.len() > 2 {
        return None;
    }
    let tenths = if decimals.len() == 1 { 10 } else { 1 };
    u32::from_str(whole).ok()?.checked_mul(100)?.checked_add(u32::from_str(decimals).ok()? * tenths)
}

impl fmt::Display for Multiple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Cs => f.write_str("CS"),
            Self::CsPlus => f.write_str("CS+"),
            Self::TwoCsPlus => f.write_str("2CS+"),
            Self::Percent(percent) if percent % 100 == 0 => write!(f, "{}CS", percent / 100),
            Self::Percent(percent) => write!(f, "{}.{:02}CS", percent / 100, percent % 100),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multiple_is_read_as_it_is_shown() {
        let percents = [0, 5, 54, 62, 150, 500, u32::MAX].map(Multiple::Percent);
        for multiple in Multiple::ALL.into_iter().chain(percents) {
            assert_eq!(Multiple::parse(&multiple.to_string()), Some(multiple), "{multiple}");
        }
        assert_eq!(Multiple::parse("1.5CS"), Some(Multiple::Percent(150)));
        for wrong in
            ["", "+", "CS ", "CS++", "3CS+", ".5CS", "5.CS", "0.541CS", "-1CS", "+1CS", "1e2CS", "99999999CS", "5cs", "5"]
        {
            assert_eq!(Multiple::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_named_multiples_are_in_order() {
        let costs = Costs::TYPICAL;
        let bounds = Multiple::ALL.map(|multiple| multiple.of(&costs, Switch::Remote));
        assert_eq!(bounds, [Nanos(19_000), Nanos(23_750), Nanos(47_500)]);
        assert_eq!(Multiple::Percent(62).of(&costs, Switch::Local), Nanos(682));
    }
}
