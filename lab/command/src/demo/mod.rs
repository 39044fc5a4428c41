//! A tour of about 15 s: five things that programs do, each beside what else does it here, in a
//! sentence each; and a page with their figures, and with machines that only exist in simulation.
//!
//! - `scenes`: what is measured. `sentence`, `said`: what the terminal shows of it. `simulated`: what only
//!   the page shows.
mod said;
mod scenes;
mod sentence;
mod simulated;

use crate::cli::demo_results;
use crate::finish::{keep, print_kept};
use crate::screen::Screen;
use anyhow::Result;
use foregather_host::{clock, interrupt};
use foregather_machine::Nanos;
use foregather_report::{self as report, SideBySide};
use foregather_reproduce as reproduce;
use foregather_results::failure::Failure;
use foregather_results::{Measurement, Results, Run, output};
use said::Said;
use scenes::{Rivals, SCENES, TURNS, TurnPlan};
use sentence::Sentence;
use std::path::Path;

/// What its results are called.
const DEMO: &str = "demo";
/// Looking around, and writing the page.
const AROUND: Nanos = Nanos::from_ms(700);
/// The announced time is a multiple of this.
const SECOND: Nanos = Nanos::from_ms(1_000);

/// Makes the tour; writes the page to `page_at` and its data beside it.
///
/// # Errors
/// If nothing can be measured, or the page cannot be written.
pub fn run(page_at: &Path, turns: Option<u32>, quiet: bool) -> Result<()> {
    let (began, screen) = (clock::now(), Screen::of_output());
    let rivals = Rivals::here();
    let plan = TurnPlan::new(turns.unwrap_or(TURNS), &rivals);
    let announced = announced(plan);
    if !quiet {
        eprintln!("{}\n", screen.wrapped(&announcement(announced), 0));
    }
    let run = Run::begin(DEMO, Some(1));
    // What does not fit within a fifth more is left out.
    let left = || (began + announced + Nanos(announced.0 / 5)) - clock::now();
    let Toured { mut measurements, mut notes, failed } = measure(&rivals, plan, quiet, left)?;
    let simulated = simulated::run(quiet, left)?;
    measurements.extend(simulated.measurements);
    notes.extend(failed.iter().cloned());
    if simulated.tried.is_empty() && !interrupt::requested() {
        notes.push("the simulations for the page were left out, as the time was over".to_owned());
    }
    let mut results = run.end(interrupt::requested(), measurements, vec![], notes);
    results.seconds = (clock::now() - began).as_secs();
    results.timelines = simulated.timelines;
    results.verdicts = reproduce::settle(simulated.tried, &results.noise).verdicts;
    let page = output::write(page_at, &report::page_of_demo(std::slice::from_ref(&results), &side_by_side(&results)));
    let data_at = demo_results(page_at);
    let kept = keep(&results, Some(&data_at));
    print_kept(&results, Some(&data_at), kept, || said(&results, &failed, &rivals, page_at, &screen))?;
    page?;
    if results.interrupted { Err(Failure::Interrupted.into()) } else { Ok(()) }
}

/// What the page of a demo shows first; nothing of other results.
pub(crate) fn side_by_side(results: &Results) -> Vec<SideBySide> {
    let sentences =
        SCENES.iter().filter(|_| results.experiment == DEMO).filter_map(|scene| scene.sentence(&results.measurements));
    sentences.map(|sentence| sentence.side_by_side(results.noise.verdict)).collect()
}

/// How long the whole takes.
fn announced(plan: TurnPlan) -> Nanos {
    let all = plan.planned() + simulated::planned() + AROUND;
    SECOND * ((all.0 + SECOND.0 / 2) / SECOND.0)
}

fn announcement(announced: Nanos) -> String {
    let count = SCENES.len();
    format!(
        "This takes about {:.0} s: {count} short measurements of this machine, then simulations for a page. Ctrl-C ends it at any \
         time, and keeps what there is by then.",
        announced.as_secs()
    )
}

/// What was measured, what is to be known of it, and what could not be measured here.
#[derive(Default)]
struct Toured {
    measurements: Vec<Measurement>,
    notes: Vec<String>,
    failed: Vec<String>,
}

/// All scenes for which there is time. One that cannot be measured costs the others nothing.
fn measure(rivals: &Rivals, plan: TurnPlan, quiet: bool, left: impl Fn() -> Nanos) -> Result<Toured> {
    let (mut all, mut trouble) = (Toured::default(), None);
    for scene in SCENES {
        if interrupt::requested() || left() == Nanos::ZERO {
            break;
        }
        match scene.measure(rivals, plan, quiet) {
            Ok(found) => {
                all.measurements.extend(found.measurements);
                all.notes.extend(found.notes.into_iter().filter(|note| !all.notes.contains(note)).collect::<Vec<_>>());
            }
            Err(_) if interrupt::requested() => {}
            Err(error) => {
                let why = format!("{error:#}");
                if !all.failed.contains(&why) {
                    all.failed.push(why);
                }
                trouble.get_or_insert(error);
            }
        }
    }
    match trouble {
        Some(error) if all.measurements.is_empty() => Err(error),
        _ => Ok(all),
    }
}

fn said(results: &Results, failed: &[String], rivals: &Rivals, page_at: &Path, screen: &Screen) -> String {
    let all = &results.measurements;
    let lacking = if results.interrupted { vec![] } else { rivals.lacking(all) };
    let sentences: Vec<Sentence> = SCENES.iter().filter_map(|scene| scene.sentence(all)).collect();
    let (noise, page) = (&results.noise, page_at.display().to_string());
    Said { sentences: &sentences, noise, lacking: &lacking, failed, page: &page, seconds: results.seconds }.text(screen)
}
