//! `libforegather_gomp.so`: the runtime of `systems/openmp` under the names that GNU compilers call.
//!
//! A symbol is one entry of [`table`], with the version node that programs find it under; [`export`] makes it
//! a jump, so that [`load`] can let the program's own runtime have it. `README.md` says how to put the
//! library under a program.
//!
//! A panic here is an error of this library: it ends the process with its message, as in every `extern "C"`
//! function.

mod export;
mod load;
mod memory;
mod other;
mod table;

pub use export::ExportedSymbol;
pub use load::{END, LOAD};
pub use table::all;

/// The linker's script of versions: each node with its symbols. All other names stay inside.
pub fn version_script() -> String {
    let mut nodes: Vec<&str> = all().map(|entry| entry.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let node = |node: &str| {
        let symbols: String =
            all().filter(|entry| entry.node == node && entry.is_default).map(|entry| format!("    {};\n", entry.name)).collect();
        format!("{node} {{\n  global:\n{symbols}}};\n")
    };
    nodes.into_iter().map(node).collect::<String>() + "FOREGATHER_INSIDE {\n  local:\n    *;\n};\n"
}

#[cfg(test)]
mod tests;
