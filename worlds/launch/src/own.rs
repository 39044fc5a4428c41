//! The environment variables of our own launcher, and how variables are read.
use std::env;

/// The rank.
pub(crate) const RANK: &str = "FOREGATHER_RANK";
/// The number of ranks.
pub(crate) const SIZE: &str = "FOREGATHER_SIZE";
/// The number of ranks on the rank's own host, so that the default team gets a fair share of the processors.
pub(crate) const LOCAL_SIZE: &str = "FOREGATHER_LOCAL_SIZE";
/// The job's name, new for each job.
pub(crate) const JOB: &str = "FOREGATHER_JOB";
/// The location of rank 0, as `host:port`, or `host` for ports derived from the job's name. Valid with any
/// launcher.
pub(crate) const ROOT: &str = "FOREGATHER_ROOT";
/// The secret that a rank must know to join, in hexadecimal digits or any text. Valid with any launcher.
pub(crate) const SECRET: &str = "FOREGATHER_SECRET";
/// The name of the launcher's socket, at which a process finds out whether it is the rank, or a child that
/// only inherited the variables.
pub(crate) const DESK: &str = "FOREGATHER_DESK";
/// The trace that the ranks record, as an absolute path; empty for none.
pub(crate) const RECORD: &str = "FOREGATHER_RECORD";
/// The jobs inside which a process was started, innermost last, each followed by `/`. The process is killed
/// when one of them ends.
pub(crate) const WITHIN: &str = "FOREGATHER_WITHIN";
/// `none`: run outside any job, whatever launcher has started this process, as in a shell that is a step of
/// `srun`.
pub(crate) const LAUNCHER: &str = "FOREGATHER_LAUNCHER";

/// Returns the value of a variable. If it is not UTF-8, the code that parses it reports an error.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}
