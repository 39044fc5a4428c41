//! Distances changed so that all tours become longer by the same, and spanning trees come close to a tour
//! (Held & Karp 1970).
use super::Cities;

/// Parts of a unit of length that a city's toll is rounded to.
pub(super) const PARTS: u32 = 16;

/// The toll at each city, in parts of a unit: the best of `steps` tries, each of which raises the tolls of
/// cities where many edges of a shortest tree meet, and lowers those of its leaves.
pub(super) fn tolls(cities: &Cities, steps: u32) -> Vec<u32> {
    let count = cities.count();
    let (mut tolls, mut best) = (vec![0.0; count], (f64::MIN, vec![0.0; count]));
    let nearest = |city: usize| f64::from(cities.distance(city, cities.near(city)[0] as usize));
    let mut stride = (0..count).map(nearest).sum::<f64>() / count as f64;
    for _ in 0..steps {
        let (length, degrees) = one_tree(cities, &tolls);
        let bound = length - 2.0 * tolls.iter().sum::<f64>();
        if bound > best.0 {
            best = (bound, tolls.clone());
        }
        for (toll, degree) in tolls.iter_mut().zip(degrees) {
            *toll += stride * (f64::from(degree) - 2.0);
        }
        stride *= 0.98;
    }
    let least = best.1.iter().copied().fold(f64::MAX, f64::min);
    best.1.iter().map(|toll| ((toll - least) * f64::from(PARTS)).round() as u32).collect()
}

/// A shortest tree on all cities but city 0, and the two shortest edges from there to it: its length, and the
/// degree of each city.
fn one_tree(cities: &Cities, tolls: &[f64]) -> (f64, Vec<u32>) {
    let count = cities.count();
    let length = |from: usize, to: usize| f64::from(cities.distance(from, to)) + tolls[from] + tolls[to];
    let (mut total, mut degrees) = (0.0, vec![0; count]);
    // By city, the nearest one in the tree so far.
    let mut nearest: Vec<usize> = vec![1; count];
    let mut left: Vec<usize> = (2..count).collect();
    let closer = |of: &[usize], nearest: &[usize]| {
        (0..of.len()).min_by(|&a, &b| length(of[a], nearest[of[a]]).total_cmp(&length(of[b], nearest[of[b]])))
    };
    while let Some(at) = closer(&left, &nearest) {
        let city = left.swap_remove(at);
        total += length(city, nearest[city]);
        degrees[city] += 1;
        degrees[nearest[city]] += 1;
        for &other in &left {
            if length(other, city) < length(other, nearest[other]) {
                nearest[other] = city;
            }
        }
    }
    let mut home: Vec<usize> = (1..count).collect();
    home.sort_by(|&a, &b| length(0, a).total_cmp(&length(0, b)));
    for &city in home.iter().cycle().take(2) {
        total += length(0, city);
        degrees[city] += 1;
        degrees[0] += 1;
    }
    (total, degrees)
}
