//! Replays with larger minipages than the run's: neighbours are merged, as in a system whose unit is the
//! page.
use crate::Minipage;
use crate::journal::{Journal, Operation};
use crate::memory::Site;

/// Maps each minipage of the run to a minipage of the replay, and stores the lengths of the latter.
#[derive(Clone, Debug)]
pub struct Grain {
    now: Vec<u32>,
    bytes: Vec<u32>,
}

impl Grain {
    /// Keeps each minipage as it is.
    pub fn minipages(sites: &[Site], count: u32) -> Self {
        Self::of(sites, count, |_| 1)
    }

    /// Merges as many neighbours of one allocation site as fit into a page of `page_bytes` bytes. A longer
    /// minipage stays whole.
    pub fn pages(sites: &[Site], count: u32, page_bytes: u32) -> Self {
        Self::of(sites, count, |bytes| (page_bytes / bytes.max(1)).max(1) as usize)
    }

    fn of(sites: &[Site], count: u32, together: impl Fn(u32) -> usize) -> Self {
        // No thread accesses minipages without a site.
        let mut grain = Self { now: (0..count).collect(), bytes: vec![0; count as usize] };
        for site in sites {
            let bytes = site.unit_bytes * site.level;
            for group in site.minipages.chunks(together(bytes)) {
                let Minipage(first) = group[0];
                group.iter().for_each(|minipage| grain.now[minipage.0 as usize] = first);
                grain.bytes[first as usize] = bytes * group.len() as u32;
            }
        }
        grain
    }

    /// Returns the lengths of the minipages of the replay, in bytes.
    pub fn bytes(&self) -> &[u32] {
        &self.bytes
    }

    /// Returns the minipage of the replay that contains a minipage of the run.
    pub fn of_minipage(&self, minipage: Minipage) -> Minipage {
        Minipage(self.now[minipage.0 as usize])
    }

    /// Converts a journal to the minipages of the replay.
    #[must_use]
    pub fn applied(&self, mut journal: Journal) -> Journal {
        for event in &mut journal.events {
            match &mut event.what {
                Operation::Touch { minipage, .. } | Operation::Prefetch { minipage, .. } | Operation::Push { minipage } => {
                    *minipage = self.of_minipage(*minipage);
                }
                _ => {}
            }
        }
        journal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_one_site_share_a_page_as_far_as_they_fit() {
        let site = |unit_bytes, numbers: std::ops::Range<u32>| Site {
            place: String::new(),
            element_bytes: 4,
            unit_bytes,
            level: 1,
            minipages: numbers.map(Minipage).collect(),
        };
        let sites = [site(1_500, 0..5), site(8_192, 5..7)];
        let grain = Grain::pages(&sites, 8, 4_096);
        assert_eq!(grain.now, [0, 0, 2, 2, 4, 5, 6, 7]);
        assert_eq!(grain.bytes(), [3_000, 0, 3_000, 0, 1_500, 8_192, 8_192, 0]);
        assert_eq!(Grain::minipages(&sites, 8).now, [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
