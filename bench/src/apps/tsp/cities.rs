//! Instances: those of TSPLIB (Reinelt 1991) with their published optima, and random ones.
use super::ascent::{PARTS, tolls};
use super::held_karp::held_karp;
use foregather_machine::SplitMix;

/// Cities, and the distances between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cities {
    name: String,
    count: usize,
    /// From city to city, row by row; symmetric.
    distances: Vec<u32>,
    /// For each city, the others, the nearest one first.
    near: Vec<Vec<u32>>,
    optimum: Option<u32>,
}

impl Cities {
    /// The most cities that a tour has room for.
    pub const MOST: usize = 32;

    /// An instance of TSPLIB: burma14, ulysses16, gr17, gr21, ulysses22.
    pub fn published(name: &str) -> Option<Self> {
        Some(match name {
            "burma14" => Self::new(name, 14, Some(3_323), geographical(&BURMA)),
            "ulysses16" => Self::new(name, 16, Some(6_859), geographical(&ULYSSES[..16])),
            "gr17" => Self::new(name, 17, Some(2_085), below_diagonal(&GR17)),
            "gr21" => Self::new(name, 21, Some(2_707), below_diagonal(&GR21)),
            "ulysses22" => Self::new(name, 22, Some(7_013), geographical(&ULYSSES)),
            _ => return None,
        })
    }

    /// `count` cities strewn over a square of 1000 x 1000.
    ///
    /// # Panics
    /// For fewer than 2 or more than [`Cities::MOST`].
    pub fn random(count: usize, seed: u64) -> Self {
        let mut random = SplitMix(seed);
        let places: Vec<[f64; 2]> = (0..count).map(|_| [0, 1].map(|_| random.below(1_000) as f64)).collect();
        let distance = |a: usize, b: usize| {
            let [x, y] = [0, 1].map(|axis| places[a][axis] - places[b][axis]);
            (x * x + y * y).sqrt().round() as u32
        };
        Self::new(&format!("random{count}-{seed}"), count, None, distance)
    }

    /// `distance` is asked with the greater number first.
    fn new(name: &str, count: usize, optimum: Option<u32>, distance: impl Fn(usize, usize) -> u32) -> Self {
        assert!((2..=Self::MOST).contains(&count), "{count} cities: 2 to {} have a tour here", Self::MOST);
        let between = |a: usize, b: usize| if a == b { 0 } else { distance(a.max(b), a.min(b)) };
        let distances: Vec<u32> = (0..count * count).map(|at| between(at / count, at % count)).collect();
        let near = |city: usize| {
            let mut others: Vec<u32> = (0..count as u32).filter(|&other| other as usize != city).collect();
            others.sort_by_key(|&other| distances[city * count + other as usize]);
            others
        };
        Self { name: name.to_owned(), count, near: (0..count).map(near).collect(), distances, optimum }
    }

    /// These cities in parts of a unit, with tolls that bring bounds closer to tours; and the tolls: a tour
    /// pays twice their sum.
    pub(super) fn with_tolls(&self, steps: u32) -> (Self, Vec<u32>) {
        let tolls = tolls(self, steps);
        let distance = |a: usize, b: usize| PARTS * self.distance(a, b) + tolls[a] + tolls[b];
        (Self::new(&self.name, self.count, None, distance), tolls)
    }

    /// The instance's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of cities.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The distance between two cities.
    #[inline]
    pub fn distance(&self, from: usize, to: usize) -> u32 {
        self.distances[from * self.count + to]
    }

    /// The other cities, the nearest one first.
    pub(super) fn near(&self, city: usize) -> &[u32] {
        &self.near[city]
    }

    /// The length of a shortest tour, and its source.
    pub fn optimum(&self) -> (u32, &'static str) {
        self.optimum.map_or_else(|| (held_karp(self), "found by dynamic programming"), |length| (length, "published by TSPLIB"))
    }
}

/// TSPLIB's GEO: places in degrees and minutes on a sphere, distances in km.
fn geographical(places: &[(f64, f64)]) -> impl Fn(usize, usize) -> u32 {
    // TSPLIB's own value, on which its optima rest.
    #[expect(clippy::approx_constant)]
    const PI: f64 = 3.141_592;
    const RADIUS_KM: f64 = 6_378.388;
    let radians = |x: f64| PI * (x.trunc() + 5.0 * x.fract() / 3.0) / 180.0;
    let places: Vec<(f64, f64)> = places.iter().map(|&(north, east)| (radians(north), radians(east))).collect();
    move |a, b| {
        let ((north_a, east_a), (north_b, east_b)) = (places[a], places[b]);
        let (east, less, more) = ((east_a - east_b).cos(), (north_a - north_b).cos(), (north_a + north_b).cos());
        (RADIUS_KM * (0.5 * ((1.0 + east) * less - (1.0 - east) * more)).acos() + 1.0) as u32
    }
}

/// The rows of a matrix below its diagonal, one after the other.
fn below_diagonal(rows: &'static [u32]) -> impl Fn(usize, usize) -> u32 {
    |greater, less| rows[greater * (greater - 1) / 2 + less]
}

/// burma14: degrees and minutes, north and east.
#[rustfmt::skip]
const BURMA: [(f64, f64); 14] = [
    (16.47, 96.10), (16.47, 94.44), (20.09, 92.54), (22.39, 93.37), (25.23, 97.24), (22.00, 96.05), (20.47, 97.02),
    (17.20, 96.29), (16.30, 97.38), (14.05, 98.12), (16.53, 97.38), (21.52, 95.59), (19.41, 97.13), (20.09, 94.55),
];

/// ulysses22; its first 16 are ulysses16.
#[rustfmt::skip]
const ULYSSES: [(f64, f64); 22] = [
    (38.24, 20.42), (39.57, 26.15), (40.56, 25.32), (36.26, 23.12), (33.48, 10.54), (37.56, 12.19), (38.42, 13.11), (37.52, 20.44),
    (41.23, 9.10), (41.17, 13.05), (36.08, -5.21), (38.47, 15.13), (38.15, 15.35), (37.51, 15.17), (35.49, 14.32), (39.36, 19.56),
    (38.09, 24.36), (36.09, 23.00), (40.44, 13.57), (40.33, 14.15), (40.37, 14.23), (37.57, 22.56),
];

/// gr17, below the diagonal.
#[rustfmt::skip]
const GR17: [u32; 136] = [
    633,
    257, 390,
    91, 661, 228,
    412, 227, 169, 383,
    150, 488, 112, 120, 267,
    80, 572, 196, 77, 351, 63,
    134, 530, 154, 105, 309, 34, 29,
    259, 555, 372, 175, 338, 264, 232, 249,
    505, 289, 262, 476, 196, 360, 444, 402, 495,
    353, 282, 110, 324, 61, 208, 292, 250, 352, 154,
    324, 638, 437, 240, 421, 329, 297, 314, 95, 578, 435,
    70, 567, 191, 27, 346, 83, 47, 68, 189, 439, 287, 254,
    211, 466, 74, 182, 243, 105, 150, 108, 326, 336, 184, 391, 145,
    268, 420, 53, 239, 199, 123, 207, 165, 383, 240, 140, 448, 202, 57,
    246, 745, 472, 237, 528, 364, 332, 349, 202, 685, 542, 157, 289, 426, 483,
    121, 518, 142, 84, 297, 35, 29, 36, 236, 390, 238, 301, 55, 96, 153, 336,
];

/// gr21, below the diagonal.
#[rustfmt::skip]
const GR21: [u32; 210] = [
    510,
    635, 355,
    91, 415, 605,
    385, 585, 390, 350,
    155, 475, 495, 120, 240,
    110, 480, 570, 78, 320, 96,
    130, 500, 540, 97, 285, 36, 29,
    490, 605, 295, 460, 120, 350, 425, 390,
    370, 320, 700, 280, 590, 365, 350, 370, 625,
    155, 380, 640, 63, 430, 200, 160, 175, 535, 240,
    68, 440, 575, 27, 320, 91, 48, 67, 430, 300, 90,
    610, 360, 705, 520, 835, 605, 590, 610, 865, 250, 480, 545,
    655, 235, 585, 555, 750, 615, 625, 645, 775, 285, 515, 585, 190,
    480, 81, 435, 380, 575, 440, 455, 465, 600, 245, 345, 415, 295, 170,
    265, 480, 420, 235, 125, 125, 200, 165, 230, 475, 310, 205, 715, 650, 475,
    255, 440, 755, 235, 650, 370, 320, 350, 680, 150, 175, 265, 400, 435, 385, 485,
    450, 270, 625, 345, 660, 430, 420, 440, 690, 77, 310, 380, 180, 215, 190, 545, 225,
    170, 445, 750, 160, 495, 265, 220, 240, 600, 235, 125, 170, 485, 525, 405, 375, 87, 315,
    240, 290, 590, 140, 480, 255, 205, 220, 515, 150, 100, 170, 390, 425, 255, 395, 205, 220, 155,
    380, 140, 495, 280, 480, 340, 350, 370, 505, 185, 240, 310, 345, 280, 105, 380, 280, 165, 305, 150,
];
