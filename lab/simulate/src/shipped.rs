//! The plans of `plans/`, built into the program.
use super::plan::{Plan, ReadOptions};
use anyhow::{Context, Result, bail};
use foregather_host::regular;
use foregather_results::meant;
use foregather_results::table::{ResultTable, in_columns};
use std::ffi::OsStr;
use std::path::Path;

macro_rules! shipped {
    ($($name:literal),*) => {
        [$(($name, include_str!(concat!("../../../plans/", $name, ".toml")))),*]
    };
}

/// The largest file that is read as a plan.
const BYTES_MAX: u64 = 4 << 20;

/// The names and the texts of the plans.
pub const SHIPPED: [(&str, &str); 45] = shipped![
    "fig1",
    "fig2",
    "fig3",
    "fig4",
    "fig5",
    "fig6",
    "fig7",
    "fig8",
    "fig9",
    "wake",
    "collapse",
    "six",
    "homogeneous",
    "gang",
    "divisors",
    "quantum",
    "allocation",
    "baselines",
    "rules",
    "sensitivity",
    "adaptive-2002",
    "regret-2002",
    "regret-today",
    "regret-crowded",
    "regret-space",
    "eevdf-slices",
    "skewed",
    "quota-uneven",
    "ablation",
    "seidel-late-node",
    "seidel-success-as-stated",
    "seidel-success-natural",
    "seidel-success-calibrated",
    "seidel-success-skewed",
    "seidel-success-sizes",
    "seidel-shift-cost",
    "seidel-shift-32k",
    "seidel-pool",
    "arbitration",
    "barriers-modern",
    "anomalies/ollama",
    "anomalies/scikit-learn",
    "anomalies/llmman",
    "anomalies/mpi4py",
    "anomalies/postgresql"
];

/// A shipped plan by its name, or the plan in a file.
///
/// # Errors
/// If there is none, or something is wrong with it.
pub fn open(name: impl AsRef<OsStr>, ask: &ReadOptions) -> Result<Plan> {
    let path = Path::new(&name);
    // It is a name only where it is text.
    let name = &*path.to_string_lossy();
    if let Some((name, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
        return Plan::parse(&format!("plans/{name}.toml"), text, ask);
    }
    if !path.exists() && !name.contains(['.', '/']) {
        let names = SHIPPED.map(|(name, _)| name);
        let (said, listed) = (format!("no plan `{name}` is shipped, and no file has that name"), in_columns(&names));
        match meant(name, &names) {
            hint if hint.contains("did you mean") => bail!("{said}{hint}"),
            _ => bail!("{said}; there are\n{listed}"),
        }
    }
    let text = regular::read_text(path, BYTES_MAX).with_context(|| format!("cannot read the plan {name}"))?;
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    Plan::parse(name, &text, &ReadOptions { folder, ..ask.clone() })
}

/// The names of the shipped plans, and what each shows.
///
/// # Errors
/// None, unless the program was built with a broken plan.
pub fn list() -> Result<ResultTable> {
    let mut table = ResultTable::new(["plan", "title"]);
    for (name, _) in SHIPPED {
        table.rows.push(vec![name.to_owned(), open(name, &ReadOptions::default())?.title().to_owned()]);
    }
    Ok(table)
}
