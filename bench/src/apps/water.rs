//! WATER: molecular dynamics of water, every molecule with half of all others (Itzkovitz & Schuster 1999 §4;
//! in the manner of WATER-nsquared, Woo et al. 1995 §3). Between two barriers every thread reads all
//! molecules, then adds to forces of others' molecules.
//!
//! Molecules bend and stretch by the SPC/Fw model (Wu, Tepper & Voth 2006, table I), whose energy between two
//! of them is switched off smoothly as their oxygens part. Gear's predictor and corrector of order 6 (Gear
//! 1971; Allen & Tildesley 1987 appendix E) moves them. Lengths are angstrom, times femtoseconds, masses amu,
//! energies kcal/mol.
mod flat;
mod oracle;

use super::App;
use core::ops::Range;
use foregather_dsm::memory::{Array, Settings, SharedAllocator, Thread};
use foregather_dsm::views::PAGE;
use foregather_machine::{Cause, Error, Fabric, SplitMix, block_on};
use foregather_message::collective::{allreduce, sum};
use serde::{Deserialize, Serialize};

/// The input.
///
/// In a step on P ranks of a thread each, every rank faults to read n/2 molecules, or those of all other
/// ranks if these are fewer, since their owners have moved them. For each that is within the cutoff of one of
/// its own it takes the lock and adds to the forces: of the paper's 512 on 8 ranks 144 at first and 160
/// later. All in all this makes 10 barriers and about 5000 locks, where the paper has 29 and 6720.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Water {
    /// The number of molecules: a cube of a whole number, from 8 on.
    pub molecules: u32,
    /// The number of steps.
    pub steps: u32,
    /// The length of a step, in femtoseconds.
    pub step_fs: f64,
    /// The distance of two oxygens, in angstrom, from which on two molecules exert no forces; at most half of
    /// the box counts.
    pub cutoff_angstrom: f64,
    /// The molecules of a minipage: the chunking level (§5).
    pub chunk: u32,
}

/// Of 3 atoms, oxygen first, 3 coordinates each: position, then its first to sixth derivative, the k-th times
/// `step^k / k!`, then the force in kcal/mol/angstrom; the rest makes it as long as the paper's, 672 bytes.
pub type Molecule = [f64; WORDS];
const WORDS: usize = 84;

/// A number for each coordinate of each atom.
type Nine = [f64; 9];
/// The places of derivatives and the force.
const VELOCITY: usize = 9;
const ACCELERATION: usize = 18;
const FORCE: usize = 63;
/// The values that the predictor uses: the position and six derivatives.
const VALUES: usize = 7;
/// How the corrector distributes the difference between computed and predicted accelerations.
const GEAR: [f64; VALUES] = [863.0 / 6048.0, 665.0 / 1008.0, 1.0, 25.0 / 36.0, 35.0 / 144.0, 1.0 / 24.0, 1.0 / 360.0];

/// Oxygen's and hydrogen's masses in amu, and their elementary charges.
const MASS: [f64; 3] = [15.9994, 1.00794, 1.00794];
const CHARGE: [f64; 3] = [-0.82, 0.41, 0.41];
/// Bonds: kcal/mol/angstrom^2, angstrom. The angle between them: kcal/mol/rad^2, degrees.
const STRETCH: f64 = 1059.162;
const BOND: f64 = 1.012;
const BEND: f64 = 75.90;
const ANGLE_DEGREES: f64 = 113.24;
/// Two oxygens by Lennard-Jones: kcal/mol, angstrom.
const DEPTH: f64 = 0.155_425_3;
const SIGMA: f64 = 3.165_492;
/// Two elementary charges at an angstrom, in kcal/mol.
const COULOMB: f64 = 332.063_71;
/// A kcal/mol in amu angstrom^2/fs^2, and Boltzmann's constant in kcal/mol/K.
const KCAL: f64 = 4.184e-4;
const BOLTZMANN: f64 = 0.001_987_204_1;
/// At the beginning: distance of neighbours (water at 997 kg/m^3; twice the paper's cutoff is four of it), in
/// angstrom, and kelvin.
const SPACING: f64 = 3.106_376;
const TEMPERATURE: f64 = 298.15;
/// From this part of the cutoff on, the energy of two molecules is switched off.
const SWITCH: f64 = 0.9;

/// The parts of the energy, in kcal/mol, of all molecules together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// The kinetic energy.
    pub kinetic: f64,
    /// The energy of bonds and angles.
    pub within: f64,
    /// The energy between molecules.
    pub between: f64,
}

impl Energy {
    /// The total energy, which is conserved.
    pub fn total(&self) -> f64 {
        self.kinetic + self.within + self.between
    }

    fn parts(&self) -> [f64; 3] {
        [self.kinetic, self.within, self.between]
    }
}

/// A thread's result: its molecules in the end, and the energies of all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The number of its first molecule.
    pub first: usize,
    /// Its molecules.
    #[serde(with = "flat")]
    pub molecules: Vec<Molecule>,
    /// At the beginning, and after each step.
    pub energies: Vec<Energy>,
}

/// What all threads share.
#[derive(Debug)]
pub struct WaterArrays {
    molecules: Array<f64>,
    /// Three words for each moment at which energies are computed.
    energies: Array<f64>,
}

impl Water {
    /// The paper's input: 512 molecules, 3 steps of 0.15 fs.
    pub const fn paper() -> Self {
        Self { molecules: 512, steps: 3, step_fs: 0.15, cutoff_angstrom: 6.212_752, chunk: 1 }
    }

    /// For a quick look: 64 molecules.
    pub const fn small() -> Self {
        Self { molecules: 64, ..Self::paper() }
    }

    /// How many molecules stand along an edge of the box at first.
    fn edge(&self) -> usize {
        (1..).find(|edge| edge * edge * edge >= self.molecules as usize).expect("cubes grow")
    }

    fn box_angstrom(&self) -> f64 {
        self.edge() as f64 * SPACING
    }

    /// The beginning: molecules in a lattice, at random velocities without total momentum.
    fn start(&self) -> Vec<Molecule> {
        let (edge, half_angle) = (self.edge(), (ANGLE_DEGREES / 2.0).to_radians());
        let mut random = SplitMix(1);
        let mut molecules = vec![[0.0; WORDS]; self.molecules as usize];
        let mut momentum = [0.0; 3];
        for (number, molecule) in molecules.iter_mut().enumerate() {
            let site = [number / (edge * edge), number / edge % edge, number % edge];
            // Columns of dipoles, every other one upside down: water in which neighbours attract each other.
            let up = if (site[0] + site[2]) % 2 == 0 { 1.0 } else { -1.0 };
            for c in 0..9 {
                molecule[c] = (site[c % 3] as f64 + 0.5) * SPACING;
                molecule[VELOCITY + c] =
                    self.step_fs * (BOLTZMANN * TEMPERATURE * KCAL / MASS[c / 3]).sqrt() * random.normal_pair().0;
                momentum[c % 3] += MASS[c / 3] * molecule[VELOCITY + c];
            }
            for (hydrogen, side) in [(3, 1.0), (6, -1.0)] {
                molecule[hydrogen] += side * BOND * half_angle.sin();
                molecule[hydrogen + 1] += up * BOND * half_angle.cos();
            }
        }
        let mass = MASS.iter().sum::<f64>() * f64::from(self.molecules);
        molecules.iter_mut().for_each(|molecule| (0..9).for_each(|c| molecule[VELOCITY + c] -= momentum[c % 3] / mass));
        molecules
    }

    /// The owner's work on a molecule before other threads read it: predicts where it will be (not at step 0,
    /// the beginning), and computes the forces within. Returns their energy.
    fn open(&self, molecule: &mut Molecule, step: u32) -> f64 {
        if step > 0 {
            for from in 0..VALUES - 1 {
                for value in (from..VALUES - 1).rev() {
                    (9 * value..9 * (value + 1)).for_each(|at| molecule[at] += molecule[at + 9]);
                }
            }
        }
        let mut force = [0.0; 9];
        let energy = within(&nine(molecule, 0), &mut force);
        molecule[FORCE..FORCE + 9].copy_from_slice(&force);
        energy
    }

    /// The owner's work on a molecule when the forces are there: corrects the prediction, and puts it back
    /// into the box. Returns the kinetic energy, and the correction's change of the potential one, to first
    /// order.
    fn close(&self, molecule: &mut Molecule, step: u32) -> [f64; 2] {
        let (mut kinetic, mut moved) = (0.0, 0.0);
        for c in 0..9 {
            let (mass, force) = (MASS[c / 3], molecule[FORCE + c]);
            let acceleration = self.step_fs * self.step_fs / 2.0 * force * KCAL / mass;
            if step == 0 {
                molecule[ACCELERATION + c] = acceleration;
            } else {
                let error = acceleration - molecule[ACCELERATION + c];
                (0..VALUES).for_each(|value| molecule[9 * value + c] += GEAR[value] * error);
                moved -= force * GEAR[0] * error;
            }
            let velocity = molecule[VELOCITY + c] / self.step_fs;
            kinetic += mass * velocity * velocity / 2.0 / KCAL;
        }
        let edge = self.box_angstrom();
        for c in 0..3 {
            let out = edge * (molecule[c] / edge).floor();
            [c, c + 3, c + 6].into_iter().for_each(|at| molecule[at] -= out);
        }
        [kinetic, moved]
    }

    /// Adds the forces between `own` molecules and those that follow each, half of all. Returns their energy.
    fn between(&self, places: &[Nine], own: Range<usize>, forces: &mut [Nine]) -> f64 {
        let (all, edge) = (places.len(), self.box_angstrom());
        let cutoff = self.cutoff_angstrom.min(edge / 2.0);
        let mut energy = 0.0;
        for one in own {
            // If their number is even, the opposite molecule is paired from one side only.
            let last = if all % 2 == 0 && one >= all / 2 { all / 2 - 1 } else { all / 2 };
            for other in (1..=last).map(|next| (one + next) % all) {
                if let Some((on_one, on_other, both)) = pair(&places[one], &places[other], edge, cutoff) {
                    (0..9).for_each(|c| forces[one][c] += on_one[c]);
                    (0..9).for_each(|c| forces[other][c] += on_other[c]);
                    energy += both;
                }
            }
        }
        energy
    }

    /// Does one step; returns this thread's part of the energy.
    fn step<F: Fabric>(&self, thread: &Thread<'_, F>, shared: &WaterArrays, step: u32) -> Result<Energy, Error> {
        let all = self.molecules as usize;
        let own = thread.share(all);
        let (mut energy, mut molecule) = (Energy::default(), [0.0; WORDS]);
        for number in own.clone() {
            shared.molecules.load_for_update(number * WORDS, &mut molecule);
            energy.within += self.open(&mut molecule, step);
            shared.molecules.store(number * WORDS, &molecule);
        }
        thread.barrier()?;
        // Its own molecules, and those they are paired with, around the end.
        let reach = if own.is_empty() { 0 } else { all.min(own.len() + all / 2) };
        let near = (own.start..own.start + reach).map(|number| number % all);
        let (mut places, mut forces) = (vec![[0.0; 9]; all], vec![[0.0; 9]; all]);
        near.clone().for_each(|number| shared.molecules.load(number * WORDS, &mut places[number]));
        energy.between = self.between(&places, own.clone(), &mut forces);
        for number in near.filter(|&number| forces[number] != [0.0; 9]) {
            thread.locked(number as u32, || {
                let mut force = [0.0; 9];
                shared.molecules.load_for_update(number * WORDS + FORCE, &mut force);
                (0..9).for_each(|c| force[c] += forces[number][c]);
                shared.molecules.store(number * WORDS + FORCE, &force);
            })?;
        }
        thread.barrier()?;
        for number in own {
            shared.molecules.load_for_update(number * WORDS, &mut molecule);
            let [kinetic, moved] = self.close(&mut molecule, step);
            shared.molecules.store(number * WORDS, &molecule);
            energy.kinetic += kinetic;
            energy.between += moved;
        }
        Ok(energy)
    }

    /// Adds up the energies of all threads: threads of equal number of all ranks by messages, their sums in
    /// shared memory.
    fn note<F: Fabric>(&self, thread: &Thread<'_, F>, shared: &WaterArrays, step: u32, energy: Energy) -> Result<(), Error> {
        let mut parts = energy.parts();
        block_on(allreduce(thread.messenger(), &mut parts, sum))?;
        if thread.rank() > 0 {
            return Ok(());
        }
        thread.locked(self.molecules, || {
            let (at, mut sums) = (3 * step as usize, [0.0; 3]);
            shared.energies.load_for_update(at, &mut sums);
            (0..3).for_each(|c| sums[c] += parts[c]);
            shared.energies.store(at, &sums);
        })
    }
}

impl App for Water {
    type Shared = WaterArrays;
    type Output = Part;

    const NAME: &'static str = "water";

    fn settings(&self) -> Settings {
        let (chunk, moments) = (self.chunk.max(1) as usize, self.steps as usize + 1);
        let (chunks, bytes) = ((self.molecules as usize).div_ceil(chunk), chunk * size_of::<Molecule>());
        let pages = if bytes <= PAGE { chunks.div_ceil(PAGE / bytes) } else { chunks * bytes.div_ceil(PAGE) };
        Settings { bytes: (pages + 2) * PAGE + moments * 24, views: 6, locks: self.molecules + 1, ..Settings::default() }
    }

    fn layout(&self, layout: &mut SharedAllocator) -> Result<WaterArrays, Error> {
        if self.molecules < 8 || self.edge().pow(3) != self.molecules as usize {
            return Err(
                Cause::Setting { what: "the number of molecules", needs: "the cube of 2 or more: 8, 27, 64, 343, 512" }.into()
            );
        }
        if !(self.step_fs > 0.0 && self.cutoff_angstrom > 0.0) {
            return Err(Cause::Setting { what: "the step or the cutoff", needs: "more than nothing" }.into());
        }
        let words = 3 * (self.steps as usize + 1);
        let molecules = layout.chunked(self.molecules as usize * WORDS, WORDS, self.chunk)?;
        Ok(WaterArrays { molecules, energies: layout.array(words, words)? })
    }

    fn run<F: Fabric>(&self, thread: &Thread<'_, F>, shared: &WaterArrays) -> Result<Part, Error> {
        let own = thread.share(self.molecules as usize);
        let start = self.start();
        own.clone().for_each(|number| shared.molecules.store(number * WORDS, &start[number]));
        for step in 0..=self.steps {
            let energy = self.step(thread, shared, step)?;
            self.note(thread, shared, step, energy)?;
            if step == 0 {
                thread.start_clock()?;
            }
        }
        thread.barrier()?;
        let mut molecules = vec![[0.0; WORDS]; own.len()];
        shared.molecules.load(own.start * WORDS, molecules.as_flattened_mut());
        let mut energies = vec![[0.0; 3]; self.steps as usize + 1];
        shared.energies.load(0, energies.as_flattened_mut());
        let energies = energies.iter().map(|&[kinetic, within, between]| Energy { kinetic, within, between }).collect();
        Ok(Part { first: own.start, molecules, energies })
    }

    fn validate(&self, outputs: &[Part]) -> Result<String, String> {
        self.judge(outputs)
    }
}

/// Nine numbers of a molecule.
fn nine(molecule: &Molecule, first: usize) -> Nine {
    core::array::from_fn(|c| molecule[first + c])
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The vector from one atom to another.
fn vector(from: &Nine, one: usize, to: &Nine, other: usize) -> [f64; 3] {
    core::array::from_fn(|c| to[3 * other + c] - from[3 * one + c])
}

/// Adds the forces of two bonds and the angle between them. Returns their energy.
fn within(place: &Nine, force: &mut Nine) -> f64 {
    let bonds = [vector(place, 0, place, 1), vector(place, 0, place, 2)];
    let lengths = bonds.map(|bond| dot(bond, bond).sqrt());
    let units = [0, 1].map(|of| bonds[of].map(|c| c / lengths[of]));
    let cosine = dot(units[0], units[1]);
    let angle = cosine.acos();
    let bent = angle - ANGLE_DEGREES.to_radians();
    let mut energy = BEND / 2.0 * bent * bent;
    for of in 0..2 {
        let long = lengths[of] - BOND;
        energy += STRETCH / 2.0 * long * long;
        let turn = BEND * bent / (angle.sin() * lengths[of]);
        for c in 0..3 {
            let pull = turn * (units[1 - of][c] - cosine * units[of][c]) - STRETCH * long * units[of][c];
            force[3 + 3 * of + c] += pull;
            force[c] -= pull;
        }
    }
    energy
}

/// The forces of two molecules on each other, by the nearest images in a box of that edge, and their energy;
/// `None` beyond the cutoff.
fn pair(one: &Nine, other: &Nine, edge: f64, cutoff: f64) -> Option<(Nine, Nine, f64)> {
    let apart = vector(one, 0, other, 0);
    let image = apart.map(|c| edge * (c / edge).round());
    let apart: [f64; 3] = core::array::from_fn(|c| apart[c] - image[c]);
    let distance = dot(apart, apart).sqrt();
    if distance >= cutoff {
        return None;
    }
    let (mut on_one, mut on_other, mut energy) = ([0.0; 9], [0.0; 9], 0.0);
    for (a, b) in (0..9).map(|both| (both / 3, both % 3)) {
        let between = vector(one, a, other, b);
        let between: [f64; 3] = core::array::from_fn(|c| between[c] - image[c]);
        let square = dot(between, between);
        let charges = COULOMB * CHARGE[a] * CHARGE[b] / square.sqrt();
        let (mut all, mut slope) = (charges, charges / square);
        if (a, b) == (0, 0) {
            let sixth = (SIGMA * SIGMA / square).powi(3);
            all += 4.0 * DEPTH * sixth * (sixth - 1.0);
            slope += 24.0 * DEPTH * sixth * (2.0 * sixth - 1.0) / square;
        }
        energy += all;
        (0..3).for_each(|c| on_other[3 * b + c] += slope * between[c]);
        (0..3).for_each(|c| on_one[3 * a + c] -= slope * between[c]);
    }
    // 1 at first and 0 at the cutoff, with two derivatives that vanish at both ends.
    let from = SWITCH * cutoff;
    let x = ((distance - from) / (cutoff - from)).max(0.0);
    let left = 1.0 - x * x * x * (10.0 - 15.0 * x + 6.0 * x * x);
    let fall = 30.0 * x * x * (1.0 - x) * (1.0 - x) / (cutoff - from);
    on_one.iter_mut().chain(&mut on_other).for_each(|force| *force *= left);
    for c in 0..3 {
        on_other[c] += energy * fall * apart[c] / distance;
        on_one[c] -= energy * fall * apart[c] / distance;
    }
    Some((on_one, on_other, energy * left))
}
