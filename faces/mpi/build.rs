//! The library stays loaded: threads of the program may be within it.
fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
