//! Names of functions, from the symbols of programs and libraries.
use foregather_host::watched::program;
use foregather_watch::SampledFunction;
use object::read::ReadCache;
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use std::fs::File;
use std::os::unix::fs::MetadataExt;

/// A file that a process has mapped.
#[derive(Clone, Debug)]
pub(crate) struct CodeFile {
    /// Its path as the process saw it, `[vdso]`, or empty.
    pub(crate) path: String,
    pub(crate) inode: u64,
}

/// Stands for code whose process was gone before it was looked at.
pub(super) const UNKNOWN: &str = "unknown code";
/// Runtimes whose own code forks, joins and waits.
const RUNTIMES: [&str; 4] = ["libgomp", "libomp", "libiomp5", "foregather"];

/// The names of the functions at these places of a file; `None` where it has no symbol.
pub(crate) fn names(of: &CodeFile, offsets: &[u64]) -> Vec<Option<String>> {
    find(of, offsets).unwrap_or_else(|| vec![None; offsets.len()])
}

/// `None` if the file cannot be read, is no program, or was replaced since it was mapped.
fn find(of: &CodeFile, offsets: &[u64]) -> Option<Vec<Option<String>>> {
    let file = File::open(&of.path).ok()?;
    if file.metadata().ok()?.ino() != of.inode {
        return None;
    }
    // Of a large library, only the symbols are read.
    let bytes = ReadCache::new(file);
    let object = object::File::parse(&bytes).ok()?;
    let mut wanted: Vec<(u64, usize)> = Vec::new();
    for (at, &offset) in offsets.iter().enumerate() {
        let holds = |(from, size): (u64, u64)| offset >= from && offset - from < size;
        let segment = object.segments().find(|segment| holds(segment.file_range()))?;
        wanted.push((offset - segment.file_range().0 + segment.address(), at));
    }
    wanted.sort_unstable();
    let mut best: Vec<Option<(u64, String)>> = vec![None; offsets.len()];
    for symbol in object.symbols().chain(object.dynamic_symbols()) {
        if symbol.kind() != SymbolKind::Text || symbol.size() == 0 {
            continue;
        }
        let (from, size) = (symbol.address(), symbol.size());
        let first = wanted.partition_point(|(address, _)| *address < from);
        for (_, at) in wanted[first..].iter().take_while(|(address, _)| address - from < size) {
            let Ok(name) = symbol.name() else { continue };
            // Of several names of one function, the shortest is the one that its documentation has.
            let is_better = |(known, text): &(u64, String)| (size, name.len()) < (*known, text.len());
            if best[*at].as_ref().is_none_or(is_better) {
                best[*at] = Some((size, name.to_owned()));
            }
        }
    }
    Some(best.into_iter().map(|found| found.map(|(_, name)| readable(&name))).collect())
}

/// A function of a file, as readers know both.
pub(crate) fn function(of: &CodeFile, name: Option<String>) -> SampledFunction {
    let runtime = program::runtime_of(&of.path);
    let file = of.path.rsplit('/').next().unwrap_or_default().trim_end_matches(" (deleted)");
    let library = match runtime {
        _ if of.path.is_empty() => "generated code",
        Some(runtime) if runtime != "Python" => runtime,
        // Versions and the like follow the first point of a library's name.
        _ if file.contains(".so") => file.split('.').next().unwrap_or(file),
        _ => file,
    };
    SampledFunction { name, library: library.to_owned(), is_runtime: runtime.is_some_and(|runtime| RUNTIMES.contains(&runtime)) }
}

/// What compilers append to the name of a part or a variant of a function.
const VARIANTS: [&str; 5] = [".constprop.", ".isra.", ".part.", ".cold", ".lto_priv."];

/// A symbol without its version and variant; the path of a function of C++ or Rust without its arguments.
fn readable(symbol: &str) -> String {
    let symbol = symbol.split('@').next().unwrap_or(symbol);
    let symbol = VARIANTS.iter().fold(symbol, |name, variant| name.split(variant).next().unwrap_or(name));
    path_of(symbol).unwrap_or_else(|| symbol.to_owned())
}

/// `_ZN4core3ptr4read17h0123456789abcdefE` is `core::ptr::read`.
fn path_of(symbol: &str) -> Option<String> {
    let mut rest = symbol.strip_prefix("_Z")?;
    let is_nested = rest.starts_with('N');
    rest = rest.trim_start_matches(['N', 'K', 'L']);
    let mut path: Vec<&str> = Vec::new();
    while let Some(digits) = rest.find(|c: char| !c.is_ascii_digit()).filter(|digits| *digits > 0) {
        let length: usize = rest[..digits].parse().ok()?;
        path.push(rest.get(digits..digits.checked_add(length)?)?);
        rest = &rest[digits + length..];
        if !is_nested {
            break;
        }
    }
    let is_hash =
        |name: &str| name.len() == 17 && name.starts_with('h') && name[1..].bytes().all(|byte| byte.is_ascii_hexdigit());
    if path.last().is_some_and(|name| is_hash(name)) {
        path.pop();
    }
    (!path.is_empty()).then(|| path.join("::"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_host::watched::code;

    #[test]
    fn this_test_finds_the_name_of_its_own_function() {
        let here = this_test_finds_the_name_of_its_own_function as *const () as u64;
        let mappings = code::read(std::process::id());
        let mapping = code::find(&mappings, here).unwrap();
        let file = CodeFile { path: mapping.path.clone(), inode: mapping.inode };
        let offset = here - mapping.from + mapping.offset;
        let found = names(&file, &[offset + 1, offset]);
        let expected = "this_test_finds_the_name_of_its_own_function";
        assert!(found.iter().all(|name| name.as_ref().is_some_and(|name| name.ends_with(expected))), "{found:?}");
        assert_eq!(names(&CodeFile { inode: mapping.inode + 1, ..file }, &[offset]), [None], "another file of that name");
        let no_program = CodeFile { path: "/proc/self/status".to_owned(), inode: 1 };
        assert_eq!(names(&no_program, &[0, 1]), [None, None]);
    }

    #[test]
    fn libraries_have_the_names_that_readers_know() {
        let label = |path: &str| function(&CodeFile { path: path.to_owned(), inode: 1 }, None).label();
        for (path, name) in [
            ("/opt/x/libgomp-a34b3233.so.1.0.0", "libgomp"),
            ("/opt/x/libscipy_openblas64_-ff651d7f.so", "OpenBLAS"),
            ("/usr/lib/libc.so.6", "libc"),
            ("/usr/lib/ld-linux-x86-64.so.2", "ld-linux-x86-64"),
            ("/x/_umath.cpython-312-x86_64-linux-gnu.so", "_umath"),
            ("/usr/bin/python3.12", "python3.12"),
            ("/tmp/sum (deleted)", "sum"),
            ("[vdso]", "[vdso]"),
            ("", "generated code"),
        ] {
            assert_eq!(label(path), name);
        }
    }

    #[test]
    fn names_of_other_languages_are_read_as_paths() {
        for (symbol, name) in [
            ("_ZN4core3ptr4read17h0123456789abcdefE", "core::ptr::read"),
            ("_ZNK3sum6Matrix3dotEd", "sum::Matrix::dot"),
            ("_Z4burnd", "burn"),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("main._omp_fn.0", "main._omp_fn.0"),
            ("burn.constprop.0.isra.0", "burn"),
            ("_ZN99xE", "_ZN99xE"),
            ("_ZTV3sum", "_ZTV3sum"),
            ("_ZN18446744073709551615xE", "_ZN18446744073709551615xE"),
        ] {
            assert_eq!(readable(symbol), name);
        }
    }
}
