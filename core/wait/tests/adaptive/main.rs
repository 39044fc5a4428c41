//! The adaptive policy's steps in each state, on a processor that only records them.
mod crowd;
mod errors;
mod placing;
mod properties;
mod rules;
mod script;
mod waiting;
