//! The launcher's key-value store in the text protocol PMI-1, which MPICH's `mpiexec` and `srun --mpi=pmi2`
//! support: one line per request and reply, with words `key=value`. Only rank 0 stores a value: its address.
use foregather_machine::{Cause, Error, Nanos};
use rustix::fd::{FromRawFd, OwnedFd, RawFd};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Longer than any line of the protocol: names have at most 256 bytes, values 1024.
const MOST_LINE: usize = 4_096;
const KEY: &str = "foregather-root";

/// A connection to the launcher.
#[derive(Debug)]
pub(crate) struct Pmi {
    stream: UnixStream,
    read: Vec<u8>,
    store: String,
}

impl Pmi {
    /// Opens a connection on the descriptor that `PMI_FD` names.
    pub(crate) fn open(fd: &str, patience: Nanos) -> Result<Self, Error> {
        let number: RawFd = fd.trim().parse().ok().filter(|&fd| fd > 2).ok_or_else(|| refused("PMI_FD is no descriptor", fd))?;
        // SAFETY: the launcher opened the descriptor for this process to own, and a process joins once, which
        // `Job::join` ensures.
        let fd = unsafe { OwnedFd::from_raw_fd(number) };
        Self::over(UnixStream::from(fd), patience)
    }

    fn over(stream: UnixStream, patience: Nanos) -> Result<Self, Error> {
        stream.set_read_timeout(Some(Duration::from_nanos(patience.0.max(1)))).map_err(|error| broken(&error))?;
        let mut pmi = Self { stream, read: Vec::new(), store: String::new() };
        pmi.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")?;
        let answer = pmi.ask("cmd=get_my_kvsname", "my_kvsname")?;
        pmi.store = field(&answer, "kvsname").ok_or_else(|| refused("the launcher named no store", &answer))?.to_owned();
        Ok(pmi)
    }

    /// Distributes rank 0's address and returns it; `mine` is the address if this is rank 0.
    pub(crate) fn spread(mut self, mine: Option<&str>) -> Result<String, Error> {
        let store = self.store.clone();
        if let Some(value) = mine {
            self.ask(&format!("cmd=put kvsname={store} key={KEY} value={value}"), "put_result")?;
        }
        self.ask("cmd=barrier_in", "barrier_out")?;
        let answer = self.ask(&format!("cmd=get kvsname={store} key={KEY}"), "get_result")?;
        let value =
            field(&answer, "value").ok_or_else(|| refused("rank 0 put nothing into the launcher's store", &answer))?.to_owned();
        // From here on, the launcher treats an exit of this process as normal.
        self.ask("cmd=finalize", "finalize_ack")?;
        Ok(value)
    }

    fn ask(&mut self, question: &str, wanted: &str) -> Result<String, Error> {
        self.stream.write_all(format!("{question}\n").as_bytes()).map_err(|error| broken(&error))?;
        let answer = self.line()?;
        let failed = field(&answer, "rc").is_some_and(|rc| rc != "0");
        if failed || field(&answer, "cmd") != Some(wanted) {
            return Err(refused(&format!("the launcher answered `{question}` by"), &answer));
        }
        Ok(answer)
    }

    fn line(&mut self) -> Result<String, Error> {
        loop {
            if let Some(end) = self.read.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            if self.read.len() > MOST_LINE {
                return Err(refused("the launcher's line has no end", &String::from_utf8_lossy(&self.read[..40])));
            }
            let mut piece = [0; 512];
            match self.stream.read(&mut piece) {
                Ok(0) => return Err(refused("the launcher hung up", "")),
                Ok(bytes) => self.read.extend_from_slice(&piece[..bytes]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(broken(&error)),
            }
        }
    }
}

/// Returns the value of `key` in a line.
fn field<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_ascii_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

fn refused(what: &str, said: &str) -> Error {
    let said: String = said.chars().take(120).flat_map(char::escape_debug).collect();
    Error::from(Cause::Refused { why: format!("PMI-1: {what}: `{said}`") })
}

fn broken(error: &std::io::Error) -> Error {
    refused("talking with the launcher failed, did all ranks come?", &error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::io::{BufRead, BufReader};
    use std::sync::{Arc, Barrier, Mutex};
    use std::thread;

    const LONG: Nanos = Nanos::from_ms(30_000);

    /// Serves one rank, as a launcher does.
    fn serve(stream: UnixStream, store: &Mutex<BTreeMap<String, String>>, barrier: &Barrier) {
        let mut out = stream.try_clone().unwrap();
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let answer = match field(&line, "cmd").unwrap() {
                "init" => "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0".to_owned(),
                "get_my_kvsname" => "cmd=my_kvsname kvsname=kvs_7_0".to_owned(),
                "put" => {
                    let (key, value) = (field(&line, "key").unwrap(), field(&line, "value").unwrap());
                    store.lock().unwrap().insert(key.to_owned(), value.to_owned());
                    "cmd=put_result rc=0 msg=success".to_owned()
                }
                "barrier_in" => {
                    barrier.wait();
                    "cmd=barrier_out".to_owned()
                }
                "get" => match store.lock().unwrap().get(field(&line, "key").unwrap()) {
                    Some(value) => format!("cmd=get_result rc=0 msg=success value={value}"),
                    None => "cmd=get_result rc=-1 msg=key_not_found value=unknown".to_owned(),
                },
                _ => "cmd=finalize_ack".to_owned(),
            };
            out.write_all(format!("{answer}\n").as_bytes()).unwrap();
        }
    }

    fn job(puts: bool) -> Vec<Result<String, Error>> {
        let (store, barrier) = (Arc::new(Mutex::default()), Arc::new(Barrier::new(3)));
        let ranks: Vec<_> = (0..3)
            .map(|rank| {
                let (ours, theirs) = UnixStream::pair().unwrap();
                let (store, barrier) = (Arc::clone(&store), Arc::clone(&barrier));
                thread::spawn(move || serve(theirs, &store, &barrier));
                let mine = (rank == 0 && puts).then_some("127.0.0.1:4711/abc");
                thread::spawn(move || Pmi::over(ours, LONG)?.spread(mine))
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    }

    #[test]
    fn all_learn_what_rank_0_put() {
        assert!(job(true).iter().all(|value| value.as_deref() == Ok("127.0.0.1:4711/abc")));
    }

    #[test]
    fn a_store_without_the_key_is_an_error() {
        assert!(job(false).iter().all(|value| value.as_ref().unwrap_err().to_string().contains("key_not_found")));
    }

    #[test]
    fn a_launcher_that_hangs_up_or_stays_silent_is_named() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        assert!(Pmi::over(ours, LONG).unwrap_err().to_string().contains("PMI-1"));
        let (ours, _theirs) = UnixStream::pair().unwrap();
        assert!(Pmi::over(ours, Nanos::from_ms(20)).unwrap_err().to_string().contains("PMI-1"));
        for bad in ["", "x", "-1", "1", "99999999999"] {
            assert!(Pmi::open(bad, LONG).is_err());
        }
    }

    proptest! {
        #[test]
        fn no_answer_breaks_it(answer in prop::collection::vec(any::<u8>(), 0..6_000)) {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            theirs.write_all(&answer).unwrap();
            drop(theirs);
            prop_assert!(Pmi::over(ours, LONG).is_err());
        }
    }
}
