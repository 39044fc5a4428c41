//! Loops that are divided: by schedules, in order, with dependences between iterations.
use super::super::tree::{
    Associated, BinaryOperator, Clause, Directive, Exclusion, Expr, IndexType, Kind, LValue, LocalVariable, Loop, Stmt,
};
use super::{Choices, Drawer, StmtContext};

pub(super) const KINDS: &Choices = &[
    (8, |scope| scope.team, |drawer, scope| drawer.divided(scope, "for")),
    (8, StmtContext::may_fork, |drawer, scope| drawer.divided(scope, "parallel for")),
    (2, StmtContext::may_fork, |drawer, scope| drawer.divided(scope, "parallel for simd")),
    (1, |scope| scope.team, |drawer, scope| drawer.divided(scope, "for simd")),
    (4, |scope| scope.team && scope.locals, |drawer, scope| drawer.in_order(scope, "for")),
    (3, StmtContext::may_fork, |drawer, scope| drawer.in_order(scope, "parallel for")),
    (4, |scope| scope.team && scope.locals, |drawer, scope| drawer.doacross(scope, "for")),
    (3, StmtContext::may_fork, |drawer, scope| drawer.doacross(scope, "parallel for")),
    (4, |scope| scope.may_fork() && scope.once && scope.each() == 1, Drawer::chunks),
];

/// A prime: sums in an order that matters stay below it.
const MODULUS: i64 = 1_000_003;

impl Drawer {
    /// A loop with `count` iterations.
    pub(super) fn counter(&mut self, count: i64, unsigned: bool) -> Loop {
        let kinds = [IndexType::Int, IndexType::Long, IndexType::Unsigned, IndexType::Unsigned];
        let kind = kinds[self.below(if unsigned && self.is_c() { 4 } else { 2 }) as usize];
        let step = (1 + self.below(5)) * if self.one_in(3) { -1 } else { 1 };
        let first = if kind == IndexType::Unsigned { 20_000 + self.below(99) } else { self.below(40) - 20 };
        let slack = if count > 0 { self.below(step.abs()) } else { 0 };
        Loop { name: self.fresh('i'), kind, first, count, step, slack }
    }

    /// A schedule, or none, and whether it says which member runs which iteration.
    pub(super) fn schedule(&mut self, scope: &StmtContext, ordered: bool) -> (Option<Clause>, bool) {
        let mut kind =
            self.pick(&["", "static", "dynamic", "guided", "runtime", "runtime", "auto", "dynamic", "guided"]).to_owned();
        if kind.is_empty() {
            return (None, !scope.blind);
        }
        let fixed = !scope.blind && (kind == "static" || kind == "runtime" && self.runtime_is_static);
        let mut values = Vec::new();
        if !["runtime", "auto"].contains(&&kind[..]) && !self.one_in(3) {
            values.push(Expr::Int(self.pick(&[1, 1, 2, 3, 5, 7, 16, 1_000])));
        }
        match self.below(3) {
            0 => kind = format!("monotonic:{kind}"),
            1 if !ordered && kind != "static" && kind != "auto" => kind = format!("nonmonotonic:{kind}"),
            _ => {}
        }
        if kind.ends_with("auto") {
            kind = "auto".to_owned();
        }
        let prefix = if values.is_empty() { kind } else { format!("{kind},") };
        (Some(Clause::loose("schedule", prefix, values)), fixed)
    }

    fn count(&mut self, scope: &StmtContext) -> i64 {
        let most = (1_500 / scope.load()).clamp(2, 60);
        match self.below(12) {
            0 => 0,
            1 => 1,
            _ => 1 + self.below(most),
        }
    }

    /// Clauses of a loop's directive: its schedule, and those of its region.
    fn loop_clauses(&mut self, scope: &StmtContext, name: &str, ordered: bool) -> (Vec<Clause>, bool) {
        let (schedule, fixed) = self.schedule(scope, ordered);
        let mut clauses: Vec<Clause> = schedule.into_iter().collect();
        if name.starts_with("parallel") {
            clauses.extend(self.region_clauses(scope).0);
        }
        (clauses, fixed)
    }

    fn divided(&mut self, scope: &StmtContext, name: &'static str) -> Stmt {
        // gfortran 12 fails on some vectorised loops.
        let name = if self.is_c() { name } else { name.trim_end_matches(" simd") };
        let (mut clauses, fixed) = self.loop_clauses(scope, name, false);
        let nowait = name.starts_with("for") && self.one_in(3);
        if nowait {
            clauses.push(Clause::loose("nowait", "", Vec::new()));
        }
        let mut loops = vec![self.nonempty_or_not(scope)];
        for _ in 0..[0, 0, 0, 1, 2][self.below(5) as usize] {
            let count = 1 + self.below(4);
            loops.push(self.counter(count, true));
        }
        if loops.len() > 1 {
            clauses.push(Clause::of("collapse", loops.len().to_string(), Vec::new()));
        }
        let total = loops.iter().map(|each| each.count).product::<i64>();
        let mut inner = scope.within(name, total.max(1));
        inner.values.extend(loops.iter().map(Loop::value));
        if fixed && !name.ends_with("simd") {
            inner.values.push(Expr::call("omp_get_thread_num"));
        }
        inner.level += u32::from(name.starts_with("parallel"));
        let exclusive = scope.once && !(nowait && scope.again) && (scope.each() == 1 || name.starts_with("for"));
        let mut block = Vec::new();
        if let Some(from) = self.own_cells(total) {
            let at = position(&loops).op(BinaryOperator::Add, Expr::Int(from));
            let guard = if exclusive { Exclusion::Plain } else { Exclusion::Atomic };
            block.push(Stmt::Add(LValue::at("cells", at), self.value(&inner), guard));
        }
        let mut locals = Vec::new();
        if (name.starts_with("parallel") || scope.locals) && self.one_in(2) {
            let reduced = self.reduction(&inner);
            clauses.push(reduced.clause);
            block.push(reduced.update);
            if name.starts_with("parallel") { locals.push(reduced.local) } else { self.share(reduced.local) }
        }
        if (name.starts_with("parallel") || scope.locals) && total > 0 && self.one_in(3) {
            let last = self.fresh('l');
            clauses.push(Clause::of("lastprivate", "", vec![Expr::name(last.clone())]));
            // Not of what is around: the same loop may be run again at once.
            let own = StmtContext { values: loops.iter().map(Loop::value).collect(), ..inner.clone() };
            block.push(Stmt::Set(LValue::name(last.clone()), self.value(&own)));
            let local = LocalVariable::of(last, Kind::Whole, -1);
            if name.starts_with("parallel") { locals.push(local) } else { self.share(local) }
        }
        // Constructs may not stand in a loop that is vectorised.
        if !name.ends_with("simd") {
            block.extend(self.block(&inner, 1));
        }
        let stmt = Stmt::Directive(Directive { name, clauses, body: Associated::Loops(loops, block) });
        self.wrapped(locals, stmt)
    }

    fn nonempty_or_not(&mut self, scope: &StmtContext) -> Loop {
        let count = self.count(scope);
        self.counter(count, true)
    }

    /// The statement, and variables around it that are added afterwards.
    pub(super) fn wrapped(&mut self, locals: Vec<LocalVariable>, stmt: Stmt) -> Stmt {
        let mut block = self.with_locals(locals, vec![stmt]);
        if block.len() == 1 { block.remove(0) } else { Stmt::Together(block) }
    }

    /// A number that depends on the order of iterations, which `ordered` fixes.
    fn in_order(&mut self, scope: &StmtContext, name: &'static str) -> Stmt {
        let (mut clauses, _) = self.loop_clauses(scope, name, true);
        clauses.push(Clause::of("ordered", "", Vec::new()));
        let each = self.nonempty_or_not(scope);
        let mut inner = scope.within(name, each.count.max(1));
        inner.values.push(each.value());
        let (hash, mut locals) = self.chained(name);
        let mut block = if self.one_in(3) { vec![self.add(&inner)] } else { Vec::new() };
        if self.one_in(4) {
            block.push(Stmt::If(
                each.value().op(BinaryOperator::Rem, Expr::Int(7)).op(BinaryOperator::Eq, Expr::Int(3)),
                vec![nap(30)],
            ));
        }
        let set = chain(&LValue::name(hash), self.value(&inner));
        block.push(Directive::of("ordered", Vec::new(), vec![set]));
        self.with_reducing_tasks(scope, &inner, name, &mut clauses, &mut block, &mut locals);
        let stmt = Stmt::Directive(Directive { name, clauses, body: Associated::Loops(vec![each], block) });
        self.wrapped(locals, stmt)
    }

    /// A variable for numbers whose order matters, shared by the members that run the loop.
    fn chained(&mut self, name: &str) -> (String, Vec<LocalVariable>) {
        if name.starts_with("parallel") {
            let hash = self.fresh('h');
            return (hash.clone(), vec![LocalVariable::of(hash, Kind::Whole, 1)]);
        }
        (self.local('h', Kind::Whole, 1), Vec::new())
    }

    /// A loop, or two, whose iterations wait for earlier ones.
    fn doacross(&mut self, scope: &StmtContext, name: &'static str) -> Stmt {
        let (mut clauses, _) = self.loop_clauses(scope, name, true);
        let (height, width) = (1 + self.below(12), 1 + self.below(6));
        let mut loops = vec![self.counter(height, true)];
        if self.one_in(2) {
            loops.push(self.counter(width, true));
        }
        // Programs of gcc 12 hang if the loops are signed and unsigned, or unsigned and descending.
        if loops.iter().any(|each| each.kind == IndexType::Unsigned) {
            loops.iter_mut().for_each(|each| (each.kind, each.first, each.step) = (IndexType::Unsigned, 20_000, each.step.abs()));
        }
        clauses.push(Clause::of("ordered", loops.len().to_string(), Vec::new()));
        let mut inner = scope.within(name, height * width);
        inner.values.extend(loops.iter().map(Loop::value));
        let back = |at: usize| {
            let vector =
                loops.iter().enumerate().map(|(i, each)| if i == at { each.before() } else { Expr::name(each.name.clone()) });
            Clause::of("depend", "sink: ", vector.collect())
        };
        let sinks = (0..loops.len()).map(back).collect();
        // Each number is made of those that the iterations waited for have made; a border of zeros is around.
        let kind = if loops.len() == 1 { Kind::Array(height + 1) } else { Kind::Array((height + 1) * (width + 1)) };
        let (grid, mut locals) = if name.starts_with("parallel") {
            let grid = self.fresh('g');
            (grid.clone(), vec![LocalVariable::of(grid, kind, 0)])
        } else {
            (self.local('g', kind, 0), Vec::new())
        };
        let at = |up: i64, left: i64| {
            let row = loops[0].position().op(BinaryOperator::Add, Expr::Int(1 - up));
            let column = loops.get(1).map(|each| each.position().op(BinaryOperator::Add, Expr::Int(1 - left)));
            LValue::at(
                grid.clone(),
                column.map_or(row.clone(), |column| {
                    row.op(BinaryOperator::Mul, Expr::Int(width + 1)).op(BinaryOperator::Add, column)
                }),
            )
        };
        let mut value = Expr::Of(at(1, 0)).op(BinaryOperator::Mul, Expr::Int(3)).op(BinaryOperator::Add, self.value(&inner));
        if loops.len() == 2 {
            value = value.op(BinaryOperator::Add, Expr::Of(at(0, 1)).op(BinaryOperator::Mul, Expr::Int(5)));
        }
        let set = Stmt::Set(at(0, 0), value.op(BinaryOperator::Rem, Expr::Int(MODULUS)));
        let mut block = vec![Stmt::Together(vec![
            Directive::alone("ordered", sinks),
            set,
            Directive::alone("ordered", vec![Clause::of("depend", "source", Vec::new())]),
        ])];
        if self.one_in(3) {
            block.push(self.add(&inner));
        }
        self.with_reducing_tasks(scope, &inner, name, &mut clauses, &mut block, &mut locals);
        let stmt = Stmt::Directive(Directive { name, clauses, body: Associated::Loops(loops, block) });
        self.wrapped(locals, stmt)
    }

    /// Chunks must be as long as requested: each iteration records the thread that runs it.
    fn chunks(&mut self, scope: &StmtContext) -> Stmt {
        let kind = self.pick(&["dynamic", "guided", "guided"]);
        let (count, chunk) = (20 + self.below(60), 2 + self.below(12));
        let Some(from) = self.own_cells(count) else { return self.add(scope) };
        let (mut clauses, _) = self.region_clauses(scope);
        let mut block = Vec::new();
        match self.below(4) {
            // Within a region the members' schedules would differ, which later loops must not.
            0 if scope.level == 0 => {
                let which = if kind == "guided" { "omp_sched_guided" } else { "omp_sched_dynamic" };
                self.runtime_is_static = false;
                block.push(Stmt::Call(Expr::Call("omp_set_schedule", vec![Expr::name(which), Expr::Int(chunk)])));
                clauses.push(Clause::of("schedule", "runtime", Vec::new()));
            }
            1 => clauses.push(Clause::of("schedule", format!("monotonic:{kind},"), vec![Expr::Int(chunk)])),
            _ => clauses.push(Clause::of("schedule", format!("{kind},"), vec![Expr::Int(chunk)])),
        }
        let each = self.counter(count, true);
        let mut work = vec![Stmt::Set(
            LValue::at("cells", each.position().op(BinaryOperator::Add, Expr::Int(from))),
            Expr::call("omp_get_thread_num").op(BinaryOperator::Add, Expr::Int(1)),
        )];
        if self.one_in(2) {
            work.push(Stmt::If(
                each.position().op(BinaryOperator::Rem, Expr::Int(chunk)).op(BinaryOperator::Eq, Expr::Int(0)),
                vec![nap(20)],
            ));
        }
        block.push(Stmt::Directive(Directive { name: "parallel for", clauses, body: Associated::Loops(vec![each], work) }));
        let count_wrong = if kind == "guided" { "short_runs" } else { "torn" };
        let wrong = Expr::Call(count_wrong, vec![Expr::Int(from), Expr::Int(count), Expr::Int(chunk)]);
        block.push(Stmt::Add(LValue::at("sums", Expr::Int(0)), wrong, Exclusion::Atomic));
        // Which thread ran which chunk is open.
        block.push(Stmt::Call(Expr::Call("clear", vec![Expr::Int(from), Expr::Int(count)])));
        Stmt::Together(block)
    }
}

/// `place` becomes another number that depends on what it was.
pub(super) fn chain(place: &LValue, value: Expr) -> Stmt {
    let next = Expr::Of(place.clone()).op(BinaryOperator::Mul, Expr::Int(31)).op(BinaryOperator::Add, value);
    Stmt::Set(place.clone(), next.op(BinaryOperator::Rem, Expr::Int(MODULUS)))
}

pub(super) fn nap(us: i64) -> Stmt {
    Stmt::Call(Expr::Call("nap", vec![Expr::Int(us)]))
}

/// The number of an iteration of a nest, from 0 on.
fn position(loops: &[Loop]) -> Expr {
    loops.iter().fold(Expr::Int(0), |at, each| match at {
        Expr::Int(0) => each.position(),
        _ => at.op(BinaryOperator::Mul, Expr::Int(each.count)).op(BinaryOperator::Add, each.position()),
    })
}

impl Loop {
    /// The number of an iteration, from 0 on.
    pub(super) fn position(&self) -> Expr {
        let mut at = Expr::name(self.name.clone());
        if self.kind == IndexType::Unsigned {
            at = at.op(BinaryOperator::Sub, Expr::name("TOP"));
        }
        let first = Expr::Int(self.first);
        let distance = if self.step > 0 { at.op(BinaryOperator::Sub, first) } else { first.op(BinaryOperator::Sub, at) };
        distance.op(BinaryOperator::Div, Expr::Int(self.step.abs()))
    }

    /// A small number that tells iterations apart.
    pub(super) fn value(&self) -> Expr {
        if self.kind == IndexType::Unsigned { self.position() } else { Expr::name(self.name.clone()) }
    }

    /// The number of the iteration before, as `depend(sink)` takes it.
    fn before(&self) -> Expr {
        let op = if self.step > 0 { BinaryOperator::Sub } else { BinaryOperator::Add };
        Expr::name(self.name.clone()).op(op, Expr::Int(self.step.abs()))
    }
}
