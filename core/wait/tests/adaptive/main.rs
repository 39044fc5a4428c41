//! What the adaptive policy does in which state, on a processor that does nothing but write it down.
mod crowd;
mod errors;
mod placing;
mod properties;
mod rules;
mod script;
mod waiting;
