//! Other programs decide where members may run: before they join, and while they wait.
use crate::alone::{alone, alone_while, skipped};
use crate::team::{Done, Member, meet, uneven};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use foregather_host::affinity::{self, Mask};
use foregather_host::child::Child;
use foregather_host::{clock, usage};
use foregather_machine::Nanos;
use std::path::PathBuf;
use std::time::Duration;
use std::{fs, thread};

const MEMBERS: usize = 4;

fn pause(ms: u64) {
    thread::sleep(Duration::from_millis(ms));
}

/// Members that can be found by their numbers, and a stranger, which ends their meeting when it has done with
/// them.
fn while_meeting(work: impl Fn(&Member<'_>, u32) + Sync, stranger: impl FnOnce(&[AtomicU32; MEMBERS]) + Send) {
    let (names, done) = (<[AtomicU32; MEMBERS]>::default(), AtomicBool::new(false));
    thread::scope(|threads| {
        threads.spawn(|| {
            let _done = Done(&done);
            while names.iter().any(|name| name.load(Acquire) == 0) {
                pause(1);
            }
            pause(20);
            stranger(&names);
        });
        let present = |member: &Member<'_>, episode| {
            names[member.rank() as usize].store(usage::this_thread(), Release);
            work(member, episode);
        };
        meet(MEMBERS as u32, |_| None, |_| !done.load(Acquire), present);
    });
}

/// The kernel cannot compare and set a mask in one step, so a mover that has just looked may put the old one
/// back, once.
fn set_for_good(thread: u32, theirs: Mask) {
    let stays = (0..20).any(|_| {
        assert!(theirs.give(Some(thread)));
        pause(2);
        Mask::of(Some(thread)) == Some(theirs)
    });
    assert!(stays, "every mask is undone");
}

#[test]
fn a_mask_set_by_somebody_else_during_a_wait_stays() {
    alone(|| {
        let [.., last] = affinity::allowed()[..] else { unreachable!("no processor") };
        let theirs = Mask::only(last).unwrap();
        while_meeting(uneven, |names| {
            let thread = names[1].load(Acquire);
            set_for_good(thread, theirs);
            // Until after the time at which the members read their masks again.
            let until = clock::now() + Nanos::from_ms(1_300);
            while clock::now() < until {
                assert_eq!(Mask::of(Some(thread)), Some(theirs));
                pause(1);
            }
        });
    });
}

#[test]
fn members_wait_on_while_processors_come_and_go_from_their_masks() {
    alone(|| {
        let allowed = affinity::allowed();
        let work = |member: &Member<'_>, episode: u32| {
            if member.rank() == 0 && episode.is_multiple_of(64) {
                // The others have time to fall asleep.
                pause(1);
            }
            uneven(member, episode);
        };
        while_meeting(work, |names| {
            for (turn, &cpu) in allowed.iter().cycle().take(60).enumerate() {
                let one = Mask::only(cpu).unwrap();
                assert!(one.give(Some(names[turn % MEMBERS].load(Acquire))), "the member is gone");
                pause(3);
            }
        });
    });
}

#[test]
fn nobody_is_placed_if_one_member_was_pinned_before_it_joined() {
    alone(|| {
        let (allowed, own) = (affinity::allowed(), Mask::of(None).unwrap());
        let pinned = Mask::only(allowed[0]).unwrap();
        let mine = |rank| if rank == 1 { pinned } else { own };
        let work = |member: &Member<'_>, episode: u32| {
            assert_eq!(Mask::of(None), Some(mine(member.rank())), "episode {episode}");
            uneven(member, episode);
        };
        let waits = meet(MEMBERS as u32, |rank| (rank == 1).then_some(allowed[0]), |episode| episode < 1_000, work);
        if own == pinned {
            return skipped("all may use one processor only, which is no mask of a member's own");
        }
        assert_eq!((waits.moves, waits.moves_refused, waits.pulls, waits.scouts), (0, 0, 0, 0), "{waits}");
    });
}

/// A set of processors that a process can be confined to from outside: to it, those taken away are as good as
/// offline.
struct Cpuset(PathBuf);

impl Cpuset {
    fn around(child: &Child) -> Result<Self, String> {
        let groups = fs::read_to_string(format!("/proc/{}/cgroup", child.id())).map_err(|error| error.to_string())?;
        let own = groups.lines().find_map(|line| line.split_once(":cpuset:")).ok_or("no cpuset of version 1")?.1;
        let parent = PathBuf::from(format!("/sys/fs/cgroup/cpuset{own}"));
        let set = Self(parent.join(format!("foregather-{}", child.id())));
        let failed = |error: std::io::Error| format!("{}: {error}", set.0.display());
        fs::create_dir(&set.0).map_err(failed)?;
        for file in ["cpuset.mems", "cpuset.cpus"] {
            fs::read_to_string(parent.join(file)).and_then(|all| fs::write(set.0.join(file), all)).map_err(failed)?;
        }
        fs::write(set.0.join("cgroup.procs"), child.id().to_string()).map_err(failed)?;
        Ok(set)
    }

    fn confine(&self, cpus: &str) {
        fs::write(self.0.join("cpuset.cpus"), cpus).unwrap();
    }
}

impl Drop for Cpuset {
    fn drop(&mut self) {
        // The kernel may take a moment to release a process that has just ended.
        (0..100).find(|_| fs::remove_dir(&self.0).inspect_err(|_| pause(5)).is_ok());
    }
}

#[test]
fn a_team_outlives_the_processors_that_it_loses() {
    let allowed = affinity::allowed();
    let take_away = |child: &Child| {
        if allowed.len() < 2 {
            skipped("there is one processor only");
            return None;
        }
        let set = Cpuset::around(child).inspect_err(|why| skipped(why)).ok()?;
        for cpu in allowed.iter().cycle().take(20) {
            set.confine(&cpu.to_string());
            assert_eq!(Mask::of(Some(child.id())), Mask::only(*cpu), "it is still there");
            pause(20);
        }
        set.confine(&allowed.iter().map(ToString::to_string).collect::<Vec<_>>().join(","));
        Some(set)
    };
    alone_while(&[], take_away, || {
        let until = clock::now() + Nanos::from_ms(700);
        let waits = meet(MEMBERS as u32, |_| None, |_| clock::now() < until, uneven);
        assert!(waits.last > 0);
    });
}
