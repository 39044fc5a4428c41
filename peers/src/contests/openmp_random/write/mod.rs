//! A program's text: [`c`] writes C and C++, [`fortran`] Fortran.
mod c;
mod fortran;

use super::tree::{Clause, Expr, Language, TestProgram};
use std::fmt::Write;

/// The text of a program. Each body is a function whose name, and that of each function of its own, begins
/// with `body_N_`.
pub(super) fn source(program: &TestProgram) -> String {
    match program.language {
        Language::C | Language::Cpp => c::source(program),
        Language::Fortran => fortran::source(program),
    }
}

/// SourceText, indented.
#[derive(Default)]
struct SourceText {
    text: String,
    depth: usize,
}

impl SourceText {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{:1$}{line}", "", 2 * self.depth);
    }
}

/// A clause, as both languages have it.
fn clause(clause: &Clause, prefix: &str, value: impl Fn(&Expr) -> String) -> String {
    let values: Vec<String> = clause.values.iter().map(value).collect();
    match (prefix, &values[..]) {
        ("", []) => format!(" {}", clause.name),
        _ => format!(" {}({prefix}{})", clause.name, values.join(", ")),
    }
}
