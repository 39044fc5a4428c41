//! `top`: which processes wait for processors and for each other, or what the threads of one process do.
//!
//! [`looker`] looks at them, [`picture`] has rows and columns, [`view`] is the state behind the keys, and
//! [`live`] shows it on a terminal.
#[cfg(feature = "top")]
mod draw;
#[cfg(feature = "top")]
mod live;
mod looker;
mod picture;
#[cfg(all(test, feature = "top"))]
mod tests;
#[cfg(feature = "top")]
mod view;

use crate::advise::refuse_csv;
use crate::cli::{Cli, Format, Top};
use crate::finish::print;
use anyhow::{Result, bail};
use foregather_host::terminal;
use foregather_machine::shown;
use foregather_results::table::ResultTable;
use looker::Looker;
use picture::TopPicture;
use std::time::Duration;

/// A table that no terminal shows has room for all columns.
const ALL_COLUMNS: usize = 200;

/// Shows the view, or prints one table.
///
/// # Errors
/// Without such a process, or without a terminal.
pub(crate) fn run(cli: &Cli, options: &Top) -> Result<()> {
    refuse_csv(cli)?;
    if !options.once {
        if cli.format == Format::Json {
            bail!("--format json is about one picture: add --once");
        }
        return follow(options);
    }
    let mut looker = Looker::new(options.pid)?;
    std::thread::sleep(Duration::from_nanos(options.every.0));
    let picture = looker.look();
    if let Some(process) = picture.process.filter(|_| picture.processes.is_empty()) {
        bail!("process {process} has exited");
    }
    Ok(print(&match cli.format {
        Format::Json => serde_json::to_string_pretty(&picture)?,
        _ => text(&picture),
    })?)
}

#[cfg(feature = "top")]
fn follow(options: &Top) -> Result<()> {
    live::run(options)
}

#[cfg(not(feature = "top"))]
fn follow(_: &Top) -> Result<()> {
    bail!("this command was built without the live view (feature `top`): print one table with `foregather top --once`")
}

/// One table. Processes that neither ran nor waited are only counted.
fn text(picture: &TopPicture) -> String {
    let columns = picture.columns(terminal::columns().unwrap_or(ALL_COLUMNS));
    let (_, order) = picture.order(0);
    let is_shown = |row: &usize| {
        let process = picture.processes.get(*row).filter(|_| picture.process.is_none());
        process.is_none_or(|process| process.ran + process.lost > foregather_machine::Nanos::ZERO || process.name.is_none())
    };
    let mut table = ResultTable::new(columns.iter().map(|column| column.heading));
    table.rows = order.iter().filter(|row| is_shown(row)).map(|&row| picture.cells(row, &columns)).collect();
    let mut lines = vec![picture.headline(), table.to_text().trim_end().to_owned()];
    let idle = picture.len() - table.rows.len();
    if idle > 0 {
        lines.push(format!("{idle} other processes neither ran nor were ready"));
    }
    if !picture.not_seen.is_empty() {
        lines.push(format!("not seen: {}", shown(&picture.not_seen.join("; "))));
    }
    lines.join("\n")
}
