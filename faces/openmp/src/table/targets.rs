//! Target regions and the data that they map, on the host: it has the program's own memory, so nothing is
//! copied but what a region has for itself, and every number of a device is taken for the host's.
use super::tasks::{named, uses};
use crate::export::entries;
use crate::table::regions::Body;
use core::alloc::Layout;
use core::ffi::{c_int, c_uint, c_void};
use foregather_openmp::{Offload, change, icvs, outside, settings, tasking};
use std::alloc;

entries! {
    "OMP_4.0" {
        fn omp_get_default_device omp_get_default_device_() -> c_int { icvs().device }
        fn omp_get_num_devices omp_get_num_devices_() -> c_int { DEVICES }
        fn omp_is_initial_device omp_is_initial_device_() -> c_int { 1 }
    }
    "OMP_4.5" {
        fn omp_get_initial_device omp_get_initial_device_() -> c_int { DEVICES }
    }
    "OMP_5.0.2" {
        fn omp_get_device_num omp_get_device_num_() -> c_int { DEVICES }
    }
}

/// Devices beside the host, whose number is one more than theirs.
const DEVICES: c_int = 0;
/// By this number a program names the host, and by this one the task's usual device.
const HOST: c_int = -2;
const USUAL: c_int = -1;

/// Returns whether this device number stands for the host.
fn is_host(device: c_int) -> bool {
    device == DEVICES || device == USUAL
}

/// By this number a program says that a construct shall not be reached.
const INVALID: c_int = -4;

/// Ends a program that must have a device which is not there.
fn reach(device: c_int) {
    let wanted = if device == USUAL { icvs().device } else { device };
    if wanted == INVALID {
        eprintln!("foregather: a target construct names omp_invalid_device, or finds it as the default one");
        std::process::exit(1);
    }
    // The usual device may have been set to the first one by that number.
    if ![HOST, DEVICES, USUAL].contains(&wanted) && settings().devices.offload == Offload::Mandatory {
        eprintln!("foregather: OMP_TARGET_OFFLOAD=mandatory, but there is no device {wanted}: this runtime has the host alone");
        std::process::exit(1);
    }
}

/// A region on the host, as if it began the program, with at most that number of threads.
///
/// # Safety
/// The body may be called with that data.
unsafe fn on_host(device: c_int, body: Body, data: *mut c_void, threads: Option<u32>) {
    reach(device);
    outside(|| {
        if let Some(threads) = threads {
            change(|icvs| icvs.thread_limit = icvs.thread_limit.min(threads));
        }
        // SAFETY: by this function's contract.
        unsafe { body(data) }
    });
}

/// The limit of threads that a region's list of demands names. A demand is a word: the device that it is for,
/// a bit that says whether its value is the next word, what it is about, and else its value.
///
/// # Safety
/// `demands` is null, or such a list, with a null at its end.
unsafe fn limit_of(demands: *const *const c_void) -> Option<u32> {
    const VALUE_FOLLOWS: usize = 1 << 7;
    const ABOUT: usize = 0xff << 8;
    const THREADS: usize = 2 << 8;
    const VALUE_SHIFT: u32 = 16;
    if demands.is_null() {
        return None;
    }
    let mut at = 0;
    loop {
        // SAFETY: by this function's contract the list goes on up to its null.
        let (demand, next) = unsafe { ((*demands.add(at)).addr(), demands.add(at + 1)) };
        if demand == 0 {
            return None;
        }
        let follows = demand & VALUE_FOLLOWS != 0;
        if demand & ABOUT == THREADS {
            // SAFETY: by this function's contract a value that follows is there.
            let threads = if follows { unsafe { (*next).addr() } } else { demand >> VALUE_SHIFT };
            return u32::try_from(threads).ok().filter(|&threads| threads > 0);
        }
        at += 1 + usize::from(follows);
    }
}

/// The kind of a region's own copy of a variable.
const FIRSTPRIVATE: u16 = 12;

/// Copies of a region's own variables, one block for all; gone when this is dropped.
pub(super) struct Copies {
    start: *mut u8,
    layout: Layout,
}

impl Copies {
    /// Where a variable of that size and kind lies after `at` bytes.
    fn after(at: usize, kind: u16) -> usize {
        at.next_multiple_of(1 << (kind >> 8).min(16))
    }

    /// Copies the variables of that kind, and puts the copies' addresses in place of theirs.
    ///
    /// # Safety
    /// There are `count` addresses, sizes and kinds, and each variable of that kind has its size.
    pub(super) unsafe fn make(count: usize, addresses: *mut *mut c_void, sizes: *const usize, kinds: *const u16) -> Option<Self> {
        if count == 0 {
            return None;
        }
        // SAFETY: by this function's contract; the addresses are the caller's own, made for this call.
        let (addresses, sizes, kinds) = unsafe {
            use core::slice::{from_raw_parts, from_raw_parts_mut};
            (from_raw_parts_mut(addresses, count), from_raw_parts(sizes, count), from_raw_parts(kinds, count))
        };
        // An argument that the caller left out has no address.
        let own = |at: &usize| kinds[*at] & 0xff == FIRSTPRIVATE && !addresses[*at].is_null();
        let own: Vec<usize> = (0..count).filter(own).collect();
        let end = own.iter().fold(0, |end, &at| Self::after(end, kinds[at]) + sizes[at]);
        let alignment = own.iter().map(|&at| 1usize << (kinds[at] >> 8).min(16)).max()?;
        let layout = Layout::from_size_align(end.max(1), alignment).ok()?;
        // SAFETY: the layout is not of length 0.
        let start = unsafe { alloc::alloc(layout) };
        if start.is_null() {
            alloc::handle_alloc_error(layout);
        }
        let mut end = 0;
        for at in own {
            let place = Self::after(end, kinds[at]);
            // SAFETY: the place with its length lies within the block, whose length was summed up in the same
            // way; the variable has its size by this function's contract.
            unsafe {
                let copy = start.add(place);
                if sizes[at] > 0 {
                    copy.copy_from_nonoverlapping(addresses[at].cast(), sizes[at]);
                }
                addresses[at] = copy.cast();
            }
            end = place + sizes[at];
        }
        Some(Self { start, layout })
    }
}

impl Drop for Copies {
    fn drop(&mut self) {
        // SAFETY: the block was allocated with this layout.
        unsafe { alloc::dealloc(self.start, self.layout) }
    }
}

pub(super) mod regions {
    use super::*;
    entries! {
        "GOMP_4.0" {
            fn GOMP_target(
                device: c_int, body: Body, _unused: *const c_void,
                _count: usize, addresses: *mut *mut c_void, _sizes: *mut usize, _kinds: *mut u8,
            ) {
                // SAFETY: the compiler passes a body with its data.
                unsafe { on_host(device, body, addresses.cast(), None) }
            }
            fn GOMP_target_data GOMP_target_update(
                device: c_int, _unused: *const c_void,
                _count: usize, _addresses: *mut *mut c_void, _sizes: *mut usize, _kinds: *mut u8,
            ) {
                reach(device);
            }
            fn GOMP_target_end_data() {}
        }
        "GOMP_4.5" {
            fn GOMP_target_ext(
                device: c_int, body: Body, count: usize, addresses: *mut *mut c_void, sizes: *mut usize, kinds: *mut u16,
                _flags: c_uint, depend: *const *const c_void, demands: *const *const c_void,
            ) {
                // SAFETY: the compiler passes a body with its data, of which `count` variables are described,
                // and a list of uses or none.
                unsafe {
                    tasking::wait_for(&uses(depend));
                    let _copies = Copies::make(count, addresses, sizes, kinds);
                    on_host(device, body, addresses.cast(), limit_of(demands));
                }
            }
            fn GOMP_target_data_ext(
                device: c_int, _count: usize, _addresses: *mut *mut c_void, _sizes: *mut usize, _kinds: *mut u16,
            ) {
                reach(device);
            }
            fn GOMP_target_update_ext GOMP_target_enter_exit_data(
                device: c_int, _count: usize, _addresses: *mut *mut c_void, _sizes: *mut usize, _kinds: *mut u16,
                _flags: c_uint, depend: *const *const c_void,
            ) {
                // SAFETY: the compiler passes a list of uses, or none.
                tasking::wait_for(&unsafe { uses(depend) });
                reach(device);
            }
        }
        "GOMP_5.1.2" {
            // The host's functions have one address.
            fn GOMP_target_map_indirect_ptr(function: *mut c_void) -> *mut c_void {
                function
            }
        }
    }
}

/// Images for devices, which are of no use here.
pub(super) mod images {
    use super::*;
    entries! {
        "GOMP_4.0.1" {
            fn GOMP_offload_register GOMP_offload_unregister(_table: *const c_void, _device: c_int, _image: *const c_void) {}
        }
        "GOMP_4.5" {
            fn GOMP_offload_register_ver GOMP_offload_unregister_ver(_version: c_uint, _table: *const c_void, _device: c_int, _image: *const c_void) {}
        }
    }
}

/// Copies a box of a field of several dimensions: of `count` elements in the first, and so on.
///
/// # Safety
/// Each of the lists has an entry for each dimension, of which there is at least one, and the boxes lie
/// within the fields.
unsafe fn copy_box(
    to: *mut u8,
    from: *const u8,
    element: usize,
    dimensions: usize,
    [count, to_offset, from_offset, to_size, from_size]: [*const usize; 5],
) -> Option<()> {
    // SAFETY: by this function's contract every list has an entry here; within the fields their lengths in
    // bytes are those of memory.
    unsafe {
        let rest = |sizes: *const usize| (1..dimensions).try_fold(element, |bytes, at| bytes.checked_mul(*sizes.add(at)));
        let (to_slice, from_slice) = (rest(to_size)?, rest(from_size)?);
        let (to, from) = (to.add((*to_offset).checked_mul(to_slice)?), from.add((*from_offset).checked_mul(from_slice)?));
        if dimensions == 1 {
            to.copy_from(from, element.checked_mul(*count)?);
            return Some(());
        }
        let inner = [count, to_offset, from_offset, to_size, from_size].map(|list| list.add(1));
        for at in 0..*count {
            copy_box(to.add(at * to_slice), from.add(at * from_slice), element, dimensions - 1, inner)?;
        }
    }
    Some(())
}

/// What programs get that copy between devices which are not there.
const WRONG: c_int = libc::EINVAL;

/// Copies memory of the host.
///
/// # Safety
/// Both have that many bytes from their offsets on.
unsafe fn copy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    to_offset: usize,
    from_offset: usize,
    devices: [c_int; 2],
) -> c_int {
    if !devices.into_iter().all(is_host) {
        return WRONG;
    }
    // SAFETY: by this function's contract.
    unsafe { to.cast::<u8>().add(to_offset).copy_from(from.cast::<u8>().add(from_offset), bytes) };
    0
}

/// Copies a box of the host's memory; without memory the most dimensions that a box may have.
///
/// # Safety
/// As for [`copy_box`], if both are not null.
unsafe fn copy_rectangle(
    to: *mut c_void,
    from: *const c_void,
    element: usize,
    dimensions: c_int,
    lists: [*const usize; 5],
    devices: [c_int; 2],
) -> c_int {
    if to.is_null() && from.is_null() {
        return c_int::MAX;
    }
    let Some(dimensions) = usize::try_from(dimensions).ok().filter(|&dimensions| dimensions > 0) else { return WRONG };
    if !devices.into_iter().all(is_host) {
        return WRONG;
    }
    // SAFETY: by this function's contract.
    unsafe { copy_box(to.cast(), from.cast(), element, dimensions, lists) }.map_or(WRONG, |()| 0)
}

/// Fills memory of the host; memory of no device is left alone. Returns where it is.
///
/// # Safety
/// It has that many bytes.
unsafe fn fill(memory: *mut c_void, value: c_int, bytes: usize, device: c_int) -> *mut c_void {
    if is_host(device) && bytes > 0 {
        // SAFETY: by this function's contract. A byte is set to the low part of the value, as in C.
        unsafe { memory.cast::<u8>().write_bytes(value as u8, bytes) };
    }
    memory
}

pub(super) mod usual {
    use super::*;
    use crate::export::numbers;
    numbers! {
        "OMP_4.0" {
            fn omp_set_default_device omp_set_default_device_ omp_set_default_device_8_(device) {
                change(|icvs| icvs.device = c_int::try_from(device).unwrap_or(c_int::MAX));
            }
        }
    }
}

pub(super) mod memory {
    use super::*;
    entries! {
        "OMP_4.5" {
            fn omp_target_alloc(bytes: usize, device: c_int) -> *mut c_void {
                // SAFETY: it has no contract.
                if is_host(device) { unsafe { libc::malloc(bytes) } } else { core::ptr::null_mut() }
            }
            fn omp_target_free(memory: *mut c_void, device: c_int) {
                if is_host(device) {
                    // SAFETY: the program gives back what it got of `omp_target_alloc`.
                    unsafe { libc::free(memory) }
                }
            }
            fn omp_target_is_present(_memory: *const c_void, device: c_int) -> c_int {
                is_host(device).into()
            }
            fn omp_target_memcpy(
                to: *mut c_void, from: *const c_void, bytes: usize, to_offset: usize, from_offset: usize,
                to_device: c_int, from_device: c_int,
            ) -> c_int {
                // SAFETY: the program names memory that it has.
                unsafe { copy(to, from, bytes, to_offset, from_offset, [to_device, from_device]) }
            }
            fn omp_target_memcpy_rect(
                to: *mut c_void, from: *const c_void, element: usize, dimensions: c_int, count: *const usize,
                to_offset: *const usize, from_offset: *const usize, to_size: *const usize, from_size: *const usize,
                to_device: c_int, from_device: c_int,
            ) -> c_int {
                let lists = [count, to_offset, from_offset, to_size, from_size];
                // SAFETY: the program names memory that it has.
                unsafe { copy_rectangle(to, from, element, dimensions, lists, [to_device, from_device]) }
            }
            // The host's memory is its own counterpart.
            fn omp_target_associate_ptr(
                _host: *const c_void, _there: *const c_void, _bytes: usize, _offset: usize, _device: c_int,
            ) -> c_int {
                WRONG
            }
            fn omp_target_disassociate_ptr(_host: *const c_void, _device: c_int) -> c_int {
                WRONG
            }
        }
        "OMP_5.1.1" {
            fn omp_get_mapped_ptr(memory: *const c_void, device: c_int) -> *mut c_void {
                if is_host(device) { memory.cast_mut() } else { core::ptr::null_mut() }
            }
            fn omp_target_is_accessible(_memory: *const c_void, _bytes: usize, device: c_int) -> c_int {
                is_host(device).into()
            }
            // They are done before the call returns, and after what comes before them.
            fn omp_target_memcpy_async(
                to: *mut c_void, from: *const c_void, bytes: usize, to_offset: usize, from_offset: usize,
                to_device: c_int, from_device: c_int, count: c_int, objects: *const *const c_void,
            ) -> c_int {
                // SAFETY: the program names memory that it has, and that number of objects.
                unsafe {
                    tasking::wait_for(&named(count, objects));
                    copy(to, from, bytes, to_offset, from_offset, [to_device, from_device])
                }
            }
            fn omp_target_memcpy_rect_async(
                to: *mut c_void, from: *const c_void, element: usize, dimensions: c_int, count: *const usize,
                to_offset: *const usize, from_offset: *const usize, to_size: *const usize, from_size: *const usize,
                to_device: c_int, from_device: c_int, used: c_int, objects: *const *const c_void,
            ) -> c_int {
                let lists = [count, to_offset, from_offset, to_size, from_size];
                // SAFETY: the program names memory that it has, and that number of objects.
                unsafe {
                    tasking::wait_for(&named(used, objects));
                    copy_rectangle(to, from, element, dimensions, lists, [to_device, from_device])
                }
            }
        }
        "GOMP_6.0.1" {
            fn omp_target_memset(memory: *mut c_void, value: c_int, bytes: usize, device: c_int) -> *mut c_void {
                // SAFETY: the program names memory that it has.
                unsafe { fill(memory, value, bytes, device) }
            }
            fn omp_target_memset_async(
                memory: *mut c_void, value: c_int, bytes: usize, device: c_int, count: c_int, objects: *const *const c_void,
            ) -> *mut c_void {
                // SAFETY: the program names memory that it has, and that number of objects.
                unsafe {
                    tasking::wait_for(&named(count, objects));
                    fill(memory, value, bytes, device)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_copied_from_field_to_field() {
        let from: Vec<u16> = (0..24).collect();
        let mut to = [0u16; 12];
        let lists = [&[2usize, 1, 2], &[0, 1, 0], &[0, 0, 2], &[2, 2, 3], &[2, 3, 4]].map(|list| list.as_ptr());
        let copied = |to: *mut u16, dimensions, devices| {
            // SAFETY: the box of 2 x 1 x 2 lies within fields of 2 x 2 x 3 and 2 x 3 x 4.
            unsafe { copy_rectangle(to.cast(), from.as_ptr().cast(), 2, dimensions, lists, devices) }
        };
        assert_eq!(copied(to.as_mut_ptr(), 3, [0, 0]), 0);
        assert_eq!(to, [0, 0, 0, 2, 3, 0, 0, 0, 0, 14, 15, 0]);
        assert_eq!([copied(to.as_mut_ptr(), 0, [0, 0]), copied(to.as_mut_ptr(), 3, [0, 1])], [WRONG; 2]);
    }

    #[test]
    fn a_region_has_copies_of_its_own_variables_alone() {
        let (mut one, mut two, mut wide) = (7u8, 9u32, [3u64; 4]);
        let mut addresses = [(&raw mut one).cast::<c_void>(), (&raw mut two).cast(), (&raw mut wide).cast()];
        let before = addresses;
        let (sizes, kinds) = ([1usize, 4, 32], [FIRSTPRIVATE, 3, FIRSTPRIVATE | 5 << 8]);
        // SAFETY: the three are described.
        let copies = unsafe { Copies::make(3, addresses.as_mut_ptr(), sizes.as_ptr(), kinds.as_ptr()) };
        assert_eq!(addresses[1], before[1]);
        assert!(addresses[0] != before[0] && addresses[2] != before[2] && addresses[2].addr().is_multiple_of(32));
        // SAFETY: the copies live, and are as long as the variables.
        let read = unsafe { (addresses[0].cast::<u8>().read(), addresses[2].cast::<[u64; 4]>().read()) };
        assert_eq!(read, (7, [3; 4]));
        drop(copies);
    }
}
