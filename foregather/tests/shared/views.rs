//! All other tests once more, with `FOREGATHER_SHARED=views`: threads that share memory as processes do.
use std::env;
use std::process::Command;

const SHARED: &str = "FOREGATHER_SHARED";

/// Whether this is the process that repeats them.
pub(crate) fn behind_views() -> bool {
    env::var_os(SHARED).is_some()
}

/// Runs this executable with that in its environment.
fn again(shared: &str, arguments: &[&str]) -> (bool, String) {
    let done = Command::new(env::current_exe().unwrap()).args(arguments).env(SHARED, shared).output().unwrap();
    (done.status.success(), String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned())
}

#[test]
fn all_of_it_holds_behind_views_too() {
    if !behind_views() {
        let (well, said) = again("views", &["--test-threads=1", "--skip", "views::", "--skip", "lost::"]);
        assert!(well && said.contains("0 failed"), "{said}");
    }
}

#[test]
fn another_kind_of_memory_is_refused_by_name() {
    let (well, said) = again("pages", &["--exact", "views::is_refused", "--ignored"]);
    assert!(well, "{said}");
}

#[test]
#[ignore = "a part of another test"]
fn is_refused() {
    let error = foregather::shared(2, |_| Ok(())).unwrap_err().to_string();
    assert!(error.contains("FOREGATHER_SHARED should be `plain` or `views`, and is `pages`"), "{error}");
}
