//! All types of values, and sums of them.
use crate::bounded::bounded;
use crate::views::behind_views;
use foregather::{Error, Shared, SharedElement, shared};

/// One rank writes in each of the ways, and all read in each of the ways.
fn travels<T: SharedElement + PartialEq + std::fmt::Debug>(me: &Shared<'_>, values: [T; 3]) -> Result<(), Error> {
    let (array, rows, locked) = (me.array::<T>(7)?, me.rows::<T>(2, 5)?, me.locked::<[T; 3]>()?);
    if me.rank() == me.size() - 1 {
        array.set(0, values[0]);
        array.write(4, &values);
        rows.set(0, 4, values[1]);
        rows.update(1, |row| row[1..4].copy_from_slice(&values));
        locked.with(|all| *all = values)?;
    }
    me.barrier()?;
    let mut read = [T::zeroed(); 5];
    array.read(4, &mut read[..3]);
    assert_eq!((array.get(0), array.get(1), &read[..3]), (values[0], T::zeroed(), &values[..]));
    rows.read(1, &mut read);
    assert_eq!((rows.get(0, 4), &read[1..4], read[4]), (values[1], &values[..], T::zeroed()));
    assert_eq!(locked.get()?, values);
    assert_eq!((array.clone().get(6), rows.clone().get(1, 3), locked.clone().get()?), (values[2], values[2], values));
    me.barrier()
}

#[test]
fn all_kinds_of_numbers_and_arrays_of_them_travel() {
    bounded(|| {
        shared(2, |me| {
            travels(me, [1_u8, 2, 255])?;
            travels(me, [1_u16, 2, u16::MAX])?;
            travels(me, [1_u32, 2, u32::MAX])?;
            travels(me, [1_u64, 2, u64::MAX])?;
            travels(me, [1_usize, 2, usize::MAX])?;
            travels(me, [-1_i8, 2, i8::MIN])?;
            travels(me, [-1_i16, 2, i16::MIN])?;
            travels(me, [-1_i32, 2, i32::MIN])?;
            travels(me, [-1_i64, 2, i64::MIN])?;
            travels(me, [-1_isize, 2, isize::MIN])?;
            travels(me, [-1.5_f32, f32::INFINITY, f32::MIN])?;
            travels(me, [-1.5_f64, f64::INFINITY, f64::MIN])?;
            travels(me, [[1_u8, 2, 3], [4, 5, 6], [7, 8, 9]])?;
            travels(me, [[[1_i16, -2], [3, 4], [5, 6]], [[0; 2]; 3], [[9; 2]; 3]])
        })
    })
    .unwrap();
}

/// Combines the values like the collective operations of ranks that send messages.
fn tree(values: &[f64]) -> f64 {
    let pairs = values.len() - (1 << values.len().ilog2());
    let mut places: Vec<f64> = values[..2 * pairs].chunks(2).map(|two| two[0] + two[1]).collect();
    places.extend(&values[2 * pairs..]);
    while places.len() > 1 {
        places = places.chunks(2).map(|two| two[0] + two[1]).collect();
    }
    places[0]
}

#[test]
fn sums_have_the_same_bits_on_every_rank_and_behind_views() {
    for ranks in 1..=7_u32 {
        let values: Vec<f64> = (0..ranks).map(|rank| 1.0 / f64::from(3 * rank + 1)).collect();
        let sums = bounded(|| shared(ranks, |me| me.sum(values[me.rank() as usize]))).unwrap();
        assert!(sums.iter().all(|sum| sum.to_bits() == tree(&values).to_bits()), "{ranks}: {sums:?}");
    }
}

#[test]
fn a_reduction_sees_values_in_rank_order_as_often_as_it_is_asked() {
    let ends = bounded(|| {
        shared(3, |me| {
            let mut last = 0;
            for turn in 0..200 {
                let first = me.reduce(me.rank() + turn, |lower, _| lower)?;
                let greatest = me.reduce(me.rank() + turn, u32::max)?;
                assert_eq!((first, greatest), (turn, turn + 2));
                last = greatest;
            }
            Ok(last)
        })
    });
    assert_eq!(ends.unwrap(), [201; 3]);
}

#[test]
fn long_values_and_large_arrays_cost_no_stack_and_no_memory_before_they_are_touched() {
    let ends = bounded(|| {
        shared(2, |me| {
            let long = me.locked::<[u64; 100_000]>()?;
            // Without userfaultfd there are few pages for views.
            let large = me.array::<u64>(if behind_views() { 1 << 20 } else { 1 << 25 })?;
            long.with(|long| long[99_999] += 1)?;
            if me.rank() == 1 {
                large.set(large.len() - 1, 5);
            }
            me.barrier()?;
            Ok((long.with(|long| long[99_999])?, large.get(large.len() - 1), large.get(77)))
        })
    });
    assert_eq!(ends.unwrap(), [(2, 5, 0); 2]);
}
