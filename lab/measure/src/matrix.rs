//! The one loop of all experiments: row by row, and within a row all columns in turn, again and again, beside
//! the same hogs, so that what disturbs the machine disturbs all of them.
use crate::Measured;
use crate::cells::{myself, under};
use anyhow::{Context, Error, Result};
use foregather_bench::BackgroundLoad;
use foregather_host::cgroup::QuotaGroup;
use foregather_host::child::Child;
use foregather_host::interrupt;
use foregather_machine::SplitMix;
use foregather_results::progress::ProgressMeter;
use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::Duration;

/// In which order the columns of a row have their turns.
#[derive(Clone, Copy, Debug)]
pub enum TurnOrder {
    /// In another one in each repetition, by this seed.
    Random(u64),
    /// Every other repetition goes backwards.
    Alternating,
}

/// What is beside the cells of a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct BackgroundOfRow {
    /// Processes outside the team that want processors, too.
    pub hogs: u32,
    /// What these do.
    pub background: BackgroundLoad,
    /// Their nice value.
    pub nice: i8,
    /// Processors' worth of time for a cell, if limited.
    pub quota: Option<f64>,
}

/// One turn of a column.
pub struct ColumnTurn<'a> {
    /// From 0 on.
    pub repetition: u32,
    /// Of what is random in it.
    pub seed: u64,
    /// The group that limits its processor time.
    pub quota: Option<&'a QuotaGroup>,
}

/// What one column of a row came to.
#[derive(Clone, Debug)]
pub struct Runs<R> {
    /// Of the turns that ended.
    pub results: Vec<R>,
    /// How many turns did not end in time, and were killed.
    pub collapsed: u32,
}

impl<R> Default for Runs<R> {
    fn default() -> Self {
        Self { results: vec![], collapsed: 0 }
    }
}

/// The loop, and what was found so far.
pub struct CellLoop {
    /// What was found.
    pub found: Measured,
    progress: ProgressMeter,
    repetitions: u32,
    random: SplitMix,
    order: TurnOrder,
    trouble: Option<Error>,
    all_or_none: bool,
}

impl CellLoop {
    /// A matrix without results yet; `columns` counts the columns of all rows together.
    pub fn new(name: &str, columns: usize, repetitions: u32, order: TurnOrder, quiet: bool) -> Self {
        let random = SplitMix(if let TurnOrder::Random(seed) = order { seed } else { 0 });
        let progress = ProgressMeter::new(name, columns * repetitions as usize, quiet);
        Self { found: Measured::default(), progress, repetitions, random, order, trouble: None, all_or_none: false }
    }

    /// The same loop, which ends with the first error of a column.
    #[must_use]
    pub fn all_or_none(self) -> Self {
        Self { all_or_none: true, ..self }
    }

    /// Gives each column of a row its turns. `run` answers `None` for a turn that collapsed. A column that
    /// fails is noted and has no more turns: one column less is no reason to lose the others. After an
    /// interrupt there are fewer results.
    ///
    /// # Errors
    /// If what is beside the row cannot be started; or, if all columns are wanted or none, if one fails.
    pub fn row<C, R>(
        &mut self,
        beside: BackgroundOfRow,
        columns: &[C],
        name: impl Fn(&C) -> String,
        mut run: impl FnMut(&C, &ColumnTurn<'_>) -> Result<Option<R>>,
    ) -> Result<Vec<Runs<R>>> {
        let _hogs = Hogs::start(beside)?;
        let quota = beside.quota.map(QuotaGroup::new).transpose()?;
        let mut all: Vec<(Runs<R>, bool)> = columns.iter().map(|_| (Runs::default(), false)).collect();
        'turns: for repetition in 0..self.repetitions {
            for at in self.turns(repetition, columns.len()) {
                let (name, (runs, failed)) = (name(&columns[at]), &mut all[at]);
                self.progress.step(&name);
                let turn = ColumnTurn { repetition, seed: self.random.next(), quota: quota.as_ref() };
                if interrupt::requested() {
                    break 'turns;
                }
                match if *failed { continue } else { run(&columns[at], &turn) } {
                    Ok(Some(result)) => runs.results.push(result),
                    Ok(None) => runs.collapsed += 1,
                    Err(_) if interrupt::requested() => {}
                    Err(error) if self.all_or_none => return Err(error),
                    Err(error) => {
                        *failed = true;
                        self.found.note(format!("{name}: {error:#}"));
                        self.trouble.get_or_insert(error);
                    }
                }
            }
        }
        Ok(all.into_iter().map(|(runs, _)| runs).collect())
    }

    fn turns(&mut self, repetition: u32, columns: usize) -> Vec<usize> {
        match self.order {
            TurnOrder::Random(_) => self.random.shuffled(columns),
            TurnOrder::Alternating if repetition % 2 == 1 => (0..columns).rev().collect(),
            TurnOrder::Alternating => (0..columns).collect(),
        }
    }

    /// All that was found.
    ///
    /// # Errors
    /// The first error of a column if nothing was found because of it.
    pub fn end(self) -> Result<Measured> {
        match self.trouble {
            Some(error) if self.found.measurements.is_empty() => Err(error),
            _ => Ok(self.found),
        }
    }
}

/// Processes that want processors; they end when this is dropped.
struct Hogs(Vec<Child>);

impl Hogs {
    /// Starts them, and gives the kernel a moment to place them.
    fn start(BackgroundOfRow { hogs, background, nice, .. }: BackgroundOfRow) -> Result<Self> {
        let mut words: Vec<OsString> = vec![myself().into(), "__hog".into()];
        if background != BackgroundLoad::Hog {
            words.push(background.to_string().into());
        }
        // Nice 0 is what they have, or what this process is not allowed to give them.
        if nice != 0 {
            under(&nice.to_string(), &mut words);
        }
        let start = |_| {
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            Child::spawn(command, &[])
        };
        let started = Self((0..hogs).map(start).collect::<Result<_, _>>().context("cannot start a hog")?);
        if !started.0.is_empty() {
            std::thread::sleep(Duration::from_millis(30));
        }
        Ok(started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    fn matrix(order: TurnOrder) -> CellLoop {
        CellLoop::new("test", 3, 4, order, true)
    }

    #[test]
    fn every_column_has_all_its_turns_in_the_order_that_was_asked_for() {
        let turns = |order| {
            let mut turns = vec![];
            let runs = matrix(order).row(BackgroundOfRow::default(), &[0, 1, 2], u32::to_string, |&column, turn| {
                turns.push(column);
                Ok((column != 1).then_some(turn.repetition))
            });
            let runs: Vec<_> = runs.unwrap().into_iter().map(|runs| (runs.results, runs.collapsed)).collect();
            assert_eq!(runs, [(vec![0, 1, 2, 3], 0), (vec![], 4), (vec![0, 1, 2, 3], 0)]);
            turns
        };
        assert_eq!(turns(TurnOrder::Alternating), [0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0]);
        let random = turns(TurnOrder::Random(7));
        assert_eq!(random, turns(TurnOrder::Random(7)));
        assert_ne!(random, turns(TurnOrder::Random(8)));
    }

    #[test]
    fn a_column_that_fails_is_noted_and_not_tried_again_and_the_others_go_on() {
        let mut matrix = matrix(TurnOrder::Random(1));
        let mut tried = 0;
        let runs = matrix.row(
            BackgroundOfRow::default(),
            &["good", "bad"],
            |&name| name.to_owned(),
            |&name, _| {
                if name == "good" {
                    return Ok(Some(()));
                }
                tried += 1;
                Err(anyhow!("no such thing"))
            },
        );
        assert_eq!((runs.unwrap()[0].results.len(), tried), (4, 1));
        assert_eq!(matrix.found.notes, ["bad: no such thing"]);
        assert_eq!(matrix.end().unwrap_err().to_string(), "no such thing", "nothing was found because of it");
    }
}
