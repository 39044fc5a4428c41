//! Prints the linker's script of versions: `cargo xtask drop-in libgomp` links the library with it.

fn main() {
    print!("{}", foregather_gomp::version_script());
}
