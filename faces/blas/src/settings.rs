//! What the environment asks of this face: read once, at the first call, and nowhere else. What it asks of the team that calls
//! are shared by (`FOREGATHER_THREADS`, else `OMP_NUM_THREADS`, and `FOREGATHER_WAIT`) the team reads itself.
use std::sync::OnceLock;

/// The answers.
pub(crate) struct Settings {
    /// `FOREGATHER_BLAS_TRACE`: print at exit which symbols were called, and how often.
    pub(crate) trace: bool,
}

/// The settings of this process.
#[inline]
pub(crate) fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(read)
}

#[cold]
fn read() -> Settings {
    Settings { trace: std::env::var_os("FOREGATHER_BLAS_TRACE").is_some_and(|value| !value.is_empty() && value != "0") }
}
