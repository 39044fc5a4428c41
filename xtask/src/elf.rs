//! Sets a flag of shared libraries that zig's linker does not know.
use anyhow::{Context, Result, ensure};
use std::ops::Range;

const PT_DYNAMIC: u64 = 2;
const DT_FLAGS_1: u64 = 0x6fff_fffb;
/// Constructors of the library run before those of all others: `-z initfirst`.
const DF_1_INITFIRST: u8 = 0x20;

/// Sets `-z initfirst` in a library that was linked with another flag of that word, such as `-z now`.
pub(crate) fn set_init_first(library: &mut [u8]) -> Result<()> {
    ensure!(library.get(..6) == Some(&[0x7f, b'E', b'L', b'F', 2, 1]), "not a 64-bit little-endian ELF file");
    let dynamic = dynamic_section(library)?;
    for entry in dynamic.step_by(16) {
        if number(library, entry, 8)? == DT_FLAGS_1 {
            library[entry + 8] |= DF_1_INITFIRST;
            return Ok(());
        }
    }
    anyhow::bail!("the library has no DT_FLAGS_1; link it with `-z now`")
}

/// Returns where the entries of the dynamic section are.
fn dynamic_section(library: &[u8]) -> Result<Range<usize>> {
    let place = |at, bytes| Ok::<usize, anyhow::Error>(usize::try_from(number(library, at, bytes)?)?);
    let (headers, size, count) = (place(0x20, 8)?, place(0x36, 2)?, place(0x38, 2)?);
    for header in (0..count).map(|index| headers + index * size) {
        if number(library, header, 4)? == PT_DYNAMIC {
            let begin = place(header + 8, 8)?;
            return Ok(begin..begin + place(header + 32, 8)?);
        }
    }
    anyhow::bail!("the ELF file has no dynamic section; only shared libraries do")
}

fn number(library: &[u8], at: usize, bytes: usize) -> Result<u64> {
    let bytes = library.get(at..at + bytes).context("the ELF file is cut short")?;
    Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_linked_library_gets_the_flag_and_loads() {
        let place = std::env::temp_dir().join(format!("foregather-elf-{}", std::process::id()));
        let mut cc = Command::new("cc");
        let made = cc.args(["-shared", "-nostdlib", "-Wl,-z,now", "-x", "c", "/dev/null", "-o"]).arg(&place);
        assert!(made.status().unwrap().success());
        let mut library = std::fs::read(&place).unwrap();
        let before = library.clone();
        set_init_first(&mut library).unwrap();
        let differing = before.iter().zip(&library).filter(|(before, after)| before != after).count();
        assert_eq!(differing, 1, "one bit of one byte");
        set_init_first(&mut library[..100].to_vec()).unwrap_err();
        std::fs::write(&place, library).unwrap();
        let printed = Command::new("readelf").args(["-dW"]).arg(&place).output().unwrap();
        std::fs::remove_file(place).unwrap();
        assert!(String::from_utf8_lossy(&printed.stdout).contains("INITFIRST"));
    }

    #[test]
    fn other_files_are_refused() {
        assert_eq!(set_init_first(&mut b"#!/bin/sh\n".to_vec()).unwrap_err().to_string(), "not a 64-bit little-endian ELF file");
    }
}
