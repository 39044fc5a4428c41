//! Our own team in a cell, and the yardsticks that need no library: Rust's scoped threads, and one thread alone.
use super::{TeamCell, measure};
use crate::CellResult;
use foregather_team::Team;

/// All of them. `team` has all members, `team-fitting` as many as fit and pay.
pub const RUNNERS: [&str; 4] = ["team", "team-fitting", "serial", "std-scope"];

/// What runs one region.
pub type Region = Box<dyn FnMut(&(dyn Fn() + Sync))>;

/// Runs one cell.
///
/// # Errors
/// If there is no such runner or it cannot have that many members.
pub fn run(cell: &TeamCell) -> Result<CellResult, String> {
    Ok(measure(cell, region(&cell.runner, cell.threads)?))
}

/// The runner of that name.
///
/// # Errors
/// As [`run`].
pub fn region(runner: &str, threads: u32) -> Result<Region, String> {
    Ok(match runner {
        "team" => {
            let team = Team::new(threads).map_err(|error| error.to_string())?;
            Box::new(move |body| team.run(|_| body()))
        }
        "team-fitting" => {
            let team = Team::fitting();
            // However many members it has, together they do all bodies.
            Box::new(move |body| team.run(|member| member.share(threads as usize).for_each(|_| body())))
        }
        "serial" => Box::new(move |body| (0..threads).for_each(|_| body())),
        "std-scope" => Box::new(move |body| {
            std::thread::scope(|scope| {
                for _ in 1..threads {
                    scope.spawn(body);
                }
                body();
            });
        }),
        _ => return Err(format!("`{runner}` runs no team; there are {}", RUNNERS.join(", "))),
    })
}
