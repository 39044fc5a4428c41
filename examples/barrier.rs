//! Four threads meet a thousand times.
//!
//! `cargo add foregather --no-default-features`
fn main() {}
