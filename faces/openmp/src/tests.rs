//! The table against itself.
use super::*;
use core::mem::MaybeUninit;
use foregather_openmp::lock::NestLock;
use std::collections::HashSet;

#[test]
fn a_name_stands_in_the_table_once() {
    let mut names = HashSet::new();
    assert!(all().all(|entry| names.insert(entry.name)), "a name stands there twice");
    assert!(names.len() > 150 && names.contains("GOMP_parallel"));
}

#[test]
fn the_script_has_each_symbol_under_its_node() {
    let script = version_script();
    let (_, node) = script.split_once("GOMP_1.0 {\n  global:\n").unwrap();
    let (node, rest) = node.split_once("};").unwrap();
    assert!(node.contains("    GOMP_barrier;\n") && !node.contains("GOMP_parallel;"));
    assert!(rest.contains("    GOMP_parallel;\n") && rest.ends_with("local:\n    *;\n};\n"));
}

#[test]
fn memory_of_zeros_is_a_free_lock() {
    // SAFETY: a lock consists of integers, which may all be zeros: so programs have them.
    let lock = unsafe { MaybeUninit::<NestLock>::zeroed().assume_init() };
    assert_eq!([lock.try_lock(), lock.try_lock()], [1, 2]);
}
