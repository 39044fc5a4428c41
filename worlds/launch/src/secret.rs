//! Joining a job requires its secret. The secret is never sent: both sides prove that they know it, with a
//! keyed hash (HMAC-SHA-256) over new random numbers from both.
//!
//! The proof also covers the port of the coordinator, so that a program on another port cannot forward the
//! proofs of the two sides.
use crate::own;
use foregather_host::{cache, regular};
use foregather_machine::{Cause, Error, Rank};
use hmac::{Hmac, KeyInit, Mac};
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::Sha256;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::{env, process};

/// Bytes of a secret, of a random number and of a proof.
pub(crate) const BYTES: usize = 32;
/// A random number, or a proof.
pub(crate) type Token = [u8; BYTES];

/// Returns new random bytes.
pub(crate) fn random() -> Result<Token, Error> {
    let mut token = [0; BYTES];
    match getrandom(&mut token, GetRandomFlags::empty()) {
        Ok(BYTES) => Ok(token),
        Ok(_) => Err(os("drawing random bytes", 0, "")),
        Err(errno) => Err(os("drawing random bytes", errno.raw_os_error(), "allow getrandom in the container's seccomp filter")),
    }
}

/// Returns the bytes as hexadecimal text, for a variable.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The side that makes a proof.
#[derive(Clone, Copy)]
pub(crate) enum Prover {
    Coordinator,
    Rank,
}

/// The statement to prove: this rank and this coordinator are communicating now.
#[derive(Clone, Copy)]
pub(crate) struct Transcript {
    pub(crate) of_hub: Token,
    pub(crate) of_rank: Token,
    pub(crate) rank: Rank,
    pub(crate) size: u32,
    pub(crate) port: u16,
}

/// The job's key: from the secret and the job's name.
#[derive(Clone)]
pub(crate) struct JobKey(Token);

/// Prints nothing of the key.
impl std::fmt::Debug for JobKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl JobKey {
    pub(crate) fn new(secret: &[u8], job: &[u8]) -> Self {
        Self(keyed(secret, &[b"foregather job", job]).finalize().into_bytes().into())
    }

    pub(crate) fn prove(&self, side: Prover, claim: &Transcript) -> Token {
        self.over(side, claim).finalize().into_bytes().into()
    }

    /// Returns the launcher's proof that the process of `rank` has exited that way, for the coordinator that
    /// drew the number `of_hub`.
    pub(crate) fn prove_end(&self, of_hub: Token, port: u16, rank: Rank, how: &str) -> Token {
        self.over_end(of_hub, port, rank, how).finalize().into_bytes().into()
    }

    /// Checks [`Self::prove_end`], in constant time.
    pub(crate) fn holds_end(&self, of_hub: Token, port: u16, rank: Rank, how: &str, proof: &Token) -> bool {
        self.over_end(of_hub, port, rank, how).verify_slice(proof).is_ok()
    }

    /// Returns the proof that a process has the variables of that rank.
    pub(crate) fn prove_place(&self, rank: Rank) -> Token {
        self.over_place(rank).finalize().into_bytes().into()
    }

    /// Checks [`Self::prove_place`], in constant time.
    pub(crate) fn holds_place(&self, rank: Rank, proof: &Token) -> bool {
        self.over_place(rank).verify_slice(proof).is_ok()
    }

    fn over_place(&self, rank: Rank) -> Hmac<Sha256> {
        keyed(&self.0, &[b"place", &rank.to_le_bytes()])
    }

    fn over_end(&self, of_hub: Token, port: u16, rank: Rank, how: &str) -> Hmac<Sha256> {
        keyed(&self.0, &[b"launcher", &of_hub, &port.to_le_bytes(), &rank.to_le_bytes(), how.as_bytes()])
    }

    /// Returns a key that all ranks of the job can compute and others cannot, different in every round.
    pub(crate) fn of_round(&self, round: u32) -> Token {
        keyed(&self.0, &[b"round", &round.to_le_bytes()]).finalize().into_bytes().into()
    }

    /// Checks a proof, in constant time.
    pub(crate) fn holds(&self, side: Prover, claim: &Transcript, proof: &Token) -> bool {
        self.over(side, claim).verify_slice(proof).is_ok()
    }

    fn over(&self, side: Prover, claim: &Transcript) -> Hmac<Sha256> {
        let side: &[u8] = match side {
            Prover::Coordinator => b"hub",
            Prover::Rank => b"rank",
        };
        let numbers = [claim.rank.to_le_bytes(), claim.size.to_le_bytes(), u32::from(claim.port).to_le_bytes()].concat();
        keyed(&self.0, &[side, &claim.of_hub, &claim.of_rank, &numbers])
    }
}

/// Hashes each part after its length, so that different lists of parts have different hashes.
fn keyed(key: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac =
        <Hmac<Sha256> as KeyInit>::new_from_slice(key).unwrap_or_else(|_| unreachable!("HMAC takes keys of every length"));
    for part in parts {
        mac.update(&(part.len() as u64).to_le_bytes());
        mac.update(part);
    }
    mac
}

/// Returns the secret from the variable, or from this user's file, which is created if it is missing. Ranks
/// on several hosts find the same file if they share a home directory.
pub(crate) fn find() -> Result<Vec<u8>, Error> {
    if let Ok(text) = env::var(own::SECRET)
        && !text.is_empty()
    {
        return Ok(text.into_bytes());
    }
    let folder = cache::folder()
        .ok_or_else(|| refused("there is no place for its secret: set FOREGATHER_SECRET, HOME or XDG_CACHE_HOME"))?;
    of_file(&folder.join("secret"))
}

fn of_file(path: &Path) -> Result<Vec<u8>, Error> {
    let named = |what: &str, error: &dyn std::fmt::Display| {
        refused(&format!("{what} {} failed ({error}): set FOREGATHER_SECRET to the same text for all ranks", path.display()))
    };
    if let Some(secret) = read(path)? {
        return Ok(secret);
    }
    if let Some(folder) = path.parent() {
        cache::make(folder).map_err(|error| named("making the folder of", &error))?;
    }
    // Written to a temporary file, then linked into place: if several ranks start at once, one of them
    // creates it, and none reads a partial file.
    let secret = random()?;
    let part = path.with_extension(format!("{}.part", hex(&random()?[..8])));
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
    let linked = written.and_then(|mut file| file.write_all(&secret)).and_then(|()| fs::hard_link(&part, path));
    let _ = fs::remove_file(&part);
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(named("writing", &error)),
        _ => read(path)?.ok_or_else(|| named("reading", &"it vanished")),
    }
}

/// Returns the file's secret, or `None` without a file. Fails if other users can read the file or wrote it.
fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let named = |why: &str| refused(&format!("{} {why}", path.display()));
    let mut file = match regular::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(named(&format!("cannot be read: {error}"))),
    };
    let about = file.metadata().map_err(|error| named(&error.to_string()))?;
    if about.uid() != rustix::process::geteuid().as_raw() || about.mode() & 0o077 != 0 {
        return Err(named("can be read by others, or is theirs: remove it, and a new one is made"));
    }
    let mut secret = [0; BYTES];
    file.read_exact(&mut secret).map_err(|_| named("is no secret: remove it, and a new one is made"))?;
    Ok(Some(secret.to_vec()))
}

fn refused(why: &str) -> Error {
    Error::from(Cause::Refused { why: why.to_owned() })
}

fn os(what: &'static str, errno: i32, remedy: &'static str) -> Error {
    Error::from(Cause::Os { what, errno, remedy })
}

/// Returns a job name that no other job has.
pub(crate) fn job_name() -> Result<String, Error> {
    Ok(format!("{}-{}", process::id(), hex(&random()?[..8])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn claim() -> Transcript {
        Transcript { of_hub: [1; BYTES], of_rank: [2; BYTES], rank: 3, size: 4, port: 5 }
    }

    #[test]
    fn a_proof_holds_for_its_claim_its_side_and_its_key_alone() {
        let key = JobKey::new(b"secret", b"job");
        let proof = key.prove(Prover::Rank, &claim());
        assert!(key.holds(Prover::Rank, &claim(), &proof));
        assert!(!key.holds(Prover::Coordinator, &claim(), &proof), "a reflected proof");
        assert!(!JobKey::new(b"Secret", b"job").holds(Prover::Rank, &claim(), &proof));
        assert!(!JobKey::new(b"secret", b"jab").holds(Prover::Rank, &claim(), &proof));
        let end = key.prove_end([1; BYTES], 5, 3, "x");
        assert!(key.holds_end([1; BYTES], 5, 3, "x", &end));
        for (of_hub, port, rank, how) in [(2, 5, 3, "x"), (1, 6, 3, "x"), (1, 5, 4, "x"), (1, 5, 3, "y")] {
            assert!(!key.holds_end([of_hub; BYTES], port, rank, how, &end));
        }
        for other in [
            Transcript { of_hub: [9; BYTES], ..claim() },
            Transcript { of_rank: [9; BYTES], ..claim() },
            Transcript { rank: 9, ..claim() },
            Transcript { size: 9, ..claim() },
            Transcript { port: 9, ..claim() },
        ] {
            assert!(!key.holds(Prover::Rank, &other, &proof));
        }
    }

    #[test]
    fn the_keyed_hash_is_the_published_one() {
        // RFC 4231, test case 2.
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(b"Jefe").unwrap();
        mac.update(b"what do ya want for nothing?");
        let found = hex(&mac.finalize().into_bytes());
        assert_eq!(found, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn the_file_is_made_once_and_refused_once_others_can_read_it() {
        let folder = env::temp_dir().join(format!("foregather-{}", job_name().unwrap()));
        let path = folder.join("cache").join("secret");
        let secret = of_file(&path).unwrap();
        assert_eq!((secret.len(), of_file(&path).unwrap()), (BYTES, secret));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "pieces are left");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = of_file(&path).unwrap_err().to_string();
        assert!(error.contains("secret") && error.contains("remove it"), "{error}");
        // Opening a named pipe would wait for its writer.
        fs::remove_file(&path).unwrap();
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let error = of_file(&path).unwrap_err().to_string();
        assert!(error.contains("secret") && error.contains("it is a pipe"), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn many_who_begin_at_once_find_one_secret() {
        let folder = env::temp_dir().join(format!("foregather-{}", job_name().unwrap()));
        let path = folder.join("secret");
        let found: Vec<_> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| of_file(&path).unwrap())).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(found.iter().all(|secret| *secret == found[0] && secret.len() == BYTES));
        fs::remove_dir_all(folder).unwrap();
    }
}
