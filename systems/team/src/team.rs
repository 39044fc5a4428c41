//! The team that programs use: calls of one closure by several threads, and whatever keeps that from being slower than one.
use crate::Member;
use crate::governor::Governor;
use crate::handover::{Lead, Panic};
use crate::protocol::Patience;
use crate::report::{Report, Tally};
use crate::size::Allowed;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use foregather_host::{clock, forks, settings};
use foregather_machine::{Cause, Error, Placement};
use foregather_thread::Thread;
use foregather_wait::Policy;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// The most members that one may ask for.
const MOST: u32 = 4_096;

/// A team of threads that calls closures. Threads are started when they are needed first; they sleep when no calls come, and go when
/// the team is dropped.
pub struct Team {
    /// `None`: as many members as fit.
    asked: Option<u32>,
    slot: Slot,
}

/// What a team has in one process. A child of a fork gets another one, which its parent's does not disturb.
struct Slot {
    generation: u32,
    crew: Mutex<Crew>,
    tally: Tally,
    /// That of a child.
    heir: Mutex<Option<Arc<Slot>>>,
}

struct Crew {
    lead: Option<Lead>,
    /// Fewer if a thread could not be started: that is not tried in every call.
    most: u32,
    governor: Governor,
}

impl Slot {
    const fn new(generation: u32) -> Self {
        let crew = Mutex::new(Crew { lead: None, most: MOST, governor: Governor::new() });
        Self { generation, crew, tally: Tally::new(), heir: Mutex::new(None) }
    }

    /// The slot of a later process. `None` if another thread is just making it, or was when this process was forked.
    #[cold]
    fn heir(&self, generation: u32) -> Option<Arc<Self>> {
        let mut heir = self.heir.try_lock().ok()?;
        let fits = heir.as_ref().filter(|heir| heir.generation == generation).cloned();
        Some(fits.unwrap_or_else(|| {
            let new = Arc::new(Self::new(generation));
            // That of a process between has threads that are not here.
            core::mem::forget(heir.replace(new.clone()));
            new
        }))
    }

    /// The crew, unless somebody has it.
    #[inline]
    fn crew(&self) -> Option<MutexGuard<'_, Crew>> {
        match self.crew.try_lock() {
            Ok(crew) => Some(crew),
            Err(TryLockError::Poisoned(crew)) => Some(PoisonError::into_inner(crew)),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Runs on the team and gives the first panic; `None` if the caller must do it alone.
    #[inline]
    fn run<F: Fn(Member) + Sync>(&self, asked: Option<u32>, work: &F, patience: Patience) -> Option<Option<Panic>> {
        let Some(mut crew) = self.crew() else {
            self.tally.busy.fetch_add(1, Relaxed);
            return None;
        };
        let width = match asked {
            Some(width) => width,
            None => {
                let most = crew.most;
                crew.governor.width(clock::now(), || Allowed::now().members().min(most))
            }
        };
        let width = width.min(crew.most);
        if crew.lead.as_ref().map_or(1, Lead::width) != width {
            self.resize(&mut crew, width);
        }
        let Crew { lead, governor, .. } = &mut *crew;
        let Some(lead) = lead.as_mut().filter(|lead| lead.width() > 1) else {
            Tally::count(&self.tally.serial, 1);
            return None;
        };
        let (course, panic) = lead.run(work, patience);
        Tally::count(&self.tally.regions, 1);
        if course.late > 0 {
            Tally::count(&self.tally.late, course.late.into());
        }
        if asked.is_none() {
            governor.learn(clock::now(), course);
            self.tally.shrunk.store(governor.shrunk, Relaxed);
            self.tally.grown.store(governor.grown, Relaxed);
        }
        Some(panic)
    }

    #[cold]
    fn resize(&self, crew: &mut Crew, width: u32) {
        let most = width.max(crew.governor.ceiling());
        let lead = &mut crew.lead;
        if lead.as_ref().is_some_and(|lead| lead.most() < most) {
            *lead = None;
        }
        if lead.is_none() {
            *lead = Lead::new(most, policy().0).ok();
        }
        let Some(lead) = lead else { return };
        if lead.resize(width).is_err() {
            crew.most = lead.width();
            Tally::count(&self.tally.refused, 1);
        }
        self.tally.members.store(lead.width(), Relaxed);
    }
}

impl Team {
    /// A team of `members`, the caller of each call among them, however many processors there are.
    ///
    /// # Errors
    /// [`Cause::Size`] for none, or more than 4096.
    pub fn new(members: u32) -> Result<Self, Error> {
        if !(1..=MOST).contains(&members) {
            return Err(Cause::Size { what: "team", size: members, needs: "at least 1 and at most 4096" }.into());
        }
        Ok(Self { asked: Some(members), slot: Slot::new(forks::generation()) })
    }

    /// A team of as many members as the machine allows: by affinity, quota and `FOREGATHER_THREADS` (else `OMP_NUM_THREADS`),
    /// asked again about once a second, and fewer while more do not pay.
    pub fn fitting() -> Self {
        Self { asked: None, slot: Slot::new(forks::generation()) }
    }

    /// The fitting team that all libraries of this process share.
    pub fn global() -> &'static Self {
        static GLOBAL: Team = Team { asked: None, slot: Slot::new(0) };
        &GLOBAL
    }

    /// Calls `work` once for every member, on a thread each, and returns when all calls have. The caller is member 0. Whoever comes
    /// late has its call made by the caller. Never waits for the team: while it is busy, be it with the caller itself, `work`
    /// is called once, for the only member.
    ///
    /// # Panics
    /// With the first panic of a member, after all calls have ended. The team stays as it was.
    #[inline]
    pub fn run(&self, work: impl Fn(Member) + Sync) {
        self.go(&work, Patience::AsLongAgain);
    }

    /// Calls `work` once for every part below `parts`. Members take parts one by one, so a late or slow one gets fewer.
    ///
    /// # Panics
    /// As [`Team::run`]; the parts that its member would have taken are left to others, and may be left undone.
    #[inline]
    pub fn split(&self, parts: usize, work: impl Fn(usize) + Sync) {
        // On this call's stack: nobody has it who has no part of this region.
        let next = AtomicUsize::new(0);
        let take = |_: Member| {
            // Relaxed: a number is all that is handed over.
            while let Some(part) = Some(next.fetch_add(1, Relaxed)).filter(|&part| part < parts) {
                work(part);
            }
        };
        if parts > 1 {
            self.go(&take, Patience::None);
        } else {
            take(Member::ALONE);
        }
    }

    #[inline]
    fn go<F: Fn(Member) + Sync>(&self, work: &F, patience: Patience) {
        let generation = forks::generation();
        let ran = if self.slot.generation == generation {
            self.slot.run(self.asked, work, patience)
        } else {
            self.slot.heir(generation).and_then(|slot| slot.run(self.asked, work, patience))
        };
        match ran {
            None => work(Member::ALONE),
            Some(None) => {}
            Some(Some(panic)) => resume_unwind(panic),
        }
    }

    /// How many members the next call can count on at most: for deciding whether it is worth a call. May be wrong by the time of it.
    pub fn members(&self) -> u32 {
        self.asked.unwrap_or_else(|| match self.slot.tally.regions.load(Relaxed) + self.slot.tally.serial.load(Relaxed) {
            0 => Allowed::now().members(),
            _ => self.slot.tally.members.load(Relaxed),
        })
    }

    /// Whether a call would find nobody else's, nor a call that this thread is in. May be wrong by the time of it.
    pub fn is_free(&self) -> bool {
        let generation = forks::generation();
        if self.slot.generation == generation {
            return self.slot.crew().is_some();
        }
        self.slot.heir(generation).is_some_and(|slot| slot.crew().is_some())
    }

    /// How it is doing, in this process.
    pub fn report(&self) -> Report {
        let generation = forks::generation();
        let heir = (self.slot.generation != generation).then(|| self.slot.heir(generation)).flatten();
        let tally = heir.as_ref().map_or(&self.slot.tally, |slot| &slot.tally);
        let (policy, trouble) = policy();
        let troubles = settings::threads().err().into_iter().chain(trouble);
        Report::of(tally, self.asked, policy.to_string(), troubles.collect())
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        let crew = self.slot.crew.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(lead) = crew.lead.take_if(|_| self.slot.generation != forks::generation()) {
            lead.forget();
        }
    }
}

/// The policy that `FOREGATHER_WAIT` names, else as the load demands; and what is wrong with the name.
fn policy() -> (Policy, Option<String>) {
    let costs = Thread::current().costs();
    let usual = Policy::adaptive(&costs);
    settings::wait().map_or((usual, None), |name| match Policy::parse(&name, &costs) {
        Ok(policy) => (policy, None),
        Err(error) => (usual, Some(format!("FOREGATHER_WAIT: {error}"))),
    })
}
