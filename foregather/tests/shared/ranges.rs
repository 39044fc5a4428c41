//! Elements that are out of bounds.
use crate::bounded::bounded;
use crate::panics::panic_of;
use foregather::shared;

#[test]
fn indexes_out_of_range_panic_with_both_numbers() {
    bounded(|| {
        shared(1, |me| {
            let (array, rows) = (me.array::<u32>(10)?, me.rows::<u32>(3, 4)?);
            let mut into = [0; 5];
            let max = usize::MAX;
            for (said, wanted) in [
                (panic_of(|| array.get(10)), "there is no element 10 of 10".to_owned()),
                (panic_of(|| array.set(max, 1)), format!("there is no element {max} of 10")),
                (panic_of(|| array.read(6, &mut [0; 5])), "there are no 5 elements from 6 on, of 10".to_owned()),
                (panic_of(|| array.write(max, &[1; 2])), format!("there are no 2 elements from {max} on, of 10")),
                (panic_of(|| rows.get(3, 0)), "there is no row 3 of 3".to_owned()),
                (panic_of(|| rows.set(0, 4, 1)), "there is no column 4 of 4".to_owned()),
                (panic_of(|| rows.read(2, &mut into)), "5 elements are more than a row of 4".to_owned()),
                (panic_of(|| rows.write(max, &[1])), format!("there is no row {max} of 3")),
                (panic_of(|| rows.update(4, |_| ())), "there is no row 4 of 3".to_owned()),
            ] {
                assert_eq!(said, wanted);
            }
            array.read(10, &mut []);
            array.write(5, &[1, 2, 3, 4, 5]);
            array.read(5, &mut into);
            assert_eq!((into, array.len(), rows.rows(), rows.columns()), ([1, 2, 3, 4, 5], 10, 3, 4));
            rows.write(2, &[8]);
            rows.read(2, &mut into[..2]);
            assert_eq!(into[..2], [8, 0]);
            Ok(())
        })
    })
    .unwrap();
}
