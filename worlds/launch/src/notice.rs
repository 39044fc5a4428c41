//! What the launcher tells the coordinator: that the process of a rank has ended. Of one that had joined the coordinator knows that by its
//! connection; of one that had not, nothing else would tell those who wait for it.
//!
//! A thread of the launcher's connects, as a rank would, and proves that it knows the job's secret. It is told everything and
//! waited for by nothing: where there is no coordinator, there is nothing to tell.
use crate::detect::own;
use crate::frame::{Frame, Inbox, VERSION};
use crate::join::{connect, hear};
use crate::meet::root_of;
use crate::secret::JobKey;
use foregather_machine::{Nanos, Rank};
use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;

/// A coordinator that does not answer by then is none, or is busy dying itself.
const PATIENCE: Nanos = Nanos::from_ms(2_000);

/// To whom the launcher says which ranks have ended.
pub(crate) struct Notices(Sender<(Rank, String)>);

struct Herald {
    candidates: Vec<(String, u16)>,
    key: JobKey,
}

impl Notices {
    /// For the job whose ranks are told these variables.
    pub(crate) fn of(variables: &[(String, String)]) -> Self {
        let said = |name: &str| variables.iter().find(|(of, _)| of == name).map_or("", |(_, value)| value);
        let (send, told) = channel();
        let candidates = root_of(said(own::ROOT), said(own::JOB)).unwrap_or_default();
        let herald = Herald { candidates, key: JobKey::new(said(own::SECRET).as_bytes(), said(own::JOB).as_bytes()) };
        // Without the thread the others learn of it when the launcher ends them.
        let _ = Builder::new().name("herald".to_owned()).spawn(move || herald.run(&told));
        Self(send)
    }

    /// The process of that rank has ended.
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

    /// `None`: no coordinator of this job is there.
    fn tell(&self, host: &str, port: u16, rank: Rank, how: &str) -> Option<()> {
        let mut stream = connect(host, port, PATIENCE).ok()?;
        let Frame::Hello { version: VERSION, nonce } = hear(&stream, &mut Inbox::default()).ok()? else { return None };
        let proof = self.key.prove_end(nonce, port, rank, how);
        stream.write_all(&Frame::Ended { version: VERSION, rank, proof, how: how.to_owned() }.encode()).ok()?;
        // It hangs up when it has read that; a refusal is a stranger's.
        (stream.read(&mut [0; 64]).ok()? == 0).then_some(())
    }
}
