//! All orders in which a few members can arrive.

/// Every permutation of `0..n`.
pub fn permutations(n: u32) -> Vec<Vec<u32>> {
    if n == 0 {
        return vec![vec![]];
    }
    let insert = |shorter: Vec<u32>| {
        (0..n as usize).map(move |at| {
            let mut longer = shorter.clone();
            longer.insert(at, n - 1);
            longer
        })
    };
    permutations(n - 1).into_iter().flat_map(insert).collect()
}

#[cfg(test)]
mod tests {
    use super::permutations;
    use std::collections::BTreeSet;

    #[test]
    fn there_are_n_factorial_distinct_orders() {
        for (n, count) in [(0, 1), (1, 1), (2, 2), (5, 120)] {
            assert_eq!(permutations(n).into_iter().collect::<BTreeSet<_>>().len(), count);
        }
    }
}
