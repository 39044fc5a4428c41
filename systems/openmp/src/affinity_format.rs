//! Threads and where they are, as a text: by a format with fields such as `%L` or `%0.4{thread_num}`
//! (OpenMP 5.2 §21.2.4).
use crate::binding;
use crate::here::{ancestor, task};
use crate::places::ranges;
use crate::settings::settings;
use core::cell::Cell;
use foregather_host::{affinity, facts, forks::undivided, usage};
use std::sync::{Mutex, PoisonError};

/// What the program has set in place of the environment's format.
static FORMAT: Mutex<Option<Vec<u8>>> = Mutex::new(None);

/// Sets the format that is used where none is named.
pub fn set_format(format: &[u8]) {
    undivided(|| *FORMAT.lock().unwrap_or_else(PoisonError::into_inner) = Some(format.to_vec()));
}

/// The format that is used where none is named.
pub fn format() -> Vec<u8> {
    let set = undivided(|| FORMAT.lock().unwrap_or_else(PoisonError::into_inner).clone());
    set.unwrap_or_else(|| settings().places.format.clone().into_bytes())
}

/// The calling thread by a format, or by the usual one if that is empty. What is no field stays as it stands
/// there.
pub fn shown(format: &[u8]) -> Vec<u8> {
    let usual = if format.is_empty() { self::format() } else { Vec::new() };
    let (mut rest, mut text) = (if format.is_empty() { &usual[..] } else { format }, Vec::new());
    while let Some((&first, after)) = rest.split_first() {
        rest = match (first, Field::read(after)) {
            (b'%', Some((field, after))) => {
                text.extend(field.fill(value(field.what)).into_bytes());
                after
            }
            (b'%', None) if after.first() == Some(&b'%') => {
                text.push(b'%');
                &after[1..]
            }
            _ => {
                text.push(first);
                after
            }
        };
    }
    text
}

thread_local! {
    /// The place, depth and size of the region with which this thread was shown last.
    static SHOWN: Cell<Option<(Option<u32>, u32, u32)>> = const { Cell::new(None) };
}

/// Shows the calling thread on standard error, if the environment asks for it, and its region is of another
/// kind than that with which it was shown last.
#[inline]
pub(crate) fn show_if_asked() {
    if settings().places.shown {
        show_if_new();
    }
}

#[cold]
fn show_if_new() {
    let here = task();
    let now = Some((binding::place(), here.level, here.size));
    if SHOWN.replace(now) != now {
        eprintln!("{}", String::from_utf8_lossy(&shown(&[])));
    }
}

/// A field of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    zeros: bool,
    right: bool,
    width: usize,
    what: u8,
}

/// The letters of fields, and their names.
const FIELDS: [(u8, &str); 10] = [
    (b't', "team_num"),
    (b'T', "num_teams"),
    (b'L', "nesting_level"),
    (b'n', "thread_num"),
    (b'N', "num_threads"),
    (b'a', "ancestor_tnum"),
    (b'H', "host"),
    (b'P', "process_id"),
    (b'i', "native_thread_id"),
    (b'A', "thread_affinity"),
];

/// Fields are not wider than this, whatever a format says.
const WIDEST: usize = 1 << 10;

impl Field {
    /// The field whose text begins after a `%`, and what follows it.
    fn read(text: &[u8]) -> Option<(Self, &[u8])> {
        let (zeros, text) = text.strip_prefix(b"0.").map_or((false, text), |rest| (true, rest));
        let (right, text) = if zeros { (true, text) } else { text.strip_prefix(b".").map_or((false, text), |rest| (true, rest)) };
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // A zero stands before a dot, and begins no number.
        let width = core::str::from_utf8(&text[..digits]).ok().filter(|width| !width.starts_with('0'))?;
        let width = if width.is_empty() { 0 } else { width.parse::<usize>().ok()?.min(WIDEST) };
        let (name, rest) = text[digits..].split_first()?;
        let (what, rest) = if *name == b'{' {
            let end = rest.iter().position(|&byte| byte == b'}')?;
            let (what, _) = FIELDS.into_iter().find(|(_, name)| name.as_bytes() == &rest[..end])?;
            (what, &rest[end + 1..])
        } else {
            (FIELDS.into_iter().find(|(letter, _)| letter == name)?.0, rest)
        };
        Some((Self { zeros, right, width, what }, rest))
    }

    /// The value in a field of its width: to the left, or to the right behind spaces, or zeros if it is a
    /// number.
    fn fill(self, value: String) -> String {
        let Self { width, .. } = self;
        let digits = value.strip_prefix('-').unwrap_or(&value);
        if self.zeros && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            let sign = &value[..value.len() - digits.len()];
            return format!("{sign}{digits:0>width$}", width = width.saturating_sub(sign.len()));
        }
        if self.right { format!("{value:>width$}") } else { format!("{value:<width$}") }
    }
}

/// What a field stands for in the calling thread.
fn value(what: u8) -> String {
    let here = task();
    match what {
        b't' => here.league.number.to_string(),
        b'T' => here.league.teams.to_string(),
        b'L' => here.level.to_string(),
        b'n' => here.rank.to_string(),
        b'N' => here.size.to_string(),
        b'a' => here.level.checked_sub(1).and_then(ancestor).map_or(-1, |task| i64::from(task.rank)).to_string(),
        b'H' => facts::host_name(),
        b'P' => usage::this_process().to_string(),
        b'i' => usage::this_thread().to_string(),
        _ => match binding::place().and_then(|place| settings().places.places.get(place as usize)) {
            Some(cpus) => ranges(cpus, '-', |_, last| last),
            None => ranges(&affinity::allowed(), '-', |_, last| last),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(format: &str) -> String {
        String::from_utf8(shown(format.as_bytes())).unwrap()
    }

    #[test]
    fn fields_have_letters_or_names_a_width_and_a_side() {
        assert_eq!(text("%L|%n|%N|%t|%T|%a"), "0|0|1|0|1|-1");
        assert_eq!(text("%{nesting_level}|%3{num_threads}|%.3N|%0.3N"), "0|1  |  1|001");
        assert_eq!(text("%0.5a|%.5a|%5a|"), "-0001|   -1|-1   |");
        assert_eq!(text("%P"), std::process::id().to_string());
        let host = text("%H");
        assert_eq!((host.is_empty(), text("%0.3{host}")), (false, format!("{host:>3}")));
        assert!(text("%A").starts_with(|first: char| first.is_ascii_digit()) && text("%i").parse::<u32>().is_ok());
        assert_eq!(text("%99999999N").len(), WIDEST);
    }

    #[test]
    fn what_is_no_field_stays() {
        for plain in ["100", "%", "a%", "%Z", "%05L", "%{level}", "%{host", "%5%"] {
            assert_eq!(text(plain), plain);
        }
        assert_eq!((text("%%L"), text("100%%")), ("%L".to_owned(), "100%".to_owned()));
    }

    #[test]
    fn the_usual_format_can_be_set() {
        assert_eq!(text(""), text(&settings().places.format));
        set_format(b"%n of %N");
        assert_eq!((format(), text("")), (b"%n of %N".to_vec(), "0 of 1".to_owned()));
        *FORMAT.lock().unwrap() = None;
    }
}
