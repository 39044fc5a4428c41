//! Tasks: in groups, in loops, with reductions, with dependences, and detached.
use super::super::tree::{
    Associated, BinaryOperator, Block, Clause, Directive, Exclusion, Expr, Kind, LValue, LocalVariable, Stmt,
};
use super::loops::{chain, nap};
use super::{Choices, Drawer, StmtContext};

pub(super) const KINDS: &Choices = &[
    (6, StmtContext::may_spawn, Drawer::task),
    (3, StmtContext::may_spawn, Drawer::taskgroup),
    (4, StmtContext::may_spawn, |drawer, scope| drawer.taskloop(scope, "taskloop")),
    (1, StmtContext::may_spawn, |drawer, scope| drawer.taskloop(scope, "taskloop simd")),
    (2, StmtContext::may_fork, |drawer, scope| drawer.taskloop(scope, "parallel master taskloop")),
    (2, StmtContext::may_spawn, |_, _| Directive::alone("taskwait", Vec::new())),
    (1, |_| true, |_, _| Directive::alone("taskyield", Vec::new())),
    (6, |scope| scope.load() <= 12 && scope.may_spawn(), Drawer::graph),
    (2, |scope| scope.load() <= 40 && scope.may_reduce(), Drawer::detached),
    (3, StmtContext::may_reduce, Drawer::task_reduction),
    (3, StmtContext::may_fork, |drawer, scope| drawer.region_task_reduction(scope)),
    (9, |scope| scope.team && scope.locals && scope.may_reduce(), |drawer, scope| drawer.loop_task_reduction(scope)),
];

impl StmtContext {
    fn may_spawn(&self) -> bool {
        self.load() <= 200 && self.deep < 6
    }

    /// Returns whether tasks may take part in a reduction here, be detached, or run on a device. Outside of
    /// regions that makes libgomp forget a loop that is under way, or hang in a later region.
    pub(super) fn may_reduce(&self) -> bool {
        self.may_spawn() && self.level > 0
    }
}

impl Drawer {
    /// What any task may have.
    fn task_clauses(&mut self) -> Vec<Clause> {
        let truth = |drawer: &mut Self| vec![Expr::Int(drawer.below(2))];
        let mut clauses = Vec::new();
        if self.one_in(5) {
            clauses.push(Clause::loose("if", "", truth(self)));
        }
        if self.one_in(5) {
            clauses.push(Clause::loose("final", "", truth(self)));
        }
        if self.one_in(5) {
            clauses.push(Clause::loose("mergeable", "", Vec::new()));
        }
        if self.one_in(4) {
            clauses.push(Clause::loose("untied", "", Vec::new()));
        }
        if self.one_in(4) {
            clauses.push(Clause::loose("priority", "", vec![Expr::Int(self.below(10))]));
        }
        clauses
    }

    fn task(&mut self, scope: &StmtContext) -> Stmt {
        let clauses = self.task_clauses();
        let mut block = self.block(&scope.spawned(1), 1);
        if self.one_in(6) {
            block.push(Stmt::Add(LValue::at("sums", Expr::Int(0)), Expr::call("omp_in_final"), Exclusion::Atomic));
            return self.by_one_if_blind(scope, Directive::of("task", clauses, block));
        }
        let stmt = Directive::of("task", clauses, block);
        self.by_one_if_blind(scope, stmt)
    }

    fn taskgroup(&mut self, scope: &StmtContext) -> Stmt {
        let inner = scope.spawned(1);
        let block = (0..=self.below(3)).map(|_| self.task(&inner)).collect();
        let stmt = Directive::of("taskgroup", Vec::new(), block);
        self.by_one_if_blind(scope, stmt)
    }

    fn taskloop(&mut self, scope: &StmtContext, name: &'static str) -> Stmt {
        // gfortran 12 fails on some vectorised loops.
        let name = if self.is_c() { name } else { name.trim_end_matches(" simd") };
        let is_region = name.starts_with("parallel");
        let mut clauses = if is_region { self.region_clauses(scope).0 } else { Vec::new() };
        clauses.extend(self.task_clauses().into_iter().filter(|clause| clause.name != "if"));
        let count = if self.one_in(8) { 0 } else { 1 + self.below((400 / scope.load()).clamp(2, 40)) };
        let mut loops = vec![self.counter(count, true)];
        if self.one_in(4) {
            let count = 1 + self.below(3);
            loops.push(self.counter(count, true));
            clauses.push(Clause::of("collapse", "2", Vec::new()));
        }
        match self.below(3) {
            0 => clauses.push(Clause::loose("grainsize", "", vec![Expr::Int(1 + self.below(12))])),
            1 => clauses.push(Clause::loose("num_tasks", "", vec![Expr::Int(1 + self.below(12))])),
            _ => {}
        }
        let total = loops.iter().map(|each| each.count).product::<i64>().max(1);
        let mut inner = scope.spawned(total);
        inner.values.extend(loops.iter().map(|each| each.value()));
        inner.level += u32::from(is_region);
        let (mut block, mut locals) = (Vec::new(), Vec::new());
        if scope.may_reduce() && self.one_in(2) {
            let reduced = self.reduction(&inner);
            clauses.push(reduced.clause);
            block.push(reduced.update);
            locals.push(reduced.local);
        } else {
            // Tasks may then outlive the statement, but none needs what it had.
            if !is_region && self.one_in(3) {
                clauses.push(Clause::loose("nogroup", "", Vec::new()));
            }
            let number = Expr::Int(self.below(4));
            block.push(Stmt::Add(LValue::at("sums", number), self.value(&inner), Exclusion::Atomic));
        }
        if !name.ends_with("simd") {
            block.extend(self.block(&inner, 0));
        }
        let stmt = Stmt::Directive(Directive { name, clauses, body: Associated::Loops(loops, block) });
        let stmt = self.wrapped(locals, stmt);
        self.by_one_if_blind(scope, stmt)
    }

    /// Tasks that depend on each other: what each makes of its cells shows the order in which they ran.
    fn graph(&mut self, scope: &StmtContext) -> Stmt {
        let many = self.one_in(2);
        let cells = if many { 65 + self.below(40) } else { 1 + self.below(8) };
        let tasks = if many { cells / 4 + self.below(40) } else { 2 + self.below(10) };
        let graph = self.fresh('d');
        let inner = scope.spawned(1);
        let mut block: Block = Vec::new();
        for number in 0..tasks {
            // With many cells some tasks use more of them than any table has room for.
            let all = many && self.is_c() && self.one_in(20);
            let uses = if many { 1 + self.below(6) } else { 1 + self.below(3) };
            let mut order = self.dice.shuffled(cells as usize);
            order.truncate(if all { cells as usize } else { uses.min(cells) as usize });
            // The first task is slow, so that those after it have to wait.
            let slow = number == 0 || self.one_in(10);
            block.push(self.node(&inner, &graph, &order, slow));
        }
        if self.one_in(3) {
            let cell = LValue::at(graph.clone(), Expr::Int(self.below(cells)));
            let wait = Directive::alone("taskwait", vec![Clause::of("depend", "in: ", vec![Expr::Of(cell.clone())])]);
            block
                .push(Stmt::Together(vec![wait, Stmt::Add(LValue::at("sums", Expr::Int(2)), Expr::Of(cell), Exclusion::Atomic)]));
        }
        block.push(Stmt::Together(vec![Directive::alone("taskwait", Vec::new()), self.hashed(&graph, cells)]));
        let local = LocalVariable::of(graph, Kind::Array(cells), 0);
        self.by_one_if_blind(scope, Stmt::Locals(vec![local], block))
    }

    /// The cells of a graph as one number, which is added.
    fn hashed(&mut self, graph: &str, cells: i64) -> Stmt {
        let each = self.counter(cells, false);
        let at = LValue::at(graph, each.position());
        let hash = self.fresh('h');
        let add = Stmt::Add(LValue::at("sums", Expr::Int(self.below(4))), Expr::name(hash.clone()), Exclusion::Atomic);
        let block = vec![Stmt::For(each, vec![chain(&LValue::name(hash.clone()), Expr::Of(at))]), add];
        Stmt::Locals(vec![LocalVariable::of(hash, Kind::Whole, 1)], vec![Stmt::Together(block)])
    }

    /// A task that uses these cells.
    fn node(&mut self, scope: &StmtContext, graph: &str, order: &[usize], slow: bool) -> Stmt {
        let cell = |&at: &usize| LValue::at(graph, Expr::Int(at as i64));
        // A task that uses all cells writes to all of them.
        let reads = if order.len() > 64 { 0 } else { self.below(order.len() as i64) as usize };
        let (read, write) = order.split_at(reads);
        let named = |cells: &[usize]| cells.iter().map(|at| Expr::Of(cell(at))).collect::<Vec<_>>();
        let kind = self.pick(&["out", "inout", "inout", "mutexinoutset"]);
        let mut clauses = vec![Clause::of("shared", "", vec![Expr::name(graph)])];
        clauses.extend(self.task_clauses());
        if !read.is_empty() {
            clauses.push(Clause::of("depend", "in: ", named(read)));
        }
        if write.len() > 64 {
            let all = format!("iterator(int k = 0:{}), {kind}: ", write.len());
            clauses.push(Clause::of("depend", all, vec![Expr::Of(LValue::at(graph, Expr::name("k")))]));
        } else {
            clauses.push(Clause::of("depend", format!("{kind}: "), named(write)));
        }
        let value = read.iter().take(4).fold(self.value(scope), |sum, at| sum.op(BinaryOperator::Add, Expr::Of(cell(at))));
        let mut block = if slow { vec![nap(50 + self.below(150))] } else { Vec::new() };
        block.extend(write.iter().take(8).map(|at| match kind {
            // Those that exclude each other may come in any order.
            "mutexinoutset" => Stmt::Add(cell(at), value.clone().op(BinaryOperator::Rem, Expr::Int(99_991)), Exclusion::Plain),
            _ => chain(&cell(at), value.clone()),
        }));
        if self.is_c() && write.len() == 1 && self.one_in(6) {
            return self.by_object(clauses, block);
        }
        Directive::of("task", clauses, block)
    }

    /// A task whose last dependence is kept in an object.
    fn by_object(&mut self, mut clauses: Vec<Clause>, block: Block) -> Stmt {
        let object = self.fresh('o');
        let name = || Clause::of("", "", vec![Expr::name(object.clone())]);
        let depends = clauses.pop().map_or_else(Vec::new, |depends| vec![name(), depends]);
        clauses.push(Clause::of("depend", "depobj: ", vec![Expr::name(object.clone())]));
        let stmts = vec![
            Directive::alone("depobj", depends),
            Directive::of("task", clauses, block),
            Directive::alone("depobj", vec![name(), Clause::of("destroy", "", Vec::new())]),
        ];
        Stmt::Locals(vec![LocalVariable::of(object, Kind::Depend, 0)], vec![Stmt::Together(stmts)])
    }

    /// A task that completes when its event is fulfilled, and one that waits for it.
    fn detached(&mut self, scope: &StmtContext) -> Stmt {
        let (event, graph) = (self.fresh('e'), self.fresh('d'));
        let cell = LValue::at(graph.clone(), Expr::Int(0));
        let depends = |kind: &'static str| {
            vec![
                Clause::of("shared", "", vec![Expr::name(graph.clone())]),
                Clause::of("depend", kind, vec![Expr::Of(cell.clone())]),
            ]
        };
        let fulfil = Stmt::Call(Expr::Call("omp_fulfill_event", vec![Expr::name(event.clone())]));
        let mut first = depends("out: ");
        first.push(Clause::of("detach", "", vec![Expr::name(event.clone())]));
        let mut work = vec![chain(&cell, self.value(&scope.lone(1)))];
        // Only an implicit task is sure not to wait for the detached one before it goes on.
        let inside = !(scope.team && scope.level > 0) || self.one_in(2);
        if inside {
            work.push(fulfil.clone());
        }
        let mut block = vec![Directive::of("task", first, work)];
        let second = chain(&cell, self.value(&scope.lone(1)));
        block.push(Directive::of("task", depends("inout: "), vec![second]));
        block.extend((!inside).then_some(fulfil));
        block.push(Directive::alone("taskwait", Vec::new()));
        block.push(Stmt::Add(LValue::at("sums", Expr::Int(1)), Expr::Of(cell), Exclusion::Atomic));
        let locals = vec![LocalVariable::of(event, Kind::Event, 0), LocalVariable::of(graph, Kind::Array(1), 0)];
        self.by_one_if_blind(scope, Stmt::Locals(locals, vec![Stmt::Together(block)]))
    }

    /// Tasks that take part in a reduction of what is around them.
    fn reducing_tasks(&mut self, scope: &StmtContext, clause: &Clause, update: &Stmt) -> Block {
        let one = |drawer: &mut Self| {
            let mut clauses = drawer.task_clauses();
            clauses.push(Clause::of("in_reduction", clause.prefix.clone(), clause.values.clone()));
            let mut block = vec![update.clone()];
            if drawer.one_in(3) {
                block.push(drawer.add(&scope.spawned(1)));
            }
            Directive::of("task", clauses, block)
        };
        (0..=self.below(3)).map(|_| one(self)).collect()
    }

    fn task_reduction(&mut self, scope: &StmtContext) -> Stmt {
        let inner = scope.spawned(1);
        let reduced = self.task_reduction_by(&inner);
        let block = self.reducing_tasks(&inner, &reduced.clause, &reduced.update);
        let clause = Clause { name: "task_reduction", ..reduced.clause };
        let stmt = self.wrapped(vec![reduced.local], Directive::of("taskgroup", vec![clause], block));
        self.by_one_if_blind(scope, stmt)
    }

    /// A region whose reduction the tasks of its members take part in.
    fn region_task_reduction(&mut self, scope: &StmtContext) -> Stmt {
        let (mut clauses, size) = self.region_clauses(scope);
        let inner = scope.region(size);
        let reduced = self.task_reduction_by(&inner.spawned(1));
        clauses.push(by_tasks(&reduced.clause));
        let tasks = self.reducing_tasks(&inner.spawned(1), &reduced.clause, &reduced.update);
        let block = tasks.into_iter().map(|task| self.by_one_if_blind(&inner, task)).collect();
        self.wrapped(vec![reduced.local], Directive::of("parallel", clauses, block))
    }

    /// Sometimes: tasks of an ordered loop that take part in a reduction of it.
    pub(super) fn with_reducing_tasks(
        &mut self,
        scope: &StmtContext,
        inner: &StmtContext,
        name: &str,
        clauses: &mut Vec<Clause>,
        block: &mut Block,
        locals: &mut Vec<LocalVariable>,
    ) {
        let is_region = name.starts_with("parallel");
        if !(is_region || scope.may_reduce()) || self.one_in(5) {
            return;
        }
        let reduced = self.task_reduction_by(inner);
        block.extend(self.reducing_tasks(inner, &reduced.clause, &reduced.update));
        clauses.push(by_tasks(&reduced.clause));
        if is_region { locals.push(reduced.local) } else { self.share(reduced.local) }
    }

    /// A loop, or sections, or a scope, likewise.
    fn loop_task_reduction(&mut self, scope: &StmtContext) -> Stmt {
        let name = self.pick(&["for", "for", "for", "for", "sections", "sections", "scope", "scope"]);
        let count = 1 + self.below(12);
        let inner = scope.lone(if name == "scope" { scope.size } else { count });
        let reduced = self.task_reduction_by(&inner);
        let tasks = self.reducing_tasks(&inner, &reduced.clause, &reduced.update);
        let mut clauses = vec![by_tasks(&reduced.clause)];
        let body = match name {
            "for" => {
                clauses.extend(self.schedule(scope, false).0);
                Associated::Loops(vec![self.counter(count, true)], tasks)
            }
            "sections" => Associated::Sections(tasks.into_iter().map(|task| vec![task]).collect()),
            _ => Associated::Block(tasks.into_iter().map(|task| self.by_one_if_blind(scope, task)).collect()),
        };
        self.share(reduced.local);
        Stmt::Directive(Directive { name, clauses, body })
    }
}

/// The clause of a construct whose tasks take part.
fn by_tasks(clause: &Clause) -> Clause {
    Clause { prefix: format!("task, {}", clause.prefix), ..clause.clone() }
}
