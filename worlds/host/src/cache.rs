//! The folder in which files of this user are kept between programs: `foregather` below `XDG_CACHE_HOME` or
//! `~/.cache`.
use std::env;
use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

fn set(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Its path; `None` if neither variable is set.
pub fn folder() -> Option<PathBuf> {
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("foregather"))
}

/// Makes a folder with all that lead to it, for this user alone.
///
/// # Errors
/// If it would lie in a home that does not exist, as that of a daemon, or cannot be made.
pub fn make(folder: &Path) -> io::Result<()> {
    make_in(folder, set("HOME").as_deref())
}

fn make_in(folder: &Path, home: Option<&Path>) -> io::Result<()> {
    if let Some(home) = home.filter(|home| folder.starts_with(home) && !home.is_dir()) {
        return Err(io::Error::new(ErrorKind::NotFound, format!("there is no home folder {}", home.display())));
    }
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_folder_is_made_in_a_home_that_is_missing() {
        let base = env::temp_dir().join(format!("foregather-cache-{}", std::process::id()));
        std::fs::create_dir(&base).unwrap();
        let home = base.join("home");
        let folder = home.join(".cache").join("foregather");
        let error = make_in(&folder, Some(&home)).unwrap_err();
        assert!(error.to_string().contains("no home folder") && !home.exists(), "{error}");
        make_in(&base.join("named"), Some(&home)).unwrap();
        std::fs::create_dir(&home).unwrap();
        make_in(&folder, Some(&home)).unwrap();
        assert!(folder.is_dir());
        std::fs::remove_dir_all(base).unwrap();
    }
}
