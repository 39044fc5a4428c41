//! Identity of processes: which process a number names, and whether that one still runs.
//!
//! A number alone does not say: numbers are used again, and they differ between pid namespaces. So a process
//! that wants to be watched records a mark of itself beside its number: the inode of its process descriptor,
//! which no two processes of a machine ever share (Linux 6.9 and newer), or else the time at which it was
//! started. A watcher compares marks where both sides can know them. What neither side can know counts as
//! neither alive nor dead: `/proc` may be hidden (`hidepid=2`), absent (`chroot`), or another namespace's.
use crate::run_state::{proc_is_ours, started};
use rustix::fd::{AsRawFd, FromRawFd, OwnedFd};
use rustix::fs::{fstat, fstatfs, stat};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, getpid, pidfd_open, test_kill_process};

/// "PIDF": the file system of process descriptors, whose inodes are unique.
const PIDFS: u64 = 0x5049_4446;
/// The request for a process's pid namespace, of its descriptor (Linux 6.11): `PIDFD_GET_PID_NAMESPACE`.
const GET_NAMESPACE: libc::Ioctl = 0xFF05;

/// What distinguishes a process from others of the same number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessMark {
    /// Nothing: the kernel is older than Linux 6.9, and `/proc` cannot be read.
    #[default]
    Unknown,
    /// The inode of its descriptor, which is its own forever.
    Inode(u64),
    /// When it was started, in ticks since the machine was booted.
    Started(u64),
}

/// A process, as it describes itself to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Its number, in its own pid namespace.
    pub number: u32,
    /// Its mark.
    pub mark: ProcessMark,
    /// Its pid namespace; `None` if it cannot know.
    pub namespace: Option<u64>,
}

/// What can be known of a process from outside.
#[derive(Debug)]
pub enum Sight {
    /// It runs, or its end shows at this descriptor.
    Watched(OwnedFd),
    /// A process of that number is there, and nothing shows that it is another one. Its end does not prove
    /// the end of the process that was meant.
    Presumed(OwnedFd),
    /// It has ended.
    Dead,
    /// Nothing can be known at this moment: this process has no descriptor left, or the system refuses them.
    /// Later looks may know more.
    Refused,
    /// Nothing can be known; why, and the remedy.
    Hidden(&'static str),
}

const OTHER_NAMESPACE: &str = "it is in another pid namespace, where process numbers differ; \
                               run all processes in one pid namespace (containers: share it, as by `--pid=host`)";
const NO_PROC: &str = "/proc cannot be read here or there, and this kernel has no other way to tell process numbers apart; \
                       mount /proc in each process's root, or use Linux 6.11 or newer";

impl ProcessIdentity {
    /// This process. Takes some microseconds.
    pub fn own() -> Self {
        let pid = getpid();
        let descriptor = pidfd_open(pid, PidfdFlags::empty()).ok();
        let number = pid.as_raw_nonzero().get() as u32;
        let namespace = namespace_by_proc().or_else(|| namespace_by_descriptor(descriptor.as_ref()?));
        Self { number, mark: descriptor.as_ref().map_or_else(|| started_mark(number), |it| mark(it, number)), namespace }
    }

    /// Finds out what this process, which `here` describes, can know of the described one.
    pub fn look(&self, here: &Self) -> Sight {
        let same_namespace = self.namespace.zip(here.namespace).map(|(there, here)| there == here);
        let unseen = |same: Option<bool>| match same {
            Some(true) => Sight::Dead,
            Some(false) => Sight::Hidden(OTHER_NAMESPACE),
            None => Sight::Hidden(NO_PROC),
        };
        let Some(pid) = i32::try_from(self.number).ok().and_then(Pid::from_raw) else { return unseen(same_namespace) };
        match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(descriptor) => {
                let found = mark(&descriptor, self.number);
                match (self.mark, found) {
                    (ProcessMark::Inode(it), ProcessMark::Inode(found)) if it == found => Sight::Watched(descriptor),
                    (ProcessMark::Inode(_), ProcessMark::Inode(_)) => unseen(same_namespace),
                    (mark, found) => match same_namespace {
                        Some(true) if mark == found || mark == ProcessMark::Unknown || found == ProcessMark::Unknown => {
                            Sight::Watched(descriptor)
                        }
                        // A descriptor without an inode beside one with: another kernel's record.
                        None => Sight::Presumed(descriptor),
                        same => unseen(same),
                    },
                }
            }
            // No process of that number: at most a thread of some process has it (`EINVAL`, `ENOENT`).
            Err(Errno::SRCH | Errno::INVAL | Errno::NOENT) => unseen(same_namespace),
            Err(_) if same_namespace == Some(true) && test_kill_process(pid) == Err(Errno::SRCH) => Sight::Dead,
            Err(_) => Sight::Refused,
        }
    }
}

/// The mark of the process of a descriptor and of a number.
fn mark(descriptor: &OwnedFd, number: u32) -> ProcessMark {
    let unique = fstatfs(descriptor).is_ok_and(|system| system.f_type as u64 == PIDFS);
    match fstat(descriptor) {
        Ok(stat) if unique => ProcessMark::Inode(stat.st_ino),
        _ => started_mark(number),
    }
}

fn started_mark(number: u32) -> ProcessMark {
    let started = if proc_is_ours() { started(number) } else { None };
    started.map_or(ProcessMark::Unknown, ProcessMark::Started)
}

fn namespace_by_proc() -> Option<u64> {
    stat("/proc/self/ns/pid").ok().map(|stat| stat.st_ino)
}

/// The pid namespace of the process of a descriptor, where `/proc` is not there.
fn namespace_by_descriptor(descriptor: &OwnedFd) -> Option<u64> {
    // SAFETY: the request takes no argument, changes no memory, and a kernel that does not know it refuses.
    let number = unsafe { libc::ioctl(descriptor.as_raw_fd(), GET_NAMESPACE, 0) };
    if number < 0 {
        return None;
    }
    // SAFETY: the kernel has just made this descriptor for the caller, so it has no other owner.
    let namespace = unsafe { OwnedFd::from_raw_fd(number) };
    fstat(&namespace).ok().map(|stat| stat.st_ino)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::Child;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::process::Command;

    fn has_ended(descriptor: &OwnedFd) -> bool {
        let mut watched = [PollFd::new(descriptor, PollFlags::IN)];
        poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }

    fn child() -> (Child, ProcessIdentity) {
        let mut command = Command::new("sleep");
        command.arg("60");
        let child = Child::spawn(command, &[]).unwrap();
        let mark = mark(&child.pidfd().try_clone_to_owned().unwrap(), child.id());
        let identity = ProcessIdentity { number: child.id(), mark, ..ProcessIdentity::own() };
        (child, identity)
    }

    #[test]
    fn both_ways_to_a_namespace_agree() {
        let own = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
        let (by_proc, by_descriptor) = (namespace_by_proc(), namespace_by_descriptor(&own));
        assert!(by_proc.is_some());
        match by_descriptor {
            Some(_) => assert_eq!(by_proc, by_descriptor),
            None => println!("not run: the kernel is older than Linux 6.11"),
        }
    }

    #[test]
    fn a_living_process_is_watched_and_a_dead_one_is_dead() {
        let (child, identity) = child();
        let Sight::Watched(descriptor) = identity.look(&ProcessIdentity::own()) else {
            panic!("{:?}", identity.look(&ProcessIdentity::own()))
        };
        assert!(!has_ended(&descriptor));
        rustix::process::pidfd_send_signal(child.pidfd(), rustix::process::Signal::KILL).unwrap();
        while !has_ended(&descriptor) {
            std::thread::yield_now();
        }
        drop(child);
        assert!(matches!(identity.look(&ProcessIdentity::own()), Sight::Dead), "{:?}", identity.look(&ProcessIdentity::own()));
    }

    /// What is unknown on either side never makes a living process dead.
    #[test]
    fn a_living_process_is_not_dead_whatever_is_unknown() {
        let (_child, identity) = child();
        let here = ProcessIdentity::own();
        for mark in [ProcessMark::Unknown, identity.mark] {
            for (there, here_in) in [(None, None), (None, here.namespace), (here.namespace, None), (Some(1), here.namespace)] {
                let hidden = ProcessIdentity { mark, namespace: there, ..identity };
                let sight = hidden.look(&ProcessIdentity { namespace: here_in, ..here });
                let dead = matches!(sight, Sight::Dead);
                assert!(!dead, "{mark:?} in {there:?} from {here_in:?}: {sight:?}");
            }
        }
        let without_mark = ProcessIdentity { mark: ProcessMark::Unknown, ..identity };
        assert!(matches!(without_mark.look(&here), Sight::Watched(_)));
    }

    #[test]
    fn a_number_that_was_used_again_is_dead_only_where_numbers_are_the_same() {
        let here = ProcessIdentity::own();
        let other = match here.mark {
            ProcessMark::Inode(inode) => ProcessMark::Inode(inode ^ 1 << 40),
            ProcessMark::Started(at) => ProcessMark::Started(at + 1),
            ProcessMark::Unknown => return println!("not run: nothing tells processes apart here"),
        };
        let before = ProcessIdentity { mark: other, ..here };
        assert!(matches!(before.look(&here), Sight::Dead), "{:?}", before.look(&here));
        let elsewhere = ProcessIdentity { namespace: Some(1), ..before };
        assert!(matches!(elsewhere.look(&here), Sight::Hidden(OTHER_NAMESPACE)), "{:?}", elsewhere.look(&here));
        for number in [0, 1 << 22 | 1, u32::MAX] {
            let nobody = ProcessIdentity { number, namespace: None, ..before };
            assert!(matches!(nobody.look(&here), Sight::Hidden(NO_PROC)), "{number}: {:?}", nobody.look(&here));
        }
    }
}
