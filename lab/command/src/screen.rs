//! How text is to look where it is printed: how wide, in which characters, and whether in colours.
use foregather_host::terminal;
use foregather_machine::shown;
use foregather_results::table::wrapped_within;
use std::borrow::Cow;
use std::io::{IsTerminal, stdout};

/// A blank at which no line ends.
pub(crate) const NO_BREAK: char = '\u{a0}';

/// The width of what no terminal shows.
const USUAL_COLUMNS: usize = 60;

/// Where text that is to be read is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    columns: usize,
    colours: bool,
    /// Whether only ASCII characters can be shown.
    ascii: bool,
}

/// What a colour says.
#[derive(Clone, Copy)]
pub(crate) enum Ink {
    /// A heading, or what matters most.
    Strong,
    /// As it should be.
    Good,
    /// To be looked at.
    Amiss,
}

impl Screen {
    /// Standard output, as the environment describes it: `NO_COLOR`, `TERM`, `COLUMNS` and the locale.
    pub fn of_output() -> Self {
        Self::of(|name| std::env::var(name).ok().filter(|value| !value.is_empty()), stdout().is_terminal(), terminal::columns())
    }

    fn of(variable: impl Fn(&str) -> Option<String>, terminal: bool, columns: Option<usize>) -> Self {
        let able = variable("TERM").is_some_and(|term| term != "dumb");
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(&variable).unwrap_or_default().to_lowercase();
        Self {
            columns: columns.unwrap_or(USUAL_COLUMNS),
            colours: terminal && able && variable("NO_COLOR").is_none(),
            ascii: !["utf-8", "utf8"].iter().any(|utf8| locale.contains(utf8)),
        }
    }

    /// Without colours, in ASCII.
    #[cfg(test)]
    pub(crate) fn plain(columns: usize) -> Self {
        Self { columns, colours: false, ascii: true }
    }

    /// Returns whether colours are shown.
    #[cfg(feature = "top")]
    pub(crate) fn has_colours(&self) -> bool {
        self.colours
    }

    /// How many columns there are.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Foreign text in the characters that there are, which steers nothing.
    pub(crate) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let text = shown(text);
        let lacks = |c: char| !c.is_ascii() && c != NO_BREAK;
        if self.ascii && text.contains(lacks) { text.replace(lacks, "?").into() } else { text }
    }

    /// Text on lines that fit; those but the first are indented.
    pub(crate) fn wrapped(&self, text: &str, indent: usize) -> String {
        wrapped_within(&self.text(text), indent, self.columns).replace(NO_BREAK, " ")
    }

    /// Lines in a colour, if there are colours.
    pub(crate) fn inked(&self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Strong => "1",
            Ink::Good => "32",
            Ink::Amiss => "33",
        };
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(variables: &[(&str, &str)], terminal: bool) -> Screen {
        let value = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Screen::of(value, terminal, terminal.then_some(100))
    }

    #[test]
    fn colours_are_for_terminals_that_have_them_and_users_who_want_them() {
        let xterm = [("TERM", "xterm"), ("LANG", "C.UTF-8")];
        assert_eq!(screen(&xterm, true), Screen { columns: 100, colours: true, ascii: false });
        assert_eq!(screen(&xterm, false), Screen { columns: 60, colours: false, ascii: false });
        for without in [&[("TERM", "dumb")][..], &[], &[("TERM", "xterm"), ("NO_COLOR", "1")]] {
            assert!(!screen(without, true).colours, "{without:?}");
        }
        assert_eq!(screen(&xterm, true).inked(Ink::Good, "well"), "\x1b[32mwell\x1b[0m");
        assert_eq!(Screen::plain(60).inked(Ink::Good, "well"), "well");
    }

    #[test]
    fn without_a_locale_there_is_ascii() {
        assert!(screen(&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")], true).ascii);
        assert_eq!(screen(&[], false).text("8 \u{b5}s \u{1b}[2J"), "8 ?s ?[2J");
        assert_eq!(screen(&[("LC_CTYPE", "C.utf8")], false).text("8 \u{b5}s"), "8 \u{b5}s");
    }
}
