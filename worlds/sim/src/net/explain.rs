//! Why somebody was late: the chain of who waited for a port, who held it, and what that one had waited for.
use super::record::{Circuit, Record};
use foregather_machine::{Nanos, Rank};
use std::fmt;

/// One link of the chain, the latest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The packet that was late.
    pub packet: Circuit,
    /// Who held its sender's send port while it waited for that.
    pub send_port: Option<Circuit>,
    /// Who held its receiver's receive port while it waited for that.
    pub receive_port: Option<Circuit>,
    /// What its sender had received last before it sent it, and how long it then took to do so.
    pub after: Option<(Circuit, Nanos)>,
}

impl Record {
    /// Why `node` was not done before `end`: its last message, what that had waited for, and so on backwards until
    /// `begin` or until nobody had waited.
    pub fn explain(&self, node: Rank, begin: Nanos, end: Nanos) -> Vec<Held> {
        let mut chain = Vec::new();
        let mut late = self.last_at(node, end);
        while let Some(packet) = late.filter(|packet| packet.arrived >= begin) {
            let waited = |since: Nanos, until: Nanos| until > since && until < Nanos::MAX;
            let held = |before: Nanos, same: &dyn Fn(&Circuit) -> bool, free: &dyn Fn(&Circuit) -> Nanos| {
                let mine =
                    self.0.iter().filter(|way| same(way) && **way != packet && way.granted < before && free(way) <= before);
                mine.max_by_key(|way| free(way)).copied()
            };
            let send_port = waited(packet.asked, packet.began)
                .then(|| held(packet.began, &|way| way.from == packet.from, &|way| way.left))
                .flatten();
            let receive_port = waited(packet.began, packet.granted)
                .then(|| held(packet.granted, &|way| way.to == packet.to, &|way| way.arrived))
                .flatten();
            let after = self.last_at(packet.from, packet.asked).map(|last| (last, packet.asked - last.arrived));
            late = after.map(|(last, _)| last);
            chain.push(Held { packet, send_port, receive_port, after });
        }
        chain
    }

    /// The last packet that had arrived at `node` by then.
    fn last_at(&self, node: Rank, by: Nanos) -> Option<Circuit> {
        self.0.iter().filter(|way| way.to == node && way.arrived <= by).max_by_key(|way| way.arrived).copied()
    }
}

impl fmt::Display for Circuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} -> {}", self.kind.name(), self.from, self.to)
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |t: Nanos| format!("{:.1}", t.as_us());
        let Circuit { asked, began, granted, arrived, from, to, .. } = self.packet;
        write!(f, "{}: sent at {} us, there at {} us", self.packet, us(asked), us(arrived))?;
        if let Some(by) = self.send_port {
            let span = (us(by.granted), us(by.left));
            write!(
                f,
                "; waited for the send port of {from} from {} to {}, held by {by} from {} to {}",
                us(asked),
                us(began),
                span.0,
                span.1
            )?;
        }
        if let Some(by) = self.receive_port {
            let span = (us(by.granted), us(by.arrived));
            write!(
                f,
                "; waited for the receive port of {to} from {} to {}, held by {by} from {} to {}",
                us(began),
                us(granted),
                span.0,
                span.1
            )?;
        }
        if let Some((last, took)) = self.after.filter(|(_, took)| *took > Nanos::ZERO) {
            write!(f, "; {from} sent it {} us after it had {last}", us(took))?;
        }
        Ok(())
    }
}
