//! Frames between lanes through shared memory, and direct copies between processes by the kernel: a
//! [`Fabric`](foregather_machine::Fabric) for processes of a host and for threads of a process. States,
//! sequence and races: `README.md`.
mod attached;
mod duel;
mod exposed;
mod exposure;
mod help;
mod lane;
mod meeting;
mod outgoing;
mod pieces;
mod primitive;
mod reading;
mod ring;
mod shape;
mod shm_fabric;
mod stage;
mod tolls;

pub use lane::Lane;
pub use shape::SegmentSpec;
pub use shm_fabric::ShmFabric;

#[cfg(test)]
mod tests {
    mod lost;
}
