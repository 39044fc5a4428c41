//! Runs all other tests again with `FOREGATHER_SHARED=views`, where threads share memory in the same way as
//! processes.
use std::env;
use std::process::Command;

const SHARED: &str = "FOREGATHER_SHARED";

/// Returns whether this process runs the tests with views.
pub(crate) fn behind_views() -> bool {
    env::var_os(SHARED).is_some()
}

/// Runs this executable with `FOREGATHER_SHARED` set. Returns whether it succeeded, and its output.
fn again(shared: &str, arguments: &[&str]) -> (bool, String) {
    let done = Command::new(env::current_exe().unwrap()).args(arguments).env(SHARED, shared).output().unwrap();
    (done.status.success(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
}

#[test]
fn all_other_tests_pass_with_views() {
    if !behind_views() {
        // `views::` would start this again. `lost::` starts processes without the variable.
        let (well, said) = again("views", &["--test-threads=1", "--skip", "views::", "--skip", "lost::"]);
        assert!(well && said.contains("0 failed"), "{said}");
    }
}

#[test]
fn an_unknown_kind_of_memory_is_refused_by_name() {
    let (well, said) = again("pages", &["--exact", "views::is_refused", "--ignored"]);
    // A filter that matches no test succeeds, too.
    assert!(well && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "a part of another test"]
fn is_refused() {
    let error = foregather::shared(2, |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("FOREGATHER_SHARED should be `plain` or `views`, and is `pages`"), "{error}");
}
