//! The live view on a terminal.
use super::draw::draw;
use super::looker::Looker;
use super::view::{TopAction, TopKey, TopView};
use crate::cli::Top;
use crate::screen::Screen;
use anyhow::{Context, Result, bail};
use foregather_host::{clock, interrupt, terminal};
use foregather_machine::Nanos;
use foregather_results::failure::Failure;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use std::io::{IsTerminal, stdout};
use std::time::Duration;

/// How long the view goes without looking for a request to stop.
const SLICE: Nanos = Nanos::from_ms(50);
/// The first picture of a process comes after this time.
const FIRST: Nanos = Nanos::from_ms(200);
/// Looking takes at most the share 1 / `BUDGET` of one processor.
const BUDGET: u64 = 10;
/// As shells show a program that a signal interrupted.
const INTERRUPTED: u8 = 130;
/// Rows that a page key passes.
const PAGE: isize = 20;

pub(super) fn run(options: &Top) -> Result<()> {
    if !stdout().is_terminal() {
        bail!("standard output is not a terminal: print one table with `foregather top --once`");
    }
    interrupt::install()?;
    let mut looker = Looker::new(options.pid)?;
    std::thread::sleep(Duration::from_nanos(FIRST.0));
    let mut view = TopView::new(looker.look());
    // A second signal ends the process at once.
    terminal::keep_settings();
    // Restores the terminal in a panic, too.
    let mut terminal = ratatui::try_init().context("setting up the terminal; print one table with `foregather top --once`")?;
    let end = follow(&mut terminal, &mut looker, &mut view, options.every);
    let restored = ratatui::try_restore().context("restoring the terminal; type `reset`");
    end.and(restored)
}

fn follow(terminal: &mut DefaultTerminal, looker: &mut Looker, view: &mut TopView, every: Nanos) -> Result<()> {
    let colours = Screen::of_output().has_colours();
    let pause = |looker: &Looker| clock::now() + every.max(Nanos(looker.cost.0.saturating_mul(BUDGET)));
    let mut next = clock::now() + every;
    terminal.draw(|frame| draw(frame, view, colours))?;
    while !interrupt::requested() {
        let wait = next.min(clock::now() + SLICE) - clock::now();
        let mut is_changed = false;
        if event::poll(Duration::from_nanos(wait.0))? {
            is_changed = true;
            let action = match event::read()? {
                Event::Key(key) if key.kind == KeyEventKind::Release => continue,
                Event::Key(key) if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) => {
                    return Ok(());
                }
                Event::Key(key) => meaning(key.code).map_or(TopAction::Stay, |key| view.press(key)),
                _ => TopAction::Stay,
            };
            match action {
                TopAction::Quit => return Ok(()),
                TopAction::Stay => {}
                TopAction::Show(process) => match Looker::new(process) {
                    Ok(another) => {
                        *looker = another;
                        next = clock::now() + FIRST;
                    }
                    Err(why) => view.picture.not_seen.insert(0, why.to_string()),
                },
            }
        }
        if clock::now() >= next {
            view.update(looker.look());
            next = pause(looker);
            is_changed = true;
        }
        if is_changed {
            terminal.draw(|frame| draw(frame, view, colours))?;
        }
    }
    // A signal ends the view, and there is nothing to say about it.
    Err(Failure::Program(INTERRUPTED).into())
}

fn meaning(code: KeyCode) -> Option<TopKey> {
    Some(match code {
        KeyCode::Up => TopKey::Move(-1),
        KeyCode::Down => TopKey::Move(1),
        KeyCode::PageUp => TopKey::Move(-PAGE),
        KeyCode::PageDown => TopKey::Move(PAGE),
        KeyCode::Home => TopKey::Move(isize::MIN),
        KeyCode::End => TopKey::Move(isize::MAX),
        KeyCode::Enter => TopKey::Enter,
        KeyCode::Esc => TopKey::Back,
        KeyCode::Char('s') => TopKey::Sort,
        KeyCode::Char('q') => TopKey::Quit,
        _ => return None,
    })
}
