//! Slurm's compact host lists: `rack1n[01-04,7],login`. Only the first host is parsed, because it runs rank
//! 0.
use foregather_machine::{Cause, Error};

/// The maximum length of a list.
const MOST_BYTES: usize = 1 << 20;

/// Returns the first host of the list, or `None` if it is empty.
///
/// # Errors
/// [`Cause::Refused`] if the list is invalid.
pub(crate) fn first(list: &str) -> Result<Option<String>, Error> {
    let list = list.trim();
    let wrong = || Error::from(Cause::Refused { why: format!("Slurm's list of nodes is unreadable: `{}`", shortened(list)) });
    if list.is_empty() {
        return Ok(None);
    }
    if list.len() > MOST_BYTES || !list.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong());
    }
    let mut host = String::new();
    let mut rest = list;
    // Reads piece by piece up to a comma outside brackets, and takes the first number of each bracket, with
    // its leading zeros.
    loop {
        let end = rest.find(['[', ',', ']']).unwrap_or(rest.len());
        host.push_str(&rest[..end]);
        match rest.as_bytes().get(end) {
            Some(b'[') => {
                let (numbers, after) = rest[end + 1..].split_once(']').ok_or_else(wrong)?;
                host.push_str(first_number(numbers).ok_or_else(wrong)?);
                rest = after;
            }
            Some(b']') => return Err(wrong()),
            _ if host.is_empty() => return Err(wrong()),
            _ => return Ok(Some(host)),
        }
    }
}

fn first_number(numbers: &str) -> Option<&str> {
    for range in numbers.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let sound = |n: &str| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit());
        if !sound(low) || !sound(high) {
            return None;
        }
    }
    numbers.split([',', '-']).next()
}

fn shortened(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_host_is_found() {
        for (list, host) in [
            ("localhost", "localhost"),
            ("n1,n2", "n1"),
            ("n[3-8]", "n3"),
            ("n[03,05-9],m", "n03"),
            ("rack[2-3]n[007-9]-ib,x", "rack2n007-ib"),
            ("a.b.c", "a.b.c"),
        ] {
            assert_eq!(first(list), Ok(Some(host.to_owned())), "{list}");
        }
        assert_eq!(first(" "), Ok(None));
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in ["n[", "n]", "n[]", "n[a]", "n[1-]", "n[1,,2]", ",n", "n [1]", "n\u{e4}", "[[1]]"] {
            assert!(first(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(list in "[\\[\\],0-9a-z\\- ]{0,40}|.{0,40}") {
            if let Ok(Some(host)) = first(&list) {
                prop_assert!(!host.is_empty() && host.len() <= list.len());
                prop_assert!(!host.contains(['[', ']', ',']));
            }
        }
    }
}
