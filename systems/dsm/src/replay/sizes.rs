//! Minipages of which only the lengths are known: their bytes are transferred, but no thread reads them.
use super::profile::Profile;
use crate::node::PageStore;
use crate::protocol::{Action, Message};
use crate::{Access, Minipage};
use foregather_machine::{Error, Nanos};
use std::sync::Arc;

/// The lengths of minipages, and the costs of handling them.
#[derive(Clone, Debug)]
pub struct Sizes {
    bytes: Arc<[u32]>,
    profile: Profile,
}

impl Sizes {
    /// Creates minipages 0, 1 and so on of these lengths, in bytes.
    pub fn new(bytes: impl Into<Arc<[u32]>>, profile: Profile) -> Self {
        Self { bytes: bytes.into(), profile }
    }

    /// Returns the number of minipages.
    pub fn count(&self) -> u32 {
        self.bytes.len() as u32
    }

    /// Returns the costs.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }
}

impl PageStore for Sizes {
    fn bytes(&self, minipage: Minipage) -> Option<usize> {
        self.bytes.get(minipage.0 as usize).map(|&bytes| bytes as usize)
    }

    fn read(&self, _: Minipage, _: usize, _: &mut [u8]) {}

    fn write(&self, _: Minipage, _: usize, _: &[u8]) {}

    fn protect(&self, _: Minipage, _: Access, _: Access) -> Result<(), Error> {
        Ok(())
    }

    /// Returns the cost of an action. The receiver of a message looks up its minipage, and pays for it before
    /// it sends anything in response. For the acknowledgement of an invalidation, which usually causes no
    /// response, the manager pays when it sends the invalidation.
    fn toll(&self, action: &Action) -> Nanos {
        let Profile { open, downgrade, close, lookup, .. } = self.profile;
        match action {
            Action::Lower { to: Access::None, .. } => close,
            Action::Lower { .. } => downgrade,
            Action::Open { .. } => open,
            Action::Copy { .. } | Action::Install { .. } => lookup,
            Action::Send { message, .. } => match message {
                Message::Forward { .. } | Message::Grant { .. } => lookup,
                Message::Invalidate { .. } | Message::Invalidated { .. } => lookup,
                _ => Nanos::ZERO,
            },
            _ => Nanos::ZERO,
        }
    }
}
