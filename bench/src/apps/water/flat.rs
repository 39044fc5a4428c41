//! Molecules as a flat list of numbers: their arrays are longer than serde supports.
use super::Molecule;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

pub(super) fn serialize<S: Serializer>(molecules: &[Molecule], to: S) -> Result<S::Ok, S::Error> {
    molecules.as_flattened().serialize(to)
}

pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Vec<Molecule>, D::Error> {
    let numbers = Vec::<f64>::deserialize(from)?;
    let (molecules, rest) = numbers.as_chunks();
    if rest.is_empty() { Ok(molecules.to_vec()) } else { Err(D::Error::custom("part of a molecule")) }
}
