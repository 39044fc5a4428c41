//! Notes the compiler's version for the provenance of results.
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(rustc).arg("--version").output().ok();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    println!("cargo:rustc-env=FOREGATHER_RUSTC={}", version.unwrap_or_default());
}
