//! C and C++.
use super::super::tree::{
    Associated, BinaryOperator, Block, CallKind, Directive, Exclusion, Expr, IndexType, Kind, LValue, Language, LocalVariable,
    Loop, Stmt, TestProgram,
};
use super::{SourceText, clause};

pub(super) fn source(program: &TestProgram) -> String {
    let mut writer = CWriter { lines: SourceText::default(), functions: String::new(), body: 0, parts: 0 };
    writer.lines.line("#include \"support.h\"");
    if program.language == Language::Cpp {
        writer.lines.line("#include \"support.hpp\"");
    }
    for (number, block) in &program.bodies {
        (writer.body, writer.parts) = (*number, 0);
        writer.function(&format!("void body_{number}_(void)"), block);
        let function = std::mem::take(&mut writer.functions);
        writer.lines.text.push_str(&function);
    }
    writer.lines.line("int main(void)");
    writer.braces(|writer| {
        writer.lines.line("begin();");
        for (number, _) in &program.bodies {
            writer.lines.line(&format!("body_{number}_();"));
            writer.lines.line(&format!("finish({number});"));
        }
        writer.lines.line("return 0;");
    });
    writer.lines.text
}

struct CWriter {
    lines: SourceText,
    /// Functions of the body that are complete.
    functions: String,
    body: usize,
    parts: usize,
}

impl CWriter {
    /// Adds a function to those that are complete.
    fn function(&mut self, head: &str, block: &Block) {
        let around = std::mem::take(&mut self.lines);
        self.lines.line(head);
        self.braces(|writer| writer.block(block));
        let function = std::mem::replace(&mut self.lines, around);
        self.functions.push_str(&function.text);
    }

    fn braces(&mut self, inside: impl FnOnce(&mut Self)) {
        self.lines.line("{");
        self.lines.depth += 1;
        inside(self);
        self.lines.depth -= 1;
        self.lines.line("}");
    }

    fn block(&mut self, block: &Block) {
        block.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Set(to, value) => self.lines.line(&format!("{} = {};", place(to), expr(value))),
            Stmt::Add(to, value, guard) => self.add(to, value, *guard),
            Stmt::If(condition, block) => {
                self.lines.line(&format!("if ({})", expr(condition)));
                self.braces(|writer| writer.block(block));
            }
            Stmt::For(each, block) => {
                self.lines.line(&head(each));
                self.braces(|writer| writer.block(block));
            }
            Stmt::Locals(locals, block) => self.braces(|writer| {
                locals.iter().for_each(|each| writer.lines.line(&local(each)));
                writer.block(block);
            }),
            Stmt::Together(block) => self.block(block),
            Stmt::Directive(directive) => self.directive(directive),
            Stmt::Call(call) => self.lines.line(&format!("{};", expr(call))),
            Stmt::Part(call, given, block) => self.part(*call, &expr(given), block),
            Stmt::Try(block) => {
                self.lines.line("try");
                self.braces(|writer| writer.block(block));
                self.lines.line("catch (long long thrown)");
                self.braces(|writer| writer.add(&LValue::at("sums", Expr::Int(1)), &Expr::name("thrown"), Exclusion::Atomic));
            }
            Stmt::Throw(value) => self.lines.line(&format!("throw {value}ll;")),
        }
    }

    fn add(&mut self, to: &LValue, value: &Expr, guard: Exclusion) {
        let line = format!("{} += {};", place(to), expr(value));
        match guard {
            Exclusion::Plain => self.lines.line(&line),
            Exclusion::Atomic => {
                self.lines.line("#pragma omp atomic");
                self.lines.line(&line);
            }
            Exclusion::Critical(name) => {
                self.lines
                    .line(&format!("#pragma omp critical{}", if name.is_empty() { String::new() } else { format!(" ({name})") }));
                self.lines.line(&line);
            }
            Exclusion::Lock { set, unset, lock, number } => {
                self.lines.line(&format!("{set}(&{lock}[{number}]); {line} {unset}(&{lock}[{number}]);"));
            }
            Exclusion::TestLock { number } => {
                self.lines.line(&format!("while (!omp_test_lock(&locks[{number}])) nap(1);"));
                self.lines.line(&format!("{line} omp_unset_lock(&locks[{number}]);"));
            }
        }
    }

    fn directive(&mut self, Directive { name, clauses, body }: &Directive) {
        let clauses: String = clauses.iter().map(|each| clause(each, &each.prefix, expr)).collect();
        self.lines.line(&format!("#pragma omp {name}{clauses}"));
        match body {
            Associated::Nothing => {}
            Associated::Block(block) => self.braces(|writer| writer.block(block)),
            Associated::Loops(loops, block) => {
                loops.iter().for_each(|each| self.lines.line(&head(each)));
                self.braces(|writer| writer.block(block));
            }
            Associated::Sections(sections) => self.braces(|writer| {
                for section in sections {
                    writer.lines.line("#pragma omp section");
                    writer.braces(|writer| writer.block(section));
                }
            }),
        }
    }

    fn part(&mut self, call: CallKind, given: &str, block: &Block) {
        let name = format!("body_{}_part_{}", self.body, self.parts);
        self.parts += 1;
        self.function(&format!("HIDDEN void {name}(long long given)"), block);
        match call {
            CallKind::Plain => self.lines.line(&format!("{name}({given});")),
            CallKind::By(function) => self.lines.line(&format!("{function}({name}, {given});")),
            CallKind::ByName(function) => self.lines.line(&format!("{function}(\"{name}\", {given});")),
            CallKind::Destructor => self.functions.push_str(&format!("static Farewell farewell_{name}({name}, 0);\n")),
        }
    }
}

fn place(place: &LValue) -> String {
    match &place.at {
        Some(at) => format!("{}[{}]", place.name, expr(at)),
        None => place.name.clone(),
    }
}

fn expr(value: &Expr) -> String {
    match value {
        Expr::Op(left, op, right) => format!("{} {} {}", operand(left), sign(*op), operand(right)),
        Expr::Int(number) => number.to_string(),
        Expr::Of(of) => place(of),
        Expr::Call(name, arguments) => {
            let arguments: Vec<String> = arguments.iter().map(expr).collect();
            format!("{name}({})", arguments.join(", "))
        }
    }
}

fn operand(value: &Expr) -> String {
    if matches!(value, Expr::Op(..)) { format!("({})", expr(value)) } else { expr(value) }
}

fn sign(op: BinaryOperator) -> &'static str {
    match op {
        BinaryOperator::Add => "+",
        BinaryOperator::Sub => "-",
        BinaryOperator::Mul => "*",
        BinaryOperator::Div => "/",
        BinaryOperator::Rem => "%",
        BinaryOperator::Eq => "==",
        BinaryOperator::Ne => "!=",
    }
}

/// The head of a loop. Unsigned numbers are as near to the greatest one as the loop allows.
fn head(Loop { name, kind, first, count, step, slack }: &Loop) -> String {
    let (kind, from) = match kind {
        IndexType::Int => ("int", ""),
        IndexType::Long => ("long long", ""),
        IndexType::Unsigned => ("unsigned long long", "TOP + "),
    };
    let (bound, less) = (first + count * step - slack * step.signum(), if *step > 0 { '<' } else { '>' });
    format!("for ({kind} {name} = {from}{first}; {name} {less} {from}{bound}; {name} += {step})")
}

fn local(LocalVariable { name, kind, initial, fixed }: &LocalVariable) -> String {
    let line = match kind {
        Kind::Whole => format!("long long {name} = {initial};"),
        Kind::Array(size) => format!("long long {name}[{size}] = {{0}};"),
        Kind::Long => format!("long double {name} = {initial};"),
        Kind::Event => format!("omp_event_handle_t {name};"),
        Kind::Depend => format!("omp_depend_t {name};"),
    };
    if *fixed { format!("static {line}") } else { line }
}
