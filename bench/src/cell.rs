//! The one protocol between a program that measures and its children: a line of JSON goes in, as an argument,
//! and a line of JSON comes out.
use foregather_machine::Nanos;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What a process, or the ranks of a job, measure for another process.
///
/// A process of its own lets the environments of runtimes differ, keeps idle threads of one cell out of the
/// next, and can be killed when the cell collapses.
pub trait Cell: Serialize + DeserializeOwned {
    /// The verb of programs that run such cells; the verbs of the `foregather` command are hidden behind
    /// [`own_verb`].
    const VERB: &'static str;
    /// What it comes to.
    type Answer: Serialize + DeserializeOwned;

    /// Refuses what no machine can run.
    ///
    /// # Errors
    /// What is wrong, in words.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// How long it may take, with the start and the end of its process; a cell that takes longer has
    /// collapsed.
    fn at_most(&self) -> Nanos;

    /// What the environment of its process has besides ours.
    fn env(&self) -> Vec<(String, String)> {
        vec![]
    }

    /// Runs it in this process, by what this project has itself. Ranks other than 0 have no answer.
    ///
    /// # Errors
    /// What went wrong, in words.
    fn run(&self) -> Result<Option<Self::Answer>, String>;

    /// As one argument of a command.
    fn to_arg(&self) -> String {
        serde_json::to_string(self).expect("a cell is plain data")
    }

    /// Reads what [`Cell::to_arg`] wrote.
    ///
    /// # Errors
    /// If the text is not such a cell, or one that cannot be run.
    fn from_arg(text: &str) -> Result<Self, String> {
        let cell: Self = serde_json::from_str(text).map_err(|error| format!("not a cell: {error}"))?;
        cell.check().map(|()| cell)
    }
}

/// The verb of the `foregather` command that runs cells of one kind.
pub fn own_verb<C: Cell>() -> String {
    format!("__{}", C::VERB)
}

/// The whole of a child: reads the cell behind the verb, runs it, and prints its answer.
///
/// # Errors
/// What went wrong, in words.
pub fn answer<C: Cell>(args: &[String]) -> Result<(), String> {
    let cell = C::from_arg(args.first().ok_or("a cell is missing")?)?;
    if let Some(answer) = cell.run()? {
        println!("{}", serde_json::to_string(&answer).map_err(|error| error.to_string())?);
    }
    Ok(())
}
