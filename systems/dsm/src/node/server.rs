//! A rank's server: takes what comes on its lane, one message after the other, and does what the protocol makes of it.
use super::outbox::Outbox;
use super::site::{Copies, Site};
use super::ways::Ways;
use crate::protocol::{Action, Server};
use foregather_machine::{Address, Error, Fabric, Nanos, Rank, Why};
use foregather_wait::{Chooser, Whom};

/// Serves until all ranks have said goodbye, and gives back what the server knows by then.
///
/// # Errors
/// When a rank is lost, the system refuses to protect memory, or a peer sends nonsense.
pub async fn serve<F: Fabric, P: Copies>(
    lane: &F,
    site: &Site<F::Cpu, P>,
    server: Server,
    chooser: &Chooser,
) -> Result<Server, Error> {
    let mut desk = Desk { lane, site, server, outbox: Outbox::default(), ways: Ways::new(lane), toll: Nanos::ZERO };
    let rank = lane.here().rank;
    while !desk.server.is_finished() || !desk.outbox.is_empty() {
        let why = Why::new("a request for shared memory", rank);
        chooser.on_lane(lane, why, Whom::Sender(None), || desk.look().transpose()).await??;
        let toll = core::mem::take(&mut desk.toll);
        if toll > Nanos::ZERO {
            lane.delay(toll).await;
        }
    }
    Ok(desk.server)
}

struct Desk<'d, F: Fabric, P> {
    lane: &'d F,
    site: &'d Site<F::Cpu, P>,
    server: Server,
    outbox: Outbox,
    ways: Ways,
    /// What was done and has not been paid for, where time is virtual.
    toll: Nanos,
}

impl<F: Fabric, P: Copies> Desk<'_, F, P> {
    /// One frame of each lane that has one, and what had no room. `None`: there was nothing to do.
    fn look(&mut self) -> Result<Option<()>, Error> {
        self.ways.pay(self.lane)?;
        let mut some = self.outbox.flush((self.lane, &mut self.ways), self.site)?;
        let mut next = self.lane.arrived(None);
        while let Some(from) = next {
            some = true;
            self.take(from)?;
            next = self.lane.arrived(Some(from));
        }
        Ok(some.then_some(()))
    }

    fn take(&mut self, from: Address) -> Result<(), Error> {
        match self.ways.take(self.lane, self.site, from)? {
            Some(message) => self.answer(from, message),
            None => Ok(()),
        }
    }

    fn answer(&mut self, from: Address, message: crate::protocol::Message) -> Result<(), Error> {
        let Self { lane, site, server, outbox, ways, toll } = self;
        let mut done = Ok(());
        let mut act = |action: Action| {
            if done.is_ok() {
                *toll += site.copies().toll(&action);
                done = match action {
                    Action::Copy { to, message } | Action::Send { to, message } => {
                        outbox.send((*lane, &mut *ways), site, to, message)
                    }
                    action => site.perform(lane.cpu(), &action),
                };
            }
        };
        server.step(from, message, &mut act)?;
        done
    }
}

/// Says to all servers that this rank's threads are through: once for each rank, when nothing of it is under way.
pub(super) fn everybody(ranks: u32) -> impl Iterator<Item = Address> {
    (0..ranks as Rank).map(crate::protocol::server_of)
}
