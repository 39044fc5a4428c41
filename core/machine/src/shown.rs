//! Foreign text on a terminal: control characters are shown, not obeyed.
use std::borrow::Cow;

/// Text that others wrote (names of files, titles, what a stranger sent) as it may reach a terminal or a
/// table: each character that would move the cursor, change colours or turn the direction of writing is
/// replaced by U+FFFD, ends of lines among them.
///
/// ```
/// # use foregather_machine as foregather;
/// assert_eq!(foregather::shown("a\u{1b}[2Jb\nc"), "a\u{fffd}[2Jb\u{fffd}c");
/// ```
pub fn shown(text: &str) -> Cow<'_, str> {
    if text.contains(steers) { text.replace(steers, "\u{fffd}").into() } else { text.into() }
}

/// Returns whether the character controls a terminal or changes how the characters around it are shown.
fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_and_all_else_left_alone() {
        for plain in ["", "plain", "\u{e9}\u{4e2d}\u{1f600}", "a\u{301}", "\u{fffd}"] {
            assert!(matches!(shown(plain), Cow::Borrowed(same) if same == plain));
        }
        for steering in ['\0', '\u{7}', '\r', '\n', '\u{1b}', '\u{7f}', '\u{9b}', '\u{202e}', '\u{2029}', '\u{2067}'] {
            assert_eq!(shown(&format!("a{steering}b")), "a\u{fffd}b", "{steering:?}");
        }
    }
}
