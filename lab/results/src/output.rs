//! Where results go: a place is tried before the work begins, written in one piece, and if that fails in the
//! end nothing is lost. Results are read with errors that say what to do.
use super::{Results, SCHEMA};
use anyhow::{Context, Result, anyhow, bail, ensure};
use foregather_host::regular;
use foregather_machine::shown;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A place has room for so much, or it is full.
const TRIED_BYTES: usize = 4 << 10;

/// What was to be written, and could not be written there.
#[derive(Debug)]
pub struct NotWritten {
    path: PathBuf,
    error: io::Error,
    /// Where it is instead.
    saved: Option<PathBuf>,
}

impl NotWritten {
    /// What was to go to `path` goes to a file of the folder of temporary ones, if there is something to save
    /// and that has room.
    pub fn saving(path: &Path, error: io::Error, text: Option<&str>) -> Self {
        let saved = text.filter(|_| error.kind() != ErrorKind::BrokenPipe).and_then(|text| save(path, text));
        Self { path: path.to_owned(), error, saved }
    }

    /// Returns whether the output was not saved anywhere.
    pub fn is_lost(&self) -> bool {
        self.saved.is_none()
    }
}

impl fmt::Display for NotWritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write {}; ", shown(&self.path.to_string_lossy()))?;
        match &self.saved {
            Some(place) => write!(f, "what was to go there is in {}", place.display()),
            None => f.write_str("choose another place"),
        }
    }
}

impl std::error::Error for NotWritten {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// Checks that files can be written at all these places, and leaves them unchanged.
///
/// # Errors
/// The first place that cannot be written, and why.
pub fn try_places<P: AsRef<Path>>(paths: &[P]) -> Result<(), NotWritten> {
    paths
        .iter()
        .map(AsRef::as_ref)
        .try_for_each(|path| try_place(&target(path)).map_err(|error| NotWritten::saving(path, error, None)))
}

/// Refuses places that are one of the command's own inputs, or one place twice: one file would replace the
/// other. A device or a pipe replaces nothing.
///
/// # Errors
/// The first such place.
pub fn refuse_overwriting<P: AsRef<Path>>(inputs: &[P], outputs: &[P]) -> Result<()> {
    let outputs: Vec<_> = outputs.iter().map(AsRef::as_ref).filter(|path| is_replaced(path)).collect();
    for (at, output) in outputs.iter().enumerate() {
        let name = output.display().to_string();
        let is_same = |other: &Path| target(other) == target(output);
        ensure!(
            !inputs.iter().map(AsRef::as_ref).filter(|input| input.exists()).any(is_same),
            "cannot write {}: this command reads it; choose another place",
            shown(&name)
        );
        ensure!(!outputs[..at].iter().any(|other| is_same(other)), "cannot write {} twice; choose another place", shown(&name));
    }
    Ok(())
}

fn is_replaced(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |about| about.is_file())
}

fn try_place(target: &Path) -> io::Result<()> {
    match fs::metadata(target) {
        Ok(about) if about.is_dir() => Err(ErrorKind::IsADirectory.into()),
        // A device that takes nothing says so of no bytes.
        Ok(about) if about.file_type().is_char_device() => OpenOptions::new().write(true).open(target)?.write(&[]).map(drop),
        // The reader of a pipe would take its opening for all that comes.
        Ok(about) if !about.is_file() => Ok(()),
        _ => {
            let beside = beside(target);
            let written = fs::write(&beside, [b' '; TRIED_BYTES]);
            let _ = fs::remove_file(&beside);
            written
        }
    }
}

/// Writes a text file in one piece: a reader sees the old file or the whole new one. What is no ordinary file
/// (a pipe, `/dev/stdout`) is written to, not replaced.
///
/// # Errors
/// Why it is not there, and where it is instead.
pub fn write(path: &Path, text: &str) -> Result<(), NotWritten> {
    let target = target(path);
    let special = fs::metadata(&target).is_ok_and(|about| !about.is_file() && !about.is_dir());
    let done = if special { fs::write(&target, text) } else { replace(&target, text) };
    done.map_err(|error| NotWritten::saving(path, error, Some(text)))
}

/// The file that a symbolic link names is replaced, not the link.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn replace(target: &Path, text: &str) -> io::Result<()> {
    let beside = beside(target);
    let done = fs::write(&beside, text).and_then(|()| fs::rename(&beside, target));
    if done.is_err() {
        let _ = fs::remove_file(&beside);
    }
    done
}

/// A name in the same directory, so that renaming it is one step.
fn beside(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{}.part", std::process::id()))
}

/// A new file among the temporary ones, for this user alone, named after the one that it stands for.
fn save(path: &Path, text: &str) -> Option<PathBuf> {
    let name = path.file_name()?.to_string_lossy().replace(char::is_whitespace, "-");
    let place = std::env::temp_dir().join(format!("foregather-{}-{name}", std::process::id()));
    // Others may write into that folder, too: what is there already is left alone.
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&place).ok()?;
    if file.write_all(text.as_bytes()).is_err() {
        let _ = fs::remove_file(&place);
        return None;
    }
    Some(place)
}

/// Of a document; the largest runs come to some megabytes.
const BYTES_MAX: u64 = 256 << 20;

/// What every version of the schema has.
#[derive(Deserialize)]
struct Header {
    schema: Option<String>,
}

impl Results {
    /// Writes the document so that a reader sees either the old file or the whole new one.
    ///
    /// # Errors
    /// Why it is not there, and where it is instead.
    pub fn write(&self, path: &Path) -> Result<(), NotWritten> {
        write(path, &self.to_json())
    }

    /// Reads a document that this version of the program can have written.
    pub fn read(path: &Path) -> Result<Self> {
        let text = regular::read_text(path, BYTES_MAX).with_context(|| format!("cannot read results from {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} is not a results file", path.display()))
    }

    /// The document in this text.
    pub fn parse(text: &str) -> Result<Self> {
        let header: Header = parsed(text).context("it is not a JSON object, or was cut short")?;
        match header.schema.as_deref() {
            Some(SCHEMA) => {}
            Some(other) => bail!("its schema is {other:?}, but this version reads {SCHEMA:?} only; measure again"),
            None => bail!("it has no \"schema\": results of this program say {SCHEMA:?} there"),
        }
        let results: Self = parsed(text).with_context(|| format!("it does not follow the schema {SCHEMA}"))?;
        let mut seen = BTreeSet::new();
        for m in &results.measurements {
            ensure!(seen.insert(&m.id), "two of its measurements have the id {:?}", m.id);
        }
        Ok(results)
    }
}

/// What the parser complains of may quote the file.
fn parsed<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| anyhow!("{}", shown(&error.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("foregather-output-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn places_are_tried_without_a_trace_and_those_that_take_nothing_are_told() {
        let folder = scratch("tried");
        let [new, old] = ["new.json", "old.json"].map(|name| folder.join(name));
        fs::write(&old, "old").unwrap();
        try_places(&[&new, &old]).unwrap();
        assert_eq!(fs::read_to_string(&old).unwrap(), "old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left");
        for bad in [Path::new("/no/such/x.json"), &folder, Path::new("/dev/full"), &old.join("below"), Path::new("/proc/x.json")]
        {
            let error = try_places(&[&new, bad]).unwrap_err();
            assert!(error.to_string().starts_with(&format!("cannot write {}; choose", bad.display())), "{error}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_cannot_be_written_in_the_end_is_saved_and_its_place_named() {
        let folder = scratch("saved");
        let place = folder.join("gone").join("saved.json");
        let error = write(&place, "worked for").unwrap_err();
        let saved = error.saved.clone().unwrap();
        assert!(!error.is_lost() && error.to_string().contains(&saved.display().to_string()), "{error}");
        assert_eq!(fs::read_to_string(&saved).unwrap(), "worked for");
        // There is such a file by now.
        let lost = write(&place, "worked for").unwrap_err();
        assert!(lost.is_lost() && lost.to_string().contains("another place"), "{lost}");
        fs::remove_file(saved).unwrap();
        let full = write(Path::new("/dev/full"), "worked for").unwrap_err();
        fs::remove_file(full.saved.unwrap()).unwrap();
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_saved_file_is_private_and_has_a_name_without_blanks() {
        let saved = save(Path::new("standard output"), "x").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&saved).unwrap().permissions());
        fs::remove_file(&saved).unwrap();
        assert_eq!(mode & 0o777, 0o600);
        assert!(saved.to_string_lossy().ends_with("-standard-output"), "{saved:?}");
    }

    #[test]
    fn no_output_replaces_an_input_or_another_output() {
        let folder = scratch("inputs");
        let [plan, other, link] = ["plan.toml", "other.json", "link"].map(|name| folder.join(name));
        fs::write(&plan, "plan").unwrap();
        std::os::unix::fs::symlink(&plan, &link).unwrap();
        let around = folder.join("..").join(folder.file_name().unwrap()).join("plan.toml");
        for same in [&plan, &link, &around] {
            let error = refuse_overwriting(&[&plan], &[same]).unwrap_err().to_string();
            assert!(error.contains("this command reads it; choose another place"), "{error}");
        }
        assert!(refuse_overwriting(&[&plan], &[&other, &other]).unwrap_err().to_string().contains("twice"));
        refuse_overwriting(&[&plan], &[&other]).unwrap();
        let null = PathBuf::from("/dev/null");
        refuse_overwriting(&[&plan], &[&null, &null]).unwrap();
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_name_that_steers_the_terminal_is_only_shown() {
        let error = try_places(&[Path::new("/no/such/\u{1b}[2J")]).unwrap_err().to_string();
        assert!(error.contains("\u{fffd}[2J"), "{error:?}");
    }
}
