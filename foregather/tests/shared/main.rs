//! Memory that ranks share: threads of this process, the same threads with separate memories, and processes
//! under this project's launcher.
mod bounded;
mod calls;
mod ends;
mod life;
mod lost;
mod panics;
mod ranges;
mod timeouts;
mod values;
mod views;
