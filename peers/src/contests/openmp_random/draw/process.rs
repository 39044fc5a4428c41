//! What a body relies on, and bodies with more than one thread of the host or more than one process, and with
//! ends of processes.
use super::super::tree::{BinaryOperator, Block, CallKind, Clause, Directive, Exclusion, Expr, LValue, Language, Stmt};
use super::{Choices, Drawer, StmtContext, regions};

/// Of the serial part of a body only.
pub(super) const KINDS: &Choices = &[
    (2, |_| true, |drawer, _| drawer.threads()),
    (
        1,
        |_| true,
        |_, _| Directive::alone("error", vec![Clause::of("at", "execution", vec![]), Clause::of("severity", "warning", vec![])]),
    ),
];

/// A function of the runtime, and what it may be passed.
type Query = (&'static str, &'static [i64]);

/// What the runtime may be asked anywhere.
const QUERIES: &[Query] = &[
    ("omp_get_level", &[]),
    ("omp_get_max_active_levels", &[]),
    ("omp_get_dynamic", &[]),
    ("omp_get_cancellation", &[]),
    ("omp_get_thread_limit", &[]),
    ("omp_get_max_task_priority", &[]),
    ("omp_get_num_devices", &[]),
    ("omp_get_initial_device", &[]),
    ("omp_is_initial_device", &[]),
    ("omp_get_team_num", &[]),
    ("omp_get_num_teams", &[]),
    ("omp_get_max_threads", &[]),
    ("omp_get_proc_bind", &[]),
];

/// What depends on the sizes of teams.
const SIZES: &[Query] = &[
    ("omp_get_num_threads", &[]),
    ("omp_get_active_level", &[]),
    ("omp_in_parallel", &[]),
    ("omp_get_ancestor_thread_num", &[0, 1, 2, 3, -1]),
    ("omp_get_team_size", &[0, 1, 2, 3, -1]),
];

impl Drawer {
    /// The variables of a program's environment. Says whether they leave the sizes of teams open.
    pub(super) fn environment(&mut self) -> (Vec<(&'static str, String)>, bool) {
        let variables: &[(&str, &[&str])] = &[
            ("OMP_NUM_THREADS", &["1", "2", "4", "7", "3,2", "4,3,2", "2,4"]),
            (
                "OMP_SCHEDULE",
                &["static", "static,3", "dynamic", "dynamic,2", "guided,4", "auto", "nonmonotonic:dynamic,3", "monotonic:guided"],
            ),
            ("OMP_DYNAMIC", &["false", "false", "false", "true"]),
            ("OMP_CANCELLATION", &["true", "true", "true", "false"]),
            ("OMP_MAX_ACTIVE_LEVELS", &["0", "1", "2", "3", "4"]),
            ("OMP_STACKSIZE", &["512k", "2M", "16M"]),
            ("OMP_THREAD_LIMIT", &["1", "3", "8", "200"]),
            ("OMP_WAIT_POLICY", &["active", "passive"]),
            ("OMP_PROC_BIND", &["false", "true", "close", "spread"]),
            ("OMP_MAX_TASK_PRIORITY", &["0", "5"]),
        ];
        let mut environment = Vec::new();
        for (name, values) in variables {
            let often = if *name == "OMP_CANCELLATION" { 4 } else { 1 };
            if self.below(5) < often {
                environment.push((*name, (*self.pick(values)).to_owned()));
            }
        }
        let open = |(name, value): &(&str, String)| *name == "OMP_THREAD_LIMIT" || *name == "OMP_DYNAMIC" && value == "true";
        let blind = environment.iter().any(open);
        (environment, blind)
    }

    /// What a body sets first.
    pub(super) fn settings(&mut self) -> Block {
        let mut block = Vec::new();
        let call = |name, arguments| Stmt::Call(Expr::Call(name, arguments));
        if self.one_in(3) {
            block.push(self.number_of_threads(&[-1, 0, 1, 2, 3, 4, 5, 8]));
        }
        if self.one_in(3) {
            let most = self.pick(&[-1, 0, 1, 2, 3, 3, 4]);
            block.push(call("omp_set_max_active_levels", vec![Expr::Int(most)]));
        }
        self.runtime_is_static = false;
        if self.one_in(2) {
            let kind =
                self.pick(&["omp_sched_static", "omp_sched_static", "omp_sched_dynamic", "omp_sched_guided", "omp_sched_auto"]);
            let chunk = self.pick(&[-1, 0, 1, 2, 3, 4, 7, 100]);
            self.runtime_is_static = kind == "omp_sched_static";
            block.push(call("omp_set_schedule", vec![Expr::name(kind), Expr::Int(chunk)]));
        }
        if block.is_empty() { block } else { vec![Stmt::Together(block)] }
    }

    /// Sets the size of later regions of this thread.
    pub(super) fn number_of_threads(&mut self, numbers: &[i64]) -> Stmt {
        Stmt::Call(Expr::Call("omp_set_num_threads", vec![Expr::Int(self.pick(numbers))]))
    }

    /// Asks the runtime what the standard fixes.
    pub(super) fn query(&mut self, scope: &StmtContext) -> Stmt {
        let queries = if scope.blind || self.one_in(2) { QUERIES } else { SIZES };
        let (name, arguments) = self.pick(queries);
        let arguments = if arguments.is_empty() { vec![] } else { vec![Expr::Int(self.pick(arguments))] };
        let value = Expr::Call(name, arguments).op(BinaryOperator::Mul, Expr::Int(1 + self.below(5)));
        let add = Stmt::Add(LValue::at("sums", Expr::Int(self.below(4))), value, Exclusion::Atomic);
        self.by_one_if_blind(scope, add)
    }

    /// Throws out of statements, and catches before the end of the construct.
    pub(super) fn exception(&mut self, scope: &StmtContext) -> Stmt {
        if self.language != Language::Cpp {
            return self.add(scope);
        }
        let inner = scope.lone(scope.each());
        let mut block = self.block(&inner, 1);
        block.push(Stmt::Throw(1 + self.below(50)));
        self.by_one_if_blind(scope, Stmt::Try(block))
    }

    /// A part of the program with constructs, and its own settings unknown.
    fn part(&mut self, times: i64, call: CallKind) -> Stmt {
        let runtime = std::mem::take(&mut self.runtime_is_static);
        let scope =
            StmtContext { once: times == 1, times, deep: 1, values: vec![Expr::given()], locals: times == 1, ..self.serial() };
        let block = self.sharing(|drawer| drawer.block(&scope, 2));
        self.runtime_is_static = runtime;
        Stmt::Part(call, Expr::Int(self.below(40)), block)
    }

    /// Threads of the host, each with regions of its own.
    fn threads(&mut self) -> Stmt {
        let call = self.pick(&["on_one_thread", "on_three_threads"]);
        self.part(3, CallKind::By(call))
    }

    /// A body that ends its process, or has more than one.
    pub(super) fn process(&mut self) -> Block {
        (self.cells, self.fresh) = (0, 0);
        // An exit handler may run within a region, where no region keeps the members of the last one.
        self.keeps_copies = false;
        let mut block = self.settings();
        let leave = |drawer: &mut Self| Stmt::Call(Expr::Call("leave", vec![Expr::Int(drawer.below(100))]));
        let kinds = if self.language == Language::Cpp { 11 } else { 8 };
        match self.below(kinds) {
            // A child has its first region before its parent has, or none.
            0 => {
                let child = self.part(1, CallKind::By("in_child"));
                block.extend([child, self.region()]);
            }
            1 => {
                let child = Stmt::Part(
                    CallKind::By("in_child"),
                    Expr::Int(self.below(40)),
                    vec![self.add(&StmtContext { level: 1, ..self.serial() }.lone(1))],
                );
                block.extend([self.region(), child, self.region()]);
            }
            2 => {
                // It runs outside of regions: what a handler's tasks and loops do within one, no text says.
                let exit = self.part(1, CallKind::By("at_exit"));
                block.extend([exit, self.region()]);
            }
            3 => {
                let leave = self.by_one_member(leave);
                block.extend([self.region(), leave]);
            }
            4 => {
                let leave = leave(self);
                let call = CallKind::By("on_one_thread");
                let region = self.by_one_member(|_| leave.clone());
                let inner = if self.one_in(2) { region } else { leave };
                block.extend([self.region(), Stmt::Part(call, Expr::Int(0), vec![inner])]);
            }
            5 => {
                let plugin = self.part(1, CallKind::ByName("in_plugin"));
                block.extend([self.region(), plugin, self.region()]);
            }
            6 | 7 => {
                let fatal = [Clause::of("at", "execution", vec![]), Clause::of("severity", "fatal", vec![])];
                let error = Directive::alone("error", fatal.to_vec());
                block.extend([self.region(), self.by_one_member(|_| error)]);
            }
            8 => block.extend([self.part(1, CallKind::Destructor), self.region()]),
            9 => {
                // A smaller region afterwards would end members, and so destroy their objects.
                let size = vec![Clause::of("num_threads", "", vec![Expr::Int(1 + self.below(8))])];
                let linger = Stmt::Call(Expr::call("linger"));
                block.extend([self.region(), Directive::of("parallel", size, vec![linger])]);
            }
            _ => {
                let throw = Stmt::Throw(1);
                block.extend([self.region(), self.by_one_member(|_| throw.clone())]);
            }
        }
        block
    }

    fn region(&mut self) -> Stmt {
        let scope = self.serial();
        let mut stmt = Vec::new();
        let block = self.sharing(|drawer| {
            stmt.push(drawer.choose(&scope, &[regions::KINDS]));
            std::mem::take(&mut stmt)
        });
        Stmt::Together(block)
    }

    /// A region of which one member does this while the others wait for it.
    fn by_one_member(&mut self, draw: impl FnOnce(&mut Self) -> Stmt) -> Stmt {
        // Where the environment leaves the team's size open, only the first member is sure to exist.
        let number = if self.blind { 0 } else { self.below(2) };
        let who = Expr::call("omp_get_thread_num").op(BinaryOperator::Eq, Expr::Int(number));
        let stmt = Stmt::If(who, vec![draw(self)]);
        let size = vec![Clause::of("num_threads", "", vec![Expr::Int(2 + self.below(3))])];
        Directive::of("parallel", size, vec![stmt, Directive::alone("barrier", Vec::new())])
    }
}
