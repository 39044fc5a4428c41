//! Frames between lanes through shared memory, and copies from memory to memory by the kernel: a
//! [`Fabric`](foregather_machine::Fabric) for processes of a host and for threads of a process. States, sequence and races: `README.md`.
mod duel;
mod exchange;
mod exposed;
mod exposure;
mod lane;
#[cfg(test)]
mod lost;
mod meeting;
mod met;
mod outgoing;
mod pieces;
mod primitive;
mod reading;
mod ring;
mod shape;
mod tolls;

pub use exchange::Exchange;
pub use lane::Lane;
pub use shape::Shape;
