//! How well the models of other projects' waits predict: regions in twelve drawn situations, simulated as
//! `advise` simulates a recorded program, then measured.
//!
//! What a region costs besides work and waits is measured once for each model, on an otherwise idle machine,
//! as `advise` takes it from a recording. All else comes from the machine's prices.
use super::KIND;
use crate::Measured;
use crate::barriers::predict::modes::Modes;
use crate::barriers::predict::team::PredictedTeam;
use crate::barriers::predict::{self, LOADS, Prediction};
use crate::barriers::rows::draw;
use crate::calibration::Calibration;
use crate::counterfactual::{MOST_OVERHEAD, PeerModel, TeamWork, ValidModels, look_ns, validity_name};
use crate::matrix::{BackgroundOfRow, CellLoop, TurnOrder};
use crate::options::Teams;
use crate::peers::CellRunner;
use crate::team_rows::{mean_us, typical};
use anyhow::{Result, ensure};
use foregather_bench::teams::TeamCell;
use foregather_bench::{CellResult, Work, prices};
use foregather_host::{affinity, clock, interrupt};
use foregather_machine::{Costs, Nanos};
use foregather_results::ids::PREDICTION_LIMIT;
use foregather_results::load::WorkDistribution;
use foregather_results::number::digits;
use foregather_results::progress::ProgressMeter;
use foregather_results::row::Row;
use foregather_results::{Measurement, NoiseMeter, TrustLevel};

/// Situations of each model on the idle machine, and under load; and how many of each may be missed.
const SITUATIONS: usize = 12;
const MISSES: usize = 1;
/// The median factor of a model that may be used.
const MEDIAN_LIMIT: f64 = 1.25;
/// Starts of a cell, and its milliseconds.
const USUAL: (u32, u64) = (8, 60);
/// Shorter bodies than this are not drawn: there, a region's fixed costs are all that is measured.
const LEAST_US: u32 = 10;
/// The situation in which the fixed costs are measured.
const FIXED_COSTS: Row = Row::free(2, 20).shaped(WorkDistribution::Constant);
/// The ids of verdicts begin with it.
const VERDICT: &str = "prediction-summary/model/";

/// Each model, and the runner that waits like this.
const MODELS: [(PeerModel, &str); 9] = [
    (PeerModel::Libgomp, "gomp"),
    (PeerModel::LibgompActive, "gomp-active"),
    (PeerModel::LibgompPassive, "gomp-passive"),
    (PeerModel::Libomp, "omp"),
    (PeerModel::LibompPassive, "omp-passive"),
    (PeerModel::OpenBlas, "openblas"),
    (PeerModel::PthreadBarrier, "pthread"),
    (PeerModel::Rayon, "rayon-install"),
    (PeerModel::Own, "team"),
];

/// A model with what runs it, and what a region costs besides work and waits.
struct Modelled {
    model: PeerModel,
    runner: CellRunner,
    overhead: Nanos,
}

/// What all simulations share.
struct Simulator {
    costs: Costs,
    look_ns: f64,
    likeness: Calibration,
    cpus: u32,
    span: Nanos,
}

impl Simulator {
    /// Microseconds a region of some starts.
    fn times_us(&self, modelled: (PeerModel, Nanos), row: &Row, starts: u64) -> Result<Vec<f64>> {
        let (model, overhead) = modelled;
        let policy = model.policy(row.threads > self.cpus, self.look_ns, &self.costs);
        let work = TeamWork {
            process: 1,
            regions: 1,
            barriers: 1,
            gap: Nanos::ZERO,
            parts: vec![Nanos::from_us(row.grain_us.into()); row.threads as usize],
            spread: Nanos::ZERO,
            asleep: Nanos::ZERO,
            overhead,
            ran: Nanos::ZERO,
        };
        let job = work.job(row.threads, model, policy, self.cpus);
        let times_us = PredictedTeam { row, job, cpus: self.cpus, span: self.span }.simulate(&self.likeness, starts)?;
        Ok(times_us.iter().map(|us| us * f64::from(work.meetings(model))).collect())
    }
}

/// Draws situations, predicts them by each model whose runtime is here, and measures them.
///
/// # Errors
/// If the peers' program does not answer, or prices cannot be measured.
pub(super) fn run(options: &Teams, quiet: bool) -> Result<Measured> {
    let meter = NoiseMeter::start();
    let seed = options.predict.flatten().unwrap_or_else(clock::unix_seconds);
    let (starts, ms) = (options.matrix.repetitions.unwrap_or(USUAL.0), options.matrix.ms.unwrap_or(USUAL.1));
    let mut notes = Vec::new();
    let cpus = affinity::allowed().len() as u32;
    let wanted = |row: &Row| row.can_be_simulated() && row.shape == WorkDistribution::Constant && row.grain_us >= LEAST_US;
    // One of three drawn rows has no load.
    let drawn = draw(seed, SITUATIONS * 3, cpus, wanted);
    let (loaded, idle): (Vec<Row>, Vec<Row>) = drawn.into_iter().partition(|row| row.hogs > 0);
    let rows: Vec<Row> = [idle, loaded].into_iter().flat_map(|rows| rows.into_iter().take(SITUATIONS)).collect();
    let (_, costs) = prices::measure()?;
    let simulator =
        Simulator { costs, look_ns: look_ns(), likeness: Calibration::with_preemption(&costs)?, cpus, span: Nanos::from_ms(ms) };
    let modelled = modelled(options, &simulator, &mut notes)?;
    notes.push(format!(
        "{SITUATIONS} situations on the idle machine and {SITUATIONS} under load were drawn by seed {seed}: `--predict {seed}` draws \
         them again"
    ));
    let predictions = predictions(&simulator, &modelled, &rows, (starts, quiet))?;
    let mut matrix = CellLoop::new("teams --predict", rows.len() * modelled.len(), starts, TurnOrder::Random(seed), quiet);
    let mut found = Vec::new();
    for row in &rows {
        let beside = BackgroundOfRow { hogs: row.hogs, background: row.background, ..BackgroundOfRow::default() };
        let name = |of: &Modelled| format!("{}: {}", row.name(), of.model.name());
        let cells = matrix.row(beside, &modelled, name, |of, _| of.runner.run(&cell(of, row, ms)))?;
        for (of, runs) in modelled.iter().zip(cells) {
            let times_us: Vec<f64> = runs.results.iter().map(mean_us).collect();
            let prediction = predictions.iter().find(|known| known.is(row, of.model.name()));
            found.extend(prediction.and_then(|prediction| prediction.against_times(&times_us)));
        }
    }
    let verdicts: Vec<Measurement> = modelled
        .iter()
        .flat_map(|of| [false, true].map(|under_load| verdict((of.model, under_load), &found)))
        .flatten()
        .collect();
    if meter.stop(&[]).verdict == TrustLevel::Quiet && !interrupt::requested() {
        keep(&modelled, &verdicts);
    } else {
        notes.push("verdicts are not kept for `advise`: other programs used the processors".to_owned());
    }
    matrix.found.measurements.extend(found);
    matrix.found.measurements.extend(verdicts);
    matrix.found.notes.splice(0..0, notes);
    matrix.end()
}

/// The models whose runtimes are here, with their fixed costs.
fn modelled(options: &Teams, simulator: &Simulator, notes: &mut Vec<String>) -> Result<Vec<Modelled>> {
    let all = MODELS.map(|(_, runner)| runner).join(",");
    let runners = KIND.runners(None, notes)?;
    let wanted = options.matrix.runners.as_deref().unwrap_or(&all);
    let mut found = Vec::new();
    for runner in runners {
        let Some(&(model, _)) = MODELS.iter().find(|(_, name)| *name == runner.name) else { continue };
        if !wanted.split(',').any(|name| name.trim() == runner.name) {
            continue;
        }
        let ms = simulator.span.0 / 1_000_000;
        let mut of = Modelled { model, runner, overhead: Nanos::ZERO };
        let cells: Vec<CellResult> =
            (0..3).filter_map(|_| of.runner.run(&cell(&of, &FIXED_COSTS, ms)).transpose()).collect::<Result<_>>()?;
        let simulated = Modes::of(&simulator.times_us((model, Nanos::ZERO), &FIXED_COSTS, 3)?);
        if let (Some(measured_us), Some(simulated)) = (typical(&cells, mean_us), simulated) {
            let lacks_us = (measured_us - simulated.fast_us).max(0.0);
            of.overhead = Nanos((lacks_us * 1e3) as u64).min(MOST_OVERHEAD);
        }
        found.push(of);
    }
    ensure!(!found.is_empty(), "no runtime of --runners has a model; there are {all}");
    Ok(found)
}

fn cell(of: &Modelled, row: &Row, ms: u64) -> TeamCell {
    let (body_ns, span_ns) = (u64::from(row.grain_us) * 1_000, ms * 1_000_000);
    let iterations_per_us = Work::iterations_per_us();
    TeamCell { runner: of.runner.name.clone(), threads: row.threads, body_ns, span_ns, settle_ns: 0, iterations_per_us }
}

fn predictions<'a>(
    simulator: &Simulator,
    modelled: &[Modelled],
    rows: &'a [Row],
    (starts, quiet): (u32, bool),
) -> Result<Vec<Prediction<'a>>> {
    let mut progress = ProgressMeter::new("predict", rows.len() * modelled.len(), quiet);
    let mut found = Vec::new();
    for (row, of) in rows.iter().flat_map(|row| modelled.iter().map(move |of| (row, of))) {
        progress.step(&format!("{}: {}", row.name(), of.model.name()));
        if interrupt::requested() {
            break;
        }
        found.extend(Prediction::of(row, of.model.name(), simulator.times_us((of.model, of.overhead), row, starts.into())?));
    }
    Ok(found)
}

/// Whether a model may be used on an idle machine, or under load, by its predictions.
fn verdict((model, under_load): (PeerModel, bool), predictions: &[Measurement]) -> Option<Measurement> {
    let is_mine = |m: &&Measurement| m.text("waiter") == model.name() && (m.text("load") != LOADS[0]) == under_load;
    let mine = || predictions.iter().filter(is_mine);
    let factors: Vec<f64> = mine().filter_map(|m| m.figures.get("factor").copied()).collect();
    let within = mine().filter(|m| m.number("within") == 1.0).count();
    let what = "measured and predicted time per region differ by this factor";
    let all = Measurement::from_values(format!("{VERDICT}{}", validity_name(model, under_load)), what, "factor", factors);
    let is_valid = all.summary.n as usize >= SITUATIONS && within + MISSES >= SITUATIONS && all.median() <= MEDIAN_LIMIT;
    (all.summary.n > 0).then(|| {
        all.label("name", validity_name(model, under_load))
            .figure("within", within as f64)
            .figure("valid", f64::from(u8::from(is_valid)))
    })
}

/// Keeps verdicts for `advise` on this machine.
fn keep(modelled: &[Modelled], verdicts: &[Measurement]) {
    let mut valid = ValidModels::load();
    for (of, under_load) in modelled.iter().flat_map(|of| [(of, false), (of, true)]) {
        let name = validity_name(of.model, under_load);
        if let Some(verdict) = verdicts.iter().find(|m| m.text("name") == name) {
            valid.add(of.model, under_load, verdict.number("valid") == 1.0);
        }
    }
    valid.store();
}

/// A line for each prediction, then the verdict on each model.
pub(super) fn text(all: &[Measurement]) -> String {
    let line = |m: &Measurement| {
        format!(
            "{}: {} of {} within a factor of {PREDICTION_LIMIT}, median {}: {}\n",
            m.text("name"),
            digits(m.number("within"), 3),
            m.summary.n,
            digits(m.median(), 3),
            if m.number("valid") == 1.0 { "valid here" } else { "not valid here" }
        )
    };
    let verdicts = all.iter().filter(|m| m.id.starts_with(VERDICT)).map(line).collect::<String>();
    let rows: Vec<Measurement> = all.iter().filter(|m| !m.id.starts_with(VERDICT)).cloned().collect();
    predict::text(&rows) + &verdicts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::tests::LIKENESS;

    fn prediction(factor: f64) -> Measurement {
        let m = Measurement::from_values("prediction/a/libgomp", "", "us", vec![1.0]).label("waiter", "libgomp");
        m.label("load", LOADS[0]).figure("factor", factor).figure("within", f64::from(u8::from(factor <= PREDICTION_LIMIT)))
    }

    #[test]
    fn a_model_is_valid_if_it_misses_one_of_twelve_and_half_are_near() {
        let verdict_of = |factors: &[f64]| {
            let all: Vec<Measurement> = factors.iter().map(|&factor| prediction(factor)).collect();
            verdict((PeerModel::Libgomp, false), &all).map(|m| m.number("valid"))
        };
        let with = |misses: usize, factor: f64| [vec![9.0; misses], vec![factor; SITUATIONS - misses]].concat();
        assert_eq!([with(0, 1.25), with(1, 1.1)].map(|all| verdict_of(&all)), [Some(1.0); 2]);
        assert_eq!([with(2, 1.1), with(0, 1.3), vec![1.0; 11]].map(|all| verdict_of(&all)), [Some(0.0); 3]);
        assert_eq!((verdict_of(&[]), verdict((PeerModel::Libgomp, true), &[prediction(1.0)])), (None, None));
        let text = text(&[prediction(1.2), verdict((PeerModel::Libgomp, false), &[prediction(1.2)]).unwrap()]);
        assert!(text.ends_with("libgomp: 1 of 1 within a factor of 1.5, median 1.2: not valid here\n"), "{text}");
    }

    #[test]
    fn a_region_is_simulated_with_its_fixed_costs_and_by_its_model() {
        let simulator = Simulator { costs: Costs::TYPICAL, look_ns: 15.0, likeness: LIKENESS, cpus: 2, span: Nanos::from_ms(20) };
        let us = |model, overhead, row: &str| {
            let row = Row::parse(row).unwrap();
            Modes::of(&simulator.times_us((model, overhead), &row, 3).unwrap()).unwrap().fast_us
        };
        let pair = "2t constant, 20 us";
        let [bare, costly] = [Nanos::ZERO, Nanos::from_us(3)].map(|overhead| us(PeerModel::Libgomp, overhead, pair));
        assert!((20.0..21.0).contains(&bare) && (costly - bare - 3.0).abs() < 0.3, "{bare} {costly}");
        assert!(us(PeerModel::LibgompPassive, Nanos::ZERO, pair) > bare + 10.0, "it wakes its workers");
        let crowd = "6t constant, 20 us";
        let [barriers, join] = [PeerModel::PthreadBarrier, PeerModel::OpenBlas].map(|model| us(model, Nanos::ZERO, crowd));
        assert!(join > 60.0 && join < barriers, "{join} {barriers}");
    }
}
