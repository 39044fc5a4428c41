//! How wide output for the terminal may be, and how a terminal gets its settings back.
use std::env;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// Narrower terminals count as this wide.
const LEAST_COLUMNS: usize = 20;

/// Columns of standard output: from `COLUMNS`, or of its terminal; `None` without either.
pub fn columns() -> Option<usize> {
    let said = env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    said.or_else(of_output).filter(|&columns| columns > 0).map(|columns: usize| columns.max(LEAST_COLUMNS))
}

/// A terminal and its settings.
static KEPT: OnceLock<(libc::c_int, libc::termios)> = OnceLock::new();
/// Leaves the alternate screen, and shows the cursor.
const LEAVE: &[u8] = b"\x1b[?1049l\x1b[?25h";

/// Keeps the settings of this process's terminal, for a view that is about to change them:
/// [`interrupt`](crate::interrupt) restores them if a second signal ends the process.
pub fn keep_settings() {
    let of = |descriptor| {
        let mut settings = MaybeUninit::<libc::termios>::zeroed();
        // SAFETY: the call writes one `termios` through the pointer, which outlives it, and zeros are valid
        // ones; a descriptor that is no terminal is refused.
        let kept = unsafe { (libc::tcgetattr(descriptor, settings.as_mut_ptr()), settings.assume_init()) };
        (kept.0 == 0).then_some((descriptor, kept.1))
    };
    if let Some(kept) = of(libc::STDIN_FILENO).or_else(|| of(libc::STDOUT_FILENO)) {
        KEPT.get_or_init(|| kept);
    }
}

/// Restores what [`keep_settings`] kept. A signal handler may call it.
pub(crate) fn restore_settings() {
    let Some((descriptor, settings)) = KEPT.get() else { return };
    // SAFETY: both calls are async-signal-safe (signal-safety(7)) and read memory that lives as long as the
    // process.
    unsafe {
        libc::tcsetattr(*descriptor, libc::TCSANOW, settings);
        libc::write(libc::STDOUT_FILENO, LEAVE.as_ptr().cast(), LEAVE.len());
    }
}

fn of_output() -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes one `winsize` through the pointer, which outlives the call; a descriptor that
    // is no terminal is refused.
    let done = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    (done == 0).then_some(size.ws_col.into())
}
