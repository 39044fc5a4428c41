//! A file in memory to which processes append lines, each in one write.
use super::{memory_file, path_of};
use foregather_machine::Error;
use rustix::fd::OwnedFd;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// No more of the file is read.
const MOST: u64 = 4 << 20;

/// The file. It is gone when this process has exited.
#[derive(Debug)]
pub struct LineFile(OwnedFd);

impl LineFile {
    /// Creates an empty one.
    ///
    /// # Errors
    /// If the system refuses the memory.
    pub fn create() -> Result<Self, Error> {
        memory_file("foregather-lines").map(Self)
    }

    /// The path by which other processes of this user append to it.
    pub fn path(&self) -> String {
        path_of(&self.0)
    }

    /// What was appended so far.
    pub fn read(&self) -> String {
        let mut text = Vec::new();
        // A file that was just created is readable, so an error leaves what was read before it.
        let _ = fs::File::open(self.path()).and_then(|file| file.take(MOST).read_to_end(&mut text));
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// Appends a line to a file, which is created if it is not there.
///
/// # Errors
/// If the file cannot be opened or written.
pub fn append(path: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).open(path)?.write_all(format!("{line}\n").as_bytes())
}

/// The path of the file to which libraries append a line of statistics when a process exits.
const STATS: &str = "FOREGATHER_STATS";

/// Appends a line to the file that the user has named for statistics, if there are a name and a line.
pub fn append_statistics(line: impl FnOnce() -> Option<String>) {
    let Some((path, line)) = std::env::var_os(STATS).and_then(|path| Some((path, line()?))) else { return };
    let is_path = path.as_encoded_bytes().contains(&b'/');
    let appended = if is_path { append(Path::new(&path), &line) } else { Err(io::ErrorKind::InvalidInput.into()) };
    if let Err(error) = appended {
        let path = path.to_string_lossy();
        eprintln!("foregather: appending statistics to {path}: {error}; let {STATS} name a file, such as ./statistics.jsonl");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_several_writers_are_read_whole() {
        let file = LineFile::create().unwrap();
        let path = file.path();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = Path::new(&path);
                scope.spawn(move || (0..50).for_each(|line| append(path, &format!("{writer} {line}")).unwrap()));
            }
        });
        let text = file.read();
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.dedup();
        assert!(lines.len() == 200 && text.ends_with('\n'), "{text}");
        assert!(append(Path::new("/no/such/folder/file"), "line").is_err());
    }
}
