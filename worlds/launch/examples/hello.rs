//! A program of ranks that any launcher can start: each rank contributes a number, and all print the same
//! sum.
use foregather_launch::Job;
use foregather_machine::Error;

fn main() -> Result<(), Error> {
    let job = Job::join()?;
    let mine = u64::from(job.rank()) + 1;
    let addresses = job.exchange(&mine.to_le_bytes())?;
    let sum: u64 = addresses.iter().filter_map(|address| Some(u64::from_le_bytes(address.get(..8)?.try_into().ok()?))).sum();
    println!("rank {} of {}: {sum}", job.rank(), job.size());
    job.leave()
}
