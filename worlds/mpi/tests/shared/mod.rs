//! Bells in memory that all ranks of a test map.
use foregather_mpi::{Bells, Mpi};
use foregather_shm::Segment;
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::sync::Arc;

/// Creates shared bells: rank 0 creates the memory, and the others open it through `/proc/PID/fd`. All ranks
/// must call this.
pub(crate) fn bells(mpi: &Mpi, lanes: u32) -> Bells {
    let local: Vec<u32> = (0..mpi.size()).collect();
    let made = (mpi.rank() == 0).then(|| Segment::of_lines(Bells::lines(local.len(), mpi.size(), lanes)).unwrap());
    let path = made.as_ref().map(|segment| format!("/proc/{}/fd/{}", std::process::id(), segment.fd().as_raw_fd()));
    let path = mpi.spread(path.as_deref()).unwrap();
    let segment = made.unwrap_or_else(|| {
        let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
        Segment::attach(file.into()).unwrap()
    });
    let segment = Arc::new(segment);
    // The segment is leaked, because a rank may be done before another one has opened the memory.
    std::mem::forget(Arc::clone(&segment));
    Bells::shared(segment.lines(), &local, (mpi.size(), lanes)).unwrap()
}
