//! The process that makes the calls: an error in one of the libraries may end it, so that another one counts.
use super::call::{BlasCall, Contents};
use super::draw::drawn;
use super::judge::{JudgedLibraries, Judgement};
use super::library::{Blas, CallMemory};
use super::options::Libraries;
use crate::peer_error::PeerError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// How many calls of a class there were, and what they came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ClassCount {
    pub(super) calls: u64,
    pub(super) illegal: u64,
    pub(super) special: u64,
    pub(super) open: u64,
    pub(super) different: u64,
}

/// A call whose result differs, or that the standard leaves open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Finding {
    pub(super) call: String,
    pub(super) what: String,
    pub(super) times: u64,
}

/// What some calls came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ClassTally {
    pub(super) classes: BTreeMap<String, ClassCount>,
    /// By routine: the first call of each.
    pub(super) open: BTreeMap<String, Finding>,
    pub(super) different: BTreeMap<String, Finding>,
}

impl ClassTally {
    pub(super) fn add(&mut self, other: Self) {
        for (class, count) in other.classes {
            let sum = self.classes.entry(class).or_default();
            sum.calls += count.calls;
            sum.illegal += count.illegal;
            sum.special += count.special;
            sum.open += count.open;
            sum.different += count.different;
        }
        for (ours, theirs) in [(&mut self.open, other.open), (&mut self.different, other.different)] {
            for (routine, finding) in theirs {
                note(ours, &routine, finding);
            }
        }
    }

    /// Counts a difference.
    pub(super) fn differs(&mut self, call: &BlasCall, what: String) {
        self.classes.entry(call.signature.class.to_owned()).or_default().different += 1;
        note(&mut self.different, call.signature.root, Finding { call: call.to_string(), what, times: 1 });
    }

    fn take(&mut self, call: &BlasCall, verdict: Judgement) {
        let count = self.classes.entry(call.signature.class.to_owned()).or_default();
        count.calls += 1;
        count.illegal += u64::from(call.is_illegal());
        count.special += u64::from(call.contents == Contents::Special);
        match verdict {
            Judgement::Same => {}
            Judgement::Open(what) => {
                count.open += 1;
                note(&mut self.open, call.signature.root, Finding { call: call.to_string(), what, times: 1 });
            }
            Judgement::Different(what) => self.differs(call, what),
        }
    }
}

fn note(findings: &mut BTreeMap<String, Finding>, routine: &str, finding: Finding) {
    match findings.get_mut(routine) {
        Some(known) => known.times += finding.times,
        None => drop(findings.insert(routine.to_owned(), finding)),
    }
}

impl JudgedLibraries {
    fn open_libraries(libraries: &Libraries) -> Result<Self, PeerError> {
        let other = |(name, file): &(String, String)| Blas::open(name, &[file]);
        Ok(Self {
            memory: CallMemory::new(&libraries.handler, 0)?,
            // They may read beyond their arrays, which is no fault of ours.
            others_memory: CallMemory::new(&libraries.handler, 1 << 16)?,
            ours: Blas::open("ours", &[&libraries.ours])?,
            reference: Blas::open("reference", &[&libraries.reference])?,
            others: libraries.others.iter().map(other).collect::<Result<_, _>>()?,
        })
    }

    fn judged(&mut self, call: &BlasCall) -> Result<Judgement, PeerError> {
        let verdict = self.judge(call)?;
        // Large ones may be shared by a team, which must not change a bit.
        let is_large = ["m", "n", "k"].iter().map(|size| call.size(size)).max() > Some(48);
        if verdict == Judgement::Same && is_large && self.differs_by_threads(call)? {
            return Ok(Judgement::Different("other bits with one thread than with several".to_owned()));
        }
        Ok(verdict)
    }
}

/// Makes the calls of these numbers, writing each number into a file first. Prints what they came to.
pub(super) fn run(libraries: &Libraries, seed: u64, numbers: Range<u64>, at: &Path) -> Result<String, PeerError> {
    let (mut bench, mut tally) = (JudgedLibraries::open_libraries(libraries)?, ClassTally::default());
    let failed = |error: std::io::Error| PeerError::Failed(format!("{} cannot be written: {error}", at.display()));
    let file = File::create(at).map_err(failed)?;
    for number in numbers {
        file.write_all_at(&number.to_ne_bytes(), 0).map_err(failed)?;
        let call = drawn(seed, number);
        let verdict = bench.judged(&call)?;
        tally.take(&call, verdict);
    }
    serde_json::to_string(&tally).map_err(|error| PeerError::Failed(error.to_string()))
}

/// Makes one call. Says what it came to.
pub(super) fn run_one(libraries: &Libraries, call: &BlasCall) -> Result<String, PeerError> {
    match JudgedLibraries::open_libraries(libraries)?.judged(call)? {
        Judgement::Same => Ok("the same".to_owned()),
        Judgement::Open(what) => Ok(format!("left open by the standard: {what}")),
        Judgement::Different(what) => Err(PeerError::Failed(what)),
    }
}
