//! What results are called: what writes them and what reads them have one word for each.

/// Rust's barrier.
pub const RUST_STD: &str = "rust-std";
/// Ours, which all else is compared with: always measured first, and shown first.
pub const CANDIDATE: &str = "central/adaptive";
/// The label of the rule that is off.
pub const OFF: &str = "off";
/// Its value where none is.
pub const NOTHING: &str = "nothing";
/// A label of what was measured on this machine beside simulated values, which do not have it.
pub const MEASURED: &str = "measured";
/// What ids of regions of a team begin with.
pub const TEAMS: &str = "teams/";
/// Of constructs of OpenMP.
pub const OPENMP: &str = "openmp/";
/// Of calls of a BLAS over the size.
pub const BLAS: &str = "blas/";
/// Of those calls under load.
pub const BLAS_COLLAPSE: &str = "blas-collapse/";
/// Of messages over the size.
pub const MESSAGES: &str = "messages/";
/// Of messages under load.
pub const MESSAGES_LOADED: &str = "messages-beside-hogs/";
/// Of queues from one process to several.
pub const BROADCAST: &str = "broadcast/";
/// Of faults of shared memory between ranks.
pub const FAULTS: &str = "dsm-faults/";
/// Of such faults while the owner computes.
pub const COMPUTING: &str = "dsm-faults-owner-computes/";
/// Of the same where an accessor asks by a call, so that there is no fault.
pub const ASKED: &str = "dsm-asked/";
/// Of traversals of views.
pub const VIEWS: &str = "dsm-views/";
/// Of whole programs.
pub const PROGRAMS: &str = "programs/";
/// Of drawn rows.
pub const REGRET: &str = "regret/";
/// The parts of a fault, by the names of their figures: the signal and the opening of the page, its closing
/// at the owner, a request and its answer as bare frames; what remains is the protocol, and the waking of the
/// thread that waits.
pub const FAULT_PARTS: [&str; 4] = ["signal_us", "owner_us", "frames_us", "rest_us"];
/// A prediction is near enough if it is off by no more than this, in each state of the team.
pub const PREDICTION_LIMIT: f64 = 1.5;
