//! The launcher's reports to the coordinator that the process of a rank has exited. If the rank had joined,
//! the coordinator learns that from its connection. If it had not, nothing else would inform the ranks that
//! wait for it.
//!
//! A thread of the launcher connects like a rank, and proves that it knows the job's secret. It gets every
//! exit from a queue, so no other thread waits for it. If there is no coordinator, there is nothing to
//! report.
use crate::frame::{Inbox, JobFrame, VERSION};
use crate::join::{connect, hear};
use crate::meet::root_of;
use crate::own;
use crate::secret::JobKey;
use foregather_machine::{Nanos, Rank};
use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;

/// A coordinator that does not answer within this time does not exist, or is exiting itself.
const PATIENCE: Nanos = Nanos::from_ms(2_000);

/// Where the launcher reports ranks that have ended.
pub(crate) struct Notices(Sender<(Rank, String)>);

struct Herald {
    candidates: Vec<(String, u16)>,
    key: JobKey,
}

impl Notices {
    /// Creates it for the job whose ranks get these variables.
    pub(crate) fn of(variables: &[(String, String)]) -> Self {
        let said = |name: &str| variables.iter().find(|(of, _)| of == name).map_or("", |(_, value)| value);
        let (send, told) = channel();
        let candidates = root_of(said(own::ROOT), said(own::JOB)).unwrap_or_default();
        let herald = Herald { candidates, key: JobKey::new(said(own::SECRET).as_bytes(), said(own::JOB).as_bytes()) };
        // Without the thread, the other ranks notice when the launcher ends them.
        let _ = Builder::new().name("herald".to_owned()).spawn(move || herald.run(&told));
        Self(send)
    }

    /// Reports that the process of that rank has exited.
    pub(crate) fn ended(&self, rank: Rank, how: &str) {
        let _ = self.0.send((rank, how.to_owned()));
    }
}

impl Herald {
    fn run(&self, told: &Receiver<(Rank, String)>) {
        for (rank, how) in told {
            let _ = self.candidates.iter().find_map(|(host, port)| self.tell(host, *port, rank, &how));
        }
    }

    /// Sends the report. Returns `None` if this job has no coordinator.
    fn tell(&self, host: &str, port: u16, rank: Rank, how: &str) -> Option<()> {
        let mut stream = connect(host, port, PATIENCE).ok()?;
        let JobFrame::Hello { version: VERSION, nonce } = hear(&stream, &mut Inbox::default()).ok()? else { return None };
        let proof = self.key.prove_end(nonce, port, rank, how);
        stream.write_all(&JobFrame::Ended { version: VERSION, rank, proof, how: how.to_owned() }.encode()).ok()?;
        // The coordinator closes the connection after it has read the frame; a refusal comes from an
        // unverified peer.
        (stream.read(&mut [0; 64]).ok()? == 0).then_some(())
    }
}
