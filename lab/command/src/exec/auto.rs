//! `exec --auto`: the first run watches the program, later ones compare the cure with the program as it is,
//! and once it is known to help they use it. No run starts the program twice.
use super::kept_cure::{self, CureState, KeptCure, MeasuredRun};
use super::{become_it, command_of, ended, exit_code, program};
use crate::advise;
use crate::cli::{Cli, Exec};
use anyhow::{Context, Result};
use foregather_host::child::Child;
use foregather_host::{clock, interrupt, usage};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the program, with the cure that is kept for it if there is one.
///
/// # Errors
/// The program's exit code, or if it cannot be started.
pub(super) fn run(cli: &Cli, options: &Exec) -> Result<()> {
    let (path, command) = command_of(&options.program)?;
    let say = |text: &str| {
        if !cli.quiet {
            eprintln!("foregather: {text}");
        }
    };
    let place = match place(&path, options) {
        Ok(place) => place,
        Err(why) => {
            say(&format!("nothing is kept: {why:#}"));
            return if options.forget { Ok(()) } else { become_it(command) };
        }
    };
    if options.forget {
        let is_removed = std::fs::remove_file(&place.0).is_ok();
        say(if is_removed { "what was kept for this program is removed" } else { "nothing was kept for this program" });
        return Ok(());
    }
    let now = clock::unix_seconds();
    let kept = kept_cure::load(&place.0, &place.1).unwrap_or_else(|why| {
        say(&format!("{why:#}"));
        None
    });
    match kept.filter(|kept| !kept.is_stale(now)) {
        None => first_run(options, &place, now, &say),
        Some(kept) => later_run(options, kept, &place.0, (path, command), &say),
    }
}

/// The file for what is kept for a program, and the key. Nothing is kept for a program that runs with other
/// rights, and so on.
fn place(path: &Path, options: &Exec) -> Result<(PathBuf, Vec<String>)> {
    if let Some(why) = kept_cure::forbidden() {
        anyhow::bail!(why);
    }
    program::what(path).map_err(anyhow::Error::msg)?;
    let path = std::fs::canonicalize(path)?;
    let key = kept_cure::key(&path, options)?;
    let file = kept_cure::path(&key).context("set HOME or XDG_CACHE_HOME")?;
    Ok((file, key))
}

/// Watches the program and keeps what is worth a trial.
fn first_run(options: &Exec, (file, key): &(PathBuf, Vec<String>), now: u64, say: &dyn Fn(&str)) -> Result<()> {
    let watched = advise::watch_for_cures(options)?;
    let settings = |(words, own_runtime): &(String, bool)| kept_cure::settings(words, *own_runtime, options.allow_rounding);
    let kept = KeptCure::new(key.clone(), now, watched.cures.iter().find_map(settings));
    match kept_cure::store(file, &kept) {
        Err(why) => say(&format!("nothing is kept: {why:#}")),
        Ok(()) if kept.state == CureState::Trial => {
            say(&format!("the next runs compare {} with the program as it is; to end that: --forget", kept.described()));
        }
        Ok(()) if options.allow_rounding => say("no setting is likely to make this program faster"),
        Ok(()) => say("no setting that keeps results' bits is likely to make this program faster (see --allow-rounding)"),
    }
    ended(watched.exit_code)
}

/// Runs the program as it is or with the cure. A run that is measured stays the program's parent.
fn later_run(
    options: &Exec,
    mut kept: KeptCure,
    file: &Path,
    (path, mut command): (PathBuf, Command),
    say: &dyn Fn(&str),
) -> Result<()> {
    let chance = clock::now().0.is_multiple_of(2);
    let measured = kept.next_run(chance);
    let is_cured = measured.unwrap_or(kept.state == CureState::Kept);
    if is_cured {
        apply(options, &kept, &path, &mut command)?;
        let how = match kept.speedups() {
            Some([wall, _]) if kept.state == CureState::Kept => {
                format!("{}, {}", kept_cure::words(&wall), clock::date(kept.judged_unix_s))
            }
            _ => "on trial".to_owned(),
        };
        say(&format!("applied {} ({how}); to undo: --forget", kept.described()));
    }
    if measured.is_none() {
        if kept.state == CureState::Kept {
            kept.unmeasured += 1;
            // Without a place for the count the cure is not compared again, and still helps.
            let _ = kept_cure::store(file, &kept);
        }
        return become_it(command);
    }
    interrupt::install()?;
    let (began, cpu) = (clock::now(), usage::children_cpu());
    let mut child = Child::spawn(command, &[])?;
    let exit_code = exit_code(advise::wait(&mut child)?);
    let (wall, cpu) = (clock::now() - began, usage::children_cpu() - cpu);
    if !interrupt::requested() {
        let before = kept.state;
        let run = MeasuredRun { is_cured, wall_ms: wall.0 as f64 / 1e6, cpu_ms: cpu.0 as f64 / 1e6 };
        kept.add(run, exit_code, clock::unix_seconds());
        if let Err(why) = kept_cure::store(file, &kept) {
            say(&format!("nothing is kept: {why:#}"));
        }
        if before != kept.state {
            say(&verdict(&kept, is_cured, exit_code));
        }
    }
    ended(exit_code)
}

/// What became of a cure, in a line.
fn verdict(kept: &KeptCure, is_cured: bool, exit_code: u8) -> String {
    let cure = kept.described();
    match (kept.state, kept.speedups()) {
        (CureState::Kept, Some([wall, _])) => format!("later runs have {cure} ({}); to undo: --forget", kept_cure::words(&wall)),
        _ if is_cured && kept.exit_code.is_some_and(|plain| plain != exit_code) => {
            format!("{cure} is not used any more: the program exited with {exit_code} with it")
        }
        (_, Some([wall, _])) if wall.pairs < kept_cure::ENOUGH as u64 => {
            format!("{cure} is not used any more: the program took {:.1} times as long with it", 1.0 / wall.ratio)
        }
        (_, Some([wall, _])) => format!("{cure} is not used any more ({})", kept_cure::words(&wall)),
        _ => format!("{cure} is not used any more"),
    }
}

/// Puts the cure into a command. The user's own variables stay.
fn apply(options: &Exec, kept: &KeptCure, path: &Path, command: &mut Command) -> Result<()> {
    for (name, value) in kept.variables.iter().filter(|(name, _)| std::env::var_os(name).is_none()) {
        command.env(name, value);
    }
    if kept.own_runtime {
        super::preload(command, &super::libraries_for(path, options, true)?);
    }
    Ok(())
}
