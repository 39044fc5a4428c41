//! Draws programs whose output the standard fixes, whatever a runtime does.
//!
//! - A number that several threads change is a sum under a guard (atomic, critical, lock, reduction, mutual
//!   exclusion of tasks), or is changed in an order that the program fixes (ordered, doacross, dependences).
//! - A summand is made of values that mean the same wherever it runs ([`StmtContext::values`]): numbers of
//!   loops around, and the thread's own number only where each member runs the statement once, or where a
//!   static schedule fixes which thread runs which iteration. In a *blind* program, whose environment leaves
//!   the sizes of teams open, thread numbers are never such values, and no member adds by itself.
//! - Cells belong to one iteration of one loop.
//! - Everything that a cancelled construct may or may not do goes to `junk`, which is not printed. One
//!   thread, task or iteration alone cancels, so that what it does is fixed.
//!
//! [`loops`], [`regions`], [`tasks`], [`cancel`] draw constructs; [`process`] what ends or doubles processes.
mod cancel;
mod loops;
mod process;
mod regions;
mod tasks;

use super::tree::{BinaryOperator, Block, CallKind, Exclusion, Expr, Kind, LValue, Language, LocalVariable, Stmt, TestProgram};
use foregather_machine::SplitMix;

/// Bodies of one program.
pub(super) const BODIES: usize = 50;
const CELLS: i64 = 4_096;
/// No region is larger.
const MOST_THREADS: i64 = 8;

/// The program of this seed. `is_wanted` says which bodies it may have.
pub(super) fn program(seed: u64, languages: &[Language], is_wanted: impl Fn(&TestProgram) -> bool) -> TestProgram {
    let mut dice = SplitMix(SplitMix::mix(seed));
    let language = languages[dice.below(languages.len() as u64) as usize];
    let mut drawer = Drawer {
        dice,
        language,
        blind: false,
        keeps_copies: true,
        runtime_is_static: false,
        locals: Vec::new(),
        fresh: 0,
        cells: 0,
    };
    // Bodies that end the process have one of their own.
    let alone = !drawer.one_in(3);
    let (mut environment, blind) = drawer.environment();
    if alone {
        // The process may end within a region, and its exit handlers with constructs of a team that is not
        // known to have one member.
        environment.retain(|(name, _)| *name != "OMP_DYNAMIC");
    }
    drawer.blind = blind;
    drawer.keeps_copies = environment.iter().all(|(name, _)| *name != "OMP_PROC_BIND");
    let empty = TestProgram { language, environment, bodies: Vec::new() };
    let mut bodies = Vec::new();
    // What is wanted may be impossible in this language.
    for _ in 0..100 * BODIES {
        let body = (bodies.len(), if alone { drawer.process() } else { drawer.body() });
        let one = TestProgram { bodies: vec![body], ..empty.clone() };
        if is_wanted(&one) {
            bodies.extend(one.bodies);
        }
        if bodies.len() == if alone { 1 } else { BODIES } {
            break;
        }
    }
    TestProgram { bodies, ..empty }
}

struct Drawer {
    dice: SplitMix,
    language: Language,
    /// Whether the sizes of teams are unknown.
    blind: bool,
    /// Whether threads keep their `threadprivate` values from one region to the next.
    keeps_copies: bool,
    /// Whether `schedule(runtime)` is known to be static.
    runtime_is_static: bool,
    /// Variables of the regions around, the innermost last, which all members of that region share.
    locals: Vec<Vec<LocalVariable>>,
    fresh: u32,
    /// Cells that have an owner.
    cells: i64,
}

/// Where a statement stands.
#[derive(Clone, Debug)]
struct StmtContext {
    /// Regions around.
    level: u32,
    /// Whether every member of the team runs it. Work-sharing constructs are only allowed there.
    team: bool,
    /// Whether only one team or one thread at a time runs it.
    once: bool,
    /// Whether a member may run it again while another one is still running it.
    again: bool,
    /// How often it runs at most.
    times: i64,
    /// How many members its team has at most.
    size: i64,
    deep: u32,
    values: Vec<Expr>,
    /// Whether the region's variables can be named.
    locals: bool,
    /// Whether it is inside a region that runs on a device, where parts of the program must not be called.
    device: bool,
    /// Whether the sizes of teams are unknown.
    blind: bool,
}

/// What can be drawn: how likely, where, and how.
type Choices = [(u64, fn(&StmtContext) -> bool, fn(&mut Drawer, &StmtContext) -> Stmt)];

const ANYWHERE: &Choices = &[
    (10, |_| true, Drawer::add),
    (2, |scope| scope.deep < 4, Drawer::again),
    (2, |scope| scope.deep < 4 && !scope.device, Drawer::orphan),
    (1, |scope| scope.team, Drawer::query),
    (1, |scope| scope.team && scope.level > 0, |drawer, _| drawer.number_of_threads(&[1, 2, 3])),
    (1, |_| true, Drawer::exception),
];

impl StmtContext {
    /// How often all threads together run it.
    fn load(&self) -> i64 {
        self.times * self.each()
    }

    /// How many members run it.
    fn each(&self) -> i64 {
        if self.team { self.size } else { 1 }
    }

    /// Within a task that every thread here creates, `times` of them.
    fn spawned(&self, times: i64) -> Self {
        let inner = self.lone(self.each() * times);
        Self { once: inner.once && !self.again, ..inner }
    }

    /// Within a construct that gives this statement to one thread `times` times.
    fn lone(&self, times: i64) -> Self {
        let alone = self.once && times == 1;
        Self { team: false, once: alone, times: self.times * times, deep: self.deep + 1, values: self.settled(), ..self.clone() }
    }

    /// Within a construct of this name that gives a team `times` pieces of work. If it makes a region, each
    /// member here has such a team.
    fn within(&self, name: &str, times: i64) -> Self {
        if name.starts_with("parallel") { self.spawned(times) } else { self.lone(times) }
    }

    /// Values that any thread of the team sees as the same: those that are not the thread's own.
    fn settled(&self) -> Vec<Expr> {
        self.values.iter().filter(|value| !matches!(value, Expr::Call(..))).cloned().collect()
    }
}

impl Drawer {
    fn below(&mut self, n: i64) -> i64 {
        self.dice.below(n as u64) as i64
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.dice.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.dice.below(of.len() as u64) as usize].clone()
    }

    fn fresh(&mut self, letter: char) -> String {
        self.fresh += 1;
        format!("{letter}{}", self.fresh)
    }

    /// Cells that no other loop uses.
    fn own_cells(&mut self, count: i64) -> Option<i64> {
        let from = self.cells;
        (from + count <= CELLS).then(|| {
            self.cells += count;
            from
        })
    }

    fn is_c(&self) -> bool {
        self.language != Language::Fortran
    }

    /// The serial part of a body.
    fn serial(&self) -> StmtContext {
        StmtContext {
            level: 0,
            team: true,
            once: true,
            again: false,
            times: 1,
            size: 1,
            deep: 0,
            values: Vec::new(),
            locals: true,
            device: false,
            blind: self.blind,
        }
    }

    /// Draws one of the kinds that may stand here.
    fn choose(&mut self, scope: &StmtContext, kinds: &[&Choices]) -> Stmt {
        let possible: Vec<_> = kinds.iter().flat_map(|kinds| kinds.iter()).filter(|(_, may, _)| may(scope)).collect();
        let mut at = self.dice.below(possible.iter().map(|(weight, ..)| weight).sum());
        for (weight, _, draw) in possible {
            if at < *weight {
                return draw(self, scope);
            }
            at -= weight;
        }
        self.add(scope)
    }

    fn stmt(&mut self, scope: &StmtContext) -> Stmt {
        if scope.deep > 5 {
            return self.add(scope);
        }
        self.choose(scope, &[ANYWHERE, loops::KINDS, regions::KINDS, tasks::KINDS, cancel::KINDS])
    }

    fn block(&mut self, scope: &StmtContext, most: i64) -> Block {
        (0..=self.below(most)).map(|_| self.stmt(scope)).collect()
    }

    /// A body: it sets what it relies on, and then has some statements.
    fn body(&mut self) -> Block {
        (self.cells, self.fresh) = (0, 0);
        let scope = self.serial();
        let set = self.settings();
        let kinds = [regions::KINDS, loops::KINDS, tasks::KINDS, cancel::KINDS, process::KINDS];
        let stmts = self.sharing(|drawer| (0..=drawer.below(2)).map(|_| drawer.choose(&scope, &kinds)).collect());
        set.into_iter().chain(stmts).collect()
    }

    /// What `draw` draws, with the variables around it that all members share there.
    fn sharing(&mut self, draw: impl FnOnce(&mut Self) -> Block) -> Block {
        self.locals.push(Vec::new());
        let block = draw(self);
        let mut locals = self.locals.pop().unwrap_or_default();
        // Outside of regions a construct takes what is of a block for a thread's own.
        locals.iter_mut().for_each(|local| local.fixed = true);
        self.with_locals(locals, block)
    }

    /// The statements, with these variables around them, which are added to the sums afterwards.
    fn with_locals(&mut self, locals: Vec<LocalVariable>, mut block: Block) -> Block {
        if locals.is_empty() {
            return block;
        }
        for LocalVariable { name, kind, .. } in &locals {
            let sum = LValue::at("sums", Expr::Int(self.below(4)));
            match kind {
                Kind::Array(size) => {
                    let each = self.counter(*size, false);
                    let weight = each.position().op(BinaryOperator::Add, Expr::Int(1));
                    let value = Expr::Of(LValue::at(name.clone(), each.position())).op(BinaryOperator::Mul, weight);
                    block.push(Stmt::For(each, vec![Stmt::Add(sum, value, Exclusion::Atomic)]));
                }
                Kind::Whole => block.push(Stmt::Add(sum, Expr::name(name.clone()), Exclusion::Atomic)),
                Kind::Long => block.push(Stmt::Add(sum, Expr::Call("whole", vec![Expr::name(name.clone())]), Exclusion::Atomic)),
                Kind::Event | Kind::Depend => {}
            }
        }
        vec![Stmt::Locals(locals, block)]
    }

    /// A variable that all members of the region around share.
    fn local(&mut self, letter: char, kind: Kind, initial: i64) -> String {
        let name = self.fresh(letter);
        if let Some(locals) = self.locals.last_mut() {
            locals.push(LocalVariable::of(name.clone(), kind, initial));
        }
        name
    }

    /// A value that means the same wherever it is taken.
    fn value(&mut self, scope: &StmtContext) -> Expr {
        let mut value = Expr::Int(1 + self.below(9));
        for _ in 0..self.below(3).min(scope.values.len() as i64) {
            let factor = Expr::Int(1 + self.below(7));
            value = value.op(BinaryOperator::Add, self.pick(&scope.values).op(BinaryOperator::Mul, factor));
        }
        value
    }

    /// A guard, and which of the guarded numbers it guards; without one any number.
    fn guard(&mut self) -> (Exclusion, Option<i64>) {
        let number = self.below(2);
        match self.below(9) {
            0 => (Exclusion::Critical(""), Some(0)),
            1 => (Exclusion::Critical("one"), Some(1)),
            2 => (Exclusion::Critical("two"), Some(2)),
            3 => (Exclusion::Lock { set: "omp_set_lock", unset: "omp_unset_lock", lock: "locks", number }, Some(3 + number)),
            4 => (Exclusion::TestLock { number }, Some(3 + number)),
            5 => (Exclusion::Lock { set: "set_twice", unset: "unset_twice", lock: "nest_locks", number }, Some(5 + number)),
            _ => (Exclusion::Atomic, None),
        }
    }

    /// Adds a value to a sum.
    fn add(&mut self, scope: &StmtContext) -> Stmt {
        let (guard, guarded) = self.guard();
        // A guard keeps out only its own kind: each has a number of its own.
        let to = guarded.map_or_else(|| LValue::at("sums", Expr::Int(self.below(4))), |at| LValue::at("guarded", Expr::Int(at)));
        let stmt = Stmt::Add(to, self.value(scope), guard);
        self.by_one_if_blind(scope, stmt)
    }

    /// Where it is open how many members there are, only one of them runs the statement.
    fn by_one_if_blind(&mut self, scope: &StmtContext, stmt: Stmt) -> Stmt {
        if scope.team && scope.level > 0 && scope.blind {
            return Stmt::If(Expr::call("omp_get_thread_num").op(BinaryOperator::Eq, Expr::Int(0)), vec![stmt]);
        }
        stmt
    }

    /// A sequential loop around statements.
    fn again(&mut self, scope: &StmtContext) -> Stmt {
        let count = 1 + self.below(3);
        let each = self.counter(count, false);
        let mut inner = StmtContext { again: true, times: scope.times * count, deep: scope.deep + 1, ..scope.clone() };
        inner.values.push(Expr::name(each.name.clone()));
        let block = self.block(&inner, 2);
        Stmt::For(each, block)
    }

    /// A function: its constructs belong to the region of its caller, which it does not see.
    fn orphan(&mut self, scope: &StmtContext) -> Stmt {
        let given = self.value(&StmtContext { values: scope.settled(), ..scope.clone() });
        let inner = StmtContext { values: vec![Expr::given()], locals: false, deep: scope.deep + 1, ..scope.clone() };
        let block = self.block(&inner, 2);
        Stmt::Part(CallKind::Plain, given, block)
    }
}

#[cfg(test)]
mod tests {
    use super::super::write::source;
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_program() {
        for seed in 0..20 {
            let text = || source(&program(seed, &Language::ALL, |_| true));
            assert_eq!(text(), text(), "seed {seed}");
        }
        let texts: std::collections::HashSet<_> = (0..20).map(|seed| source(&program(seed, &Language::ALL, |_| true))).collect();
        assert_eq!(texts.len(), 20);
    }

    #[test]
    fn bodies_that_are_not_wanted_are_left_out() {
        let is_wanted = |program: &TestProgram| source(program).contains("taskloop");
        let drawn = program(3, &[Language::C], is_wanted);
        let alone = |body: &(usize, Block)| TestProgram { bodies: vec![body.clone()], ..drawn.clone() };
        assert!(!drawn.bodies.is_empty() && drawn.bodies.iter().all(|body| is_wanted(&alone(body))));
    }

    #[test]
    fn members_of_a_team_of_open_size_do_not_add_by_themselves() {
        // `omp_get_num_threads` stands in no program whose environment leaves it open.
        let open = |program: &TestProgram| program.environment.iter().any(|(name, _)| *name == "OMP_THREAD_LIMIT");
        let blind = (0..200).map(|seed| program(seed, &[Language::C], |_| true)).filter(open);
        let texts: Vec<String> = blind.map(|program| source(&program)).collect();
        assert!(texts.len() > 5 && texts.iter().all(|text| !text.contains("omp_get_num_threads")));
    }
}
