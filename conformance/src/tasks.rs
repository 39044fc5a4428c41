//! What tasks promise, in every world with words: each is done once, after those that it comes after, and a
//! barrier, or a region, ends only when all are complete.
use crate::World;
use foregather_barrier::{Algorithm, BarrierMember, ForkJoin, Group, JoinWork};
use foregather_machine::{Cpu, Nanos, Rank, SplitMix};
use foregather_task::{Depend, DependenceType, TaskScope, TaskTeam, TeamTask, Traits, WAKE_WEIGHT};
use foregather_wait::{Policy, Waiter};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

/// A task of a program: what it uses, and what its body makes, one after the other.
#[derive(Clone, Debug)]
pub struct TaskPlan {
    uses: Vec<Depend>,
    children: Vec<usize>,
    /// Whether it waits for its children.
    waits: bool,
    priority: u32,
    /// Whether it is undeferred: its creator runs it inline.
    undeferred: bool,
    /// What it is taken to be worth, rightly or not.
    weight: u32,
}

/// A program of tasks: the first is the part of the member that begins.
#[derive(Clone, Debug)]
pub struct TaskProgram(Vec<TaskPlan>);

impl TaskProgram {
    /// A program of up to `most` tasks, drawn by `seed`.
    pub fn drawn(seed: u64, most: usize) -> Self {
        let mut random = SplitMix(seed);
        let mut below = move |bound: usize| random.below(bound as u64) as usize;
        let mut plans =
            vec![TaskPlan { uses: vec![], children: vec![], waits: below(2) == 0, priority: 0, undeferred: false, weight: 0 }];
        for number in 1..most {
            let parent = below(number.min(4));
            plans[parent].children.push(number);
            let access = [DependenceType::In, DependenceType::Out, DependenceType::InOutSet];
            let uses = (0..below(3)).map(|_| Depend { address: 8 * below(4), access: access[below(3)] }).collect();
            let (waits, priority, undeferred) = (below(2) == 0, below(8).saturating_sub(6) as u32, below(5) == 0);
            let weight = [0, WAKE_WEIGHT / 16, WAKE_WEIGHT][below(3)];
            plans.push(TaskPlan { uses, children: vec![], waits, priority, undeferred, weight });
        }
        Self(plans)
    }

    /// A line of tasks of which each comes after the one before.
    pub fn chain(length: usize) -> Self {
        let plain = TaskPlan { uses: vec![], children: vec![], waits: false, priority: 0, undeferred: false, weight: 0 };
        let link = TaskPlan { uses: vec![Depend { address: 8, access: DependenceType::Out }], ..plain.clone() };
        let first = TaskPlan { children: (1..=length).collect(), waits: true, ..plain };
        Self(core::iter::once(first).chain((0..length).map(|_| link.clone())).collect())
    }
}

type TaskOf<C> = Arc<TeamTask<C, usize>>;

/// What the members of a run share.
pub struct TaskRun<C: Cpu> {
    program: TaskProgram,
    group: Group<C>,
    fork_join: ForkJoin<C>,
    team: TaskTeam<C, usize>,
    policy: Policy,
    /// The last region that each member has begun.
    begun: Box<[AtomicU32]>,
    /// Beginnings and ends: `2 n` and `2 n + 1` for task `n`.
    happened: Mutex<Vec<usize>>,
    /// How long a body computes.
    span: Nanos,
    mistake: TaskMistake,
    /// What went wrong first. Told at the end: a member that panics would hold up the others.
    wrong: Mutex<Option<&'static str>>,
}

/// The mistake of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskMistake {
    /// There is none.
    Nothing,
    /// Members meet, or join, as if there were no tasks.
    PlainMeeting,
    /// A task may be found before it has its body.
    BodyLater,
}

impl<C: Cpu> TaskRun<C> {
    /// A run by `size` members.
    pub fn new(program: TaskProgram, size: u32, policy: Policy, span: Nanos, mistake: TaskMistake) -> Self {
        let group = Group::new(Algorithm::Central, size).unwrap();
        let fork_join = ForkJoin::new(size).unwrap();
        let team = TaskTeam::new(group.clone(), (mistake != TaskMistake::PlainMeeting).then(|| fork_join.clone()));
        let begun = (0..size).map(|_| AtomicU32::new(0)).collect();
        let (happened, wrong) = Default::default();
        Self { program, group, fork_join, team, policy, begun, happened, span, mistake, wrong }
    }

    fn must(&self, holds: bool, otherwise: &'static str) {
        if !holds {
            self.wrong.lock().unwrap().get_or_insert(otherwise);
        }
    }

    fn note(&self, what: usize) {
        self.happened.lock().unwrap().push(what);
    }

    /// The part of a member. The first begins the program; none leaves before all tasks are complete.
    pub async fn part(&self, cpu: C, rank: Rank) {
        let (mut member, waiter) = (self.group.member(cpu, rank, self.policy).unwrap(), Waiter::new(self.policy, rank));
        if rank == 0 {
            let root = Arc::new(TeamTask::new(None, None, Traits::default()));
            root.begins(rank);
            OneOf { run: self, cpu: member.cpu(), waiter: &waiter, rank }.body(&root, 0).await;
        }
        self.meet(&mut member, &waiter).await;
        let (happened, all) = (self.happened.lock().unwrap().len(), 2 * self.program.0.len());
        self.must(happened == all, "a member has left before all tasks were complete");
    }

    /// The part of a member in `regions` regions, in each of which the leader begins the program.
    pub async fn part_of_regions(&self, cpu: C, rank: Rank, regions: u32) {
        let waiter = Waiter::new(self.policy, rank);
        let work = LeftTasks { run: self, waiter: &waiter };
        if rank > 0 {
            let mut worker = self.fork_join.worker(cpu, rank, self.policy).unwrap();
            while let Some(region) = worker.wait_with(&work).await.unwrap() {
                self.begun[rank as usize].store(region, SeqCst);
                worker.done().unwrap();
            }
            return;
        }
        let (mut leader, all) = (self.fork_join.leader(cpu, self.policy).unwrap(), 2 * self.program.0.len());
        for region in 1..=regions {
            self.begun[0].store(region, SeqCst);
            self.happened.lock().unwrap().clear();
            leader.fork().unwrap();
            let root = Arc::new(TeamTask::new(None, None, Traits::default()));
            root.begins(rank);
            OneOf { run: self, cpu: leader.cpu(), waiter: &waiter, rank }.body(&root, 0).await;
            leader.join_with(&work).await.unwrap();
            self.must(self.happened.lock().unwrap().len() == all, "a member has left before all tasks were complete");
        }
        leader.finish().unwrap();
    }

    async fn meet(&self, member: &mut BarrierMember<C>, waiter: &Waiter) {
        if self.mistake == TaskMistake::PlainMeeting {
            return member.wait().await.unwrap();
        }
        let rank = member.rank();
        while let Some(task) = self.team.meet(member).await.unwrap() {
            OneOf { run: self, cpu: member.cpu(), waiter, rank }.execute(task, &TaskScope::Any).await;
        }
    }

    /// Checks that each task ran once, after the tasks on which it depends.
    pub fn hold(&self) {
        let (happened, wrong) = (self.happened.lock().unwrap(), *self.wrong.lock().unwrap());
        assert_eq!(wrong, None, "{:?}", self.program);
        let at = |what: usize| happened.iter().position(|&happened| happened == what).unwrap();
        for plan in &self.program.0 {
            for (later, &second) in plan.children.iter().enumerate() {
                for &first in &plan.children[..later] {
                    if conflict(&self.program.0[first].uses, &self.program.0[second].uses) {
                        assert!(at(2 * first + 1) < at(2 * second), "task {second} came before {first}: {:?}", self.program);
                    }
                }
            }
        }
    }
}

/// Returns whether two siblings must keep their order. Looks only at this pair.
fn conflict(first: &[Depend], second: &[Depend]) -> bool {
    let all = |uses: &[Depend]| uses.iter().any(|depend| depend.address == 0);
    if all(first) || all(second) {
        return !first.is_empty() && !second.is_empty();
    }
    let access = |uses: &[Depend], address: usize| {
        let mut here = uses.iter().filter(|depend| depend.address == address).map(|depend| depend.access);
        let one = here.next()?;
        Some(if here.all(|other| other == one) { one } else { DependenceType::Out })
    };
    let pairs = first.iter().filter_map(|depend| access(first, depend.address).zip(access(second, depend.address)));
    pairs.into_iter().any(|(one, other)| one == DependenceType::Out || other == DependenceType::Out || one != other)
}

/// What the parts of a region leave behind.
struct LeftTasks<'r, C: Cpu> {
    run: &'r TaskRun<C>,
    waiter: &'r Waiter,
}

impl<C: Cpu> JoinWork<C> for LeftTasks<'_, C> {
    type Item = TaskOf<C>;

    fn find(&self, cpu: &C, rank: Rank, is_patient: bool) -> Option<TaskOf<C>> {
        self.run.team.take_at_end(cpu, rank, is_patient)
    }
    fn put_back(&self, cpu: &C, rank: Rank, task: TaskOf<C>) {
        self.run.team.put(cpu, rank, task);
    }
    fn patience(&self) -> Nanos {
        self.run.team.patience()
    }
    async fn run(&self, cpu: &C, rank: Rank, first: TaskOf<C>, next: impl Fn() -> Option<TaskOf<C>>) {
        let begun = |rank: Rank| self.run.begun[rank as usize].load(SeqCst);
        let mut task = Some(first);
        while let Some(now) = task {
            self.run.must(begun(rank) == begun(0), "a member does a task of a region that it has not begun");
            OneOf { run: self.run, cpu, waiter: self.waiter, rank }.execute(now, &TaskScope::Any).await;
            task = next();
        }
    }
}

/// One member at work.
struct OneOf<'r, C: Cpu> {
    run: &'r TaskRun<C>,
    cpu: &'r C,
    waiter: &'r Waiter,
    rank: Rank,
}

impl<C: Cpu> OneOf<'_, C> {
    /// The body of a task: makes its children, and may wait for them.
    fn body<'a>(&'a self, task: &'a TaskOf<C>, number: usize) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
        Box::pin(async move {
            let Self { run, cpu, .. } = self;
            run.note(2 * number);
            cpu.delay(run.span).await;
            let plan = &run.program.0[number];
            for &child in &plan.children {
                let TaskPlan { uses, priority, undeferred, weight, .. } = &run.program.0[child];
                let traits = Traits { priority: *priority, undeferred: *undeferred, ..Traits::default() };
                let made = Arc::new(TeamTask::new(Some(task), None, traits).of_weight(*weight));
                run.team.count(cpu, &made, task);
                task.order(cpu, &made, uses);
                if *undeferred {
                    let _ = made.is_made(cpu, Some(child));
                    self.wait(task, || made.may_run(cpu)).await;
                    self.execute(made, &TaskScope::Within(task)).await;
                } else if made.is_made(cpu, (run.mistake != TaskMistake::BodyLater).then_some(child)) {
                    run.team.keep(cpu, self.rank, made);
                }
            }
            if plan.waits {
                self.wait(task, || task.has_no_children(cpu)).await;
                let waited = plan.children.iter().all(|child| run.happened.lock().unwrap().contains(&(2 * child + 1)));
                run.must(waited, "a task goes on before its children are complete");
            }
            run.note(2 * number + 1);
        })
    }

    /// Waits in `task`, and does tasks within it meanwhile.
    async fn wait(&self, task: &TaskOf<C>, is_over: impl Fn() -> bool) {
        let (by, scope) = ((self.cpu, self.waiter, self.rank), TaskScope::Within(task));
        while let Some(other) = self.run.team.wait(by, "tasks", &scope, &is_over).await.unwrap() {
            self.execute(other, &scope).await;
        }
    }

    /// Does a task, and those that may run by its end, as long as this member may begin them.
    async fn execute(&self, task: TaskOf<C>, scope: &TaskScope<'_, C, usize>) {
        let mut next = Some(task);
        while let Some(task) = next {
            match task.take_body(self.rank) {
                Some(number) => self.body(&task, number).await,
                None => self.run.must(false, "a task is found without its body"),
            }
            next = self.run.team.end(self.cpu, self.rank, &task, Some(scope));
            if let Some(other) = next.take_if(|next| !scope.allows(next)) {
                self.run.team.put(self.cpu, self.rank, other);
            }
        }
    }
}

/// Everything.
pub fn all<W: World>(world: &W) {
    for policy in [Policy::default(), Policy::Block, Policy::TwoPhase { spin: Nanos::from_us(5) }] {
        for size in [1, 2, 3] {
            run(world, TaskProgram::chain(20), size, policy);
            for seed in 0..10 {
                run(world, TaskProgram::drawn(seed, 25), size, policy);
            }
        }
    }
}

fn run<W: World>(world: &W, program: TaskProgram, size: u32, policy: Policy) {
    let run = TaskRun::<W::Cpu<'_>>::new(program.clone(), size, policy, world.step(), TaskMistake::Nothing);
    world.run(size, async |cpu: W::Cpu<'_>, rank| run.part(cpu, rank).await);
    run.hold();
    let run = TaskRun::<W::Cpu<'_>>::new(program, size, policy, world.step(), TaskMistake::Nothing);
    world.run(size, async |cpu: W::Cpu<'_>, rank| run.part_of_regions(cpu, rank, 3).await);
    run.hold();
}
