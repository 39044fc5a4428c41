//! The team that programs use: several threads call one closure. It avoids being slower than one thread.
use crate::TeamMember;
use crate::governor::Governor;
use crate::handover::{NoTeam, Panic, TeamSource, Threads};
use crate::overlap::CallOverlap;
use crate::protocol::{Course, HelpPolicy};
use crate::report::{Report, Stats};
use crate::size::Allowed;
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use foregather_host::{clock, forks, settings};
use foregather_machine::{Cause, Error, Placement, reached};
use foregather_thread::Thread;
use foregather_wait::Policy;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// The maximum number of members that a caller may request.
const MOST: u32 = 4_096;

/// Threads that call one closure together, by reference. The caller is one of them, and continues when all
/// calls have returned.
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
/// - **Size.** [`Team::new`] has the given number of members; [`Team::fitting`] has as many as the machine
///   allows and as are worthwhile; [`Team::global`] is the fitting team that all libraries of a process
///   share.
/// - **Late and busy.** The caller makes the call of a member that has not started in time. If the team is
///   busy, even because of the caller itself, the caller works alone. Results must therefore not depend on
///   the number of members; those of [`reduce`](crate::reduce) do not.
/// - **Forks.** A forked child has a team of its own, whose threads start at its first call.
///
/// # Panics
/// The caller panics with the first panic of a member, after all calls have ended. The team remains usable.
///
/// # Cost
/// A call of two members soon after the last call costs two cache-line transfers each way, about 0.5 us.
/// After a pause of milliseconds it costs the wake-up of a thread, tens of microseconds. Threads start at the
/// first call, block when there are no calls, and exit when the team is dropped. `foregather measure teams`
/// compares it with scoped threads, rayon and OpenMP runtimes.
pub struct Team {
    /// `None` for a fitting team.
    asked: Option<u32>,
    /// The limit that the program has set instead of the user's; 0 for none.
    limit: AtomicU32,
    own: PerProcess,
}

/// The state of a team in one process. A forked child gets a new one, which its parent's state does not
/// affect.
struct PerProcess {
    generation: u32,
    members: Mutex<Members>,
    stats: Stats,
    /// The state of a forked child.
    fork_child: Mutex<Option<Arc<PerProcess>>>,
}

struct Members {
    threads: Option<Threads>,
    /// Less than requested if a thread could not be started; calls do not try again.
    most: u32,
    governor: Governor,
    /// The threads on which the calls of [`Team::global`] run.
    source: TeamSource,
    /// How many libraries were loaded when the source was last looked up.
    loaded: u64,
    overlap: CallOverlap,
    /// Whether its own threads have run a call since the limits were last measured.
    used_own: bool,
}

impl Members {
    /// Looks for a library whose threads can run this one's calls, and stops the own threads if they then
    /// have no work.
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

    /// Returns the state of a forked process. `None` if another thread is creating it now, or was when this
    /// process was forked.
    #[cold]
    fn fork_child(&self, generation: u32) -> Option<Arc<Self>> {
        reached("team:J4");
        let mut child = self.fork_child.try_lock().ok()?;
        let fits = child.as_ref().filter(|child| child.generation == generation).cloned();
        Some(fits.unwrap_or_else(|| {
            let new = Arc::new(Self::new(generation));
            // The state of an intermediate process has threads that do not exist here.
            core::mem::forget(child.replace(new.clone()));
            new
        }))
    }

    /// Returns the members, unless another call uses them.
    #[inline]
    fn lock(&self) -> Option<MutexGuard<'_, Members>> {
        match self.members.try_lock() {
            Ok(members) => Some(members),
            Err(TryLockError::Poisoned(members)) => Some(PoisonError::into_inner(members)),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Runs `work` on the team and returns the first panic, or `None` if the caller must run it alone.
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
                    // While the lock is held, so that calls of other members are seen to overlap.
                    members.overlap.time(|| work(TeamMember::ALONE), || self.stats.busy.load(Relaxed));
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

    /// Returns the number of members for the next call.
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
    /// Creates a team of `members` members, including the caller of each call, regardless of the number of
    /// processors.
    ///
    /// # Errors
    /// [`Cause::Size`] unless `members` is 1 to 4096.
    pub fn new(members: u32) -> Result<Self, Error> {
        if !(1..=MOST).contains(&members) {
            return Err(Cause::Size { what: "team", size: members, needs: "at least 1 and at most 4096" }.into());
        }
        Ok(Self::with(Some(members), forks::generation()))
    }

    /// Creates a team with as many members as affinity, quota and `FOREGATHER_THREADS` (or, if that is not
    /// set, `OMP_NUM_THREADS`) allow. These limits are checked about once a second, and fewer members are
    /// used while more would not be faster.
    pub fn fitting() -> Self {
        Self::with(None, forks::generation())
    }

    /// Returns the fitting team that all users of this library share. If Foregather's OpenMP runtime of the
    /// same build is also loaded, calls outside of its regions run on the OpenMP threads of the calling
    /// thread, so that the process has only one set of workers.
    pub fn global() -> &'static Self {
        static GLOBAL: Team = Team::with(None, 0);
        &GLOBAL
    }

    const fn with(asked: Option<u32>, generation: u32) -> Self {
        Self { asked, limit: AtomicU32::new(0), own: PerProcess::new(generation) }
    }

    /// Limits a fitting team to that many members from the next call on, in place of the user's variables;
    /// `None` restores them. Affinity and quota still apply. Has no effect on the size of a team from
    /// [`Team::new`].
    pub fn set_limit(&self, members: Option<NonZeroU32>) {
        // Relaxed: no other data depends on this number.
        self.limit.store(members.map_or(0, |members| members.get().min(MOST)), Relaxed);
    }

    /// Returns the limit set by [`Team::set_limit`].
    #[inline]
    pub fn limit(&self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.limit.load(Relaxed))
    }

    /// Returns the current limits of a fitting team. Queries the kernel, in about 10 us.
    pub fn allowed(&self) -> Allowed {
        Allowed::under(self.limit())
    }

    /// Calls `work` once for every member, each on its own thread, and returns when all calls have returned.
    /// The caller is member 0, and makes the calls of late members. Never waits for the team: if it is busy,
    /// even because of the caller itself, `work` is called once, as the only member.
    ///
    /// # Panics
    /// With the first panic of a member, after all calls have ended. The team remains usable.
    #[inline]
    pub fn run(&self, work: impl Fn(TeamMember) + Sync) {
        self.go(&work, HelpPolicy::AfterOwnTime);
    }

    /// Calls `work` once for every part below `parts`. Members take parts one by one, so a late or slow
    /// member gets fewer.
    ///
    /// # Panics
    /// As for [`Team::run`]; parts that the panicking member would have taken run on other members, or not at
    /// all.
    #[inline]
    pub fn split(&self, parts: usize, work: impl Fn(usize) + Sync) {
        // On this call's stack, because only members with a part of this region can access it.
        let next = AtomicUsize::new(0);
        let take = |_: TeamMember| {
            // Relaxed: no other data depends on this number.
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

    /// Returns the maximum number of members of the next call, to decide whether a call is worthwhile. May be
    /// outdated by the time of the call.
    pub fn members(&self) -> u32 {
        self.asked.unwrap_or_else(|| match self.own.stats.regions.load(Relaxed) + self.own.stats.serial.load(Relaxed) {
            0 => self.allowed().members(),
            _ => self.own.stats.members.load(Relaxed).min(self.limit().map_or(MOST, NonZeroU32::get)),
        })
    }

    /// Returns whether the team is free: neither another thread nor this one is in a call. May be outdated by
    /// the time of the call.
    pub fn is_free(&self) -> bool {
        let generation = forks::generation();
        if self.own.generation == generation {
            return self.own.lock().is_some();
        }
        self.own.fork_child(generation).is_some_and(|child| child.lock().is_some())
    }

    /// Returns the team's state in this process.
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

/// Returns the policy that `FOREGATHER_WAIT` selects, or the adaptive one, and an error message if the value
/// is invalid.
fn policy() -> (Policy, Option<String>) {
    let costs = Thread::current().costs();
    let usual = Policy::adaptive(&costs);
    settings::wait().map_or((usual, None), |name| match Policy::parse(&name, &costs) {
        Ok(policy) => (policy, None),
        Err(error) => (usual, Some(format!("FOREGATHER_WAIT: {error}"))),
    })
}
