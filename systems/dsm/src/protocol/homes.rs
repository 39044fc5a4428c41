//! Which rank manages which minipage and which lock. Every rank computes this locally.
use super::{Hosts, LockId};
use crate::Minipage;
use foregather_machine::{Cause, Error, Rank};

/// Which rank manages what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Homes {
    hosts: u32,
    central: Option<Rank>,
}

impl Homes {
    /// Distributes the managers: rank `m` modulo the number of ranks manages minipage `m`; likewise for
    /// locks.
    ///
    /// # Errors
    /// For 0 ranks, or more than [`Hosts::MAX`].
    pub fn spread(hosts: u32) -> Result<Self, Error> {
        if (1..=Hosts::MAX).contains(&hosts) {
            return Ok(Self { hosts, central: None });
        }
        Err(Cause::Setting { what: "the number of ranks that share memory", needs: "1 to 64" }.into())
    }

    /// Makes `rank` manage everything, as in IVY (Li & Hudak 1989).
    ///
    /// # Errors
    /// As for [`Homes::spread`], and if there is no such rank.
    pub fn central(hosts: u32, rank: Rank) -> Result<Self, Error> {
        let homes = Self::spread(hosts)?;
        if rank >= hosts {
            return Err(Cause::Rank { rank, size: hosts }.into());
        }
        Ok(Self { central: Some(rank), ..homes })
    }

    /// Returns the number of ranks that share the memory.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Returns the manager of a minipage.
    pub fn of(&self, minipage: Minipage) -> Rank {
        self.central.unwrap_or(minipage.0 % self.hosts)
    }

    /// Returns the manager of a lock.
    pub fn of_lock(&self, lock: LockId) -> Rank {
        self.central.unwrap_or(lock.0 % self.hosts)
    }

    /// Returns the index of `number` in its manager's table, which has no gaps.
    pub(super) fn place(&self, number: u32) -> usize {
        (if self.central.is_some() { number } else { number / self.hosts }) as usize
    }

    /// Returns the number that `rank` keeps at index `place`.
    pub(super) fn number(&self, rank: Rank, place: usize) -> u32 {
        if self.central.is_some() { place as u32 } else { place as u32 * self.hosts + rank }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_no_holes_and_lead_back() {
        for homes in [Homes::spread(3).unwrap(), Homes::central(3, 2).unwrap()] {
            let mut next = [0; 3];
            for number in 0..20 {
                let rank = homes.of(Minipage(number));
                assert_eq!(homes.place(number), next[rank as usize]);
                assert_eq!(homes.number(rank, homes.place(number)), number);
                next[rank as usize] += 1;
            }
        }
    }

    #[test]
    fn impossible_groups_are_refused() {
        assert!(Homes::spread(0).is_err() && Homes::spread(65).is_err() && Homes::central(3, 3).is_err());
        assert_eq!(Homes::spread(64).unwrap().hosts(), 64);
    }
}
