//! How wide output for the terminal may be.
use std::env;

/// Narrower terminals count as this wide.
const LEAST_COLUMNS: usize = 20;

/// Columns of standard output: from `COLUMNS`, or of its terminal; `None` without either.
pub fn columns() -> Option<usize> {
    let said = env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    said.or_else(of_output).filter(|&columns| columns > 0).map(|columns: usize| columns.max(LEAST_COLUMNS))
}

fn of_output() -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes one `winsize` through the pointer, which outlives the call; a descriptor that
    // is no terminal is refused.
    let done = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    (done == 0).then_some(size.ws_col.into())
}
