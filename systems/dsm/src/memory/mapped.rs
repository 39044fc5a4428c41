//! The bytes and the protection of minipages, which are extents of a space.
use crate::node::PageStore;
use crate::views::{Extent, MinipageTable, Space};
use crate::{Access, Minipage};
use foregather_machine::Error;
use std::sync::Arc;

/// A rank's space, and the location of each minipage in it.
#[derive(Clone, Debug)]
pub(super) struct Mapped {
    pub(super) space: Arc<Space>,
    pub(super) table: Arc<MinipageTable>,
}

impl Mapped {
    fn extent(&self, minipage: Minipage) -> Extent {
        self.table.extent(minipage).expect("its length was asked before")
    }
}

impl PageStore for Mapped {
    fn bytes(&self, minipage: Minipage) -> Option<usize> {
        self.table.extent(minipage).map(|extent| extent.bytes)
    }

    fn read(&self, minipage: Minipage, at: usize, into: &mut [u8]) {
        // This only fails in a forked child, where no server runs.
        let _ = self.space.read(self.extent(minipage).offset + at, into);
    }

    fn write(&self, minipage: Minipage, at: usize, bytes: &[u8]) {
        let _ = self.space.write(self.extent(minipage).offset + at, bytes);
    }

    fn protect(&self, minipage: Minipage, from: Access, to: Access) -> Result<(), Error> {
        let span = self.extent(minipage).span();
        match to {
            Access::None => self.space.close(span)?,
            Access::Read if from == Access::Write => self.space.downgrade(span)?,
            _ => self.space.open(span, from, to)?,
        }
        Ok(())
    }
}
