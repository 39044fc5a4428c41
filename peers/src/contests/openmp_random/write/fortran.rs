//! Fortran. Variables of a block, those of loops too, stand in a `block` of it, so that they are as private
//! as those of C.
use super::super::tree::{
    Associated, BinaryOperator, Block, CallKind, Clause, Directive, Exclusion, Expr, IndexType, Kind, LValue, LocalVariable,
    Loop, Stmt, TestProgram,
};
use super::{SourceText, clause};

pub(super) fn source(program: &TestProgram) -> String {
    let mut writer = FortranWriter { lines: SourceText::default(), functions: String::new(), body: 0, parts: 0 };
    writer.lines.line("module bodies");
    writer.lines.line("  use support");
    // Compilers do not find it in another module.
    writer.lines.line("  include 'reductions.inc'");
    writer.lines.line("contains");
    for (number, block) in &program.bodies {
        (writer.body, writer.parts) = (*number, 0);
        writer.function(&format!("subroutine body_{number}_()"), false, block);
        let function = std::mem::take(&mut writer.functions);
        writer.lines.text.push_str(&function);
    }
    writer.lines.line("end module");
    writer.lines.line("program main");
    writer.lines.line("  use bodies");
    writer.lines.line("  call begin_here()");
    for (number, _) in &program.bodies {
        writer.lines.line(&format!("  call body_{number}_()"));
        writer.lines.line(&format!("  call finish({number})"));
    }
    writer.lines.line("end program");
    writer.lines.text
}

struct FortranWriter {
    lines: SourceText,
    /// Subroutines of the body that are complete.
    functions: String,
    body: usize,
    parts: usize,
}

impl FortranWriter {
    fn function(&mut self, head: &str, is_given: bool, block: &Block) {
        let around = std::mem::take(&mut self.lines);
        self.lines.line(head);
        if is_given {
            self.lines.line("  integer(8), value :: given");
        }
        self.inside(|writer| writer.block(block));
        self.lines.line("end subroutine");
        let function = std::mem::replace(&mut self.lines, around);
        self.functions.push_str(&function.text);
    }

    fn inside(&mut self, inside: impl FnOnce(&mut Self)) {
        self.lines.depth += 1;
        inside(self);
        self.lines.depth -= 1;
    }

    fn block(&mut self, block: &Block) {
        block.iter().for_each(|stmt| self.stmt(stmt));
    }

    /// What a directive applies to. If it began with a `block`, the directive would apply to that alone.
    fn structured(&mut self, block: &Block) {
        self.lines.line("continue");
        self.block(block);
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Set(to, value) => self.lines.line(&format!("{} = {}", place(to), expr(value))),
            Stmt::Add(to, value, guard) => self.add(to, value, *guard),
            Stmt::If(condition, block) => {
                self.lines.line(&format!("if ({}) then", logical(condition)));
                self.inside(|writer| writer.block(block));
                self.lines.line("end if");
            }
            Stmt::For(each, block) => self.declaring(std::slice::from_ref(each).iter().map(declared), |writer| {
                writer.loops(std::slice::from_ref(each), block);
            }),
            Stmt::Locals(locals, block) => self.declaring(locals.iter().map(local), |writer| {
                for LocalVariable { name, kind, initial, .. } in locals.iter().filter(|local| local.kind != Kind::Event) {
                    let initial = if *kind == Kind::Long { initial.to_string() } else { format!("{initial}_8") };
                    writer.lines.line(&format!("{name} = {initial}"));
                }
                writer.block(block);
            }),
            Stmt::Together(block) => self.block(block),
            Stmt::Directive(directive) => self.directive(directive),
            Stmt::Call(call) => self.lines.line(&format!("call {}", expr(call))),
            Stmt::Part(call, given, block) => self.part(*call, given, block),
            Stmt::Try(_) | Stmt::Throw(_) => unreachable!("Fortran has no exceptions"),
        }
    }

    fn declaring(&mut self, lines: impl Iterator<Item = String>, inside: impl FnOnce(&mut Self)) {
        self.lines.line("block");
        self.inside(|writer| {
            lines.for_each(|line| writer.lines.line(&line));
            inside(writer);
        });
        self.lines.line("end block");
    }

    fn add(&mut self, to: &LValue, value: &Expr, guard: Exclusion) {
        let line = format!("{0} = {0} + ({1})", place(to), expr(value));
        let around: Vec<String> = match guard {
            Exclusion::Plain => vec![line],
            Exclusion::Atomic => vec!["!$omp atomic".to_owned(), line],
            Exclusion::Critical("") => vec!["!$omp critical".to_owned(), line, "!$omp end critical".to_owned()],
            Exclusion::Critical(name) => vec![format!("!$omp critical ({name})"), line, format!("!$omp end critical ({name})")],
            Exclusion::Lock { set, unset, lock, number } => {
                vec![format!("call {set}({lock}({number}))"), line, format!("call {unset}({lock}({number}))")]
            }
            Exclusion::TestLock { number } => vec![
                format!("do while (.not. omp_test_lock(locks({number})))"),
                "  call nap(1_8)".to_owned(),
                "end do".to_owned(),
                line,
                format!("call omp_unset_lock(locks({number}))"),
            ],
        };
        around.iter().for_each(|line| self.lines.line(line));
    }

    fn directive(&mut self, directive: &Directive) {
        let Directive { name, clauses, body } = directive;
        let name = name.split(' ').map(|word| if word == "for" { "do" } else { word }).collect::<Vec<_>>().join(" ");
        let ends = |each: &&Clause| ["nowait", "copyprivate"].contains(&each.name) && !name.starts_with("target");
        let written = |each: &Clause| clause(each, &prefix(each), |value| argument(each, value));
        let first: String = clauses.iter().filter(|each| !ends(each)).map(written).collect();
        let last: String = clauses.iter().filter(ends).map(written).collect();
        let (first, last) = (format!("!$omp {name}{first}"), format!("!$omp end {name}{last}"));
        match body {
            Associated::Nothing => self.lines.line(&first),
            Associated::Block(block) => {
                self.lines.line(&first);
                self.inside(|writer| writer.structured(block));
                self.lines.line(&last);
            }
            Associated::Loops(loops, block) => self.declaring(loops.iter().map(declared), |writer| {
                writer.lines.line(&first);
                writer.loops(loops, block);
                writer.lines.line(&last);
            }),
            Associated::Sections(sections) => {
                self.lines.line(&first);
                for section in sections {
                    self.lines.line("!$omp section");
                    self.inside(|writer| writer.structured(section));
                }
                self.lines.line(&last);
            }
        }
    }

    fn loops(&mut self, loops: &[Loop], block: &Block) {
        let Some((Loop { name, first, count, step, slack, .. }, inner)) = loops.split_first() else {
            return self.block(block);
        };
        let last = first + count * step - slack * step.signum() - step.signum();
        self.lines.line(&format!("do {name} = {first}, {last}, {step}"));
        self.inside(|writer| writer.loops(inner, block));
        self.lines.line("end do");
    }

    fn part(&mut self, call: CallKind, given: &Expr, block: &Block) {
        let name = format!("body_{}_part_{}", self.body, self.parts);
        self.parts += 1;
        self.function(&format!("recursive subroutine {name}(given) bind(c)"), true, block);
        let given = format!("int({}, 8)", expr(given));
        match call {
            CallKind::Plain => self.lines.line(&format!("call {name}({given})")),
            CallKind::By(function) => self.lines.line(&format!("call {function}(c_funloc({name}), {given})")),
            CallKind::ByName(function) => self.lines.line(&format!("call {function}('{name}' // c_null_char, {given})")),
            CallKind::Destructor => unreachable!("Fortran has no destructors of static objects"),
        }
    }
}

/// Operators of reductions have other names.
fn prefix(clause: &Clause) -> String {
    let renamed = [("^:", "ieor:"), ("|:", "ior:"), ("&:", "iand:")].iter().find(|(c, _)| clause.prefix.ends_with(c));
    renamed.map_or_else(|| clause.prefix.clone(), |(c, fortran)| clause.prefix.replace(c, fortran))
}

/// A value in a clause: some take a truth.
fn argument(clause: &Clause, value: &Expr) -> String {
    if ["if", "final"].contains(&clause.name) { logical(value) } else { expr(value) }
}

fn place(place: &LValue) -> String {
    match &place.at {
        Some(at) => format!("{}({})", place.name, expr(at)),
        None => place.name.clone(),
    }
}

/// Functions that give a truth, and not a number.
const TRUTHS: [&str; 5] = ["omp_in_parallel", "omp_in_final", "omp_get_dynamic", "omp_get_cancellation", "omp_is_initial_device"];

fn expr(value: &Expr) -> String {
    match value {
        Expr::Op(_, BinaryOperator::Eq | BinaryOperator::Ne, _) => format!("merge(1_8, 0_8, {})", logical(value)),
        Expr::Op(left, BinaryOperator::Rem, right) => format!("mod(int({}, 8), {})", expr(left), expr(right)),
        Expr::Op(left, op, right) => {
            let sign = match op {
                BinaryOperator::Add => "+",
                BinaryOperator::Sub => "-",
                BinaryOperator::Mul => "*",
                _ => "/",
            };
            format!("{} {sign} {}", operand(left), operand(right))
        }
        Expr::Int(number) => format!("{number}_8"),
        Expr::Of(of) => place(of),
        Expr::Call(name, arguments) => {
            let arguments: Vec<String> = arguments.iter().map(expr).collect();
            let call = format!("{name}({})", arguments.join(", "));
            if TRUTHS.contains(name) { format!("merge(1_8, 0_8, {call})") } else { call }
        }
    }
}

fn operand(value: &Expr) -> String {
    let is_plain = matches!(value, Expr::Of(_) | Expr::Call(..) | Expr::Int(0..));
    if is_plain { expr(value) } else { format!("({})", expr(value)) }
}

fn logical(value: &Expr) -> String {
    match value {
        Expr::Op(left, op @ (BinaryOperator::Eq | BinaryOperator::Ne), right) => {
            format!("{} {} {}", operand(left), if *op == BinaryOperator::Eq { "==" } else { "/=" }, operand(right))
        }
        _ => format!("{} /= 0", operand(value)),
    }
}

fn declared(Loop { name, kind, .. }: &Loop) -> String {
    format!("integer({}) :: {name}", if *kind == IndexType::Int { 4 } else { 8 })
}

fn local(LocalVariable { name, kind, fixed, .. }: &LocalVariable) -> String {
    let save = if *fixed { ", save" } else { "" };
    match kind {
        Kind::Whole => format!("integer(8){save} :: {name}"),
        Kind::Array(size) => format!("integer(8){save} :: {name}(0:{})", size - 1),
        Kind::Long => format!("real(10){save} :: {name}"),
        Kind::Event => format!("integer(omp_event_handle_kind) :: {name}"),
        Kind::Depend => unreachable!("only C keeps dependences"),
    }
}
