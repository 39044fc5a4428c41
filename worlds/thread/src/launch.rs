//! The members of a group as threads of this process.
use crate::Thread;
use foregather_host::{affinity, pthread, settings};
use foregather_machine::{Cause, CpuId, Error, Rank};
use std::panic::resume_unwind;
use std::sync::{Condvar, Mutex, mpsc};
use std::thread::Builder;

/// The gate where the members wait until all of them are in their places, since a member that never starts
/// would keep the others waiting forever.
#[derive(Default)]
struct Gate(Mutex<Option<bool>>, Condvar);

impl Gate {
    fn open(&self, go: bool) {
        *self.0.lock().expect("nobody panics at the gate") = Some(go);
        self.1.notify_all();
    }

    fn pass(&self) -> bool {
        let closed = self.0.lock().expect("nobody panics at the gate");
        let open = self.1.wait_while(closed, |go| go.is_none()).expect("nobody panics at the gate");
        *open == Some(true)
    }
}

/// Runs `body` on `size` new threads, the one of rank `r` pinned to `place(r)` if that names a processor, and
/// returns their results in the order of the ranks.
///
/// # Errors
/// If a thread cannot be made or pinned; no body runs then.
///
/// # Panics
/// If a body panics, with its panic, after all threads have ended.
pub fn run<T: Send>(
    size: u32,
    place: impl Fn(Rank) -> Option<CpuId> + Sync,
    body: impl Fn(Thread, Rank) -> T + Sync,
) -> Result<Vec<T>, Error> {
    let (place, body, gate) = (&place, &body, &Gate::default());
    let (report, reports) = mpsc::channel();
    std::thread::scope(|threads| {
        let mut members = Vec::new();
        let mut trouble = None;
        for rank in 0..size {
            let report = report.clone();
            let member = move || {
                // The launcher listens until all threads have reported.
                let _ = report.send(place(rank).map_or(Ok(()), affinity::pin));
                gate.pass().then(|| body(Thread::current(), rank))
            };
            match builder(&format!("rank {rank}"), None).spawn_scoped(threads, member) {
                Ok(member) => members.push(member),
                Err(error) => {
                    trouble = Some(refused(&error));
                    break;
                }
            }
        }
        for placed in reports.iter().take(members.len()) {
            trouble = trouble.or(placed.err());
        }
        gate.open(trouble.is_none());
        let ends: Vec<_> = members.into_iter().map(|member| member.join()).collect();
        let outputs: Option<Vec<T>> = ends.into_iter().map(|end| end.unwrap_or_else(|panic| resume_unwind(panic))).collect();
        trouble.map_or_else(|| Ok(outputs.unwrap_or_default()), Err)
    })
}

/// Starts a thread that is never joined, with a stack of that size, or of the default size. It may still run
/// when the process exits.
///
/// # Errors
/// If it cannot be made.
pub fn start(name: &str, stack_bytes: Option<usize>, body: impl FnOnce(Thread) + Send + 'static) -> Result<(), Error> {
    let begin = move || body(Thread::current());
    builder(name, stack_bytes).spawn(begin).map(drop).map_err(|error| refused(&error))
}

/// A thread has the stack that a thread of a C program has, since code of the program runs on it; in a
/// program of Rust `RUST_MIN_STACK` takes precedence. The default of `Builder`, 2 MiB, is a quarter of the
/// usual limit.
fn builder(name: &str, stack_bytes: Option<usize>) -> Builder {
    let of_rust = || settings::variable("RUST_MIN_STACK")?.parse().ok();
    let bytes = stack_bytes.or_else(of_rust).or_else(pthread::default_stack_bytes);
    bytes.into_iter().fold(Builder::new().name(name.to_owned()), Builder::stack_size)
}

fn refused(error: &std::io::Error) -> Error {
    let errno = error.raw_os_error().unwrap_or(0);
    Cause::Os {
        what: "starting a thread",
        errno,
        remedy: "use fewer threads or smaller stacks (ulimit -s, OMP_STACKSIZE), or raise the limit (ulimit -u, the container's limit of pids)",
    }
    .into()
}
