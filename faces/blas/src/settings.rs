//! What the environment asks of the library: read once, at the first call, and nowhere else.
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
