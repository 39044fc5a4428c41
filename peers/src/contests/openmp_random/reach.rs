//! The proof that the net is fine enough: how many bodies call each entry of the runtime.
//!
//! A body's functions have its number in their names, so a disassembly says which body a call belongs to.
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Bodies that call an entry, by entry.
pub(super) type Reach = BTreeMap<String, usize>;

/// Entries of the runtime that the bodies of this program call.
pub(super) fn reached(program: &Path) -> Result<Reach> {
    let listed =
        Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(program).output().context("objdump cannot be started")?;
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

/// Why this compiler emits no call of some entries: by their names, or how these begin.
const NOT_EMITTED: &[(&str, &[&str])] = &[
    ("emitted for devices only", &["GOMP_offload_", "GOMP_PLUGIN_", "GOMP_target_map_indirect_ptr"]),
    (
        "emitted before gcc 4.9",
        &[
            "GOMP_parallel_start",
            "GOMP_parallel_end",
            "GOMP_parallel_sections_start",
            "GOMP_parallel_loop_static_start",
            "GOMP_parallel_loop_dynamic_start",
            "GOMP_parallel_loop_guided_start",
            "GOMP_parallel_loop_runtime_start",
        ],
    ),
    ("emitted before gcc 5", &["GOMP_target", "GOMP_target_data", "GOMP_target_update"]),
    ("emitted before gcc 12", &["GOMP_teams"]),
    ("never emitted: static loops are compiled in line", &["GOMP_loop_static_start", "GOMP_loop_ull_static_start"]),
    ("emitted from gcc 13 on", &["GOMP_taskwait_depend_nowait", "GOMP_add_alloc", "GOMP_is_alloc", "GOMP_interop"]),
];

/// A table of the library's entries, those that the fewest bodies call first.
pub(super) fn table(reach: &Reach, exported: &HashSet<String>) -> String {
    let entries = exported.iter().filter(|name| name.starts_with("GOMP_") && !name.contains('.'));
    let mut rows: Vec<(usize, &String)> = entries.map(|name| (reach.get(name).copied().unwrap_or(0), name)).collect();
    rows.sort();
    let mut text = format!("{:>8}  entry\n", "bodies");
    for (count, name) in rows {
        let is_of = |known: &&str| name == known || known.ends_with('_') && name.starts_with(known);
        let why = NOT_EMITTED.iter().find(|(_, names)| count == 0 && names.iter().any(is_of)).map_or("", |(why, _)| why);
        let _ = writeln!(text, "{}", format!("{count:>8}  {name:<50} {why}").trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_belongs_to_the_body_in_whose_function_it_is() {
        let call = |entry: &str| format!("  12:\tcall   1030 <{entry}@plt>\n");
        let listed = ["0000 <body_3_>:\n", &call("GOMP_parallel"), "0010 <__bodies_MOD_body_3_part_0._omp_fn.1>:\n"].concat()
            + &call("GOMP_parallel")
            + "0020 <body_12_>:\n"
            + &call("GOMP_parallel")
            + &call("GOMP_barrier")
            + "0030 <main>:\n"
            + &call("GOMP_task");
        let expected = Reach::from([("GOMP_parallel".to_owned(), 2), ("GOMP_barrier".to_owned(), 1)]);
        assert_eq!(calls(&listed), expected);
        let exported = ["GOMP_parallel", "GOMP_task", "GOMP_target", "GOMP_4.0"].map(str::to_owned).into();
        let table = table(&expected, &exported);
        let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|row| row.split_whitespace().collect()).collect();
        assert_eq!(
            rows,
            [vec!["0", "GOMP_target", "emitted", "before", "gcc", "5"], vec!["0", "GOMP_task"], vec!["2", "GOMP_parallel"]]
        );
    }
}
