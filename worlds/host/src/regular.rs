//! Small files that users name: regular ones of a bounded size. A pipe, a folder or a device is refused
//! instead of awaited.
use std::fs::{File, FileType, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

/// Opens a regular file for reading; it waits for nothing else.
///
/// # Errors
/// If it cannot be opened, or is no regular file: then the error says what it is.
pub fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
    match kind(file.metadata()?.file_type()) {
        None => Ok(file),
        Some(kind) => Err(io::Error::new(ErrorKind::InvalidInput, format!("it is {kind}, not a regular file: copy it into one"))),
    }
}

/// Reads a regular file whole. A file of more than the given number of bytes is refused.
///
/// # Errors
/// As [`open`], or if the file is longer.
pub fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes {
        return Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it has more than the {most_bytes} bytes that are read of such a file"),
        ));
    }
    Ok(bytes)
}

/// Reads a regular file whole, as text.
///
/// # Errors
/// As [`read`], or if it is not UTF-8.
pub fn read_text(path: &Path, most_bytes: u64) -> io::Result<String> {
    let text = String::from_utf8(read(path, most_bytes)?);
    text.map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not text in UTF-8"))
}

/// What a file is in words, if it is no regular file.
fn kind(of: FileType) -> Option<&'static str> {
    match of {
        _ if of.is_file() => None,
        _ if of.is_dir() => Some("a folder"),
        _ if of.is_fifo() => Some("a pipe"),
        _ if of.is_char_device() || of.is_block_device() => Some("a device"),
        _ => Some("something else"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType as Kind, Mode, mknodat};

    #[test]
    fn only_regular_files_of_the_bounded_size_are_read_and_nothing_is_waited_for() {
        let folder = std::env::temp_dir().join(format!("foregather-regular-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let [file, pipe] = ["file", "pipe"].map(|name| folder.join(name));
        std::fs::write(&file, "seven b").unwrap();
        mknodat(CWD, &pipe, Kind::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(read_text(&file, 7).unwrap(), "seven b");
        for (path, says) in [
            (file.as_path(), "more than the 6 bytes"),
            (&pipe, "it is a pipe, not a regular file"),
            (&folder, "it is a folder"),
            (Path::new("/dev/zero"), "it is a device"),
            (Path::new("/no/such/file"), "No such file"),
        ] {
            let error = read(path, 6).unwrap_err().to_string();
            assert!(error.contains(says), "{}: {error}", path.display());
        }
        std::fs::write(&file, [0xff]).unwrap();
        assert!(read_text(&file, 7).unwrap_err().to_string().contains("UTF-8"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
