//! Finds where in its array a byte of a minipage lies, because reports name allocations, not minipages.
use super::Bytes;
use crate::Minipage;
use crate::memory::Site;
use crate::views::GRAIN;
use core::ops::Range;

/// Maps minipages to arrays.
pub(super) struct Places<'s> {
    sites: &'s [Site],
    /// For each minipage: its site, and its index among the site's minipages.
    of: Vec<Option<(usize, u32)>>,
}

impl<'s> Places<'s> {
    pub(super) fn new(sites: &'s [Site]) -> Self {
        let count = sites.iter().flat_map(|site| &site.minipages).map(|minipage| minipage.0 as usize + 1).max();
        let mut of = vec![None; count.unwrap_or(0)];
        for (number, site) in sites.iter().enumerate() {
            for (nth, minipage) in site.minipages.iter().enumerate() {
                of[minipage.0 as usize] = Some((number, nth as u32));
            }
        }
        Self { sites, of }
    }

    /// Returns the site of a minipage, as an index.
    pub(super) fn site(&self, minipage: Minipage) -> Option<usize> {
        self.of.get(minipage.0 as usize).copied().flatten().map(|(site, _)| site)
    }

    /// Returns the site of a minipage, and the position of these bytes in the site's array. Bytes beyond the
    /// first 4 GiB of an array are unknown.
    pub(super) fn bytes(&self, minipage: Minipage, bytes: &Bytes) -> Option<(usize, Bytes)> {
        let (number, nth) = self.of.get(minipage.0 as usize).copied().flatten()?;
        let site = &self.sites[number];
        let first = nth.checked_mul(grain(site))?;
        first.checked_add(grain(site))?;
        // Each allocation of a chunk is rounded up.
        let stride = site.unit_bytes.next_multiple_of(GRAIN as u32);
        let of_unit = |byte: u32| byte / stride * site.unit_bytes + (byte % stride).min(site.unit_bytes);
        let mut all = Bytes::default();
        bytes.ranges().for_each(|Range { start, end }| all.include(first + of_unit(start)..first + of_unit(end)));
        Some((number, all))
    }

    /// Returns all bytes of a minipage, like [`Places::bytes`].
    pub(super) fn whole(&self, minipage: Minipage) -> Option<(usize, Bytes)> {
        let site = &self.sites[self.site(minipage)?];
        self.bytes(minipage, &(0..site.unit_bytes.next_multiple_of(GRAIN as u32).checked_mul(site.level)?).into())
    }
}

/// Returns the size in bytes of the unit of sharing of an array.
pub(super) fn grain(site: &Site) -> u32 {
    site.unit_bytes.saturating_mul(site.level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::hand_made::site;

    #[test]
    fn bytes_of_chunks_are_found_although_their_units_were_rounded_up() {
        let sites = [site("a", (4, 8, 1), 0..3), site("b", (4, 12, 2), 3..5)];
        let places = Places::new(&sites);
        let bytes = |minipage, bytes: Range<u32>| places.bytes(Minipage(minipage), &bytes.into());
        assert_eq!(bytes(2, 4..8), Some((0, (20..24).into())));
        assert_eq!(bytes(3, 16..20), Some((1, (12..16).into())));
        assert_eq!(bytes(4, 4..12), Some((1, (28..36).into())));
        assert_eq!(places.whole(Minipage(4)), Some((1, (24..48).into())));
        assert_eq!((bytes(5, 0..4), places.site(Minipage(9))), (None, None));
    }
}
