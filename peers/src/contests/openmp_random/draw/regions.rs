//! Draws parallel regions, and the constructs of a team except loops and tasks.
use super::super::tree::{Associated, BinaryOperator, Clause, Directive, Exclusion, Expr, Kind, LValue, LocalVariable, Stmt};
use super::{Choices, Drawer, MOST_THREADS, StmtContext};

/// The constructs of this file: how likely, where, and how.
pub(super) const KINDS: &Choices = &[
    (12, StmtContext::may_fork, Drawer::parallel),
    (4, |scope| scope.team, |drawer, scope| drawer.sections(scope, "sections")),
    (3, StmtContext::may_fork, |drawer, scope| drawer.sections(scope, "parallel sections")),
    (4, |scope| scope.team, Drawer::single),
    (3, |scope| scope.team, Drawer::copyprivate),
    (2, |scope| scope.team, Drawer::masked),
    (3, |scope| scope.team, |_, _| Directive::alone("barrier", Vec::new())),
    (2, |scope| scope.team && scope.locals, Drawer::scope),
    (2, |scope| scope.level == 0 && scope.team && !scope.device && scope.may_fork(), Drawer::kept),
    (2, |scope| scope.level == 0 && scope.team && !scope.device && scope.may_fork(), Drawer::copyin),
    (3, |scope| scope.level == 0 && scope.team && !scope.device, Drawer::teams),
    (4, |scope| scope.load() <= 8 && scope.deep < 3 && !scope.device, Drawer::target),
    (2, |_| true, Drawer::wide_atomic),
];

/// Operators of reductions, the initial values of their variables, and the function that applies each of them
/// in all languages; without one, the program adds. The last operator is declared by the programs.
const OPERATORS: [(&str, i64, &str); 8] = [
    ("+", 0, ""),
    ("+", 5, ""),
    ("max", -9, "most"),
    ("min", 999_999, "least"),
    ("|", 0, "either"),
    ("&", -1, "both"),
    ("^", 0, "differ"),
    ("mixed", 0, "mix"),
];

/// A reduction: its clause, its variable, and the statement by which a thread updates its copy.
pub(super) struct DrawnReduction {
    pub(super) clause: Clause,
    pub(super) local: LocalVariable,
    pub(super) update: Stmt,
}

impl StmtContext {
    /// Returns whether a region may start here.
    pub(super) fn may_fork(&self) -> bool {
        self.level < 3 && self.load() <= 16 && self.deep < 5 && !(self.blind && self.team && self.level > 0)
    }

    /// Returns the context within a region of at most `size` members. Statements may use their thread numbers
    /// unless the program is blind.
    pub(super) fn region(&self, size: i64) -> Self {
        let mut values = self.settled();
        if !self.blind {
            values.extend([Expr::call("omp_get_thread_num"), Expr::call("omp_get_num_threads")]);
        }
        let once = self.once && self.load() == 1;
        let (level, deep) = (self.level + 1, self.deep + 1);
        Self { level, team: true, once, again: false, times: self.load(), size, deep, values, locals: true, ..*self }
    }
}

impl Drawer {
    /// Draws the clauses of a directive that starts a region. Also returns its largest number of members.
    pub(super) fn region_clauses(&mut self, scope: &StmtContext) -> (Vec<Clause>, i64) {
        let (mut clauses, mut size) = (Vec::new(), MOST_THREADS);
        let most = [MOST_THREADS, 3, 2][scope.level.min(2) as usize];
        // Nested regions have fewer members, so that the number of all threads stays small.
        if scope.level > 1 || scope.level == 1 && !self.one_in(8) || !self.one_in(4) {
            size = 1 + self.below(most);
            clauses.push(Clause::of("num_threads", "", vec![Expr::Int(size)]));
        }
        if self.one_in(8) {
            let when = if scope.settled().is_empty() || self.one_in(2) {
                Expr::Int(self.below(2))
            } else {
                self.pick(&scope.settled()).op(BinaryOperator::Rem, Expr::Int(2)).op(BinaryOperator::Eq, Expr::Int(0))
            };
            clauses.push(Clause::loose("if", "", vec![when]));
        }
        if self.one_in(10) {
            let policy = self.pick(&["close", "spread", "master"]);
            clauses.push(Clause::loose("proc_bind", policy, Vec::new()));
        }
        (clauses, size)
    }

    pub(super) fn parallel(&mut self, scope: &StmtContext) -> Stmt {
        let (mut clauses, size) = self.region_clauses(scope);
        let mut inner = scope.region(size);
        let mut locals = Vec::new();
        if self.one_in(4) {
            let name = self.fresh('f');
            clauses.push(Clause::of("firstprivate", "", vec![Expr::name(name.clone())]));
            inner.values.push(Expr::name(name.clone()));
            if self.one_in(2) {
                clauses.push(Clause::loose("allocate", "omp_large_cap_mem_alloc: ", vec![Expr::name(name.clone())]));
            }
            locals.push(LocalVariable::of(name, Kind::Whole, self.below(50)));
        }
        let reduced = self.one_in(3).then(|| self.reduction(&inner));
        let mut update = None;
        if let Some(reduced) = reduced {
            clauses.push(reduced.clause);
            locals.push(reduced.local);
            update = Some(self.by_one_if_blind(&inner, reduced.update));
        }
        self.locals.push(locals);
        let mut block = self.block(&inner, 3);
        block.extend(update);
        let locals = self.locals.pop().unwrap_or_default();
        self.wrapped(locals, Directive::of("parallel", clauses, block))
    }

    /// Adds a variable of the innermost region, which its members share.
    pub(super) fn share(&mut self, local: LocalVariable) {
        if let Some(locals) = self.locals.last_mut() {
            locals.push(local);
        }
    }

    /// Draws a reduction by any of the operators. No result depends on the order.
    pub(super) fn reduction(&mut self, scope: &StmtContext) -> DrawnReduction {
        let operators: Vec<usize> = (0..OPERATORS.len()).collect();
        self.reduction_by(&operators, scope)
    }

    /// As [`Drawer::reduction`], by an operator that works in tasks: gfortran 12 fails on operators that
    /// programs declare.
    pub(super) fn task_reduction_by(&mut self, scope: &StmtContext) -> DrawnReduction {
        let operators: Vec<usize> = (0..OPERATORS.len() - usize::from(!self.is_c())).collect();
        self.reduction_by(&operators, scope)
    }

    fn reduction_by(&mut self, operators: &[usize], scope: &StmtContext) -> DrawnReduction {
        let (operator, initial, function) = OPERATORS[self.pick(operators)];
        let name = self.fresh('r');
        let (own, value) = (LValue::name(name.clone()), self.value(scope));
        let update = if function.is_empty() {
            Stmt::Add(own, value, Exclusion::Plain)
        } else {
            let value = value.op(BinaryOperator::Add, Expr::Int(0));
            Stmt::Set(own.clone(), Expr::Call(function, vec![Expr::Of(own), value]))
        };
        let clause = Clause::of("reduction", format!("{operator}:"), vec![Expr::name(name.clone())]);
        DrawnReduction { clause, local: LocalVariable::of(name, Kind::Whole, initial), update }
    }

    fn sections(&mut self, scope: &StmtContext, name: &'static str) -> Stmt {
        let is_region = name.starts_with("parallel");
        let (mut clauses, mut inner) = (Vec::new(), scope.within(name, 1));
        let mut locals = Vec::new();
        if is_region {
            clauses = self.region_clauses(scope).0;
            inner.level += 1;
        } else if self.one_in(3) {
            clauses.push(Clause::loose("nowait", "", Vec::new()));
            inner.once &= !scope.again;
        }
        let mut sections: Vec<_> = (0..=self.below(5)).map(|_| self.block(&inner, 1)).collect();
        if is_region || scope.locals && self.one_in(2) {
            let reduced = self.reduction(&inner);
            clauses.push(reduced.clause);
            sections.iter_mut().for_each(|section| section.push(reduced.update.clone()));
            if is_region { locals.push(reduced.local) } else { self.share(reduced.local) }
        }
        let stmt = Stmt::Directive(Directive { name, clauses, body: Associated::Sections(sections) });
        self.wrapped(locals, stmt)
    }

    fn single(&mut self, scope: &StmtContext) -> Stmt {
        let (mut clauses, mut inner) = (Vec::new(), scope.lone(1));
        if self.one_in(3) {
            clauses.push(Clause::loose("nowait", "", Vec::new()));
            inner.once &= !scope.again;
        }
        let block = self.block(&inner, 2);
        Directive::of("single", clauses, block)
    }

    /// Draws a `single` in which one member sets its private variable, and which copies it to all others.
    fn copyprivate(&mut self, scope: &StmtContext) -> Stmt {
        let (own, value) = (self.fresh('p'), self.value(&scope.lone(1)));
        let set = Stmt::Set(LValue::name(own.clone()), value);
        let single = Directive::of("single", vec![Clause::of("copyprivate", "", vec![Expr::name(own.clone())])], vec![set]);
        let sum = LValue::at("sums", Expr::Int(self.below(4)));
        let add = self.by_one_if_blind(scope, Stmt::Add(sum, Expr::name(own.clone()), Exclusion::Atomic));
        Stmt::Locals(vec![LocalVariable::of(own, Kind::Whole, -1)], vec![Stmt::Together(vec![single, add])])
    }

    fn masked(&mut self, scope: &StmtContext) -> Stmt {
        let block = self.block(&scope.lone(1), 1);
        if scope.blind || self.one_in(2) {
            return Directive::of("master", Vec::new(), block);
        }
        let who = Expr::Int(self.below(3));
        Directive::of("masked", vec![Clause::of("filter", "", vec![who])], block)
    }

    /// Draws a `scope` in which each member updates its copy of a reduction variable.
    fn scope(&mut self, scope: &StmtContext) -> Stmt {
        let reduced = self.reduction(scope);
        let update = self.by_one_if_blind(scope, reduced.update);
        self.share(reduced.local);
        let mut clauses = vec![reduced.clause];
        if self.one_in(3) {
            clauses.push(Clause::loose("nowait", "", Vec::new()));
        }
        Directive::of("scope", clauses, vec![update])
    }

    /// Draws two regions of the same size: the second one checks that threads have kept their `threadprivate`
    /// values from the first one.
    fn kept(&mut self, scope: &StmtContext) -> Stmt {
        // libgomp does not keep these values if it binds threads.
        if scope.blind || !self.keeps_copies {
            return self.copyin(scope);
        }
        let size = vec![Expr::Int(1 + self.below(MOST_THREADS))];
        let clauses = || vec![Clause::of("num_threads", "", size.clone())];
        let value = Expr::call("omp_get_thread_num")
            .op(BinaryOperator::Mul, Expr::Int(7))
            .op(BinaryOperator::Add, Expr::Int(self.below(100)));
        let set = Stmt::Set(LValue::name("kept"), value.clone());
        let check = Stmt::If(
            Expr::name("kept").op(BinaryOperator::Ne, value),
            vec![Stmt::Add(LValue::at("sums", Expr::Int(3)), Expr::Int(1_000), Exclusion::Atomic)],
        );
        Stmt::Together(vec![Directive::of("parallel", clauses(), vec![set]), Directive::of("parallel", clauses(), vec![check])])
    }

    /// Draws a region that copies the `threadprivate` value of its primary thread to all members.
    fn copyin(&mut self, scope: &StmtContext) -> Stmt {
        let (mut clauses, size) = self.region_clauses(scope);
        clauses.push(Clause::of("copyin", "", vec![Expr::name("kept")]));
        let inner = scope.region(size);
        let add = Stmt::Add(LValue::at("sums", Expr::Int(1)), Expr::name("kept"), Exclusion::Atomic);
        let add = self.by_one_if_blind(&inner, add);
        let set = Stmt::Set(LValue::name("kept"), Expr::Int(self.below(1_000)));
        let other = Stmt::Set(LValue::name("kept"), Expr::call("omp_get_thread_num"));
        Stmt::Together(vec![set, Directive::of("parallel", clauses, vec![add, other])])
    }

    fn teams(&mut self, scope: &StmtContext) -> Stmt {
        let name = self.pick(&["teams distribute parallel for", "teams distribute", "target teams distribute parallel for"]);
        let count = 1 + self.below(40);
        let each = self.counter(count, true);
        let mut inner = scope.lone(count);
        inner.values.push(each.value());
        let reduced = self.reduction(&inner);
        let mut clauses = vec![reduced.clause.clone()];
        clauses.push(Clause::loose("num_teams", "", vec![Expr::Int(1 + self.below(4))]));
        clauses.push(Clause::loose("thread_limit", "", vec![Expr::Int(1 + self.below(6))]));
        if self.one_in(2) {
            clauses.push(Clause::loose("dist_schedule", "static,", vec![Expr::Int(1 + self.below(9))]));
        }
        if name.starts_with("target") {
            clauses.push(Clause::of("map", "tofrom: ", vec![Expr::name(reduced.local.name.clone())]));
        }
        let mut block = vec![reduced.update];
        if let Some(from) = self.own_cells(count) {
            let at = each.position().op(BinaryOperator::Add, Expr::Int(from));
            block.push(Stmt::Add(LValue::at("cells", at), self.value(&inner), Exclusion::Plain));
        }
        let stmt = Stmt::Directive(Directive { name, clauses, body: Associated::Loops(vec![each], block) });
        self.wrapped(vec![reduced.local], stmt)
    }

    /// Draws a target construct, which runs on the host if there is no device. It cannot use the enclosing
    /// region.
    fn target(&mut self, scope: &StmtContext) -> Stmt {
        let runtime = std::mem::take(&mut self.runtime_is_static);
        let inner = StmtContext { level: 0, locals: false, device: true, ..scope.spawned(1) };
        let block = self.block(&inner, 1);
        self.runtime_is_static = runtime;
        let map = |clause, prefix: &str| vec![Clause::of(clause, prefix, vec![Expr::name("cells"), Expr::name("sums")])];
        let target = Directive::of("target", Vec::new(), block.clone());
        let stmt = match self.below(4) {
            0 if scope.may_reduce() => {
                let nowait = vec![Clause::loose("nowait", "", Vec::new())];
                Stmt::Together(vec![Directive::of("target", nowait, block), Directive::alone("taskwait", Vec::new())])
            }
            1 => Directive::of(
                "target data",
                map("map", "tofrom: "),
                vec![target, Directive::alone("target update", map("from", ""))],
            ),
            2 => {
                let enter = Directive::alone("target enter data", map("map", "to: "));
                Stmt::Together(vec![enter, target, Directive::alone("target exit data", map("map", "from: "))])
            }
            _ => target,
        };
        self.by_one_if_blind(scope, stmt)
    }

    /// Draws an atomic update of a variable that no single instruction can update.
    fn wide_atomic(&mut self, scope: &StmtContext) -> Stmt {
        if !scope.locals || scope.device {
            return self.add(scope);
        }
        let name = self.local('w', Kind::Long, 0);
        let stmt = Stmt::Add(LValue::name(name), self.value(scope), Exclusion::Atomic);
        self.by_one_if_blind(scope, stmt)
    }
}
