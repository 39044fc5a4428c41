//! Gives the library the name under which programs look for a BLAS, so that it can take the place of any
//! other.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libblas.so.3");
        // Members of the team may still run its code when a program unloads it.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
