//! The team that programs use: calls of one closure by several threads, and what keeps that from being slower
//! than one thread.
use crate::TeamMember;
use crate::governor::Governor;
use crate::handover::{NoTeam, Panic, TeamSource, Threads};
use crate::overlap::CallOverlap;
use crate::protocol::{Course, HelpPolicy};
use crate::report::{Report, Stats};
use crate::size::Allowed;
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use foregather_host::{clock, forks, settings, usage};
use foregather_machine::{Cause, Error, Placement, reached};
use foregather_thread::Thread;
use foregather_wait::Policy;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// The most members that a caller may ask for.
const MOST: u32 = 4_096;

/// Threads that call one closure together, by reference. The caller is one of them, and goes on when all
/// calls have ended.
///
/// `cargo add foregather`
///
/// ```
/// # use foregather_team as foregather;
/// use foregather::Team;
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// let team = Team::fitting();
/// let (numbers, sum) = ((0..1_000).collect::<Vec<u64>>(), AtomicU64::new(0));
/// // Once for each member, of which the caller is the first.
/// team.run(|member| {
///     let mine = member.share(numbers.len());
///     sum.fetch_add(numbers[mine].iter().sum(), Relaxed);
/// });
/// // Once for each part; members take them one by one, so parts may differ in length.
/// team.split(10, |part| {
///     sum.fetch_add(numbers[part * 100..][..100].iter().sum(), Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 2 * 499_500);
/// ```
///
/// - **Size.** [`Team::new`] has as many members as it is told; [`Team::fitting`] as many as the machine
///   allows and as pay; [`Team::global`] is the fitting team that all libraries of a process share.
/// - **Late and busy.** The caller makes the call of a member that has not begun in time. A caller that finds
///   the team busy, be it with itself, works alone. So results must not depend on how many members there are;
///   those of [`reduce`](crate::reduce) do not.
/// - **Forks.** A child has a team of its own, whose threads start at its first call.
///
/// # Panics
/// The caller panics with the first panic of a member, when all calls have ended. The team works on.
///
/// # Cost
/// A call of two members soon after the last one costs two transfers of a cache line each way, about half a
/// microsecond; after a pause of milliseconds, the wake-up of a thread, tens of microseconds. Threads start
/// at the first call, sleep when no calls come, and end when the team is dropped. `foregather measure teams`
/// compares it with scoped threads, rayon and OpenMP runtimes.
pub struct Team {
    /// `None`: as many members as fit.
    asked: Option<u32>,
    /// What the program has set in place of the user's number; 0 for nothing.
    limit: AtomicU32,
    own: PerProcess,
}

/// What a team has in one process. A child of a fork gets another one, which its parent's state does not
/// disturb.
struct PerProcess {
    generation: u32,
    members: Mutex<Members>,
    stats: Stats,
    /// The state of a child of a fork.
    fork_child: Mutex<Option<Arc<PerProcess>>>,
}

struct Members {
    threads: Option<Threads>,
    /// Fewer if a thread could not be started: calls do not try again.
    most: u32,
    governor: Governor,
    /// Where the calls of [`Team::global`] run.
    source: TeamSource,
    /// How many libraries had been loaded when the source was looked for.
    loaded: u64,
    overlap: CallOverlap,
    /// Whether its own threads have run a call since the machine was asked last.
    used_own: bool,
}

impl Members {
    /// Looks for a library that has threads for this one's calls, and lets its own go if that leaves them
    /// without work.
    #[cold]
    fn find_source(&mut self) {
        let had_provider = matches!(self.source, TeamSource::Provider(_));
        if let Some(found) = TeamSource::find(&mut self.loaded) {
            self.source = found;
        }
        let was_used = core::mem::take(&mut self.used_own);
        if matches!(self.source, TeamSource::Provider(_)) && !(had_provider && was_used) {
            self.threads = None;
        }
    }
}

impl PerProcess {
    const fn new(generation: u32) -> Self {
        let members = Mutex::new(Members {
            threads: None,
            most: MOST,
            governor: Governor::new(),
            source: TeamSource::Own,
            loaded: 0,
            overlap: CallOverlap::new(),
            used_own: false,
        });
        Self { generation, members, stats: Stats::new(), fork_child: Mutex::new(None) }
    }

    /// The state of a later process. `None` if another thread is just making it, or was when this process was
    /// forked.
    #[cold]
    fn fork_child(&self, generation: u32) -> Option<Arc<Self>> {
        reached("team:J4");
        let mut child = self.fork_child.try_lock().ok()?;
        let fits = child.as_ref().filter(|child| child.generation == generation).cloned();
        Some(fits.unwrap_or_else(|| {
            let new = Arc::new(Self::new(generation));
            // The state of a process between the two has threads that do not exist here.
            core::mem::forget(child.replace(new.clone()));
            new
        }))
    }

    /// The members, unless another call has them.
    #[inline]
    fn lock(&self) -> Option<MutexGuard<'_, Members>> {
        match self.members.try_lock() {
            Ok(members) => Some(members),
            Err(TryLockError::Poisoned(members)) => Some(PoisonError::into_inner(members)),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Runs on the team and gives the first panic; `None` if the caller must do it alone.
    #[inline]
    fn run<F: Fn(TeamMember) + Sync>(&self, team: &Team, work: &F, help_after: HelpPolicy) -> Option<Option<Panic>> {
        let Some(mut members) = self.lock() else {
            self.stats.busy.fetch_add(1, Relaxed);
            return None;
        };
        let width = self.width(team, &mut members);
        if width > 1
            && let TeamSource::Provider(table) = members.source
        {
            match table.run(width, work, help_after) {
                Ok((course, panic)) => {
                    Stats::count(&self.stats.provided, 1);
                    self.stats.members.store(width, Relaxed);
                    self.learn(&mut members.governor, course);
                    return Some(panic);
                }
                Err(NoTeam::InWideRegion) if members.overlap.is_likely(self.stats.busy.load(Relaxed)) => {
                    Stats::count(&self.stats.serial, 1);
                    let began = usage::thread_cpu();
                    // With the lock, so that calls of other members are seen to overlap.
                    work(TeamMember::ALONE);
                    members.overlap.learn(self.stats.busy.load(Relaxed), usage::thread_cpu() - began);
                    return Some(None);
                }
                Err(_) => {}
            }
        }
        let width = width.min(members.most);
        if members.threads.as_ref().map_or(1, Threads::width) != width {
            self.resize(&mut members, width);
        }
        let Members { threads, governor, used_own, .. } = &mut *members;
        let Some(threads) = threads.as_mut().filter(|threads| threads.width() > 1) else {
            Stats::count(&self.stats.serial, 1);
            return None;
        };
        *used_own = true;
        let (course, panic) = threads.run(work, help_after);
        if team.asked.is_none() {
            self.learn(governor, course);
        } else {
            self.count(course);
        }
        Some(panic)
    }

    /// How many members the next call shall have.
    #[inline]
    fn width(&self, team: &Team, members: &mut Members) -> u32 {
        if let Some(width) = team.asked {
            return width;
        }
        let (most, limit) = (members.most, team.limit());
        let mut is_asked = false;
        let allowed = || {
            is_asked = true;
            Allowed::under(limit).members().min(most)
        };
        let width = members.governor.width(clock::now(), limit, allowed);
        if is_asked && core::ptr::eq(team, Team::global()) {
            members.find_source();
        }
        width
    }

    #[inline]
    fn count(&self, course: Course) {
        Stats::count(&self.stats.regions, 1);
        if course.late > 0 {
            Stats::count(&self.stats.late, course.late.into());
        }
    }

    #[inline]
    fn learn(&self, governor: &mut Governor, course: Course) {
        self.count(course);
        governor.learn(clock::now(), course);
        self.stats.shrunk.store(governor.shrunk, Relaxed);
        self.stats.grown.store(governor.grown, Relaxed);
    }

    #[cold]
    fn resize(&self, members: &mut Members, width: u32) {
        let most = width.max(members.governor.ceiling());
        let threads = &mut members.threads;
        if threads.as_ref().is_some_and(|threads| threads.most() < most) {
            *threads = None;
        }
        if threads.is_none() {
            *threads = Threads::new(most, policy().0, None).ok();
        }
        let Some(threads) = threads else { return };
        if threads.resize(width).is_err() {
            members.most = threads.width();
            Stats::count(&self.stats.refused, 1);
        }
        self.stats.members.store(threads.width(), Relaxed);
    }
}

impl Team {
    /// A team of `members`, of which the caller of each call is one, however many processors there are.
    ///
    /// # Errors
    /// [`Cause::Size`] for none, or more than 4096.
    pub fn new(members: u32) -> Result<Self, Error> {
        if !(1..=MOST).contains(&members) {
            return Err(Cause::Size { what: "team", size: members, needs: "at least 1 and at most 4096" }.into());
        }
        Ok(Self::with(Some(members), forks::generation()))
    }

    /// A team of as many members as the machine allows: by affinity, quota and `FOREGATHER_THREADS` (else
    /// `OMP_NUM_THREADS`), asked again about once a second, and fewer while more do not pay.
    pub fn fitting() -> Self {
        Self::with(None, forks::generation())
    }

    /// The fitting team that all code of this library shares. If Foregather's OpenMP runtime of the same
    /// build is loaded, too, calls outside of its regions run on the threads that it has for the calling
    /// thread: so the process has one set of workers.
    pub fn global() -> &'static Self {
        static GLOBAL: Team = Team::with(None, 0);
        &GLOBAL
    }

    const fn with(asked: Option<u32>, generation: u32) -> Self {
        Self { asked, limit: AtomicU32::new(0), own: PerProcess::new(generation) }
    }

    /// From the next call on a fitting team has at most that many members, whatever the user's variables say;
    /// with `None` they hold again. Affinity and quota bound it as before. A team of [`Team::new`] stays as
    /// large as it is.
    pub fn set_limit(&self, members: Option<NonZeroU32>) {
        // Relaxed: the number is all that is handed over.
        self.limit.store(members.map_or(0, |members| members.get().min(MOST)), Relaxed);
    }

    /// What [`Team::set_limit`] has set.
    #[inline]
    pub fn limit(&self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.limit.load(Relaxed))
    }

    /// What bounds a fitting team now. Asks the kernel, in some ten microseconds.
    pub fn allowed(&self) -> Allowed {
        Allowed::under(self.limit())
    }

    /// Calls `work` once for every member, on a thread each, and returns when all calls have. The caller is
    /// member 0, and makes the calls of late members. Never waits for the team: while it is busy, be it with
    /// the caller itself, `work` is called once, for the only member.
    ///
    /// # Panics
    /// With the first panic of a member, after all calls have ended. The team stays as it was.
    #[inline]
    pub fn run(&self, work: impl Fn(TeamMember) + Sync) {
        self.go(&work, HelpPolicy::AfterOwnTime);
    }

    /// Calls `work` once for every part below `parts`. Members take parts one by one, so a late or slow one
    /// gets fewer.
    ///
    /// # Panics
    /// As [`Team::run`]; other members do the parts that the panicking one would have taken, or leave them
    /// undone.
    #[inline]
    pub fn split(&self, parts: usize, work: impl Fn(usize) + Sync) {
        // On this call's stack: only members with a part of this region have it.
        let next = AtomicUsize::new(0);
        let take = |_: TeamMember| {
            // Relaxed: the number is all that is handed over.
            while let Some(part) = Some(next.fetch_add(1, Relaxed)).filter(|&part| part < parts) {
                work(part);
            }
        };
        if parts > 1 {
            self.go(&take, HelpPolicy::AtOnce);
        } else {
            take(TeamMember::ALONE);
        }
    }

    #[inline]
    fn go<F: Fn(TeamMember) + Sync>(&self, work: &F, help_after: HelpPolicy) {
        let generation = forks::generation();
        let ran = if self.own.generation == generation {
            self.own.run(self, work, help_after)
        } else {
            self.own.fork_child(generation).and_then(|child| child.run(self, work, help_after))
        };
        match ran {
            None => work(TeamMember::ALONE),
            Some(None) => {}
            Some(Some(panic)) => resume_unwind(panic),
        }
    }

    /// How many members the next call can count on at most: for deciding whether a call is worth it. May be
    /// outdated when the call comes.
    pub fn members(&self) -> u32 {
        self.asked.unwrap_or_else(|| match self.own.stats.regions.load(Relaxed) + self.own.stats.serial.load(Relaxed) {
            0 => self.allowed().members(),
            _ => self.own.stats.members.load(Relaxed).min(self.limit().map_or(MOST, NonZeroU32::get)),
        })
    }

    /// Whether a call would find neither another thread's call nor one that this thread is in. May be
    /// outdated when the call comes.
    pub fn is_free(&self) -> bool {
        let generation = forks::generation();
        if self.own.generation == generation {
            return self.own.lock().is_some();
        }
        self.own.fork_child(generation).is_some_and(|child| child.lock().is_some())
    }

    /// The team's state in this process.
    pub fn report(&self) -> Report {
        let generation = forks::generation();
        let child = (self.own.generation != generation).then(|| self.own.fork_child(generation)).flatten();
        let stats = child.as_ref().map_or(&self.own.stats, |child| &child.stats);
        let source = match &child {
            Some(child) => child.lock().map(|members| members.source.to_string()),
            None => self.own.lock().map(|members| members.source.to_string()),
        };
        let (policy, trouble) = policy();
        let troubles = settings::threads().err().into_iter().chain(trouble);
        Report::of(stats, self.asked, self.allowed(), policy.to_string(), source, troubles.collect())
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        let members = self.own.members.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(threads) = members.threads.take_if(|_| self.own.generation != forks::generation()) {
            threads.forget();
        }
    }
}

/// The policy that `FOREGATHER_WAIT` names, or the adaptive one; and what is wrong with the name.
fn policy() -> (Policy, Option<String>) {
    let costs = Thread::current().costs();
    let usual = Policy::adaptive(&costs);
    settings::wait().map_or((usual, None), |name| match Policy::parse(&name, &costs) {
        Ok(policy) => (policy, None),
        Err(error) => (usual, Some(format!("FOREGATHER_WAIT: {error}"))),
    })
}
