//! Which program with which input: the classes of the five, and the variants that show the paper's points.
use crate::cli::{AppName, AppOptions as Options};
use anyhow::{Result, anyhow, bail};
use foregather_bench::apps::is::Is;
use foregather_bench::apps::lu::Lu;
use foregather_bench::apps::sor::Sor;
use foregather_bench::apps::tsp::{Cities, Tsp};
use foregather_bench::apps::water::Water;
use foregather_bench::programs::Program;

/// Published instances of TSP; all are solved within a second with tolls that `ASCENT` steps have fitted.
const CITIES: [&str; 5] = ["burma14", "ulysses16", "gr17", "gr21", "ulysses22"];
const ASCENT: u32 = 100;

/// The program that the options name.
///
/// # Errors
/// If it has no such class, or an option is none of its own.
pub(super) fn of_options(options: &Options) -> Result<Program> {
    let mut program = of_class(options.name, &options.class)?;
    let (mut chunk, mut unit, mut no_push, mut no_prefetch) = (options.chunk, options.unit, options.no_push, options.no_prefetch);
    match &mut program {
        Program::Water(water) => water.chunk = chunk.take().unwrap_or(water.chunk),
        Program::Lu(lu) => lu.prefetch = !std::mem::take(&mut no_prefetch),
        Program::Tsp(tsp) => {
            tsp.push = !std::mem::take(&mut no_push);
            tsp.unit_bytes = unit.take().unwrap_or(tsp.unit_bytes);
            if !tsp.unit_bytes.is_multiple_of(4) {
                bail!("--unit {}: write a multiple of 4 bytes, such as 128, 148, 256 or 4096", tsp.unit_bytes);
            }
        }
        Program::Is(_) | Program::Sor(_) => {}
    }
    // An option that is left belongs to another program.
    for (left, option, whose) in [
        (chunk.is_some(), "--chunk", "water"),
        (unit.is_some(), "--unit", "tsp"),
        (no_push, "--no-push", "tsp"),
        (no_prefetch, "--no-prefetch", "lu"),
    ] {
        if left {
            bail!("{option} is for {whose} only: leave it out");
        }
    }
    Ok(program)
}

fn of_class(name: AppName, class: &str) -> Result<Program> {
    let (program, classes) = match name {
        AppName::Is => {
            let is = match class {
                "small" => Some(Is::small()),
                "paper" => Some(Is::paper()),
                nas => Is::class(nas),
            };
            (is.map(Program::Is), "small (the NAS' S), S, W, A, paper".to_owned())
        }
        AppName::Sor => (of(class, Sor::small, Sor::paper).map(Program::Sor), "small, paper".to_owned()),
        AppName::Water => (of(class, Water::small, Water::paper).map(Program::Water), "small, paper".to_owned()),
        AppName::Lu => (of(class, Lu::small, Lu::paper).map(Program::Lu), "small, paper".to_owned()),
        AppName::Tsp => {
            let known = || CITIES.contains(&class).then(|| Cities::published(class)).flatten();
            let published = || known().map(|cities| Tsp { cities, ascent: ASCENT, ..Tsp::small() });
            let tsp = of(class, Tsp::small, Tsp::paper).or_else(published);
            (tsp.map(Program::Tsp), format!("small, paper, {}", CITIES.join(", ")))
        }
    };
    program.ok_or_else(|| anyhow!("--class `{}`: {} has {classes}", class.escape_debug(), name.name()))
}

fn of<A>(class: &str, small: impl Fn() -> A, paper: impl Fn() -> A) -> Option<A> {
    match class {
        "small" => Some(small()),
        "paper" => Some(paper()),
        _ => None,
    }
}
