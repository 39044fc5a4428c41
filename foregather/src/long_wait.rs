//! Waits at objects between processes, in slices, so that `foregather hang` learns of those that last.
use core::time::Duration;
use foregather_host::clock;
use foregather_host::watched::waits::{self, WaitScope};
use foregather_machine::{Cause, Error, Nanos, Rank};

/// A wait that lasts longer is noted, and once more after each further slice. Callers that slice their waits
/// themselves, such as Python, use slices of this length or less, and note the waits themselves.
const SLICE: Duration = Duration::from_millis(200);

/// The ranks that a wait is for, each with the process ID of its holder if it is taken.
pub(crate) type Awaited = Vec<(Rank, Option<u32>)>;

/// Withdraws the note of the calling thread's wait.
struct WaitNote;

impl Drop for WaitNote {
    fn drop(&mut self) {
        waits::end();
    }
}

/// Calls `attempt` with slices of `limit` until it does not time out or the limit has passed. `call` names
/// the wait, and `awaited` returns the ranks that it is for. A wait that ends within the first slice does
/// not read the clock here.
///
/// # Errors
/// That of the last attempt; a timeout has the time of the whole wait.
pub(crate) fn in_slices<E, T>(
    end: &mut E,
    call: &str,
    limit: Option<Duration>,
    mut attempt: impl FnMut(&mut E, Duration) -> Result<T, Error>,
    awaited: impl FnMut(&mut E, &Error) -> Awaited,
) -> Result<T, Error> {
    let first = limit.map_or(SLICE, |limit| limit.min(SLICE));
    match attempt(end, first) {
        Err(error) if error.is_timed_out() && limit != Some(first) => continued(end, call, limit, attempt, awaited, error),
        done => done,
    }
}

/// Continues a wait after its first slice, which has ended with `error`.
#[cold]
fn continued<E, T>(
    end: &mut E,
    call: &str,
    limit: Option<Duration>,
    mut attempt: impl FnMut(&mut E, Duration) -> Result<T, Error>,
    mut awaited: impl FnMut(&mut E, &Error) -> Awaited,
    mut error: Error,
) -> Result<T, Error> {
    let began = clock::now() - Nanos(SLICE.as_nanos() as u64);
    let _noted = WaitNote;
    loop {
        let waited = clock::now() - began;
        let left = limit.map(|limit| limit.saturating_sub(Duration::from_nanos(waited.0)));
        if left == Some(Duration::ZERO) {
            return Err(lasted(&error, waited));
        }
        if let Cause::TimedOut { rank, .. } = *error.cause() {
            waits::note(WaitScope::Object, call, Some(rank), waited, &awaited(end, &error));
        }
        match attempt(end, left.map_or(SLICE, |left| left.min(SLICE))) {
            Err(again) if again.is_timed_out() => error = again,
            done => return done,
        }
    }
}

/// A timeout of a slice, as the timeout of the whole wait.
fn lasted(error: &Error, waited: Nanos) -> Error {
    match *error.cause() {
        Cause::TimedOut { what, rank, peer, .. } => Cause::TimedOut { what, rank, peer, waited_ns: waited.0 }.into(),
        _ => error.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_host::usage::this_thread;
    use foregather_host::watched::waits::WaitPage;

    fn timed_out(after: Duration) -> Error {
        std::thread::sleep(after);
        Cause::TimedOut { what: "barrier", rank: 2, peer: None, waited_ns: after.as_nanos() as u64 }.into()
    }

    fn noted() -> Option<waits::NotedWait> {
        let page = WaitPage::of(std::process::id())?;
        page.waits().into_iter().find(|wait| wait.thread == this_thread())
    }

    #[test]
    fn a_wait_is_noted_after_its_first_slice_until_it_ends() {
        let mut slices = 0;
        let attempt = |slices: &mut i32, span: Duration| {
            *slices += 1;
            match *slices {
                1 => assert_eq!(noted(), None, "it has just begun"),
                2 | 3 => {
                    let wait = noted().unwrap();
                    assert_eq!((wait.what.as_str(), wait.rank, &wait.awaited[..]), ("barrier", Some(2), &[(0, Some(7))][..]));
                }
                _ => return Ok(span),
            }
            Err(timed_out(span))
        };
        let end = in_slices(&mut slices, "barrier", None, attempt, |_, _| vec![(0, Some(7))]);
        assert_eq!((end, slices, noted()), (Ok(SLICE), 4, None));
    }

    #[test]
    fn a_limit_ends_the_last_slice_and_is_the_time_of_the_whole_wait() {
        let limit = SLICE + Duration::from_millis(30);
        let end: Result<(), _> = in_slices(&mut (), "barrier", Some(limit), |(), span| Err(timed_out(span)), |_, _| Vec::new());
        let Cause::TimedOut { waited_ns, rank: 2, .. } = *end.unwrap_err().cause() else { panic!("it timed out") };
        assert!(waited_ns >= limit.as_nanos() as u64, "{waited_ns}");
    }

    #[test]
    fn a_limit_of_one_slice_is_one_attempt() {
        for limit in [Duration::ZERO, SLICE] {
            let mut spans = Vec::new();
            let attempt = |spans: &mut Vec<Duration>, span| {
                spans.push(span);
                Err::<(), _>(timed_out(Duration::ZERO))
            };
            assert!(in_slices(&mut spans, "barrier", Some(limit), attempt, |_, _| panic!("nothing is noted")).is_err());
            assert_eq!(spans, [limit]);
        }
    }
}
