//! Where the libraries are: beside this command, in the prefix that it is installed in, or in the Python
//! package that it came with.
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the libraries within the Python package.
const IN_PACKAGE: &str = "foregather/lib";

/// Finds a library for the command in `folder`.
pub(crate) fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    places(folder).into_iter().map(|place| place.join(name)).find(|library| library.is_file())
}

/// Returns the sentence for a user without a library, which the chore `chore` builds.
pub(crate) fn remedy(folder: &Path, name: &str, chore: &str) -> String {
    let is_built_by_cargo = folder.join(".fingerprint").is_dir();
    let install = if is_built_by_cargo {
        format!("build it by `cargo xtask drop-in {chore}`")
    } else {
        "install foregather from a wheel or a release, which contain it".to_owned()
    };
    format!("{name} is not installed with this command ({}); {install}, or name it by --library", folder.display())
}

/// The folders in the order in which they are searched.
fn places(folder: &Path) -> Vec<PathBuf> {
    let mut places = vec![folder.to_owned(), folder.join("../lib/foregather"), folder.join("../drop-in")];
    // `pip install --target` puts the package beside `bin`, other installations below `lib` or `lib64`.
    places.push(folder.join("..").join(IN_PACKAGE));
    let mut packages: Vec<(u32, PathBuf)> = ["../lib", "../lib64"].iter().flat_map(|lib| packages(&folder.join(lib))).collect();
    packages.sort_by_key(|&(minor, _)| core::cmp::Reverse(minor));
    places.extend(packages.into_iter().map(|(_, package)| package));
    places
}

/// The folders of packages of each Python 3 in a `lib` folder, with its minor version.
fn packages(lib: &Path) -> Vec<(u32, PathBuf)> {
    let names = fs::read_dir(lib).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let minor = |name: &OsStr| name.to_str()?.strip_prefix("python3.")?.trim_end_matches('t').parse().ok();
    names
        .filter_map(|name| Some((minor(&name)?, lib.join(name))))
        .flat_map(|(minor, python)| {
            ["site-packages", "dist-packages"].map(|packages| (minor, python.join(packages).join(IN_PACKAGE)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own below the one of temporary files, which goes away.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("foregather-places-{name}-{}", std::process::id()));
            fs::create_dir_all(folder.join("bin")).unwrap();
            Self(folder)
        }

        fn put(&self, path: &str) -> PathBuf {
            let file = self.0.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "").unwrap();
            fs::canonicalize(file).unwrap()
        }

        fn found(&self) -> Option<PathBuf> {
            find(&self.0.join("bin"), "l.so").map(|library| fs::canonicalize(library).unwrap())
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn libraries_of_the_package_of_the_newest_python_are_found() {
        let scratch = Scratch::new("python");
        assert_eq!(scratch.found(), None);
        let older = scratch.put("lib/python3.9/dist-packages/foregather/lib/l.so");
        assert_eq!(scratch.found(), Some(older));
        let newer = scratch.put("lib64/python3.14t/site-packages/foregather/lib/l.so");
        scratch.put("lib/python3.x/site-packages/foregather/lib/l.so");
        assert_eq!(scratch.found(), Some(newer));
        let target = scratch.put("foregather/lib/l.so");
        assert_eq!(scratch.found(), Some(target));
        let prefix = scratch.put("lib/foregather/l.so");
        assert_eq!(scratch.found(), Some(prefix));
    }

    #[test]
    fn only_a_checkout_is_told_to_run_cargo() {
        let scratch = Scratch::new("remedy");
        let said = || remedy(&scratch.0.join("bin"), "l.so", "libgomp");
        assert!(!said().contains("cargo") && said().contains("wheel"), "{}", said());
        scratch.put("bin/.fingerprint/file");
        assert!(said().contains("cargo xtask drop-in libgomp"), "{}", said());
    }
}
