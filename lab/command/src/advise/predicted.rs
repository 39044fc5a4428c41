//! The program under other settings, simulated from what was seen of its teams.
//!
//! The recorded run is simulated first. If the simulation misses its time, nothing is predicted. What
//! `--check` measures later is kept by model, and widens the ranges of that model's predictions.
use super::teams::{is_disturbed, is_exact, recorded_work};
use crate::cli::Advise;
use crate::exec;
use foregather_bench::prices;
use foregather_host::kept::{self, Numbers};
use foregather_host::watched::page;
use foregather_host::{affinity, clock, costs, interrupt};
use foregather_machine::{Costs, Nanos};
use foregather_measure::counterfactual::{
    MOST_OVERHEAD, PeerModel, RecordedWork, SimulatedMachine, SimulatedTime, StartSetting, TeamWork, ValidModels, look_ns,
    simulate,
};
use foregather_watch::{Observation, Rounding, cures};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A prediction that is off by more than that is wrong.
const NEAR: f64 = 1.5;
/// No prediction is said to be better than that.
const LEAST_FACTOR: f64 = 1.1;
/// A cure is worth naming if it takes no more than this part of the time, or as long and this part of the
/// processor time.
const FASTER: f64 = 0.9;
const SAVES: f64 = 0.85;
/// All predictions of a program together take no longer: they come between its end and the advice.
const BUDGET: Nanos = Nanos::from_ms(4_000);
/// A simulation of the recorded run that is off by less is good enough, and is looked for this many times.
const WELL_FITTED: f64 = 1.04;
const FITTING_STEPS: usize = 6;
/// A spin of this length takes no processor time that counts.
const HARDLY: Nanos = Nanos::from_us(50);
/// A program that uses this part of a processor is busy.
const BUSY: f64 = 0.25;
/// The file of what predictions missed by, in thousandths, by model.
const KEPT: (&str, &str) = ("predictions", "foregather.predictions/1");
const NEAR_THOUSANDTHS: [u64; 2] = [1_000, 1_500];

/// The machine that a program was seen on, as far as predictions need it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SeenMachine {
    /// Processors on which it could start.
    cpus: u32,
    costs_ns: [u64; 6],
    look_ns: f64,
    /// What reading the clock costs, which the preload library does.
    clock_ns: f64,
}

impl SeenMachine {
    /// This machine. Its costs are measured if they are not kept, within the usual range: other programs
    /// may run.
    pub(super) fn here() -> Self {
        let cpus = affinity::allowed().len() as u32;
        let kept = costs::load().ok().flatten().map(|kept| kept.costs);
        let measured = || prices::measure().map_or(Costs::TYPICAL, |(_, costs)| costs);
        let [least, most] = Costs::USUAL.map(|costs| costs.to_array());
        let costs = kept.unwrap_or_else(|| {
            let measured = measured().to_array();
            Costs::from_array(core::array::from_fn(|at| measured[at].clamp(least[at], most[at])))
        });
        Self { cpus, costs_ns: costs.to_array().map(|cost| cost.0), look_ns: look_ns(), clock_ns: clock_ns() }
    }

    /// Returns whether a machine can have such numbers.
    pub(super) fn is_possible(&self) -> bool {
        let costs = self.costs_ns.iter().all(|cost| (1..=100_000_000).contains(cost));
        costs
            && (1..=16_384).contains(&self.cpus)
            && [self.look_ns, self.clock_ns].iter().all(|ns| (0.01..=100_000.0).contains(ns))
    }
}

/// What a reading of the clock of records costs: the least of a few tries.
fn clock_ns() -> f64 {
    const READINGS: u32 = 500;
    let once = |_| {
        let began = page::now();
        for _ in 0..READINGS {
            core::hint::black_box(page::now());
        }
        (page::now() - began).0
    };
    ((0..5).map(once).min().unwrap_or(0) as f64 / f64::from(READINGS)).max(1.0)
}

/// A way to start the program, and how long it would take then.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PredictedVariant {
    pub(super) command: Option<String>,
    pub(super) threads: u32,
    pub(super) runtime: &'static str,
    pub(super) rounding: Rounding,
    /// Seconds: the prediction, and the ends of its range.
    pub(super) predicted_s: f64,
    pub(super) least_s: f64,
    pub(super) most_s: f64,
    /// Seconds of processor time.
    pub(super) cpu_s: f64,
    /// Whether it is the way in which the program ran.
    pub(super) is_recorded: bool,
    /// The settings before the command, and whether it runs on this project's runtime.
    #[serde(skip)]
    pub(super) settings: String,
    #[serde(skip)]
    pub(super) own_runtime: bool,
}

/// All ways that were simulated.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Predictions {
    /// How long the program was watched, in seconds.
    pub(super) recorded_s: f64,
    /// The fastest first; empty if nothing is predicted.
    #[serde(rename = "ways")]
    pub(super) variants: Vec<PredictedVariant>,
    /// Why nothing, or not everything, is predicted, and which ranges are wide because earlier predictions
    /// were wrong.
    pub(super) notes: Vec<String>,
    /// Whether a way that takes as long and less processor time is a cure, too.
    #[serde(skip)]
    wants_savings: bool,
}

impl Predictions {
    /// The best way and the best way of the other class of rounding, as far as they pay.
    pub(super) fn advice(&self) -> Vec<&PredictedVariant> {
        let Some(recorded) = self.variants.iter().find(|variant| variant.is_recorded) else { return Vec::new() };
        let pays = |variant: &&PredictedVariant| {
            let is_faster = variant.predicted_s <= recorded.predicted_s * FASTER;
            let saves = self.wants_savings
                && variant.predicted_s <= recorded.predicted_s * 1.02
                && variant.cpu_s <= recorded.cpu_s * SAVES;
            // A longer spin than usual depends on what else runs: it is in the table, and no advice.
            let is_usual = variant.runtime != PeerModel::LibgompActive.name();
            !variant.is_recorded && is_usual && variant.command.is_some() && (is_faster || saves)
        };
        let mut found: Vec<&PredictedVariant> = Vec::new();
        for variant in self.variants.iter().filter(pays) {
            if found.iter().all(|known| known.rounding != variant.rounding) {
                found.push(variant);
            }
        }
        found
    }

    /// Returns whether ways were simulated, and none of them helps.
    pub(super) fn refutes(&self) -> bool {
        self.variants.len() > 1 && self.advice().is_empty()
    }

    /// That of a command.
    pub(super) fn of(&self, command: &str) -> Option<&PredictedVariant> {
        self.variants.iter().find(|variant| variant.command.as_deref() == Some(command))
    }
}

/// What `options` want to know of the program: under its own circumstances, or on another machine.
pub(super) fn predict(options: &Advise, seen: &Observation, machine: &SeenMachine, wants_savings: bool) -> Predictions {
    predict_by(&ValidModels::load(), options, seen, machine, wants_savings)
}

fn predict_by(
    valid: &ValidModels,
    options: &Advise,
    seen: &Observation,
    machine: &SeenMachine,
    wants_savings: bool,
) -> Predictions {
    let recorded_s = seen.lasted().as_secs();
    let found = recorded_work(seen, machine.clock_ns).and_then(|work| variants(options, seen, (machine, valid), work));
    match found {
        Ok((mut variants, notes)) => {
            variants.sort_by(|a, b| (a.predicted_s, a.cpu_s).partial_cmp(&(b.predicted_s, b.cpu_s)).expect("times are numbers"));
            Predictions { recorded_s, variants, notes, wants_savings }
        }
        Err(why) => Predictions { recorded_s, variants: Vec::new(), notes: vec![why], wants_savings },
    }
}

fn variants(
    options: &Advise,
    seen: &Observation,
    (machine, valid): (&SeenMachine, &ValidModels),
    mut work: RecordedWork,
) -> Result<(Vec<PredictedVariant>, Vec<String>), String> {
    let model = runtime_model(seen).ok_or("how the program's runtime waits is not modelled")?;
    if !valid.allow(model, work.is_under_load()) {
        return Err(not_validated(model, &work));
    }
    let mut simulated = SimulatedMachine {
        cpus: seen.allowed().len().max(1) as u32,
        known_cpus: if seen.command.is_some() { machine.cpus } else { seen.allowed().len() as u32 },
        quota: seen.quota,
        costs: Costs::from_array(machine.costs_ns.map(Nanos)),
        look_ns: machine.look_ns,
    };
    let as_recorded = StartSetting { threads: None, model };
    let end = clock::now() + BUDGET;
    let may_go_on = || !interrupt::requested() && clock::now() < end;
    let base = fitted(seen, &mut work, &simulated, &as_recorded, &may_go_on)?;
    let missed = factor(seen.lasted(), base.wall[0]);
    let (mut variants, mut notes) = (Vec::new(), Vec::new());
    let is_missed = missed > NEAR;
    if is_missed {
        let both = format!("{:.2} s for the run of {:.2} s", base.wall[0].as_secs(), seen.lasted().as_secs());
        // Work that threads have read does not depend on how well spins are simulated.
        if !is_exact(seen) || options.on.is_some() || options.quota.is_some() {
            return Err(format!("the simulation gives {both}, so it lacks what decides here"));
        }
        notes.push(format!("the simulation gives {both}, so only ways that do not spin are predicted"));
        let time =
            SimulatedTime { wall: [seen.lasted(); 3], cpu: work.teams.iter().fold(Nanos::ZERO, |sum, team| sum + team.ran) };
        variants.push(variant_of(seen, &work, &as_recorded, &as_recorded, time, 1.0));
    }
    if options.on.is_some() || options.quota.is_some() {
        let cpus = options.on.unwrap_or(simulated.cpus);
        simulated = SimulatedMachine { cpus, known_cpus: cpus, quota: options.quota, ..simulated };
    }
    let factor = if is_missed { NEAR } else { missed };
    let kept = kept::load(KEPT.0, KEPT.1).unwrap_or_default();
    for (name, _) in kept.iter().filter(|(_, off)| off.newest() > NEAR_THOUSANDTHS[1]) {
        notes.push(format!(
            "the last prediction for {name} was off by a factor of {:.1}, so its ranges are wide",
            kept[name].newest() as f64 / 1e3
        ));
    }
    for setting in settings(&work, &simulated, model, seen) {
        if is_missed && (setting == as_recorded || spins(&work, &simulated, &setting)) {
            continue;
        }
        let variant = format!("{} with {} threads", setting.model.name(), threads_of(&work, &setting));
        if !valid.allow(setting.model, work.is_under_load()) {
            let why = not_validated(setting.model, &work);
            if !notes.contains(&why) {
                notes.push(why);
            }
            continue;
        }
        if is_refuted(&kept, setting.model) && setting != as_recorded {
            notes.push(format!("{variant}: the last predictions of this model were wrong"));
            continue;
        }
        match simulate(&work, &simulated, &setting, &may_go_on) {
            Ok(time) => variants.push(variant_of(
                seen,
                &work,
                &as_recorded,
                &setting,
                time,
                factor.max(kept_factor(&kept, setting.model)),
            )),
            Err(why) => notes.push(format!("{variant}: {why}")),
        }
    }
    Ok((variants, notes))
}

fn not_validated(model: PeerModel, work: &RecordedWork) -> String {
    let when = if work.is_under_load() { " under load" } else { "" };
    format!("the model of {} is not validated here{when}", model.name())
}

/// Simulates the run as it was. What it lacks is what regions cost besides work and waits. On a busy machine
/// looks do not tell work from spins exactly. Unless threads have read their work themselves, it is fitted
/// there, for a policy that hardly spins, and under a quota or background load: to the part with which the
/// simulation takes as long as the run did.
fn fitted(
    seen: &Observation,
    work: &mut RecordedWork,
    machine: &SimulatedMachine,
    setting: &StartSetting,
    may_go_on: &dyn Fn() -> bool,
) -> Result<SimulatedTime, String> {
    let base = simulate(work, machine, setting, may_go_on)?;
    let lacks = seen.lasted() - base.wall[0];
    if is_disturbed(seen) && !is_exact(seen) {
        let spins = spins(work, machine, setting);
        let is_shared = machine.quota.is_some() || work.others.iter().any(|(used, _)| *used >= BUSY);
        return if spins && !is_shared { Ok(base) } else { scaled(seen, work, machine, setting, base, may_go_on) };
    }
    if lacks == Nanos::ZERO {
        return Ok(base);
    }
    for team in &mut work.teams {
        team.overhead = Nanos(lacks.0 / team.regions.max(1)).min(MOST_OVERHEAD);
    }
    simulate(work, machine, setting, may_go_on)
}

/// Returns whether threads wait for each other by spins that count.
fn spins(work: &RecordedWork, machine: &SimulatedMachine, setting: &StartSetting) -> bool {
    setting.threads != Some(1) && work.teams.iter().any(|team| team.spins(work, machine, setting, HARDLY))
}

/// Parts as long as needed, by bisection. A recording is not wrong by more than a factor of two.
fn scaled(
    seen: &Observation,
    work: &mut RecordedWork,
    machine: &SimulatedMachine,
    setting: &StartSetting,
    mut best: SimulatedTime,
    may_go_on: &dyn Fn() -> bool,
) -> Result<SimulatedTime, String> {
    let most = work.teams.iter().map(TeamWork::most_scale).fold(1.0, f64::max);
    let (mut low, mut high, mut found) = (0.5, most, 1.0);
    for _ in 0..FITTING_STEPS {
        if factor(seen.lasted(), best.wall[0]) < WELL_FITTED {
            break;
        }
        let by = f64::midpoint(low, high);
        let time = simulate(&work.scaled(by), machine, setting, may_go_on)?;
        if time.wall[0] < seen.lasted() {
            low = by
        } else {
            high = by
        }
        if factor(seen.lasted(), time.wall[0]) < factor(seen.lasted(), best.wall[0]) {
            (best, found) = (time, by);
        }
    }
    *work = work.scaled(found);
    Ok(best)
}

/// The ways to start the program that are worth a look.
fn settings(work: &RecordedWork, machine: &SimulatedMachine, model: PeerModel, seen: &Observation) -> Vec<StartSetting> {
    let models: &[PeerModel] = match model {
        PeerModel::Libgomp | PeerModel::LibgompActive | PeerModel::LibgompPassive => {
            &[PeerModel::Libgomp, PeerModel::LibgompActive, PeerModel::LibgompPassive, PeerModel::Own]
        }
        PeerModel::Libomp | PeerModel::LibompPassive => &[PeerModel::Libomp, PeerModel::LibompPassive],
        _ => &[model],
    };
    let whole = machine.quota.map_or(machine.cpus, |quota| (quota.floor() as u32).clamp(1, machine.cpus));
    let now = work.teams.iter().map(|team| team.parts.len() as u32).max().unwrap_or(1);
    let mut counts = vec![None, Some(1), Some(2), Some(whole), Some(machine.cpus), Some(machine.cpus.div_ceil(2))];
    // Fewer threads than recorded need no more memory and no other input.
    counts.retain(|count| count.is_none_or(|count| count != now && (count < now || !seen.sizes_regions())));
    counts.sort_unstable();
    counts.dedup();
    counts.iter().flat_map(|&threads| models.iter().map(move |&model| StartSetting { threads, model })).collect()
}

fn threads_of(work: &RecordedWork, setting: &StartSetting) -> u32 {
    let recorded = work.teams.iter().map(|team| team.parts.len() as u32).max().unwrap_or(1);
    setting.threads.unwrap_or(recorded)
}

fn variant_of(
    seen: &Observation,
    work: &RecordedWork,
    as_recorded: &StartSetting,
    setting: &StartSetting,
    time: SimulatedTime,
    factor: f64,
) -> PredictedVariant {
    let mut words: Vec<String> = setting.threads.map(|threads| cures::openmp_size(seen, threads)).into_iter().collect();
    let is_own = setting.model == PeerModel::Own && as_recorded.model != PeerModel::Own;
    if setting.model != as_recorded.model && !is_own {
        // What is usual has to be said if something else was set.
        let usual = |model| if model == PeerModel::Libgomp { "-u OMP_WAIT_POLICY" } else { "-u KMP_BLOCKTIME" };
        let setting = setting.model.setting();
        words.insert(0, if setting.is_empty() { format!("env {}", usual(as_recorded.model)) } else { setting.to_owned() });
    }
    let exec = if is_own { own_runtime() } else { Some(String::new()) };
    let words = words.join(" ");
    let command = exec.and_then(|exec| cures::before(seen, format!("{words} {exec}").trim()));
    let same = setting.threads.is_none() && !is_own;
    let [median, least, most] = time.wall.map(Nanos::as_secs);
    let factor = factor.max(LEAST_FACTOR);
    PredictedVariant {
        command,
        threads: threads_of(work, setting),
        runtime: setting.model.name(),
        rounding: if same { Rounding::SameBits } else { Rounding::MayChange },
        predicted_s: median,
        least_s: least / factor,
        most_s: most * factor,
        cpu_s: time.cpu.as_secs(),
        is_recorded: setting == as_recorded,
        settings: words,
        own_runtime: is_own,
    }
}

/// This project's runtime before a program, if it is installed.
pub(super) fn own_runtime() -> Option<String> {
    let here = std::env::current_exe().ok()?;
    exec::places::find(here.parent().unwrap_or(Path::new("/")), exec::OPENMP)?;
    Some(super::command_line(&[here.into_os_string(), "--quiet".into(), "exec".into(), "--".into()]))
}

/// How the runtime of the program waits, by its settings.
fn runtime_model(seen: &Observation) -> Option<PeerModel> {
    let settings = seen.settings();
    let set = |name: &str| settings.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_ascii_lowercase());
    let policy = set("OMP_WAIT_POLICY");
    if seen.uses("foregather") {
        return Some(PeerModel::Own);
    }
    if seen.uses("libgomp") {
        return match (set("GOMP_SPINCOUNT"), policy.as_deref()) {
            (Some(count), _) if count == "0" => Some(PeerModel::LibgompPassive),
            (Some(_), _) => None,
            (None, Some("active")) => Some(PeerModel::LibgompActive),
            (None, Some("passive")) => Some(PeerModel::LibgompPassive),
            (None, _) => Some(PeerModel::Libgomp),
        };
    }
    let is_libomp = seen.uses("libomp") || seen.uses("libiomp5");
    let blocks = set("KMP_BLOCKTIME").is_some_and(|time| time == "0") || policy.as_deref() == Some("passive");
    is_libomp.then_some(if blocks { PeerModel::LibompPassive } else { PeerModel::Libomp })
}

fn factor(one: Nanos, other: Nanos) -> f64 {
    let ratio = one.0.max(1) as f64 / other.0.max(1) as f64;
    ratio.max(1.0 / ratio)
}

/// By how much this model's predictions were off lately.
fn kept_factor(kept: &Numbers, model: PeerModel) -> f64 {
    kept.get(model.name()).map_or(1.0, |kept| kept.newest() as f64 / 1_000.0).clamp(1.0, 5.0)
}

/// Returns whether the last predictions of a model were all wrong.
fn is_refuted(kept: &Numbers, model: PeerModel) -> bool {
    kept.get(model.name()).is_some_and(|kept| kept.value(NEAR_THOUSANDTHS) > NEAR_THOUSANDTHS[1])
}

/// Keeps by how much a prediction was off, for later ranges. Where nothing can be kept, ranges stay as they
/// are.
pub(super) fn keep(variant: &PredictedVariant, measured_s: f64) {
    let mut kept = kept::load(KEPT.0, KEPT.1).unwrap_or_default();
    let off = (measured_s / variant.predicted_s).max(variant.predicted_s / measured_s);
    kept.entry(variant.runtime.to_owned()).or_default().add((off.min(1_000.0) * 1_000.0) as u64);
    let _ = kept::store(KEPT.0, KEPT.1, &kept);
}

#[cfg(test)]
mod tests {
    use super::super::teams::tests::spinning;
    use super::*;

    const MACHINE: SeenMachine =
        SeenMachine { cpus: 2, costs_ns: [1_100, 19_000, 11_000, 670, 240, 4_000_000], look_ns: 15.0, clock_ns: 30.0 };

    fn of(options: &Advise, wants_savings: bool) -> Predictions {
        predict_by(&all_valid(), options, &spinning(), &MACHINE, wants_savings)
    }

    fn all_valid() -> ValidModels {
        let mut valid = ValidModels::default();
        PeerModel::ALL.iter().for_each(|&model| [false, true].iter().for_each(|&load| valid.add(model, load, true)));
        valid
    }

    #[test]
    fn a_model_that_is_not_valid_here_predicts_nothing() {
        let mut valid = all_valid();
        valid.add(PeerModel::LibgompPassive, false, false);
        let by = |valid: &ValidModels| predict_by(valid, &Advise::default(), &spinning(), &MACHINE, true);
        let found = by(&valid);
        assert_eq!(found.notes, ["the model of libgomp passive is not validated here"]);
        assert!(found.variants.len() > 1 && found.variants.iter().all(|way| way.runtime != "libgomp passive"), "{found:?}");
        valid.add(PeerModel::LibgompActive, false, false);
        let found = by(&valid);
        assert_eq!(found.notes, ["the model of libgomp active is not validated here"]);
        assert!(found.variants.is_empty(), "{found:?}");
    }

    #[test]
    fn a_sleeping_worker_is_predicted_to_take_as_long_and_less_processor_time() {
        let found = of(&Advise::default(), true);
        assert_eq!((found.recorded_s, &found.notes[..]), (1.0, &[][..]));
        let recorded = found.variants.iter().find(|variant| variant.is_recorded).unwrap();
        assert_eq!((recorded.runtime, recorded.threads, recorded.rounding), ("libgomp active", 2, Rounding::SameBits));
        assert!((0.95..1.05).contains(&recorded.predicted_s) && recorded.cpu_s > 1.8, "{recorded:?}");
        let advice = found.advice();
        assert_eq!(advice[0].command.as_deref(), Some("OMP_WAIT_POLICY=passive ./sum 3"), "{found:?}");
        assert!((0.95..1.1).contains(&advice[0].predicted_s) && advice[0].cpu_s < 1.7, "{advice:?}");
        assert!(advice[0].least_s < advice[0].predicted_s && advice[0].most_s > advice[0].predicted_s);
        assert!(of(&Advise::default(), false).refutes(), "none takes less time");
    }

    #[test]
    fn a_machine_with_a_quota_is_slower_and_spins_cost_time_there() {
        let asked = Advise { on: Some(2), quota: Some(1.0), ..Advise::default() };
        let found = of(&asked, false);
        let of =
            |runtime: &str| found.variants.iter().find(|variant| variant.runtime == runtime && variant.threads == 2).unwrap();
        assert!(of("libgomp active").predicted_s > 1.8 && of("libgomp passive").predicted_s < 1.8, "{found:?}");
    }

    #[test]
    fn a_run_that_the_simulation_misses_is_notes() {
        let seen = Observation { ran_for: Some(Nanos::from_ms(1_700)), ..spinning() };
        let found = predict_by(&all_valid(), &Advise::default(), &seen, &MACHINE, false);
        assert!(found.variants.is_empty() && found.notes[0].starts_with("the simulation gives 1.0"), "{found:?}");
        let strange = SeenMachine { cpus: 0, ..MACHINE };
        assert!(MACHINE.is_possible() && !strange.is_possible());
    }

    #[test]
    fn the_last_wrong_predictions_of_a_model_end_its_use() {
        let mut kept = Numbers::new();
        let add = |kept: &mut Numbers, off: u64| kept.entry("libgomp".to_owned()).or_default().add(off);
        add(&mut kept, 2_000);
        assert!(!is_refuted(&kept, PeerModel::Libgomp) && kept_factor(&kept, PeerModel::Libgomp) == 2.0);
        (0..2).for_each(|_| add(&mut kept, 2_500));
        assert!(is_refuted(&kept, PeerModel::Libgomp) && !is_refuted(&kept, PeerModel::LibgompPassive));
        add(&mut kept, 1_100);
        assert!(!is_refuted(&kept, PeerModel::Libgomp));
    }
}
