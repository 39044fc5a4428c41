//! Cancelled constructs. One thread, task or iteration cancels, once. The work that the others still do is
//! open and goes to `junk`. The program counts whether the canceller continued, as it does if cancellation is
//! off or its condition does not hold, and that later constructs are executed completely.
use super::super::tree::{Associated, BinaryOperator, Block, Clause, Directive, Exclusion, Expr, LValue, Stmt};
use super::loops::nap;
use super::{Choices, Drawer, StmtContext};

pub(super) const KINDS: &Choices = &[
    (3, |scope| scope.team && scope.load() <= 64, |drawer, scope| drawer.cancelled_loop(scope, "for")),
    (3, StmtContext::may_fork, |drawer, scope| drawer.cancelled_loop(scope, "parallel for")),
    (2, |scope| scope.team && scope.load() <= 64, |drawer, scope| drawer.cancelled_sections(scope, "sections")),
    (2, StmtContext::may_fork, |drawer, scope| drawer.cancelled_sections(scope, "parallel sections")),
    (3, StmtContext::may_fork, Drawer::cancelled_region),
    (3, |scope| scope.load() <= 40 && scope.deep < 5, Drawer::cancelled_group),
];

/// How a construct is cancelled, and where others look whether it is.
struct CancelForm {
    cancel: &'static str,
    point: &'static str,
}

const FOR: CancelForm = CancelForm { cancel: "cancel for", point: "cancellation point for" };
const SECTIONS: CancelForm = CancelForm { cancel: "cancel sections", point: "cancellation point sections" };
const PARALLEL: CancelForm = CancelForm { cancel: "cancel parallel", point: "cancellation point parallel" };
const TASKGROUP: CancelForm = CancelForm { cancel: "cancel taskgroup", point: "cancellation point taskgroup" };

impl Drawer {
    /// Cancels the construct, and counts whether the canceller continues.
    fn cancel(&mut self, construct: &CancelForm) -> Block {
        let mut clauses = Vec::new();
        if self.one_in(4) {
            clauses.push(Clause::loose("if", "", vec![Expr::Int(self.below(2))]));
        }
        let went_on = Stmt::Add(LValue::at("sums", Expr::Int(self.below(4))), Expr::Int(1 + self.below(99)), Exclusion::Atomic);
        vec![Directive::alone(construct.cancel, clauses), went_on]
    }

    /// The work of threads and tasks that may be cancelled.
    fn may_be_cancelled(&mut self, construct: &CancelForm) -> Block {
        let add = Stmt::Add(LValue::at("junk", Expr::Int(0)), Expr::Int(1), Exclusion::Atomic);
        let mut block = vec![add.clone()];
        if self.one_in(3) {
            block.insert(0, nap(10));
        }
        if self.one_in(2) {
            block.push(Directive::alone(construct.point, Vec::new()));
            block.push(add);
        }
        block
    }

    fn cancelled_loop(&mut self, scope: &StmtContext, name: &'static str) -> Stmt {
        let region = if name.starts_with("parallel") { self.region_clauses(scope).0 } else { Vec::new() };
        let clauses = region.iter().cloned().chain(self.schedule(scope, true).0).collect();
        let count = 1 + self.below(30);
        let each = self.counter(count, true);
        let one = each.position().op(BinaryOperator::Eq, Expr::Int(self.below(count)));
        let mut block = self.may_be_cancelled(&FOR);
        block.insert(0, Stmt::If(one, self.cancel(&FOR)));
        let cancelled = Stmt::Directive(Directive { name, clauses, body: Associated::Loops(vec![each], block) });
        self.and_later(scope, name, region, cancelled)
    }

    fn cancelled_sections(&mut self, scope: &StmtContext, name: &'static str) -> Stmt {
        let clauses = if name.starts_with("parallel") { self.region_clauses(scope).0 } else { Vec::new() };
        let count = 1 + self.below(5);
        let mut sections: Vec<_> = (0..count).map(|_| self.may_be_cancelled(&SECTIONS)).collect();
        let one = self.below(count) as usize;
        let cancel = self.cancel(&SECTIONS);
        sections[one].splice(0..0, cancel);
        let cancelled = Stmt::Directive(Directive { name, clauses: clauses.clone(), body: Associated::Sections(sections) });
        self.and_later(scope, if name == "sections" { "for" } else { "parallel for" }, clauses, cancelled)
    }

    /// Repeats the cancelled construct with a loop of a team of the same size, which must run to its end.
    fn and_later(&mut self, scope: &StmtContext, name: &'static str, region: Vec<Clause>, cancelled: Stmt) -> Stmt {
        let (count, rounds) = (1 + self.below(20), 1 + self.below(3));
        let (round, each) = (self.counter(rounds, false), self.counter(count, true));
        let mut inner = scope.within(name, count * rounds);
        inner.values.extend([round.value(), each.value()]);
        let add = Stmt::Add(LValue::at("sums", Expr::Int(self.below(4))), self.value(&inner), Exclusion::Atomic);
        let clauses = region.into_iter().chain(self.schedule(scope, true).0).collect();
        let later = Stmt::Directive(Directive { name, clauses, body: Associated::Loops(vec![each], vec![add]) });
        Stmt::For(round, vec![cancelled, later])
    }

    /// A region that one member cancels, between barriers that the others may or may not pass.
    fn cancelled_region(&mut self, scope: &StmtContext) -> Stmt {
        let (clauses, _) = self.region_clauses(scope);
        let barrier = || Directive::alone("barrier", Vec::new());
        let mut block = vec![barrier(); self.below(2) as usize];
        // The first member is always there.
        let who = if scope.blind { 0 } else { self.below(3) };
        let one = Expr::call("omp_get_thread_num").op(BinaryOperator::Eq, Expr::Int(who));
        block.push(Stmt::If(one, self.cancel(&PARALLEL)));
        block.extend(self.may_be_cancelled(&PARALLEL));
        if self.one_in(2) {
            block.push(Directive::of(
                "task",
                Vec::new(),
                vec![Stmt::Add(LValue::at("junk", Expr::Int(0)), Expr::Int(1), Exclusion::Atomic)],
            ));
        }
        if self.one_in(2) {
            let each = self.counter(6, true);
            let (name, body) = match self.below(2) {
                0 => ("for", Associated::Loops(vec![each], self.may_be_cancelled(&FOR))),
                _ => ("sections", Associated::Sections(vec![self.may_be_cancelled(&SECTIONS), self.may_be_cancelled(&SECTIONS)])),
            };
            let clauses = if name == "for" { self.schedule(scope, true).0.into_iter().collect() } else { Vec::new() };
            block.push(Stmt::Directive(Directive { name, clauses, body }));
        }
        block.extend(vec![barrier(); self.below(3) as usize]);
        Directive::of("parallel", clauses, vec![Stmt::Together(block)])
    }

    fn cancelled_group(&mut self, scope: &StmtContext) -> Stmt {
        let count = 1 + self.below(8);
        let one = self.below(count);
        let task = |drawer: &mut Self, number| {
            let mut block = drawer.may_be_cancelled(&TASKGROUP);
            if number == one {
                let cancel = drawer.cancel(&TASKGROUP);
                block.splice(0..0, cancel);
            }
            Directive::of("task", Vec::new(), block)
        };
        let block = (0..count).map(|number| task(self, number)).collect();
        let group = Directive::of("taskgroup", Vec::new(), block);
        self.by_one_if_blind(scope, group)
    }
}
