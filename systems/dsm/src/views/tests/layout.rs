//! No two minipages share a byte or a page of a view, in any order of allocations and frees, and the table
//! finds each of them.
use super::child::{part, run};
use super::even::Even;
use crate::Minipage;
use crate::node::WordTable;
use crate::views::{Allocation, Allocator, Backend, Extent, GRAIN, PAGE, Shape, Space, ViewAddress, Wish};
use foregather_machine::Cause;
use proptest::prelude::*;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::collections::{BTreeMap, BTreeSet};
use std::process::exit;

fn wish(bytes: usize) -> Wish {
    Wish { bytes, site: 0, chunk: 1 }
}

/// Returns the location of a byte of an extent.
fn place(extent: Extent, byte: usize) -> ViewAddress {
    let at = extent.offset + byte;
    ViewAddress { view: extent.view, page: (at / PAGE) as u32, offset: (at % PAGE) as u32 }
}

#[test]
fn equal_units_lie_where_the_arithmetic_says() {
    for bytes in [1, 8, 148, 256, 672, 2_048, 4_096] {
        let even = Even::new(bytes);
        let mut allocator = Allocator::new(5, even.views()).unwrap();
        for number in 0..5 * even.views() {
            let Allocation { minipage, extent, new } = allocator.allocate(wish(bytes)).unwrap();
            assert_eq!((minipage.0, even.extent(minipage), new), (number, extent, true), "{bytes}");
            for byte in [0, extent.bytes - 1] {
                let place = place(extent, byte);
                assert_eq!(
                    (even.minipage(place), allocator.table().minipage(place)),
                    (Some(minipage), Some(minipage)),
                    "{bytes}"
                );
            }
        }
        assert!(allocator.allocate(wish(bytes)).is_err(), "{bytes}");
        assert_eq!(even.pages(5 * even.views()), 5);
        assert_eq!(even.minipage(ViewAddress { view: even.views(), page: 0, offset: 0 }), None);
    }
}

/// 148 bytes are 152, of which 26 lie in a page.
#[test]
fn the_papers_units_take_the_views_they_should() {
    let views = [256, 672, 148, 4_096].map(|bytes| Even::new(bytes).views());
    assert_eq!(views, [16, 6, 26, 1]);
}

#[test]
fn what_is_longer_than_a_page_is_contiguous_and_its_rest_is_used() {
    let mut allocator = Allocator::new(4, 2).unwrap();
    let small = allocator.allocate(wish(100)).unwrap().extent;
    let long = allocator.allocate(wish(PAGE + 8)).unwrap().extent;
    assert_eq!((small.offset, small.view), (0, 0));
    assert_eq!((long.offset, long.bytes, long.view, long.span().pages), (PAGE, PAGE + 8, 0, 2));
    let rest = allocator.allocate(wish(PAGE - 8)).unwrap().extent;
    assert_eq!((rest.offset, rest.view), (2 * PAGE + 8, 1), "the rest of its last page, in another view");
    let whole = allocator.allocate(wish(PAGE)).unwrap().extent;
    assert_eq!(whole.offset, 3 * PAGE);
    let error = allocator.allocate(wish(2 * PAGE)).unwrap_err();
    assert!(matches!(error.cause(), Cause::Unavailable { what, .. } if what.contains("8192 bytes")), "{error}");
}

#[test]
fn chunks_hold_consecutive_allocations_of_one_site_and_size() {
    let mut allocator = Allocator::new(8, 6).unwrap();
    let mut ask = |site, bytes, chunk| allocator.allocate(Wish { bytes, site, chunk }).unwrap();
    let given = [ask(1, 672, 3), ask(1, 672, 3), ask(2, 672, 3), ask(1, 100, 3), ask(1, 672, 3), ask(1, 672, 3), ask(1, 672, 1)];
    assert_eq!(given.map(|given| given.minipage.0), [0, 0, 1, 2, 0, 3, 4]);
    assert_eq!(given.map(|given| given.new), [true, false, true, true, false, true, true]);
    assert_eq!([given[1], given[4]].map(|given| given.extent.offset), [672, 1_344]);
    assert_eq!(allocator.table().extent(Minipage(0)), Some(Extent { view: 0, offset: 0, bytes: 2_016 }));
    assert_eq!(allocator.free(672).unwrap(), None);
    assert_eq!(allocator.free(0).unwrap(), None);
    assert_eq!(allocator.free(1_344).unwrap(), Some(Minipage(0)));
    allocator.retire(Minipage(0));
    assert_eq!(allocator.table().extent(Minipage(0)), None);
    let again = allocator.allocate(wish(2_016)).unwrap();
    assert_eq!((again.minipage, again.extent.offset), (Minipage(0), 0));
}

#[test]
fn nobody_joins_a_chunk_that_was_freed() {
    let mut allocator = Allocator::new(1, 2).unwrap();
    let ask = Wish { bytes: 8, site: 0, chunk: 4 };
    let first = allocator.allocate(ask).unwrap();
    assert_eq!(allocator.free(first.extent.offset).unwrap(), Some(first.minipage));
    let second = allocator.allocate(ask).unwrap();
    assert!(second.new && second.minipage != first.minipage);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut allocator = Allocator::new(2, 2).unwrap();
    for ask in [wish(0), Wish { chunk: 0, ..wish(8) }] {
        assert!(matches!(allocator.allocate(ask).unwrap_err().cause(), Cause::Setting { .. }), "{ask:?}");
    }
    for ask in [wish(usize::MAX), Wish { chunk: u32::MAX, ..wish(usize::MAX / 2) }, wish(3 * PAGE)] {
        assert!(matches!(allocator.allocate(ask).unwrap_err().cause(), Cause::Unavailable { .. }), "{ask:?}");
    }
    let given = allocator.allocate(wish(8)).unwrap();
    assert!(allocator.free(given.extent.offset + 8).is_err());
    allocator.free(given.extent.offset).unwrap();
    assert!(allocator.free(given.extent.offset).is_err(), "twice");
    assert!([(0, 1), (1, 0), (u32::MAX, 1), (1, 1 << 16)].iter().all(|&(pages, views)| Allocator::new(pages, views).is_err()));
}

#[derive(Clone, Debug)]
enum Step {
    Allocate(Wish),
    /// Frees the n-th allocation.
    Free(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = prop_oneof![4 => 1..400_usize, 2 => 400..PAGE, 1 => PAGE..3 * PAGE];
    let ask = (bytes, 0..3_u32, prop_oneof![3 => Just(1), 1 => 2..6_u32]);
    let allocate = ask.prop_map(|(bytes, site, chunk)| Step::Allocate(Wish { bytes, site, chunk }));
    prop::collection::vec(prop_oneof![2 => allocate, 1 => (0..100_usize).prop_map(Step::Free)], 1..120)
}

/// Performs one step; `given` contains all allocations by first byte, and is checked after each step.
fn apply(allocator: &mut Allocator, given: &mut BTreeMap<usize, Allocation>, step: &Step) -> Result<(), TestCaseError> {
    match *step {
        Step::Allocate(wish) => {
            let Ok(new) = allocator.allocate(wish) else { return Ok(()) };
            prop_assert!(new.extent.bytes == wish.bytes.next_multiple_of(GRAIN) && new.extent.offset.is_multiple_of(GRAIN));
            given.insert(new.extent.offset, new);
        }
        Step::Free(nth) => {
            let Some((&offset, &old)) = given.iter().nth(nth) else { return Ok(()) };
            given.remove(&offset);
            let last = !given.values().any(|other| other.minipage == old.minipage);
            let freed = allocator.free(offset).unwrap();
            prop_assert_eq!(freed, last.then_some(old.minipage));
            if let Some(minipage) = freed {
                allocator.retire(minipage);
            }
        }
    }
    Ok(())
}

fn check(allocator: &Allocator, given: &BTreeMap<usize, Allocation>, pages: u32, views: u32) -> Result<(), TestCaseError> {
    let table = allocator.table();
    let mut end = 0;
    let mut vpages = BTreeMap::new();
    for allocation in given.values() {
        prop_assert!(allocation.extent.offset >= end, "bytes overlap");
        end = allocation.extent.offset + allocation.extent.bytes;
        let whole = table.extent(allocation.minipage).unwrap();
        prop_assert!(whole.holds(place(allocation.extent, 0)));
        prop_assert!(whole.holds(place(allocation.extent, allocation.extent.bytes - 1)));
        prop_assert!(!whole.holds(place(whole, whole.bytes)));
        let span = whole.span();
        for page in span.page..span.page + span.pages {
            let other = vpages.insert((whole.view, page), allocation.minipage);
            prop_assert!(other.is_none_or(|other| other == allocation.minipage), "two share a page of a view");
        }
    }
    prop_assert!(end <= pages as usize * PAGE);
    let live: BTreeSet<u32> = given.values().map(|allocation| allocation.minipage.0).collect();
    for view in 0..views {
        for page in 0..pages {
            let found = table.minipage(ViewAddress { view, page, offset: 0 });
            prop_assert_eq!(found, vpages.get(&(view, page)).copied());
        }
    }
    for number in 0..table.minipages() {
        prop_assert_eq!(table.extent(Minipage(number)).is_some(), live.contains(&number));
    }
    Ok(())
}

proptest! {
    #[test]
    fn minipages_stay_apart_and_are_found_again(steps in steps(), pages in 1..12_u32, views in 1..9_u32) {
        let mut allocators = [Allocator::new(pages, views).unwrap(), Allocator::new(pages, views).unwrap()];
        let mut givens = [BTreeMap::new(), BTreeMap::new()];
        for step in &steps {
            for (allocator, given) in allocators.iter_mut().zip(&mut givens) {
                apply(allocator, given, step)?;
            }
            check(&allocators[0], &givens[0], pages, views)?;
        }
        // Equal calls give equal places.
        prop_assert_eq!(&givens[0], &givens[1]);
        // After everything is freed, everything that fitted at first fits again.
        for &offset in givens[0].keys() {
            if let Some(minipage) = allocators[0].free(offset).unwrap() {
                allocators[0].retire(minipage);
            }
        }
        let all = allocators[0].allocate(wish(pages as usize * PAGE)).unwrap();
        prop_assert_eq!((all.extent.offset, all.extent.view), (0, 0));
    }

    /// First fit by definition: no earlier page had room.
    #[test]
    fn no_earlier_page_has_room(steps in steps(), pages in 1..8_u32, views in 1..5_u32) {
        let mut allocator = Allocator::new(pages, views).unwrap();
        let mut given = BTreeMap::new();
        for step in &steps {
            let before: Vec<Extent> = (0..allocator.table().minipages()).filter_map(|n| allocator.table().extent(Minipage(n))).collect();
            let old = given.clone();
            apply(&mut allocator, &mut given, step)?;
            let Some((_, new)) = given.iter().find(|(offset, new)| new.new && !old.contains_key(*offset)) else { continue };
            let whole = allocator.table().extent(new.minipage).unwrap();
            for page in 0..whole.span().page as usize * usize::from(whole.bytes <= PAGE) {
                prop_assert!(!would_fit(&before, page, views, whole.bytes), "page {page} had room for {} bytes", whole.bytes);
            }
        }
    }
}

fn would_fit(live: &[Extent], page: usize, views: u32, bytes: usize) -> bool {
    let here = || live.iter().filter(|extent| extent.offset < (page + 1) * PAGE && extent.offset + extent.bytes > page * PAGE);
    let free = |start: usize| here().all(|extent| extent.offset >= start + bytes || extent.offset + extent.bytes <= start);
    let starts = (page * PAGE..=(page + 1) * PAGE - bytes).step_by(GRAIN);
    here().count() < views as usize && starts.into_iter().any(free)
}

#[test]
fn views_are_in_no_core_dump() {
    let space = Space::new(Shape::new(4, 3)).unwrap();
    let first = space.application(0, 0).addr();
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut inside = false;
    let mut flags = Vec::new();
    for line in maps.lines() {
        if let Some((from, _)) = line.split_once('-').filter(|(from, _)| from.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            let from = usize::from_str_radix(from, 16).unwrap();
            inside = (first..first + 4 * space.bytes()).contains(&from);
        } else if let Some(of) = line.strip_prefix("VmFlags:").filter(|_| inside) {
            flags.push(of.to_owned());
        }
    }
    assert!(!flags.is_empty() && flags.iter().all(|flags| flags.split_whitespace().any(|flag| flag == "dd")), "{flags:?}");
}

const HERE: &str = "views::tests::layout::too_little_memory_for_a_table_is_an_error_with_a_remedy";

#[test]
fn too_little_memory_for_a_table_is_an_error_with_a_remedy() {
    if part().is_some() {
        let limit = Some(50 << 20);
        setrlimit(Resource::Data, Rlimit { current: limit, maximum: limit }).unwrap();
        let said = Allocator::new(1 << 22, 8).unwrap_err().to_string();
        let words = WordTable::new(1 << 25).unwrap_err().to_string();
        exit(if said.contains("ulimit -d") && words == said { 42 } else { 1 });
    }
    let end = run(HERE, "limited", Backend::Mprotect);
    assert_eq!(end.code, Some(42), "{end:?}");
}
