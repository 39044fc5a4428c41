//! LU is elimination without blocks, whichever thread has which block.

use crate::common::{backends, prove};
use foregather_bench::apps::App;
use foregather_bench::apps::lu::Lu;

#[test]
fn any_number_of_ranks_and_threads_gives_the_sequential_triangles() {
    for backend in backends() {
        for (ranks, threads) in [(1, 1), (2, 1), (3, 1), (4, 1), (8, 1), (2, 2)] {
            for prefetch in [false, true] {
                let proved = prove(&Lu { prefetch, ..Lu::small() }, ranks, threads, backend);
                assert!(proved.is_ok(), "{backend:?}, {ranks} ranks of {threads} threads, prefetch {prefetch}: {proved:?}");
            }
        }
    }
}

#[test]
fn any_block_gives_the_same_triangles() {
    for block in [1, 3, 12, 48] {
        let proved = prove(&Lu { order: 48, block, ..Lu::small() }, 3, 1, backends()[0]);
        assert!(proved.is_ok(), "blocks of {block}: {proved:?}");
    }
}

#[test]
fn an_order_that_is_no_multiple_of_the_block_is_refused() {
    let refused = std::panic::catch_unwind(|| prove(&Lu { order: 100, ..Lu::small() }, 1, 1, backends()[0]));
    assert!(refused.is_err());
}

/// The result of one thread alone: all blocks, row by row of blocks.
fn alone(lu: &Lu) -> Vec<f64> {
    let (matrix, n, blocks) = (lu.sequential(), lu.block, lu.order / lu.block);
    let mut output = Vec::new();
    for (row, column) in (0..blocks * blocks).map(|nth| (nth / blocks, nth % blocks)) {
        for line in row * n..(row + 1) * n {
            output.extend_from_slice(&matrix[line * lu.order + column * n..][..n]);
        }
    }
    output
}

#[test]
fn each_oracle_refuses_what_is_wrong_for_it() {
    let lu = Lu::small();
    let right = alone(&lu);
    assert!(lu.validate(std::slice::from_ref(&right)).is_ok());
    let spoilt = |change: fn(f64) -> f64| {
        let mut output = right.clone();
        let at = 5 * 16 * 16 + 7;
        output[at] = change(output[at]);
        lu.validate(&[output]).unwrap_err()
    };
    assert!(spoilt(|x| x + 1.0).contains("all ones"));
    assert!(spoilt(|_| f64::NAN).contains("all ones"));
    assert!(spoilt(|x| x * (1.0 + 1e-6)).contains("|A - LU|"));
    assert!(spoilt(|x| f64::from_bits(x.to_bits() ^ 1)).contains("row 0, column 87"));
    assert!(lu.validate(&[right[16 * 16..].to_vec()]).unwrap_err().contains("did not give"));
}

#[test]
fn a_block_that_was_not_reduced_is_refused() {
    let lu = Lu::small();
    let mut output = alone(&lu);
    let (first, second) = output.split_at_mut(63 * 16 * 16);
    second.copy_from_slice(&first[..16 * 16]);
    assert!(lu.validate(&[output]).is_err());
}
