//! A rank's server: takes the messages of its lane one after another, and executes the protocol's actions.
use super::links::Links;
use super::outbox::Outbox;
use super::state::{Node, PageStore};
use crate::protocol::{Action, SERVER, Server, server_of};
use foregather_machine::{Address, Error, Fabric, Park, Rank, WaitContext};
use foregather_message::link::Lost;
use foregather_wait::Waiter;

/// Serves until all ranks have detached, and returns the server's final state.
///
/// # Errors
/// If a rank is lost or gives up, the system refuses to protect memory, or a peer violates the protocol; all
/// ranks are informed.
pub async fn serve<F: Fabric, P: PageStore>(
    lane: &F,
    node: &Node<F::Cpu, P>,
    server: Server,
    waiter: &Waiter,
) -> Result<Server, Error> {
    let mut server_loop = ServerLoop { lane, node, server, outbox: Outbox::default(), links: Links::new(lane) };
    match server_loop.run(waiter).await {
        Ok(()) => Ok(server_loop.server),
        Err(error) => Err(announce(lane, &server_loop.links, node, error)),
    }
}

struct ServerLoop<'d, F: Fabric, P> {
    lane: &'d F,
    node: &'d Node<F::Cpu, P>,
    server: Server,
    outbox: Outbox,
    links: Links,
}

impl<F: Fabric, P: PageStore> ServerLoop<'_, F, P> {
    async fn run(&mut self, waiter: &Waiter) -> Result<(), Error> {
        let lane = self.lane;
        while !self.server.is_finished() || !self.outbox.is_empty() {
            let why = WaitContext::new("a request for shared memory", lane.here().rank);
            waiter.on_lane(lane, why, None, || self.look().transpose()).await??;
        }
        Ok(())
    }

    /// Takes one frame from each lane that has one, and sends what is in the outbox. Returns `None` if there
    /// was nothing to do.
    fn look(&mut self) -> Result<Option<()>, Error> {
        self.links.pay(self.lane)?;
        let mut some = self.outbox.flush((self.lane, &self.links), self.node)?;
        let mut next = self.lane.arrived(None);
        while let Some(from) = next {
            some = true;
            // Test hook: a frame may be delayed for a while, and frames of other lanes overtake it.
            if !self.lane.cpu().sometimes("pages: a frame lies") {
                self.take(from)?;
            }
            next = self.lane.arrived(Some(from));
        }
        Ok(some.then_some(()))
    }

    fn take(&mut self, from: Address) -> Result<(), Error> {
        match self.links.take(self.lane, self.node, from)? {
            Some(message) => self.answer(from, message),
            None => Ok(()),
        }
    }

    fn answer(&mut self, from: Address, message: crate::protocol::Message) -> Result<(), Error> {
        let Self { lane, node, server, outbox, links } = self;
        let mut done = Ok(());
        let mut act = |action: Action| {
            if done.is_ok() {
                lane.charge(node.copies().toll(&action));
                done = match action {
                    Action::Copy { to, message } | Action::Send { to, message } => {
                        outbox.send((*lane, &*links), node, to, message)
                    }
                    action => node.perform(lane.cpu(), &action),
                };
            }
        };
        server.step(from, message, &mut act)?;
        done
    }
}

/// Reports the failure of a server to all lanes, so that none waits for it or for its rank's threads. Returns
/// the first reason that its rank knew.
fn announce<F: Fabric, P: PageStore>(lane: &F, links: &Links, node: &Node<F::Cpu, P>, error: Error) -> Error {
    let here = lane.here();
    let first = node.stop(lane.cpu(), lane.now(), &error, here.rank);
    let blame = node.stopped().blame().unwrap_or(Lost::of(&error).unwrap_or(Lost::on(here.rank)));
    let others = (0..lane.size()).filter(|&rank| rank != here.rank).map(server_of);
    let threads = node.stopped().enrolled().map(|lane| Address { lane, ..here });
    for to in others.chain(threads) {
        links.tell(lane, to, blame);
    }
    if first { error } else { node.check().err().unwrap_or(error) }
}

/// Reports to all other servers, on the server's lane, that this rank gives up before its server runs.
pub fn give_up<F: Fabric>(lane: &F) {
    let (here, links) = (lane.here(), Links::new(lane));
    debug_assert_eq!(here.lane, SERVER);
    let blame = Lost::on(here.rank);
    for rank in (0..lane.size()).filter(|&rank| rank != here.rank) {
        links.tell(lane, server_of(rank), blame);
    }
}

/// Returns the servers to inform that this rank's threads have ended: once per rank, when none of its
/// requests is in flight.
pub(super) fn everybody(ranks: u32) -> impl Iterator<Item = Address> {
    (0..ranks as Rank).map(server_of)
}
