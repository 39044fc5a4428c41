//! The smallest program that still fails: bodies are taken out, then statements, then clauses.
//!
//! Only what the drawing marks as independent is taken out, so that the outcome stays fixed: statements of
//! [`Stmt::Together`] go with the others of it, and clauses that decide how a variable is shared stay.
use super::tree::{Block, Stmt, TestProgram};

/// Takes parts out of the program as long as `fails` says that the rest still fails.
pub(super) fn shrink(program: &TestProgram, mut fails: impl FnMut(&TestProgram) -> bool) -> TestProgram {
    let mut smallest = program.clone();
    let mut half = smallest.bodies.len().div_ceil(2);
    while half > 0 && smallest.bodies.len() > 1 {
        let mut from = 0;
        while from < smallest.bodies.len() && smallest.bodies.len() > 1 {
            let mut candidate = smallest.clone();
            candidate.bodies.drain(from..(from + half).min(candidate.bodies.len()));
            if !candidate.bodies.is_empty() && fails(&candidate) { smallest = candidate } else { from += half }
        }
        half /= 2;
    }
    for take in [take_statement, take_clause] {
        let mut number = 0;
        loop {
            let (mut candidate, mut left) = (smallest.clone(), number);
            if !candidate.bodies.iter_mut().any(|(_, block)| take(block, false, &mut left)) {
                break;
            }
            if fails(&candidate) { smallest = candidate } else { number += 1 }
        }
    }
    for at in (0..smallest.environment.len()).rev() {
        let mut candidate = smallest.clone();
        candidate.environment.remove(at);
        if fails(&candidate) {
            smallest = candidate;
        }
    }
    smallest
}

/// Removes the statement that `left` others precede, outer ones first. Returns whether there was one.
fn take_statement(block: &mut Block, together: bool, left: &mut usize) -> bool {
    for at in 0..block.len() {
        if !together {
            if *left == 0 {
                block.remove(at);
                return true;
            }
            *left -= 1;
        }
        let kept = matches!(block[at], Stmt::Together(_));
        if block[at].blocks_mut().into_iter().any(|block| take_statement(block, kept, left)) {
            return true;
        }
    }
    false
}

/// Removes the loose clause that `left` others precede. Returns whether there was one.
fn take_clause(block: &mut Block, _: bool, left: &mut usize) -> bool {
    for stmt in block {
        if let Stmt::Directive(directive) = stmt {
            for at in 0..directive.clauses.len() {
                if !directive.clauses[at].loose {
                    continue;
                }
                if *left == 0 {
                    directive.clauses.remove(at);
                    return true;
                }
                *left -= 1;
            }
        }
        if stmt.blocks_mut().into_iter().any(|block| take_clause(block, false, left)) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::draw::program;
    use super::super::tree::Language;
    use super::super::write::source;
    use super::*;

    #[test]
    fn only_what_fails_is_left() {
        // A program with cancelled loops among others: bodies without them, and all that is around them, go.
        let wanted = "#pragma omp cancel for";
        let contains = |program: &TestProgram| source(program).contains(wanted);
        let program = (0..).map(|seed| program(seed, &[Language::C], |_| true)).find(contains).unwrap();
        let smallest = shrink(&program, contains);
        let text = source(&smallest);
        assert_eq!((smallest.bodies.len(), text.matches("#pragma omp cancel for").count()), (1, 1), "{text}");
        assert!(smallest.environment.is_empty() && text.lines().count() < 40, "{text}");
    }
}
