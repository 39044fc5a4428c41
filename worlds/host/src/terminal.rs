//! How wide what people read may be.
use std::env;

/// Narrower ones are not reckoned with.
const LEAST_COLUMNS: usize = 20;

/// Columns of standard output: as `COLUMNS` says, or of the terminal that it is; `None` if it is none.
pub fn columns() -> Option<usize> {
    let said = env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    said.or_else(of_output).filter(|&columns| columns > 0).map(|columns: usize| columns.max(LEAST_COLUMNS))
}

fn of_output() -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes one `winsize` where it is told to; a descriptor that is no terminal is refused.
    let done = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    (done == 0).then_some(size.ws_col.into())
}
