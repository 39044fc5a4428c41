//! The user's settings of teams and shared memory in environment variables. They are read at each call:
//! programs set them, too.
use std::env;

/// The most members that a team may have: `FOREGATHER_THREADS`, else the first level of `OMP_NUM_THREADS`.
///
/// # Errors
/// What is wrong with the value, and the right form.
pub fn threads() -> Result<Option<u32>, String> {
    let named = |name| env::var(name).ok().map(|value| (name, value));
    named("FOREGATHER_THREADS").or_else(|| named("OMP_NUM_THREADS")).map_or(Ok(None), |(name, value)| {
        parse_threads(&value).map(Some).ok_or_else(|| format!("{name}={value} is no number of threads: take 1 or more"))
    })
}

/// A variable of the environment; `None` if it is not set, or no text.
pub fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// The waiting policy's name: `FOREGATHER_WAIT`.
pub fn wait() -> Option<String> {
    env::var("FOREGATHER_WAIT").ok()
}

/// Where threads share memory, `plain` or `views`: `FOREGATHER_SHARED`.
pub fn shared() -> Option<String> {
    env::var("FOREGATHER_SHARED").ok()
}

/// OpenMP's variable may be a list, one number for each level of nesting.
fn parse_threads(text: &str) -> Option<u32> {
    text.split(',').next()?.trim().parse().ok().filter(|&threads| threads >= 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_threads_are_read_and_others_refused() {
        for (text, threads) in [("1", 1), (" 4 ", 4), ("8,2,1", 8)] {
            assert_eq!(parse_threads(text), Some(threads), "{text}");
        }
        for wrong in ["", "0", "-1", "all", "2.5", ",2", "99999999999"] {
            assert_eq!(parse_threads(wrong), None, "{wrong}");
        }
    }
}
