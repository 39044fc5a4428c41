//! Combines the values of all members, for every member.
use super::reduction::Reduction;
use super::{Element, Tag};
use foregather_machine::{Error, Port};

/// Combines the values of all members, place by place, and leaves the result in `values` everywhere: bit for
/// bit the same, in rank order (so `combine` need not be commutative, only associative as far as the caller
/// cares), whatever the length.
///
/// Short: recursive doubling, `log2 n c(m)`. Long: recursive halving and back,
/// `2 log2 n c(0) + 2 (n - 1)/n mG`. At most two further messages of `m` bytes unless `n` is a power of two.
///
/// # Errors
/// [`Cause::Mismatch`](foregather_machine::Cause::Mismatch) if a member gives another number of values; the
/// port's errors.
pub async fn allreduce<P: Port, T: Element>(port: &P, values: &mut [T], combine: impl Fn(T, T) -> T) -> Result<(), Error> {
    let mut work = Reduction::new(port, Tag::Allreduce, values, combine);
    if let Some(actor) = work.fold().await? {
        return work.replace_all(actor).await;
    }
    if work.is_long() {
        let windows = work.halve().await?;
        for (dimension, window) in work.cube.dimensions().zip(windows).rev() {
            work.widen(dimension, window, true).await?;
        }
    } else {
        for dimension in work.cube.dimensions() {
            work.combine(dimension, Some(work.window())).await?;
        }
    }
    match work.cube.represents() {
        Some(other) => work.give_all(other).await,
        None => Ok(()),
    }
}

/// The result of [`allreduce`] over members whose values are all here, in rank order: bit for bit the same
/// for short values, by the same tree.
///
/// # Panics
/// For no values.
pub fn combine_all<T: Copy>(values: &[T], combine: impl Fn(T, T) -> T) -> T {
    let pairs = values.len() - (1 << values.len().ilog2());
    let (paired, single) = values.split_at(2 * pairs);
    let mut places: Vec<T> = paired.chunks(2).map(|pair| combine(pair[0], pair[1])).chain(single.iter().copied()).collect();
    while places.len() > 1 {
        places = places.chunks(2).map(|pair| combine(pair[0], pair[1])).collect();
    }
    places[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_combined_in_rank_order_by_a_tree_of_the_largest_power_of_two() {
        let tree = |ranks: usize| {
            let names: Vec<String> = (0..ranks).map(|rank| rank.to_string()).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            combine_all(&names, |one, two| Box::leak(format!("({one}{two})").into_boxed_str())).to_owned()
        };
        assert_eq!([1, 2, 3, 4].map(tree), ["0", "(01)", "((01)2)", "((01)(23))"]);
        assert_eq!(tree(7), "(((01)(23))((45)6))");
    }
}
