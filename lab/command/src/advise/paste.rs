//! Commands on the screen: wrapped so that they can be pasted, or shortened where they do not fit.
use foregather_machine::shown;

/// More lines than that are not worth their place on the screen.
const LINES: usize = 4;
/// Of a longer path only the name is shown.
const PATH: usize = 40;

/// A command on lines of at most that width, all but the last of which end with a backslash. `None` if it
/// needs more than four lines, or has a word that is too long or a character that cannot be shown.
pub(super) fn wrapped(command: &str, columns: usize) -> Option<Vec<String>> {
    if shown(command) != command {
        return None;
    }
    let mut lines = vec![String::new()];
    for word in words(command) {
        let line = lines.last_mut()?;
        if line.is_empty() {
            *line = word.to_owned();
        } else if line.len() + 1 + word.len() + " \\".len() <= columns {
            *line = format!("{line} {word}");
        } else {
            lines.push(word.to_owned());
        }
    }
    let most = lines.iter().map(|line| line.chars().count() + " \\".len()).max()?;
    let last = lines.len() - 1;
    lines[..last].iter_mut().for_each(|line| line.push_str(" \\"));
    (most <= columns && lines.len() <= LINES).then_some(lines)
}

/// A command in which dots stand for the program's arguments: `OMP_NUM_THREADS=1 python ...`.
pub(super) fn short(command: &str, program: &str) -> String {
    let Some(before) = command.strip_suffix(program) else { return shown(command).into_owned() };
    let first = words(program).next().unwrap_or_default();
    let name = if first.len() <= PATH { first } else { first.rsplit('/').next().unwrap_or(first) };
    format!("{before}{} ...", shown(name))
}

/// The words of a shell's command, with their quotes: blanks within quotes belong to a word.
pub(super) fn words(command: &str) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let ends = move |c: char| {
        let ends = c == ' ' && !is_quoted && !is_escaped;
        is_quoted ^= c == '\'' && !is_escaped;
        is_escaped = c == '\\' && !is_quoted && !is_escaped;
        ends
    };
    command.split(ends).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_is_wrapped_between_words_and_is_the_same_to_a_shell() {
        let wide = |command: &str| wrapped(command, 24).map(|lines| lines.join("\n"));
        assert_eq!(wide("A=1 ./sum 3").as_deref(), Some("A=1 ./sum 3"));
        assert_eq!(wide("OMP_NUM_THREADS=1 python train.py").as_deref(), Some("OMP_NUM_THREADS=1 \\\npython train.py"));
        assert_eq!(wide("./sum 'a b  c' 'it'\\'' s' 1 2").as_deref(), Some("./sum 'a b  c' \\\n'it'\\'' s' 1 2"));
        assert_eq!(wide("./sum 'a word that is far too long'"), None);
        assert_eq!(wide("./sum 'a\tb'"), None, "the screen cannot show it");
        assert_eq!(wide(&"12345678901234567890 ".repeat(5)), None, "five lines");
        let command = "A=1 printf '%s.' 'a b  c' 'it'\\'' s' 1 2 3 4 5";
        let run = |command: &str| std::process::Command::new("sh").args(["-c", command]).output().unwrap().stdout;
        assert_eq!(run(&wide(command).unwrap()), run(command));
        assert_eq!(run(command), b"a b  c.it' s.1.2.3.4.5.");
    }

    #[test]
    fn a_command_that_does_not_fit_names_its_program() {
        let program = format!("/opt/bin/python -c '{}'", "x ".repeat(200));
        assert_eq!(short(&format!("OMP_NUM_THREADS=1 {program}"), &program), "OMP_NUM_THREADS=1 /opt/bin/python ...");
        let deep = format!("/{}/python -V", "deep/".repeat(9));
        assert_eq!(short(&format!("OMP_NUM_THREADS=1 {deep}"), &deep), "OMP_NUM_THREADS=1 python ...");
        assert_eq!(short("renice -n 19 -p 5", "./sum"), "renice -n 19 -p 5", "another program's");
    }
}
