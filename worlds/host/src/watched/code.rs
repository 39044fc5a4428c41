//! Which file the code at an address of a process comes from.
use std::fs;

/// Executable memory of a process, and the part of a file that it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeMapping {
    /// Its first address.
    pub from: u64,
    /// The first address after it.
    pub to: u64,
    /// Where its first byte is in the file.
    pub offset: u64,
    /// The number of the file on its device; 0 for memory that is no file's.
    pub inode: u64,
    /// The path of the file, `[vdso]`, or empty.
    pub path: String,
}

/// The executable memory of a process, by ascending addresses. Empty if the system does not show it.
pub fn read(process: u32) -> Vec<CodeMapping> {
    parse(&fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default())
}

/// The mapping that contains an address.
pub fn find(mappings: &[CodeMapping], address: u64) -> Option<&CodeMapping> {
    let after = mappings.partition_point(|mapping| mapping.from <= address);
    mappings[..after].last().filter(|mapping| address < mapping.to)
}

/// `7f00-7f01 r-xp 00001000 08:01 5   /path of the file`.
fn parse(maps: &str) -> Vec<CodeMapping> {
    let line = |line: &str| {
        let mut rest = line;
        let mut word = || {
            let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
            rest = after.trim_start_matches(' ');
            word.to_owned()
        };
        let (range, rights, offset, _device, inode) = (word(), word(), word(), word(), word());
        let (from, to) = range.split_once('-')?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let is_code = rights.contains('x');
        let mapping = CodeMapping {
            from: number(from)?,
            to: number(to)?,
            offset: number(&offset)?,
            inode: inode.parse().ok()?,
            path: rest.to_owned(),
        };
        is_code.then_some(mapping)
    };
    maps.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_known_by_address_and_names_may_have_blanks() {
        let maps = "00400000-00401000 r--p 00000000 08:01 5 /opt/a\n\
                    00401000-00403000 r-xp 00001000 08:01 5                          /opt/a program\n\
                    00500000-00501000 rwxp 00000000 00:00 0 \n\
                    7ffd0000-7ffd2000 r-xp 00000000 00:00 0                          [vdso]\n\
                    broken\n";
        let code = parse(maps);
        let paths: Vec<&str> = code.iter().map(|mapping| mapping.path.as_str()).collect();
        assert_eq!(paths, ["/opt/a program", "", "[vdso]"]);
        assert_eq!((code[0].offset, code[0].inode), (0x1000, 5));
        let at = |address: u64| find(&code, address).map(|mapping| mapping.path.as_str());
        assert_eq!((at(0x40_1000), at(0x40_2fff), at(0x40_3000)), (Some("/opt/a program"), Some("/opt/a program"), None));
        assert_eq!((at(0), at(0x50_0001), at(u64::MAX)), (None, Some(""), None));
    }

    #[test]
    fn the_code_of_this_test_lies_in_its_own_file() {
        let code = read(std::process::id());
        let here = the_code_of_this_test_lies_in_its_own_file as *const () as u64;
        let own = std::env::current_exe().unwrap();
        assert_eq!(find(&code, here).map(|mapping| mapping.path.as_str()), own.to_str());
        assert_eq!(read(u32::MAX), []);
    }
}
