//! Lists the crates that are linked into each part of a release: their licences as text, and a bill of
//! materials (CycloneDX) for programs.
use crate::build::{GLIBC, Platform, root, sysroot};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The file with the licences, in the tarball and in the wheel.
pub(crate) const FILE: &str = "THIRD-PARTY-NOTICES.txt";
/// The file with the bill of materials.
pub(crate) const SBOM: &str = "foregather.cdx.json";
/// The licences of this project.
const LICENCES: &str = "MIT OR Apache-2.0";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Begin the names of files with a licence.
const LICENCE_FILES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// A crate that is no part of this repository.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Linked {
    name: String,
    version: String,
    /// An SPDX expression.
    licence: String,
    repository: String,
    folder: PathBuf,
}

/// Returns the licences of all crates that are linked into these packages.
pub(crate) fn text(platform: Platform, packages: &[&str]) -> Result<String> {
    let known = known()?;
    let mut all = BTreeSet::new();
    for package in packages {
        all.extend(linked(platform, package, &known)?);
    }
    let mut text = format!("Foregather {VERSION} ({LICENCES}) contains the following software of others.\n\n");
    for (name, licence) in toolchain(platform)? {
        writeln!(text, "{name}: {licence}")?;
    }
    all.iter().try_for_each(|each| writeln!(text, "{} {}: {} {}", each.name, each.version, each.licence, each.repository))?;
    // Each text once, with the crates that it belongs to.
    let mut texts = BTreeMap::<String, Vec<String>>::new();
    for each in &all {
        for licence in licence_files(each)? {
            texts.entry(licence).or_default().push(format!("{} {}", each.name, each.version));
        }
    }
    for (licence, crates) in texts {
        write!(text, "\n{}\n{}\n\n{}\n", "-".repeat(80), crates.join(", "), licence.trim_end())?;
    }
    Ok(text)
}

/// Returns the bill of materials of a wheel with these parts: the file and its package.
pub(crate) fn sbom(platform: Platform, parts: &[(&str, &str)]) -> Result<String> {
    let (known, checksums) = (known()?, checksums()?);
    let licences = |expression: &str| json!([{ "expression": expression }]);
    let (mut components, mut dependencies, mut crates) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (file, package) in parts {
        let linked = linked(platform, package, &known)?;
        components
            .push(json!({ "type": "file", "bom-ref": file, "name": file, "version": VERSION, "licenses": licences(LICENCES) }));
        dependencies.push(json!({ "ref": file, "dependsOn": linked.iter().map(purl).collect::<Vec<_>>() }));
        crates.extend(linked);
    }
    for (name, licence) in toolchain(platform)? {
        components.push(json!({ "type": "library", "bom-ref": name, "name": name, "licenses": licences(licence) }));
    }
    for each in &crates {
        let mut component = json!({ "type": "library", "bom-ref": purl(each), "name": each.name, "version": each.version,
            "purl": purl(each), "licenses": licences(&each.licence) });
        if let Some(checksum) = checksums.get(&(each.name.clone(), each.version.clone())) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
        }
        components.push(component);
    }
    let files: Vec<_> = parts.iter().map(|(file, _)| file).collect();
    dependencies.push(json!({ "ref": "foregather", "dependsOn": files }));
    let component = json!({ "type": "library", "bom-ref": "foregather", "name": "foregather", "version": VERSION,
        "purl": format!("pkg:pypi/foregather@{VERSION}"), "licenses": licences(LICENCES) });
    let sbom = json!({ "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": { "component": component }, "components": components, "dependencies": dependencies });
    Ok(format!("{sbom:#}\n"))
}

fn purl(each: &Linked) -> String {
    format!("pkg:cargo/{}@{}", each.name, each.version)
}

/// Returns what the toolchain links in, with its licence.
fn toolchain(platform: Platform) -> Result<Vec<(String, &'static str)>> {
    let printed = Command::new("rustc").current_dir(root()?).arg("--version").output().context("rustc")?;
    let rustc = String::from_utf8(printed.stdout)?;
    let version = rustc.split_whitespace().nth(1).context("rustc prints no version")?;
    let mut all = vec![(format!("Rust's standard library {version}"), "MIT OR Apache-2.0")];
    if platform != Platform::Here {
        all.push(("LLVM's libunwind and compiler-rt".to_owned(), "Apache-2.0 WITH LLVM-exception"));
        all.push((format!("start files of glibc, for {GLIBC}"), "LGPL-2.1-or-later WITH GCC-exception-2.0"));
    }
    Ok(all)
}

/// Returns the notices of the standard library's own parts, if the toolchain has them.
pub(crate) fn of_standard_library() -> Result<Option<PathBuf>> {
    let file = sysroot()?.join("share/doc/rust/COPYRIGHT-library.html");
    Ok(file.exists().then_some(file))
}

/// Returns all crates of the lock file by name and version.
fn known() -> Result<BTreeMap<(String, String), Linked>> {
    let printed = cargo(&["metadata", "--format-version", "1", "--locked"])?;
    let metadata: Value = serde_json::from_str(&printed)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let word = |package: &Value, key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let known = packages.iter().map(|package| {
        let (name, version) = (word(package, "name"), word(package, "version"));
        let folder = Path::new(&word(package, "manifest_path")).parent().map(Path::to_owned).unwrap_or_default();
        // `MIT/Apache-2.0` is the old way to write it.
        let licence = word(package, "license").replace('/', " OR ");
        let repository = word(package, "repository");
        ((name.clone(), version.clone()), Linked { name, version, licence, repository, folder })
    });
    Ok(known.collect())
}

/// Returns the crates of others that are linked into a package.
fn linked(platform: Platform, package: &str, known: &BTreeMap<(String, String), Linked>) -> Result<BTreeSet<Linked>> {
    let triple = platform.triple().unwrap_or_else(|| format!("{}-unknown-linux-gnu", env::consts::ARCH));
    let edges = ["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none", "--no-dedupe", "--format", "{p}"];
    let printed = cargo(&[&edges[..], &["--package", package, "--target", &triple]].concat())?;
    let mut linked = BTreeSet::new();
    // Those of this repository have a path in parentheses.
    for line in printed.lines().filter(|line| !line.contains('(')) {
        let (name, version) = line.split_once(" v").with_context(|| format!("cargo tree prints `{line}`"))?;
        let found = known.get(&(name.to_owned(), version.to_owned()));
        linked.insert(found.with_context(|| format!("cargo metadata does not list {line}"))?.clone());
    }
    Ok(linked)
}

fn cargo(words: &[&str]) -> Result<String> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let printed = cargo.current_dir(root()?).args(words).output().context("cargo")?;
    ensure!(printed.status.success(), "cargo {}: {}", words.join(" "), String::from_utf8_lossy(&printed.stderr));
    Ok(String::from_utf8(printed.stdout)?)
}

/// Returns the texts of a crate's licences: that of MIT alone where the crate leaves the choice.
fn licence_files(of: &Linked) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(&of.folder).with_context(|| format!("{}", of.folder.display()))? {
        let (path, name) = (entry.as_ref().map(fs::DirEntry::path), entry.as_ref().map(fs::DirEntry::file_name));
        let (Ok(path), Ok(name)) = (path, name) else { continue };
        let name = name.to_string_lossy().to_uppercase();
        if path.is_file() && LICENCE_FILES.iter().any(|begin| name.starts_with(begin)) {
            files.push((name, path));
        }
    }
    if of.licence.contains("MIT") && files.iter().any(|(name, _)| name.contains("MIT")) {
        files.retain(|(name, _)| name.contains("MIT") || name.starts_with("NOTICE"));
    }
    files.sort();
    files.into_iter().map(|(_, path)| Ok(String::from_utf8_lossy(&fs::read(path)?).replace("\r\n", "\n"))).collect()
}

/// Returns the checksums of the lock file.
fn checksums() -> Result<BTreeMap<(String, String), String>> {
    let lock: toml::Table = toml::from_str(&fs::read_to_string(root()?.join("Cargo.lock"))?)?;
    let packages = lock["package"].as_array().context("Cargo.lock has no packages")?;
    let word = |package: &toml::Value, key: &str| package.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    Ok(packages
        .iter()
        .filter_map(|package| Some(((word(package, "name")?, word(package, "version")?), word(package, "checksum")?)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_linked_crate_has_a_licence_and_a_checksum() {
        let sbom: Value = serde_json::from_str(&sbom(Platform::Here, &[("bin/foregather", "foregather-lab")]).unwrap()).unwrap();
        let crates: Vec<_> = sbom["components"].as_array().unwrap().iter().filter(|each| each.get("purl").is_some()).collect();
        assert!(crates.iter().any(|each| each["name"] == "clap"), "the command parses its arguments with clap");
        assert!(crates.iter().all(|each| each["name"] != "clap_derive"), "macros are not linked in");
        for each in crates {
            assert_eq!(each["hashes"][0]["content"].as_str().unwrap().len(), 64, "{each}");
            assert!(!each["licenses"][0]["expression"].as_str().unwrap().is_empty(), "{each}");
        }
        let text = text(Platform::Here, &["foregather-lab"]).unwrap();
        assert!(text.contains("\nclap ") && text.contains("Permission is hereby granted"), "{text}");
    }

    #[test]
    fn a_choice_of_licences_is_one_text() {
        let place = env::temp_dir().join(format!("foregather-notices-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        let files = ["LICENSE-MIT", "LICENSE-APACHE", "NOTICE", "README.md"];
        files.iter().for_each(|name| fs::write(place.join(name), name).unwrap());
        let mut of = Linked {
            name: String::new(),
            version: String::new(),
            licence: "MIT OR Apache-2.0".to_owned(),
            repository: String::new(),
            folder: place.clone(),
        };
        assert_eq!(licence_files(&of).unwrap(), ["LICENSE-MIT", "NOTICE"]);
        of.licence = "Apache-2.0".to_owned();
        assert_eq!(licence_files(&of).unwrap(), ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE"]);
        fs::remove_dir_all(place).unwrap();
    }
}
