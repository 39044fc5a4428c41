//! How a rank is started on another host: by a shell there, which reads its script from its standard input.
//! So the job's secret is in no list of processes, and the command that gets us there (`ssh`,
//! `ip netns exec`) has nothing to quote.
use super::{os, setting};
use crate::own::WITHIN;
use foregather_machine::Error;
use std::env;

/// Prefixes of this process's variables that ranks on other hosts get, too.
const PASSED_ON: [&str; 3] = ["FOREGATHER_", "FI_", "RUST_"];

/// The script for the shell. Standard input stays open for as long as the rank is to live: its end, when this
/// process or the connection is gone, ends the rank.
pub(super) fn script(variables: &[(String, String)], program: &[String]) -> Result<String, Error> {
    let passed = env::vars().filter(|(name, _)| PASSED_ON.iter().any(|prefix| name.starts_with(prefix)));
    let mut script = "{\n".to_owned();
    for (name, value) in passed.chain(variables.iter().cloned()) {
        if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            script += &format!("export {name}={}\n", quoted(&value)?);
        }
    }
    let folder = env::current_dir().map_err(|error| os("naming this folder", &error, "go to one that is still there"))?;
    let program = program.iter().map(|word| quoted(word)).collect::<Result<Vec<_>, _>>()?.join(" ");
    script += &format!("cd {} || exit 127\n", quoted(&folder.to_string_lossy())?);
    script += &format!("exec 3<&0\n{program} </dev/null 3<&- &\nrank=$!\n");
    script += "(cat <&3; kill -TERM $rank; sleep 1; kill -KILL $rank) >/dev/null 2>&1 &\nlifeline=$!\nexec 3<&-\n";
    script += "wait $rank\ncode=$?\nkill $lifeline\n";
    if let Some((_, mark)) = variables.iter().find(|(name, value)| name == WITHIN && !value.is_empty()) {
        // Only processes that the rank has started have that variable.
        script += &format!("for found in $(grep -lsF -e {} /proc/[0-9]*/environ); do\n", quoted(mark)?);
        script += "found=${found%/environ}\nkill -KILL ${found#/proc/} 2>/dev/null\ndone\n";
    }
    script += "exit $code\n}\n";
    Ok(script)
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> Result<String, Error> {
    if word.contains('\0') {
        return Err(setting("a word for a shell elsewhere", "no zero bytes"));
    }
    Ok(format!("'{}'", word.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::process::{Command, Stdio};

    fn shell(program: &[&str]) -> std::process::Child {
        let program: Vec<String> = program.iter().map(|&word| word.to_owned()).collect();
        let within = format!("test-{}-{:?}/", std::process::id(), std::thread::current().id());
        let script = script(&[("FOREGATHER_X".to_owned(), "it's".to_owned()), (WITHIN.to_owned(), within)], &program).unwrap();
        let mut shell = Command::new("sh").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        shell.stdin.as_mut().unwrap().write_all(script.as_bytes()).unwrap();
        shell
    }

    #[test]
    fn the_program_runs_with_its_variables_and_its_code_comes_back() {
        let mut shell = shell(&["sh", "-c", "echo \"$FOREGATHER_X $1\"; exit 7", "x", "a 'b' $c"]);
        let mut said = String::new();
        shell.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, "it's a 'b' $c\n");
        assert_eq!(shell.wait().unwrap().code(), Some(7));
    }

    #[test]
    fn the_end_of_the_lifeline_ends_the_program() {
        let mut shell = shell(&["sleep", "1000"]);
        drop(shell.stdin.take());
        assert_eq!(shell.wait().unwrap().code(), Some(143));
    }

    /// Otherwise it does not come to its end.
    #[test]
    fn what_the_program_has_started_ends_with_it() {
        let mut shell = shell(&["sh", "-c", "setsid sleep 1000 >/dev/null & echo $!; wait"]);
        let mut started = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut started).unwrap();
        let of = |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", started.trim())).unwrap_or_default();
        while of("comm").trim() != "sleep" {
            std::thread::yield_now();
        }
        drop(shell.stdin.take());
        assert_eq!(shell.wait().unwrap().code(), Some(143));
        // It is another process's child, which may not have reaped it yet.
        while !of("stat").is_empty() && !of("stat").contains(") Z ") {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    proptest! {
        #[test]
        fn a_quoted_word_stays_one_word(word in "[^\0\n]{0,20}") {
            let output = Command::new("sh").args(["-c", &format!("printf %s {}", quoted(&word).unwrap())]).output().unwrap();
            prop_assert_eq!(String::from_utf8(output.stdout).unwrap(), word);
        }
    }
}
