//! The length of a shortest tour by dynamic programming over sets of cities (Held & Karp 1962; Bellman 1962):
//! no branch and no bound, so it can judge those.
use super::Cities;

/// The length of a shortest tour. Takes `2^n n` words and `2^n n^2` steps.
///
/// # Panics
/// For more than 24 cities.
pub(super) fn held_karp(cities: &Cities) -> u32 {
    let others = cities.count() - 1;
    assert!(others < 24, "{} cities: 24 at most", cities.count());
    let home = others;
    // By set and last city: the shortest way from home through all of the set that ends there.
    let mut shortest = vec![u32::MAX; others << others];
    for city in 0..others {
        shortest[(others << city) + city] = cities.distance(home, city);
    }
    for set in 1_usize..1 << others {
        for last in (0..others).filter(|last| set >> last & 1 == 1) {
            let so_far = shortest[set * others + last];
            for next in (0..others).filter(|next| set >> next & 1 == 0) {
                let further = &mut shortest[(set | 1 << next) * others + next];
                *further = (*further).min(so_far + cities.distance(last, next));
            }
        }
    }
    let all = ((1 << others) - 1) * others;
    (0..others).map(|last| shortest[all + last] + cities.distance(last, home)).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_optima_are_found() {
        for (name, optimum) in [("burma14", 3_323), ("ulysses16", 6_859), ("gr17", 2_085)] {
            assert_eq!(held_karp(&Cities::published(name).unwrap()), optimum, "{name}");
        }
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "half a minute without optimisation")]
    fn published_optima_of_more_cities_are_found() {
        for (name, optimum) in [("gr21", 2_707), ("ulysses22", 7_013)] {
            assert_eq!(held_karp(&Cities::published(name).unwrap()), optimum, "{name}");
        }
    }

    #[test]
    fn it_agrees_with_all_orders_of_few_cities() {
        fn shortest(cities: &Cities, at: usize, left: u32, length: u32) -> u32 {
            let next = (0..cities.count()).filter(|next| left >> next & 1 == 1);
            next.map(|next| shortest(cities, next, left & !(1 << next), length + cities.distance(at, next)))
                .min()
                .unwrap_or(length + cities.distance(at, 0))
        }
        for (count, seed) in [(2, 1), (3, 2), (5, 3), (7, 4), (8, 5)] {
            let cities = Cities::random(count, seed);
            assert_eq!(held_karp(&cities), shortest(&cities, 0, (1 << count) - 2, 0), "{count} cities");
        }
    }
}
