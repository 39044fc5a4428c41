//! Gives the library the name under which programs look for a BLAS, so that it can stand in for any.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libblas.so.3");
        // Members of the team may be in it when a program lets go of it.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
