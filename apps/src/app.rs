//! What all five have in common.
use foregather_dsm::memory::{Settings, SharedAllocator, Thread};
use foregather_machine::{Error, Fabric};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A program with its input.
pub trait App: Sync {
    /// The arrays that all threads share.
    type Shared: Sync + 'static;
    /// What a thread gives in the end, for the proof.
    type Output: Send + Serialize + DeserializeOwned + 'static;

    /// Its name on the command line.
    const NAME: &'static str;

    /// How much it shares, and through how many views.
    fn settings(&self) -> Settings;

    /// What is shared, at what grain: the same on every rank.
    ///
    /// # Errors
    /// If there is no room.
    fn layout(&self, layout: &mut SharedAllocator) -> Result<Self::Shared, Error>;

    /// What each thread does.
    ///
    /// # Errors
    /// When a rank is lost.
    fn run<F: Fabric>(&self, thread: &Thread<'_, F>, shared: &Self::Shared) -> Result<Self::Output, Error>;

    /// Is the result right? `outputs` has those of all threads, by their numbers. What was checked, in words.
    ///
    /// # Errors
    /// What is wrong with it.
    fn validate(&self, outputs: &[Self::Output]) -> Result<String, String>;
}
