//! `[network.faults]`: what goes wrong with packets, nodes and clocks.
use super::read::{AnyValue, KEY, Span, Time, count_at, real, table, values};
use super::tree::{ParseResult, mistake};
use foregather_machine::{Nanos, Rank};
use foregather_sim::net::{Drift, Faults, Pause};

table! {
    "[network.faults]" Table {
        ;
        loss: Share, duplicate: Share, delayed: Share, delay: Time, pauses: Vec<PauseTable>, drifts: Vec<DriftTable>
    }
}

table! { "a pause" PauseTable { node: (usize, AnyValue), length: Span; from: Time } }
table! { "a drift" DriftTable { node: (usize, AnyValue), ppm: Ppm; ahead: Time } }

values! {
    /// In millionths: one in a million is the smallest share there is.
    Share(u32) = |value| Ok((real(value, 0.0..=1.0)? * 1e6).round() as u32);
    /// A clock that gains or loses more than a tenth is none.
    Ppm(i32) = |value| match value {
        AnyValue::Whole(ppm @ -100_000..=100_000) => Ok(*ppm as i32),
        _ => Err(format!("`{KEY}` is a whole number from -100000 to 100000")),
    };
}

impl Table {
    /// The faults of a network of so many nodes; `line` is that of the table.
    pub(super) fn faults(self, line: usize, nodes: u32) -> ParseResult<Faults> {
        let share = |share: Option<Share>| share.map_or(0, u32::from);
        let (delay_ppm, delay) = (share(self.delayed), self.delay.map(Nanos::from));
        if delay_ppm > 0 && delay.is_none_or(|delay| delay == Nanos::ZERO) {
            return mistake(line, "[network.faults] needs `delay`, longer than zero");
        }
        let rank = |node: &(usize, AnyValue)| count_at("node", node, 0..=u64::from(nodes - 1)).map(|node| node as Rank);
        let time = |time: Option<Time>| time.map_or(Nanos::ZERO, Nanos::from);
        let pause = |of: PauseTable| Ok(Pause { node: rank(&of.node)?, from: time(of.from), length: of.length.0 });
        let drift = |of: DriftTable| Ok(Drift { node: rank(&of.node)?, ppm: of.ppm.0, ahead: time(of.ahead) });
        Ok(Faults {
            loss_ppm: share(self.loss),
            duplicate_ppm: share(self.duplicate),
            delay_ppm,
            delay: delay.unwrap_or(Nanos::ZERO),
            pauses: self.pauses.into_iter().flatten().map(pause).collect::<ParseResult<_>>()?,
            drifts: self.drifts.into_iter().flatten().map(drift).collect::<ParseResult<_>>()?,
            seed: 0,
        })
    }
}
