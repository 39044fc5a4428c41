//! WATER on shared memory equals the sequential one, obeys the laws of conservation, and its oracle refuses
//! wrong results.

use crate::common::{backends, prove};
use foregather_bench::apps::App;
use foregather_bench::apps::water::{Energy, Part, Water};
use foregather_dsm::memory::{lanes, run};
use foregather_machine::Address;
use foregather_shm::{SegmentSpec, ShmFabric};
use foregather_thread::Thread;

/// The fewest molecules with neighbours all around.
const FEW: Water = Water { molecules: 27, steps: 2, ..Water::small() };

#[test]
fn any_number_of_ranks_finds_what_the_sequential_program_finds() {
    for backend in backends() {
        for (ranks, threads) in [(1, 1), (2, 1), (3, 1), (4, 1), (8, 1), (2, 2)] {
            let proved = prove(&Water::small(), ranks, threads, backend);
            assert!(proved.is_ok(), "{backend:?}, {ranks} ranks of {threads} threads: {proved:?}");
        }
    }
}

#[test]
fn a_single_thread_adds_in_the_same_order_and_finds_the_same_bits() {
    for backend in backends() {
        let proved = prove(&FEW, 1, 1, backend).unwrap();
        assert!(proved.contains("within 0.0e0 of"), "{proved}");
    }
}

#[test]
fn a_minipage_may_be_several_molecules() {
    for backend in backends() {
        for chunk in [2, 4, 8, 27] {
            prove(&Water { chunk, ..FEW }, 2, 1, backend).unwrap();
        }
    }
}

#[test]
fn more_threads_than_molecules_do_no_harm() {
    let eight = Water { molecules: 8, ..FEW };
    prove(&eight, 5, 2, backends()[0]).unwrap();
}

/// How far the total energy strays in 4 fs, when all derivatives are known, in parts of the kinetic one.
fn strayed(step_fs: f64) -> f64 {
    let steps = |time_fs: f64| (time_fs / step_fs) as usize;
    let water = Water { steps: steps(6.0) as u32, step_fs, ..FEW };
    let known = &water.sequential().energies[steps(2.0)..];
    known.iter().map(|energy| (energy.total() - known[0].total()).abs() / energy.kinetic).fold(0.0, f64::max)
}

#[test]
fn the_shorter_the_step_the_better_is_energy_conserved() {
    let (long, short) = (strayed(0.2), strayed(0.1));
    assert!(long < 1e-6 && short < long / 32.0, "{long} of the kinetic energy, and {short} with steps of a half");
}

#[test]
fn energy_passes_from_one_form_to_another() {
    let water = Water { steps: 20, ..FEW };
    let energies = water.sequential().energies;
    let changed = |of: fn(&Energy) -> f64| (of(&energies[20]) - of(&energies[0])).abs() / energies[0].kinetic;
    let all = [changed(|energy| energy.kinetic), changed(|energy| energy.within), changed(|energy| energy.between)];
    assert!(all.iter().all(|&part| part > 0.01), "{all:?} of the kinetic energy");
}

#[test]
fn a_step_that_is_too_long_is_refused() {
    let hasty = Water { step_fs: 3.0, ..Water::small() };
    let verdict = hasty.validate(&[hasty.sequential()]).unwrap_err();
    assert!(verdict.contains("the total energy strays"), "{verdict}");
}

/// The oracle's verdict on a spoilt result.
fn verdict(spoil: impl FnOnce(&mut Part)) -> String {
    let mut part = FEW.sequential();
    assert!(FEW.validate(std::slice::from_ref(&part)).is_ok());
    spoil(&mut part);
    FEW.validate(&[part]).unwrap_err()
}

#[test]
fn a_wrong_result_is_refused() {
    let says = |verdict: String, what: &str| assert!(verdict.contains(what), "{verdict}");
    says(verdict(|part| part.molecules[3][4] += 1e-6), "the position of molecule 3 is off");
    says(verdict(|part| part.molecules[26][9] *= 1.001), "the velocity of molecule 26 is off");
    says(verdict(|part| part.molecules[5][63] = 0.0), "the force of molecule 5 is off");
    says(verdict(|part| part.molecules[0][20] = f64::NAN), "the acceleration of molecule 0 is off");
    says(verdict(|part| part.energies[2].between *= 1.000_001), "the energies after step 2 are off");
    says(verdict(|part| part.molecules.truncate(26)), "26 molecules in place of 27");
    says(verdict(|part| part.energies.truncate(2)), "energies of 2 moments of 3");
    says(verdict(|part| part.first = 1), "begins at molecule 1 in place of 0");
}

#[test]
fn molecules_that_fill_no_cube_are_refused_by_name() {
    let exchange = ShmFabric::between_threads(SegmentSpec::new(1, lanes(1))).unwrap();
    let lane = |lane| exchange.lane(Thread::current(), Address { rank: 0, lane }).unwrap();
    let water = Water { molecules: 500, ..FEW };
    let all = (0..lanes(1)).map(lane).collect();
    let ended = run(all, water.settings(), |layout| water.layout(layout), |thread, shared| water.run(thread, shared));
    let error = ended.unwrap_err().to_string();
    assert!(error.contains("the number of molecules") && error.contains("cube"), "{error}");
}
