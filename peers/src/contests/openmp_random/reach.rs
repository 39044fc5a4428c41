//! The proof that the net is fine enough: how many bodies call each entry of the runtime.
//!
//! A body's functions have its number in their names, so a disassembly says which body a call belongs to.
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Bodies that call an entry, by entry.
pub(super) type Reach = BTreeMap<String, usize>;

/// Entries of the runtime that the bodies of this program call.
pub(super) fn reached(program: &Path) -> Result<Reach> {
    let listed = Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(program).output().context("objdump cannot be started")?;
    Ok(calls(&String::from_utf8_lossy(&listed.stdout)))
}

fn calls(listed: &str) -> Reach {
    let (mut body, mut found) = (None, BTreeSet::new());
    for line in listed.lines() {
        if let Some(name) = line.strip_suffix(">:").and_then(|line| line.split_once('<')).map(|(_, name)| name) {
            body = name.split_once("body_").map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
        } else if let (Some(body), Some((_, entry))) = (&body, line.split_once("<GOMP_")) {
            let entry = entry.split(['@', '>']).next().unwrap_or_default();
            found.insert((format!("GOMP_{entry}"), body.clone()));
        }
    }
    let mut reach = Reach::new();
    for (entry, _) in found {
        *reach.entry(entry).or_default() += 1;
    }
    reach
}

/// Why no program of this compiler reaches an entry, by the beginning of its name.
const UNREACHABLE: &[(&str, &str)] = &[
    ("GOMP_offload_", "called by programs for devices"),
    ("GOMP_PLUGIN_", "called by plugins for devices"),
    ("GOMP_parallel_start", "before gcc 4.9"),
    ("GOMP_parallel_end", "before gcc 4.9"),
    ("GOMP_parallel_loop_dynamic_start", "before gcc 4.9"),
    ("GOMP_parallel_loop_guided_start", "before gcc 4.9"),
    ("GOMP_parallel_loop_runtime_start", "before gcc 4.9"),
    ("GOMP_parallel_loop_static", "static schedules are compiled in line"),
    ("GOMP_parallel_sections_start", "before gcc 4.9"),
    ("GOMP_loop_static_start", "static schedules are compiled in line"),
    ("GOMP_loop_ull_static_start", "static schedules are compiled in line"),
    ("GOMP_target_data", "before gcc 5"),
    ("GOMP_target_update", "before gcc 5"),
    ("GOMP_target_map_indirect_ptr", "called by programs for devices"),
    ("GOMP_target", "before gcc 5"),
    ("GOMP_teams", "before gcc 12"),
    ("GOMP_add_alloc", "from gcc 14"),
    ("GOMP_is_alloc", "from gcc 14"),
    ("GOMP_interop", "from gcc 15"),
    ("GOMP_taskwait_depend_nowait", "from gcc 13"),
];

/// A table of all entries of the library, rarest first.
pub(super) fn table(reach: &Reach, exported: impl Iterator<Item = String>) -> String {
    let mut rows: Vec<(usize, String)> =
        exported.filter(|name| name.starts_with("GOMP_") && !name.contains('.')).map(|name| (reach.get(&name).copied().unwrap_or(0), name)).collect();
    rows.sort();
    let mut text = format!("{:>8}  entry\n", "bodies");
    for (count, name) in rows {
        let why = UNREACHABLE.iter().find(|(start, _)| count == 0 && name.starts_with(start)).map_or("", |(_, why)| why);
        let _ = writeln!(text, "{count:>8}  {name:<48} {why}");
    }
    text
}
