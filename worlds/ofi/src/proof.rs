//! The proof by which a lane tells a frame of its job from an unverified peer's, which may reach its port as
//! any peer's does. Each way between two lanes has a number of 64 bits of its own, which every frame carries.
//! It is a keyed hash over the two lanes and the random numbers of their ranks, so it cannot be guessed, and
//! is worth nothing on another way or in another job. It is computed for the first frame and kept.
use crate::wire::Nonce;
use foregather_machine::{Cause, Error};
use hmac::{Hmac, KeyInit, Mac};
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::Sha256;

/// The secret that all ranks of a job know and others do not.
#[derive(Clone)]
pub(crate) struct LaneKey([u8; 32]);

fn keyed(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac =
        <Hmac<Sha256> as KeyInit>::new_from_slice(key).unwrap_or_else(|_| unreachable!("HMAC takes keys of every length"));
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

impl LaneKey {
    pub(crate) fn new(job: &[u8]) -> Self {
        Self(keyed(job, &[b"foregather lanes"]))
    }

    /// 24 bits that tell frames of this job from most others at a glance.
    pub(crate) fn stamp(&self) -> u32 {
        let [a, b, c, ..] = keyed(&self.0, &[b"stamp"]);
        u32::from_le_bytes([a, b, c, 0])
    }

    /// The proof of frames from one lane to the other: each lane by its number in the job, with its rank's
    /// random number. All parts have fixed lengths.
    pub(crate) fn proof(&self, (from, drawn_there): (usize, &Nonce), (to, drawn_here): (usize, &Nonce)) -> u64 {
        let lanes = [from as u64, to as u64].map(u64::to_le_bytes);
        let [bytes @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] =
            keyed(&self.0, &[b"frames", &lanes[0], &lanes[1], drawn_there, drawn_here]);
        u64::from_le_bytes(bytes)
    }
}

/// Shows nothing of the key.
impl core::fmt::Debug for LaneKey {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("LaneKey")
    }
}

/// Drawn again for each opening, so that frames heard in an earlier job of the same key prove nothing.
pub(crate) fn draw() -> Result<Nonce, Error> {
    let mut nonce = Nonce::default();
    match getrandom(&mut nonce, GetRandomFlags::empty()) {
        Ok(bytes) if bytes == nonce.len() => Ok(nonce),
        other => {
            let errno = other.err().map_or(0, rustix::io::Errno::raw_os_error);
            let remedy = "allow getrandom in the container's seccomp filter";
            Err(Cause::Os { what: "drawing random bytes", errno, remedy }.into())
        }
    }
}

/// The values from which a lane computes the proofs of its own frames and of the others'.
#[derive(Debug)]
pub(crate) struct Proofs {
    pub(crate) key: LaneKey,
    /// The random number of each rank.
    pub(crate) drawn: Vec<Nonce>,
    pub(crate) lanes: u32,
}

impl Proofs {
    pub(crate) fn of(&self, from: usize, to: usize) -> u64 {
        let drawn = |lane: usize| (lane, &self.drawn[lane / self.lanes as usize]);
        self.key.proof(drawn(from), drawn(to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_for_one_way_of_one_job_alone() {
        let (key, a, b) = (LaneKey::new(b"job"), [1; 16], [2; 16]);
        let proof = key.proof((3, &a), (4, &b));
        assert_eq!(proof, LaneKey::new(b"job").proof((3, &a), (4, &b)));
        for other in [
            key.proof((4, &b), (3, &a)),
            key.proof((3, &a), (5, &b)),
            key.proof((2, &a), (4, &b)),
            key.proof((3, &b), (4, &b)),
            key.proof((3, &a), (4, &a)),
            LaneKey::new(b"jab").proof((3, &a), (4, &b)),
        ] {
            assert_ne!(proof, other);
        }
        assert_ne!(draw().unwrap(), draw().unwrap());
    }
}
