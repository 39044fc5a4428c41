//! Starts a rank on another host with a shell there, which reads its script from standard input. So the job's
//! secret does not appear in process lists, and the remote command (`ssh`, `ip netns exec`) needs no quoting.
use super::{os, setting};
use crate::own::{DESK, WITHIN};
use foregather_machine::Error;
use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Prefixes of this process's variables that are also passed to ranks on other hosts.
const PASSED_ON: [&[u8]; 3] = [b"FOREGATHER_", b"FI_", b"RUST_"];

/// Returns the script for the shell. Standard input stays open as long as the rank should live. When it
/// closes, because this process or the connection is gone, the rank is killed.
///
/// Until then, each line on it is the name of a signal for the rank. Bytes that are not UTF-8 are passed
/// through.
pub(super) fn script(variables: &[(String, String)], program: &[OsString]) -> Result<Vec<u8>, Error> {
    let mut script = b"{\n".to_vec();
    let is_passed = |name: &[u8]| PASSED_ON.iter().any(|prefix| name.starts_with(prefix)) && name != DESK.as_bytes();
    let passed = env::vars_os().map(|(name, value)| (name.into_vec(), value.into_vec()));
    let own = variables.iter().map(|(name, value)| (name.clone().into_bytes(), value.clone().into_bytes()));
    for (name, value) in passed.filter(|(name, _)| is_passed(name)).chain(own) {
        if name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            let assigned = [&name[..], b"=", &quoted(&value)?].concat();
            script.extend([&b"export "[..], &assigned, b"\n"].concat());
        }
    }
    let folder = env::current_dir().map_err(|error| os("naming this folder", &error, "go to one that is still there"))?;
    let program = program.iter().map(|word| quoted(word.as_bytes())).collect::<Result<Vec<_>, _>>()?.join(&b' ');
    script.extend([&b"cd "[..], &quoted(folder.as_os_str().as_bytes())?, b" || exit 127\nexec 3<&0\n"].concat());
    script.extend([&program[..], b" </dev/null 3<&- &\nrank=$!\n"].concat());
    script.extend(b"(while read -r signal; do kill -\"$signal\" $rank; done <&3; ");
    script.extend(b"kill -TERM $rank; sleep 1; kill -KILL $rank) >/dev/null 2>&1 &\nlifeline=$!\nexec 3<&-\n");
    // A signal that the shell itself receives ends a `wait` before the rank has exited.
    script.extend(b"wait $rank\ncode=$?\nkill $lifeline\n");
    if let Some((_, mark)) = variables.iter().find(|(name, value)| name == WITHIN && !value.is_empty()) {
        // Only processes that the rank has started have that variable.
        script
            .extend([&b"for found in $(grep -lsF -e "[..], &quoted(mark.as_bytes())?, b" /proc/[0-9]*/environ); do\n"].concat());
        script.extend(b"found=${found%/environ}\nkill -KILL ${found#/proc/} 2>/dev/null\ndone\n");
    }
    script.extend(b"exit $code\n}\n");
    Ok(script)
}

/// Quotes a word for a shell.
fn quoted(word: &[u8]) -> Result<Vec<u8>, Error> {
    if word.contains(&0) {
        return Err(setting("a word for a shell elsewhere", "no zero bytes"));
    }
    let pieces: Vec<_> = word.split(|&byte| byte == b'\'').collect();
    Ok([&b"'"[..], &pieces.join(&br"'\''"[..]), b"'"].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::process::{Command, Stdio};

    fn shell(program: &[&str]) -> std::process::Child {
        let program: Vec<OsString> = program.iter().map(Into::into).collect();
        let within = format!("test-{}-{:?}/", std::process::id(), std::thread::current().id());
        let script = script(&[("FOREGATHER_X".to_owned(), "it's".to_owned()), (WITHIN.to_owned(), within)], &program).unwrap();
        let mut shell = Command::new("sh").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        shell.stdin.as_mut().unwrap().write_all(&script).unwrap();
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
    fn a_line_of_the_lifeline_signals_the_program() {
        let mut shell = shell(&["sh", "-c", "trap 'exit 9' USR1; echo ready; while :; do sleep 0.05; done"]);
        let mut said = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut said).unwrap();
        // A wait would close the lifeline.
        let mut lifeline = shell.stdin.take().unwrap();
        lifeline.write_all(b"USR1\n").unwrap();
        assert_eq!(shell.wait().unwrap().code(), Some(9));
    }

    #[test]
    fn the_end_of_the_lifeline_ends_the_program() {
        let mut shell = shell(&["sleep", "1000"]);
        drop(shell.stdin.take());
        assert_eq!(shell.wait().unwrap().code(), Some(143));
    }

    /// Otherwise the test never ends.
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
        fn a_quoted_word_stays_one_word(word in proptest::collection::vec(1_u8.., 0..20)) {
            let script = OsString::from_vec([&b"printf %s "[..], &quoted(&word).unwrap()].concat());
            let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
            prop_assert_eq!(output.stdout, word);
        }
    }
}
