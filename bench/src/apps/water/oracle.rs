//! Checks a result of WATER: it must equal the sequential program's, and obey the laws of conservation.
use super::{Energy, FORCE, MASS, Molecule, Nine, Part, VALUES, VELOCITY, Water, dot, nine};

/// How far a result may be from the sequential one, in parts of the greatest of its kind: only the order of
/// sums differs.
const CLOSE: f64 = 1e-9;
/// How far the total energy may stray from its first value, in parts of the kinetic one: at the paper's step
/// about 1e-3, almost all of it in the first steps, which lack the third derivatives.
const DRIFT: f64 = 2e-3;

impl Water {
    /// The sequential program: one thread that has all molecules, and no other memory than its own.
    pub fn sequential(&self) -> Part {
        let mut molecules = self.start();
        let mut energies = Vec::new();
        for step in 0..=self.steps {
            let within = molecules.iter_mut().map(|molecule| self.open(molecule, step)).sum();
            let places: Vec<Nine> = molecules.iter().map(|molecule| nine(molecule, 0)).collect();
            let mut forces = vec![[0.0; 9]; molecules.len()];
            let between = self.between(&places, 0..molecules.len(), &mut forces);
            let mut energy = Energy { kinetic: 0.0, within, between };
            for (molecule, force) in molecules.iter_mut().zip(&forces) {
                (0..9).for_each(|c| molecule[FORCE + c] += force[c]);
                let [kinetic, moved] = self.close(molecule, step);
                energy.kinetic += kinetic;
                energy.between += moved;
            }
            energies.push(energy);
        }
        Part { first: 0, molecules, energies }
    }

    /// Returns what was checked, or the mistake found.
    pub(super) fn judge(&self, outputs: &[Part]) -> Result<String, String> {
        let expected = self.sequential();
        let molecules = self.gather(outputs)?;
        let worst = self.compare(&molecules, &expected.molecules)?;
        let mut strayed = 0.0_f64;
        for (number, part) in outputs.iter().enumerate() {
            if part.energies.len() != expected.energies.len() {
                return Err(format!(
                    "thread {number} has energies of {} moments of {}",
                    part.energies.len(),
                    expected.energies.len()
                ));
            }
            for (step, (found, right)) in part.energies.iter().zip(&expected.energies).enumerate() {
                for (part, expected) in found.parts().into_iter().zip(right.parts()) {
                    // The other parts may be zero.
                    close_to(part - expected, right.kinetic)
                        .map_err(|off| format!("the energies after step {step} are off by {off:.1e} of the kinetic one"))?;
                }
                strayed = strayed.max((found.total() - part.energies[0].total()).abs() / found.kinetic);
            }
        }
        if strayed > DRIFT {
            return Err(format!("the total energy strays by {strayed:.1e} of the kinetic one: make the step shorter"));
        }
        let still = rest(&molecules).map_err(|whole| format!("the whole moves, by {whole:.1e} of what its atoms do"))?;
        Ok(format!(
            "{} molecules are within {worst:.1e} of the sequential program's; the total energy strays by {strayed:.1e} of the kinetic one; \
             the momentum of all is {still:.1e} of the sum of each",
            self.molecules
        ))
    }

    /// All molecules in order.
    fn gather(&self, outputs: &[Part]) -> Result<Vec<Molecule>, String> {
        let mut molecules = Vec::new();
        for (number, part) in outputs.iter().enumerate() {
            if part.first != molecules.len() {
                return Err(format!("thread {number} begins at molecule {} in place of {}", part.first, molecules.len()));
            }
            molecules.extend_from_slice(&part.molecules);
        }
        let (found, wanted) = (molecules.len(), self.molecules as usize);
        if found == wanted { Ok(molecules) } else { Err(format!("{found} molecules in place of {wanted}")) }
    }

    /// How far molecules are from expected ones, at most, in parts of the greatest number of each kind; too
    /// far is an error.
    fn compare(&self, molecules: &[Molecule], expected: &[Molecule]) -> Result<f64, String> {
        const KINDS: [&str; VALUES + 1] =
            ["position", "velocity", "acceleration", "3rd", "4th", "5th", "6th derivative", "force"];
        let (edge, mut worst) = (self.box_angstrom(), 0.0_f64);
        for (kind, name) in KINDS.iter().enumerate() {
            let words = 9 * kind..9 * (kind + 1);
            let greatest =
                expected.iter().flat_map(|molecule| &molecule[words.clone()]).fold(0.0_f64, |most, value| most.max(value.abs()));
            for (number, (found, right)) in molecules.iter().zip(expected).enumerate() {
                for at in words.clone() {
                    let off = found[at] - right[at];
                    // A molecule at a face of the box may have been put back, or not.
                    let off = if kind == 0 { off - edge * (off / edge).round() } else { off };
                    worst = close_to(off, greatest)
                        .map_err(|off| format!("the {name} of molecule {number} is off by {off:.1e}"))?
                        .max(worst);
                }
            }
        }
        Ok(worst)
    }
}

/// A difference in parts of the whole; an error if that is too much, or no number.
fn close_to(off: f64, whole: f64) -> Result<f64, f64> {
    let parts = if off == 0.0 { 0.0 } else { off.abs() / whole.abs() };
    if parts <= CLOSE { Ok(parts) } else { Err(parts) }
}

/// The momentum of all in parts of the sum of each atom's; an error if that is not zero.
fn rest(molecules: &[Molecule]) -> Result<f64, f64> {
    let (mut whole, mut each) = ([0.0; 3], 0.0);
    for molecule in molecules {
        for c in 0..9 {
            let momentum = MASS[c / 3] * molecule[VELOCITY + c];
            whole[c % 3] += momentum;
            each += momentum.abs();
        }
    }
    close_to(dot(whole, whole).sqrt(), each)
}
