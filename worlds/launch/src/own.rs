//! The variables of our own launcher, and how variables are read.
use std::env;

/// The rank.
pub(crate) const RANK: &str = "FOREGATHER_RANK";
/// The number of ranks.
pub(crate) const SIZE: &str = "FOREGATHER_SIZE";
/// The number of ranks on the rank's own host, by which a default team is a fair share of the processors.
pub(crate) const LOCAL_SIZE: &str = "FOREGATHER_LOCAL_SIZE";
/// The job's name, new for each job.
pub(crate) const JOB: &str = "FOREGATHER_JOB";
/// Where rank 0 is, as `host:port`, or `host` for ports that follow from the job's name. With any
/// launcher.
pub(crate) const ROOT: &str = "FOREGATHER_ROOT";
/// The secret that a rank must know to join, in hexadecimal digits or any text. With any launcher.
pub(crate) const SECRET: &str = "FOREGATHER_SECRET";
/// The name of the launcher's socket, which decides whether this process is the rank or a child of it that
/// has inherited the variables only.
pub(crate) const DESK: &str = "FOREGATHER_DESK";
/// The jobs within which a process was started, the innermost last, each with a `/` behind it: it ends
/// with them.
pub(crate) const WITHIN: &str = "FOREGATHER_WITHIN";
/// `none`: run alone, whatever launcher has started this process, as in a shell that is a step of `srun`.
pub(crate) const LAUNCHER: &str = "FOREGATHER_LAUNCHER";

/// The value of a variable. One that is not UTF-8 is shown to be wrong where it is read.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}
