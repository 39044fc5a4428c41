//! Checks before a program starts whether the kernel would refuse something later.
use super::backend::Backend;
use super::layout::PAGE;
use super::shape::Shape;
use foregather_machine::{Cause, Error};
use rustix::process::{Resource, getrlimit};
use std::fs;

/// Mappings that are left for other parts of the program.
const SPARE_MAPS: u64 = 256;

/// The limits of this process; `None` if the system does not report one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ProcessLimits {
    /// The maximum number of mappings: `vm.max_map_count`.
    maps_most: Option<u64>,
    /// The current number of mappings.
    maps: Option<u64>,
    /// Bytes of memory available without swapping, in the machine or the container.
    memory: Option<u64>,
    /// Bytes of address space: `ulimit -v`.
    addresses: Option<u64>,
}

/// How much is shared by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The size of the object in bytes.
    pub bytes: usize,
    /// The number of its views.
    pub views: u32,
}

/// The size if the system does not report its memory.
const MODEST: u64 = 1 << 30;
/// The maximum number of pages of all views that an allocator supports.
const MOST_VPAGES: u64 = 1 << 31;

impl ProcessLimits {
    pub(super) fn read() -> Self {
        let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse().ok();
        let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| available(&text));
        let most: Option<u64> = number("/sys/fs/cgroup/memory.max");
        let container = most.map(|most| most.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
        Self {
            maps_most: number("/proc/sys/vm/max_map_count"),
            maps: fs::read_to_string("/proc/self/maps").ok().map(|text| text.lines().count() as u64),
            memory: machine.into_iter().chain(container).min(),
            addresses: getrlimit(Resource::As).current,
        }
    }

    pub(super) fn room(self, spaces: u64, backend: Backend) -> Room {
        // With mprotect, each page of each view may cost a mapping, of which there are few: use half of those
        // that are left.
        let maps = self.maps_most.map(|most| most.saturating_sub(self.maps.unwrap_or(0) + 2 * SPARE_MAPS) / 2);
        let (views, mapped) = if backend == Backend::Mprotect { (4, maps) } else { (16, None) };
        let bytes = [self.memory.unwrap_or(MODEST) / 4, self.addresses.unwrap_or(u64::MAX) / 2 / (views + 1)];
        let pages = bytes.into_iter().map(|bytes| bytes / PAGE as u64).chain(mapped.map(|mapped| mapped / views)).min();
        let pages = (pages.unwrap_or(0) / spaces).clamp(1, MOST_VPAGES / views);
        Room { bytes: pages as usize * PAGE, views: views as u32 }
    }

    /// Checks that there is room for such a space.
    ///
    /// # Errors
    /// [`Cause::Setting`] for an invalid shape, [`Cause::Unavailable`] for a resource that is too small.
    pub(super) fn check(self, shape: &Shape, backend: Backend) -> Result<(), Error> {
        let setting = |what, needs| Err(Error::from(Cause::Setting { what, needs }));
        if shape.pages == 0 || shape.views == 0 {
            return setting("a shared space", "at least one page and one view");
        }
        if shape.views > shape.most_views {
            let needs = "at most 32 views, beyond which address translation costs more than false sharing; or set `most_views`";
            return setting("the number of views", needs);
        }
        if shape.reserved().is_none() {
            return setting("the size of a shared space", "pages x (views + 1) x 4096 bytes within the address space");
        }
        let bytes = u64::from(shape.pages) * PAGE as u64;
        if let Some(memory) = self.memory
            && bytes > memory
        {
            let what = format!("memory for a shared space of {bytes} bytes: {memory} are free");
            return Err(missing(what, "share less, or raise the memory limit of this machine or container".to_owned()));
        }
        let vpages = u64::from(shape.pages) * u64::from(shape.views);
        if let (Backend::Mprotect, Some(most)) = (backend, self.maps_most)
            && self.maps.unwrap_or(0) + vpages + SPARE_MAPS > most
        {
            let what = format!("room for {vpages} mappings, one for each page of each view: vm.max_map_count is {most}");
            let wanted = self.maps.unwrap_or(0) + vpages + SPARE_MAPS;
            let remedy = format!("`sysctl vm.max_map_count={wanted}`, share less, use fewer views, or use userfaultfd");
            return Err(missing(what, remedy));
        }
        Ok(())
    }
}

fn missing(what: String, remedy: String) -> Error {
    Error::from(Cause::Unavailable { what, remedy })
}

fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOMY: ProcessLimits =
        ProcessLimits { maps_most: Some(65_530), maps: Some(30), memory: Some(1 << 30), addresses: None };

    fn said(limits: ProcessLimits, shape: Shape, backend: Backend) -> String {
        limits.check(&shape, backend).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn what_fits_is_not_refused() {
        for backend in [Backend::Userfault, Backend::Mprotect] {
            assert_eq!(said(ROOMY, Shape::new(2_048, 16), backend), "");
            assert_eq!(said(ProcessLimits::default(), Shape::new(2_048, 32), backend), "");
        }
        assert_eq!(said(ROOMY, Shape { most_views: 64, ..Shape::new(1, 64) }, Backend::Userfault), "");
    }

    #[test]
    fn mappings_are_counted_for_mprotect_only() {
        let shape = Shape::new(4_096, 16);
        assert_eq!(said(ROOMY, shape, Backend::Userfault), "");
        let text = said(ROOMY, shape, Backend::Mprotect);
        assert!(text.contains("65536 mappings") && text.contains("sysctl vm.max_map_count=65822"), "{text}");
    }

    #[test]
    fn impossible_shapes_and_sizes_are_named() {
        for (shape, word) in [
            (Shape::new(0, 1), "at least one page"),
            (Shape::new(1, 0), "one view"),
            (Shape::new(1, 33), "most_views"),
            (Shape { most_views: u32::MAX, ..Shape::new(u32::MAX, u32::MAX) }, "address space"),
            (Shape::new(1 << 18, 2), "unused"),
            (Shape::new((1 << 18) + 1, 2), "memory limit"),
        ] {
            let text = said(ROOMY, shape, Backend::Userfault);
            assert!(if word == "unused" { text.is_empty() } else { text.contains(word) }, "{shape:?}: {text}");
        }
    }

    #[test]
    fn there_is_room_for_all_spaces_of_a_process_within_each_limit() {
        let limits = [
            ROOMY,
            ProcessLimits { memory: Some(1 << 45), ..ROOMY },
            ProcessLimits { addresses: Some(1 << 32), ..ROOMY },
            ProcessLimits { maps_most: Some(4_000), ..ROOMY },
            ProcessLimits { memory: None, ..ProcessLimits::default() },
        ];
        for (limits, spaces) in limits.into_iter().flat_map(|limits| [1, 2, 7].map(|spaces| (limits, spaces))) {
            for backend in [Backend::Userfault, Backend::Mprotect] {
                let room = limits.room(spaces, backend);
                let shape = Shape::new((room.bytes / PAGE) as u32, room.views);
                assert_eq!(said(limits, shape, backend), "", "{limits:?}");
                let all = shape.reserved().unwrap() as u64 * spaces;
                assert!(limits.addresses.is_none_or(|most| all <= most / 2), "{limits:?}, {spaces}: {room:?}");
                assert!(room.bytes as u64 * spaces <= limits.memory.unwrap_or(MODEST) / 4);
            }
        }
        assert_eq!(ROOMY.room(1, Backend::Userfault), Room { bytes: 1 << 28, views: 16 });
    }

    #[test]
    fn free_memory_is_read() {
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:      12 kB\n"), Some(12 * 1_024));
        assert_eq!(available("MemTotal: 9 kB\n"), None);
        assert!(ProcessLimits::read().maps.is_some_and(|maps| maps > 3));
    }
}
