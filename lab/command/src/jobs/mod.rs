//! Jobs: ranks that are started here, or by a launcher.
//!
//! - [`run`](mod@run): any program, as ranks. [`app`](mod@app): a program on shared memory, its result
//!   proved.

pub mod app;
pub mod run;
