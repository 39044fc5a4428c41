//! Files of traces. A text is converted once, into a file that has no name; then blocks are read as they are
//! needed.
use anyhow::{Context, Result, bail};
use foregather_host::regular;
use foregather_sim::goal::{self, BlockSource, Converted, GoalTrace, is_binary};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The part of a file by which a trace is told from a plan.
const BEGINNING: u64 = 4096;
const BUFFER: usize = 1 << 20;

/// Returns whether a file is a trace: by its ending `.goal`, by the cookie of the binary form, or since its
/// first word is `num_ranks`.
pub fn is_trace(path: &Path) -> bool {
    if path.extension().is_some_and(|ending| ending == "goal") {
        return path.exists();
    }
    let mut beginning = Vec::new();
    let read = regular::open(path).and_then(|file| file.take(BEGINNING).read_to_end(&mut beginning));
    read.is_ok() && (is_binary(&beginning) || first_word(&String::from_utf8_lossy(&beginning)) == "num_ranks")
}

/// The first word of a text that is in no comment.
fn first_word(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let comment = [("//", "\n"), ("/*", "*/")].into_iter().find(|(begin, _)| text.starts_with(begin));
        match comment.map(|(_, end)| text.split_once(end)) {
            Some(Some((_, rest))) => text = rest,
            Some(None) => return "",
            None => return text.split_whitespace().next().unwrap_or_default(),
        }
    }
}

struct FileBlocks(File);

impl BlockSource for FileBlocks {
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(into, at)
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}

/// Opens a trace in either form.
///
/// # Errors
/// If it cannot be read, or is no well-formed trace: the line or the operation of the first mistake.
pub fn open(path: &Path) -> Result<GoalTrace> {
    let name = path.display();
    let file = regular::open(path).with_context(|| format!("cannot read the trace {name}"))?;
    let mut beginning = [0; 8];
    let binary = match file.read_exact_at(&mut beginning, 0) {
        Ok(()) if is_binary(&beginning) => file,
        _ => converted(file, nameless()?).with_context(|| name.to_string())?.1,
    };
    GoalTrace::open(Box::new(FileBlocks(binary))).with_context(|| name.to_string())
}

/// Writes the binary form of a text to a new file.
///
/// # Errors
/// As [`open`], or if the file is there already.
pub fn convert(path: &Path, into: &Path) -> Result<Converted> {
    let text = regular::open(path).with_context(|| format!("cannot read the trace {}", path.display()))?;
    let shown = into.display();
    let created = OpenOptions::new().read(true).write(true).create_new(true).open(into);
    let created = created.with_context(|| format!("--convert: cannot create {shown}; choose a new file"))?;
    let done = converted(text, created).with_context(|| path.display().to_string());
    if done.is_err() {
        // Half a file would be taken for a whole one.
        let _ = std::fs::remove_file(into);
    }
    Ok(done?.0)
}

fn converted(text: File, into: File) -> Result<(Converted, File)> {
    let writer = BufWriter::with_capacity(BUFFER, into);
    let (converted, writer) = goal::convert(BufReader::with_capacity(BUFFER, text), writer)?;
    Ok((converted, writer.into_inner().map_err(io::IntoInnerError::into_error)?))
}

/// A file without a name in the folder for temporary files.
fn nameless() -> Result<File> {
    let folder = std::env::temp_dir();
    for attempt in 0..100 {
        let path = folder.join(format!("foregather-{}-{attempt}.goal", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => bail!("cannot create a file in {}: {error}; set TMPDIR to a folder with room", folder.display()),
        }
    }
    bail!("{} has a hundred files of this process already; set TMPDIR to another folder", folder.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_known_by_its_first_word() {
        for (text, word) in [
            ("num_ranks 3", "num_ranks"),
            ("\n // it has\n /* two\n comments */num_ranks 3\n", "num_ranks"),
            ("schema = \"foregather.plan/1\"", "schema"),
            ("/* open", ""),
            ("", ""),
        ] {
            assert_eq!(first_word(text), word, "{text}");
        }
    }

    #[test]
    fn a_text_and_its_binary_form_are_one_trace() {
        let folder = std::env::temp_dir().join(format!("foregather-goal-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (text, binary, broken) = (folder.join("trace.txt"), folder.join("trace.bin"), folder.join("broken.goal"));
        std::fs::write(&text, "// two\nnum_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n").unwrap();
        std::fs::write(&broken, "num_ranks 1\nrank 0 {\ncalc x\n}\n").unwrap();
        assert_eq!(convert(&text, &binary).unwrap().operations, 2);
        let again = convert(&text, &binary).unwrap_err();
        assert!(format!("{again:#}").contains("choose a new file"), "{again:#}");
        for path in [&text, &binary] {
            let trace = open(path).unwrap();
            assert_eq!((is_trace(path), trace.ranks(), trace.operations()), (true, 2, 2));
        }
        let mistake = format!("{:#}", open(&broken).err().unwrap());
        assert!(mistake.contains("broken.goal: line 3: invalid length"), "{mistake}");
        let half = folder.join("half.bin");
        assert!(convert(&broken, &half).is_err() && !half.exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
