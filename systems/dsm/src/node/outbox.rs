//! Messages that a server could not send yet, in order for each lane, so that a slow lane does not delay the
//! others.
use super::links::Links;
use super::state::{Node, PageStore};
use super::transfer::Transfer;
use crate::protocol::Message;
use foregather_machine::{Address, Error, Fabric};
use std::collections::{BTreeMap, VecDeque};

#[derive(Debug, Default)]
pub(super) struct Outbox(BTreeMap<Address, VecDeque<Transfer>>);

impl Outbox {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sends a message now if none is queued before it and there are credits; otherwise as soon as there are.
    pub(super) fn send<F: Fabric, P: PageStore>(
        &mut self,
        (lane, links): (&F, &Links),
        node: &Node<F::Cpu, P>,
        to: Address,
        message: Message,
    ) -> Result<(), Error> {
        let mut transfer = Transfer::new(message);
        if let Some(queue) = self.0.get_mut(&to) {
            queue.push_back(transfer);
        } else if !transfer.send(lane, links, to, node)? {
            self.0.entry(to).or_default().push_back(transfer);
        }
        Ok(())
    }

    /// Sends as many messages as there are credits for. Returns whether a message was sent.
    pub(super) fn flush<F: Fabric, P: PageStore>(
        &mut self,
        (lane, links): (&F, &Links),
        node: &Node<F::Cpu, P>,
    ) -> Result<bool, Error> {
        let mut some = false;
        let mut trouble = Ok(());
        self.0.retain(|&to, queue| {
            while let Some(transfer) = queue.front_mut().filter(|_| trouble.is_ok()) {
                match transfer.send(lane, links, to, node) {
                    Ok(true) => some |= queue.pop_front().is_some(),
                    Ok(false) => break,
                    Err(error) => trouble = Err(error),
                }
            }
            !queue.is_empty()
        });
        trouble.map(|()| some)
    }
}
