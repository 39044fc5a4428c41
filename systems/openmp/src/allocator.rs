//! An allocator: what it demands of memory, and how much of its pool is taken. The memory is that of the
//! process (`faces/openmp` fetches it), whatever space an allocator names.
use crate::variables::named;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// An allocator, as programs name it: 0 for the usual one of the task, up to [`PREDEFINED`] one that is
/// always there, beyond those that the program has made.
pub type AllocatorHandle = usize;

/// The last of the allocators that are always there.
pub const PREDEFINED: AllocatorHandle = 8;
/// The last of the spaces.
pub(crate) const SPACES: usize = 4;
/// What an allocator does when it has no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// It takes memory that is always there.
    DefaultMemory,
    /// It gives none.
    Null,
    /// The program ends.
    Abort,
    /// It asks another allocator.
    Other(AllocatorHandle),
}

/// An allocator's demands, and what is taken of its pool.
#[derive(Debug)]
pub struct Allocator {
    /// Every address is a multiple of it: a power of two.
    pub alignment: usize,
    /// What happens when it has no memory.
    pub fallback: Fallback,
    /// Whether the memory is pinned, so that it is never swapped out.
    pub is_pinned: bool,
    pool_bytes: usize,
    taken_bytes: AtomicUsize,
}

/// A demand by its number and its value, as programs name them.
pub type Trait = (u32, usize);

impl Allocator {
    /// Those that are always there.
    fn plain() -> Self {
        Self {
            alignment: 1,
            fallback: Fallback::Null,
            is_pinned: false,
            pool_bytes: usize::MAX,
            taken_bytes: AtomicUsize::new(0),
        }
    }

    /// With these demands. `None`: one of them is unknown, or cannot be met.
    pub(crate) fn new(traits: impl IntoIterator<Item = Trait>) -> Option<Self> {
        const DEFAULT: usize = usize::MAX;
        let mut allocator = Self { fallback: Fallback::DefaultMemory, ..Self::plain() };
        let (mut fallback, mut other) = (11, 0);
        for (key, value) in traits {
            match (key, value) {
                (2 | 4 | 5, DEFAULT) => {}
                (2, alignment) if alignment.is_power_of_two() => allocator.alignment = alignment,
                (4, bytes) => allocator.pool_bytes = bytes,
                (5, 11..=14) => fallback = value,
                (6, handle) => other = handle,
                (7, 0 | 1) => allocator.is_pinned = value == 1,
                // Contention, access and partitions change nothing here.
                (1, 3..=6 | DEFAULT) | (3, 7..=10 | DEFAULT) | (7, DEFAULT) | (8, 15..=18 | DEFAULT) => {}
                _ => return None,
            }
        }
        allocator.fallback = match fallback {
            11 => Fallback::DefaultMemory,
            12 => Fallback::Null,
            13 => Fallback::Abort,
            _ => Fallback::Other(other),
        };
        Some(allocator)
    }

    /// Takes `bytes` of the pool. `false`: it has fewer left.
    pub fn take(&self, bytes: usize) -> bool {
        let fits = |taken: usize| taken.checked_add(bytes).filter(|&taken| taken <= self.pool_bytes);
        self.pool_bytes == usize::MAX || self.taken_bytes.fetch_update(Relaxed, Relaxed, fits).is_ok()
    }

    /// Gives `bytes` back to the pool.
    pub fn give_back(&self, bytes: usize) {
        if self.pool_bytes != usize::MAX {
            self.taken_bytes.fetch_sub(bytes, Relaxed);
        }
    }
}

/// The usual allocator of a program, as its environment has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllocatorSetting {
    /// As it was written.
    pub text: String,
    pub(crate) of: AllocatorSource,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AllocatorSource {
    Predefined(AllocatorHandle),
    TaskSpec(usize, Vec<Trait>),
}

impl Default for AllocatorSetting {
    fn default() -> Self {
        Self { text: "omp_default_mem_alloc".to_owned(), of: AllocatorSource::Predefined(1) }
    }
}

/// Kinds of memory, as the names of allocators and spaces have them.
const KINDS: [&str; 8] = ["default", "large_cap", "const", "high_bw", "low_lat", "cgroup", "pteam", "thread"];

impl AllocatorSetting {
    /// `omp_high_bw_mem_alloc`, or a space with traits: `omp_default_mem_space:alignment=64,pool_size=4096`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let kind = |name: &str, end: &str| {
            let name = name.strip_prefix("omp_")?.strip_suffix(end)?;
            KINDS.iter().position(|known| *known == name)
        };
        let (space, traits) = text.split_once(':').map_or((text, None), |(space, traits)| (space.trim(), Some(traits)));
        let of = match (kind(space, "_mem_alloc"), kind(space, "_mem_space")) {
            (Some(at), _) if traits.is_none() => AllocatorSource::Predefined(at + 1),
            (_, Some(at)) if at <= SPACES => match traits {
                // A space without demands has an allocator already.
                None => return Self::parse(&format!("omp_{}_mem_alloc", KINDS[at])),
                Some(traits) => {
                    let traits = traits.split(',').map(Self::pair).collect::<Option<Vec<_>>>()?;
                    Allocator::new(traits.iter().copied())?;
                    AllocatorSource::TaskSpec(at, traits)
                }
            },
            _ => return None,
        };
        Some(Self { text: text.to_owned(), of })
    }

    fn pair(text: &str) -> Option<Trait> {
        const KEYS: [&str; 8] = ["sync_hint", "alignment", "access", "pool_size", "fallback", "fb_data", "pinned", "partition"];
        const VALUES: [(&str, usize); 18] = [
            ("false", 0),
            ("true", 1),
            ("contended", 3),
            ("uncontended", 4),
            ("serialized", 5),
            ("private", 6),
            ("all", 7),
            ("thread", 8),
            ("pteam", 9),
            ("cgroup", 10),
            ("default_mem_fb", 11),
            ("null_fb", 12),
            ("abort_fb", 13),
            ("allocator_fb", 14),
            ("environment", 15),
            ("nearest", 16),
            ("blocked", 17),
            ("interleaved", 18),
        ];
        let (key, value) = text.split_once('=')?;
        let key = KEYS.iter().position(|known| key.trim().eq_ignore_ascii_case(known))? as u32 + 1;
        let value = value.trim();
        // An allocator is named by its number, which no text can know.
        let value = if key == 2 || key == 4 { value.parse().ok()? } else { named(value, &VALUES).filter(|_| key != 6)? };
        Some((key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_are_read_or_refused() {
        let allocator = Allocator::new([(2, 64), (5, 14), (6, 7), (1, usize::MAX), (8, 15)]).unwrap();
        assert_eq!((allocator.alignment, allocator.fallback), (64, Fallback::Other(7)));
        assert_eq!(Allocator::new([]).unwrap().fallback, Fallback::DefaultMemory);
        for wrong in [(2, 3), (2, 0), (5, 10), (7, 2), (9, 0), (0, 0), (1, 7), (3, 6), (8, 14)] {
            assert!(Allocator::new([wrong]).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn a_pool_gives_what_it_has() {
        let allocator = Allocator::new([(4, 100)]).unwrap();
        assert!(allocator.take(60) && !allocator.take(41) && allocator.take(40));
        allocator.give_back(60);
        assert!(allocator.take(60) && !allocator.take(1) && !allocator.take(usize::MAX));
        assert!(Allocator::new([]).unwrap().take(usize::MAX));
    }

    #[test]
    fn the_environment_names_an_allocator_or_makes_one() {
        let of = |text| AllocatorSetting::parse(text).map(|setting| setting.of);
        assert_eq!(of("omp_high_bw_mem_alloc"), Some(AllocatorSource::Predefined(4)));
        assert_eq!(of("omp_thread_mem_alloc"), Some(AllocatorSource::Predefined(8)));
        assert_eq!(of("omp_low_lat_mem_space"), Some(AllocatorSource::Predefined(5)));
        let traits = "omp_default_mem_space: alignment=64, pool_size=100,fallback=null_fb";
        assert_eq!(of(traits), Some(AllocatorSource::TaskSpec(0, vec![(2, 64), (4, 100), (5, 12)])));
        let wrong =
            ["", "omp_fast_mem_alloc", "omp_thread_mem_space", "omp_const_mem_alloc:alignment=4", "omp_const_mem_space:x=1"];
        for wrong in wrong.into_iter().chain(["omp_const_mem_space:alignment=3", "omp_const_mem_space:fb_data=1"]) {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
