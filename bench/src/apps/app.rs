//! The trait of all five programs.
use foregather_dsm::memory::{Settings, SharedAllocator, Thread};
use foregather_machine::{Error, Fabric};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A program with its input.
pub trait App: Sync {
    /// The arrays that all threads share.
    type Shared: Sync + 'static;
    /// A thread's result, for the proof.
    type Output: Send + Serialize + DeserializeOwned + 'static;

    /// Its name on the command line.
    const NAME: &'static str;

    /// How much it shares, and through how many views.
    fn settings(&self) -> Settings;

    /// Allocates what is shared, and at what grain: the same on every rank.
    ///
    /// # Errors
    /// If there is no room.
    fn layout(&self, layout: &mut SharedAllocator) -> Result<Self::Shared, Error>;

    /// The body of each thread.
    ///
    /// # Errors
    /// When a rank is lost.
    fn run<F: Fabric>(&self, thread: &Thread<'_, F>, shared: &Self::Shared) -> Result<Self::Output, Error>;

    /// Checks the result. `outputs` has the results of all threads, by their numbers. Returns what was
    /// checked, in words.
    ///
    /// # Errors
    /// The mistake found.
    fn validate(&self, outputs: &[Self::Output]) -> Result<String, String>;
}
