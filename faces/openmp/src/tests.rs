//! The table against itself.
use super::*;
use core::mem::MaybeUninit;
use foregather_openmp::lock::NestLock;
use std::collections::HashSet;

#[test]
fn a_name_stands_in_the_table_once() {
    let mut names = HashSet::new();
    assert!(all().filter(|entry| entry.is_default).all(|entry| names.insert(entry.name)), "a name stands there twice");
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

/// The names that the installed runtime has, with their nodes, and whether they are the default ones. `None`:
/// there is none, or nothing that lists its names.
fn installed() -> Option<HashSet<(String, String, bool)>> {
    let said = |program: &str, argument: &str| {
        let output = std::process::Command::new(program).args(argument.split(' ')).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let library = said("cc", "-print-file-name=libgomp.so.1")?;
    let symbol = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [.., ".text", _length, node, name] = words[..] else { return None };
        let bare = node.trim_matches(['(', ')']);
        Some((name.to_owned(), bare.to_owned(), bare == node))
    };
    Some(said("objdump", &format!("-T {}", library.trim()))?.lines().filter_map(symbol).collect())
}

#[test]
fn the_table_has_what_the_installed_runtime_has() {
    let Some(theirs) = installed() else {
        assert!(std::env::var_os("FOREGATHER_REQUIRE_PARTS").is_none(), "a part is missing: libgomp.so.1, or objdump");
        eprintln!("skipped: there is no libgomp.so.1, or no objdump that lists its names");
        return;
    };
    assert!(theirs.len() > 400, "{} names are not that library's", theirs.len());
    let ours: HashSet<_> = all().map(|entry| (entry.name.to_owned(), entry.node.to_owned(), entry.is_default)).collect();
    let lacking: Vec<_> = theirs.difference(&ours).collect();
    assert!(lacking.is_empty(), "not in the table: {lacking:?}");
    // A newer one may have more nodes, but no more names in those that are there.
    let nodes: HashSet<_> = theirs.iter().map(|(_, node, _)| node).collect();
    let beyond: Vec<_> = ours.difference(&theirs).filter(|(_, node, _)| nodes.contains(node)).collect();
    assert!(beyond.is_empty(), "in the table, and in no runtime: {beyond:?}");
}
