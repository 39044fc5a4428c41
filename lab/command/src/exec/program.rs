//! What a program is, as far as it matters for libraries that are loaded before its own.
use object::elf::PT_INTERP;
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Architecture, Endianness, Object, ObjectSymbol, ReadCache, ReadRef};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A script may name another one as its interpreter, this often.
const SCRIPTS: usize = 4;
/// The first line of a script is not longer.
const LINE: u64 = 4 << 10;

/// The file that a name stands for, as shells find it.
pub(crate) fn find(name: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| fs::metadata(path).is_ok_and(|of| of.is_file() && of.permissions().mode() & 0o111 != 0);
    if name.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(|path| path.exists());
    }
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(name)).find(is_program)
}

/// The file that the loader will run: for a script, that of its interpreter. `None` if that cannot be known.
///
/// # Errors
/// Why the loader would not put a library before those of the program.
pub(crate) fn what(program: &Path) -> Result<Option<PathBuf>, &'static str> {
    let mut program = program.to_owned();
    for _ in 0..SCRIPTS {
        let Ok(metadata) = fs::metadata(&program) else { return Ok(None) };
        if metadata.permissions().mode() & 0o6000 != 0 {
            return Err("it runs with the rights of its owner, and the loader preloads nothing then");
        }
        let mut head = Vec::new();
        let read = File::open(&program).and_then(|file| file.take(LINE).read_to_end(&mut head));
        match (read, head.strip_prefix(b"#!")) {
            (Err(_), _) => return Ok(None),
            (_, Some(line)) => match interpreter(line) {
                Some(next) => program = next,
                None => return Ok(None),
            },
            _ => {
                let Some(bytes) = opened(&program) else { return Ok(None) };
                return hindrance(&bytes).map_or(Ok(Some(program)), Err);
            }
        }
    }
    Ok(None)
}

/// The interpreter of a script, also behind `env`.
fn interpreter(line: &[u8]) -> Option<PathBuf> {
    let line = line.split(|&byte| byte == b'\n').next()?;
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(OsStr::from_bytes);
    let first = words.next()?;
    if Path::new(first).file_name() == Some(OsStr::new("env")) {
        return find(words.find(|word| !word.as_bytes().starts_with(b"-") && !word.as_bytes().contains(&b'='))?);
    }
    Some(PathBuf::from(first))
}

/// Why nothing of the program in that file can be replaced.
fn hindrance<'f>(bytes: impl ReadRef<'f>) -> Option<&'static str> {
    let head = |at| bytes.read_bytes_at(at, 1).ok().and_then(<[u8]>::first).copied();
    if bytes.read_bytes_at(0, 4) != Ok(b"\x7fELF") {
        return Some("it is no program that the loader knows");
    }
    const HERE: Architecture = if cfg!(target_arch = "x86_64") { Architecture::X86_64 } else { Architecture::Aarch64 };
    let file = match parse(bytes) {
        Some(file) if file.architecture() == HERE => file,
        Some(_) => return Some("it is for another kind of processor"),
        // The byte behind the magic number: 1 for 32 bits.
        None if head(4) == Some(1) => return Some("it has 32 bits, and the libraries have 64"),
        None => return Some("its file is damaged or cut off: build or copy it again"),
    };
    let Some(loader) = loader(&file) else { return Some("it is static, and has no loader") };
    let is_musl = loader.windows(MUSL.len()).any(|part| part == MUSL.as_bytes());
    is_musl.then_some("it is linked with musl, and the libraries need the GNU C library")
}

/// In the names of musl's loaders.
const MUSL: &str = "ld-musl-";

/// The loader that a program names; `None` in a static one.
fn loader<'f>(file: &ElfFile64<'f, Endianness, impl ReadRef<'f>>) -> Option<&'f [u8]> {
    let header = file.elf_program_headers().iter().find(|header| header.p_type(file.endian()) == PT_INTERP)?;
    Some(header.data(file.endian(), file.data()).unwrap_or_default())
}

/// Returns whether programs linked with musl can run here. They inherit `LD_PRELOAD` from a program that
/// starts them, and do not start if it names a library that needs the GNU C library.
pub(crate) fn has_musl() -> bool {
    let names = fs::read_dir("/lib").into_iter().flatten().flatten().map(|entry| entry.file_name());
    names.into_iter().any(|name| name.as_bytes().starts_with(MUSL.as_bytes()))
}

/// The path of a library that only the loader of the GNU C library finds: it replaces `$LIB` by the name of a
/// folder such as `lib64`, and musl's loader does not, and ignores what it cannot open.
pub(crate) fn for_glibc_alone(library: &Path) -> PathBuf {
    // No folder of that name lies more than four folders deep.
    let mut path = OsString::from("/$LIB/../../../..");
    path.push(library);
    path.into()
}

/// The build id of a program or library, in hexadecimal digits.
pub(crate) fn build_id(file: &Path) -> Option<String> {
    let bytes = opened(file)?;
    let id = parse(&bytes)?.build_id().ok().flatten()?;
    Some(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A file of which only the parts are read that are looked at: libraries with debug information are large.
fn opened(file: &Path) -> Option<ReadCache<File>> {
    File::open(file).ok().map(ReadCache::new)
}

fn parse<'f, R: ReadRef<'f>>(bytes: R) -> Option<ElfFile64<'f, Endianness, R>> {
    ElfFile64::parse(bytes).ok()
}

/// The language whose runtime starts and parks the threads of a program itself, whatever libraries it has.
pub(crate) fn own_threads(program: &Path) -> Option<&'static str> {
    if program.file_name().is_some_and(|name| name == "java") {
        return Some("Java");
    }
    parse(&opened(program)?)?.section_by_name(".go.buildinfo").is_some().then_some("Go")
}

/// Constructs of which one runtime must have all, or none: their regions know only their own threads. The
/// last one begins the regions of Clang's and Intel's compilers, whose runtime also has `omp_get_thread_num`.
const TOGETHER: [&str; 5] = ["task", "target", "teams", "reductions", "__kmpc_fork_call"];
/// How the names of OpenMP runtimes begin.
const PREFIXES: [&str; 3] = ["GOMP_", "omp_", "__kmpc_"];

/// The first name of such a construct that the program or a library of it needs, and `library` does not have.
/// What a program loads later is not known.
pub(crate) fn lacks(program: &Path, library: &Path) -> Option<String> {
    let has: HashSet<String> = openmp(library, false)?.into_iter().collect();
    let needed = |file: &PathBuf| openmp(file, true).unwrap_or_default();
    let is_lacking = |name: &String| TOGETHER.iter().any(|part| name.contains(part)) && !has.contains(name);
    files_of(program).iter().flat_map(needed).find(is_lacking)
}

/// OpenMP's names among the dynamic symbols of a file: those that it needs, or those that it has. `None` if
/// it cannot be read.
fn openmp(file: &Path, needed: bool) -> Option<Vec<String>> {
    let bytes = opened(file)?;
    let file = parse(&bytes)?;
    let names = file.dynamic_symbols().filter(|symbol| symbol.is_undefined() == needed).filter_map(|symbol| symbol.name().ok());
    Some(names.filter(|name| PREFIXES.iter().any(|prefix| name.starts_with(prefix))).map(str::to_owned).collect())
}

/// The program's file and those of its libraries, but for the runtime itself.
fn files_of(program: &Path) -> Vec<PathBuf> {
    let others = libraries_of(program).into_iter().filter(|path| !path.to_string_lossy().contains("libgomp"));
    std::iter::once(program.to_owned()).chain(others).collect()
}

/// The libraries that a program is linked with: the loader lists them, and runs nothing.
pub(crate) fn libraries_of(program: &Path) -> Vec<PathBuf> {
    let listed = Command::new(program).env("LD_TRACE_LOADED_OBJECTS", "1").output().map(|said| said.stdout).unwrap_or_default();
    let listed = String::from_utf8_lossy(&listed).into_owned();
    listed.lines().filter_map(|line| line.split_once(" => ")?.1.split_once(" (").map(|(path, _)| path.into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::elf::FileHeader64;

    /// A file of that machine with one program header of that kind.
    fn file(machine: u8, kind: u8) -> Vec<u8> {
        let mut file = vec![0; size_of::<FileHeader64<Endianness>>() + 56];
        file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        (file[16], file[18], file[20], file[32], file[52], file[54], file[56], file[64]) = (3, machine, 1, 64, 64, 56, 1, kind);
        file
    }

    /// [`file`] that names its loader.
    fn file_with(machine: u8, loader: &[u8]) -> Vec<u8> {
        let mut file = file(machine, 3);
        (file[72], file[96]) = (file.len() as u8, loader.len() as u8);
        file.extend(loader);
        file
    }

    #[test]
    fn programs_that_preload_nothing_are_known_by_their_heads() {
        let here = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
        assert_eq!(hindrance(file(here, 3).as_slice()), None);
        assert_eq!(hindrance(file_with(here, b"/lib64/ld-linux-x86-64.so.2\0").as_slice()), None);
        assert!(hindrance(file_with(here, b"/lib/ld-musl-x86_64.so.1\0").as_slice()).unwrap().contains("musl"));
        assert!(hindrance(file(here, 1).as_slice()).unwrap().contains("static"));
        assert!(hindrance(file(8, 3).as_slice()).unwrap().contains("another kind"));
        assert!(hindrance(b"MZ".as_slice()).unwrap().contains("no program"));
        for cut in [b"\x7fELF".to_vec(), file(here, 3)[..40].to_vec()] {
            assert!(hindrance(cut.as_slice()).unwrap().contains("cut off"), "a head that is cut off");
        }
        assert!(hindrance(b"\x7fELF\x01\x01\x01\0\0\0".as_slice()).unwrap().contains("32 bits"));
        let mut far = file(here, 3);
        far[32..40].fill(0xff);
        assert!(hindrance(far.as_slice()).is_some(), "a table beyond the end of all files");
    }

    #[test]
    fn a_path_for_the_gnu_loader_names_the_library() {
        let library = std::env::current_exe().unwrap();
        let path = for_glibc_alone(&library);
        assert!(!path.exists(), "other loaders find nothing there");
        let folders = ["lib64", "lib", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"];
        let expanded = |name| PathBuf::from(path.to_string_lossy().replace("$LIB", name));
        let there: Vec<_> = folders.into_iter().filter(|name| Path::new("/").join(name).is_dir()).collect();
        assert!(!there.is_empty() && there.iter().all(|name| fs::canonicalize(expanded(name)).unwrap() == library), "{there:?}");
    }

    #[test]
    fn scripts_run_on_their_interpreter() {
        assert_eq!(interpreter(b" /bin/sh -e\nexit"), Some(PathBuf::from("/bin/sh")));
        assert_eq!(interpreter(b"/usr/bin/env -S A=1 sh -c\n"), find(OsStr::new("sh")));
        assert_eq!(interpreter(b"\n"), None);
    }

    #[test]
    fn the_loader_names_a_programs_libraries() {
        let files = files_of(&std::env::current_exe().unwrap());
        assert!(files.iter().any(|file| file.to_string_lossy().contains("libc.so")), "{files:?}");
        assert_eq!(lacks(&files[0], &files[0]), None);
    }
}
