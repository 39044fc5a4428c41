//! A subset of the members as a group of its own.
use crate::recorder::{Recorder, Step, program, run};
use foregather_barrier::{Algorithm, SignalCost, Subcube, butterfly, rds};
use foregather_machine::{Cause, Endpoint, Error, Member, Nanos};

#[test]
fn ranks_inside_are_the_bits_of_the_mask() {
    for (rank, mask, inside, members) in [
        (0b1101, 0b0101, 0b11, vec![0b1000, 0b1001, 0b1100, 0b1101]),
        (0b0010, 0b1010, 0b01, vec![0b0000, 0b0010, 0b1000, 0b1010]),
        (0b0110, 0, 0, vec![0b0110]),
        (0b0110, 0b1111, 0b0110, (0..16).collect()),
    ] {
        let end = Recorder::new(rank, 16);
        let cube = Subcube::new(&end, mask, 0).unwrap();
        assert_eq!((cube.rank(), cube.size() as usize), (inside, members.len()));
        let outside: Vec<_> = (0..cube.size()).map(|peer| cube.to_parent_rank(peer).unwrap()).collect();
        assert_eq!(outside, members);
    }
}

#[test]
fn rds_counts_only_the_bits_that_differ() {
    for rank in 0..32_u32 {
        let end = Recorder::new(rank, 32);
        run(rds(&Subcube::new(&end, 0b10110, 0).unwrap(), SignalCost::IPSC860)).unwrap();
        assert_eq!(end.delayed.get(), Nanos::from_us(31) * u64::from(3 - (rank & 0b10110).count_ones()), "{rank}");
    }
}

#[test]
fn nobody_outside_is_signalled_and_slots_begin_at_the_offset() {
    for kind in Algorithm::ALL.into_iter().filter(|&kind| kind != Algorithm::Central) {
        for rank in 0..64 {
            let steps = program(rank, 64, async |end| kind.over(&Subcube::new(end, 0b011010, 10)?).await);
            for step in steps {
                let slot = match step {
                    Step::Wait(slot) => slot,
                    Step::Signal(peer, slot) => {
                        assert_eq!(peer & !0b011010, rank & !0b011010, "{kind:?}");
                        slot
                    }
                };
                assert!((10..10 + kind.slots(8)).contains(&slot), "{kind:?}: {step:?}");
            }
        }
    }
}

#[test]
fn rows_and_columns_are_what_a_grid_has() {
    let end = Recorder::new(4 * 2 + 3, 16);
    let members =
        |cube: Subcube<'_, Recorder>| (0..cube.size()).map(|peer| cube.to_parent_rank(peer).unwrap()).collect::<Vec<_>>();
    assert_eq!(members(Subcube::row(&end, 0).unwrap()), [8, 9, 10, 11]);
    assert_eq!(members(Subcube::column(&end, 0).unwrap()), [3, 7, 11, 15]);
    let alone = Recorder::new(0, 1);
    assert_eq!(members(Subcube::column(&alone, 0).unwrap()), [0]);
}

#[test]
fn what_is_no_subcube_is_refused() {
    let (cube, odd, six) = (Recorder::new(1, 16), Recorder::new(1, 8), Recorder::new(1, 6));
    let refused = |result: Result<Subcube<'_, Recorder>, Error>| match result.unwrap_err().cause() {
        Cause::Size { what, needs, .. } => format!("{what}: {needs}"),
        other => panic!("{other:?}"),
    };
    assert!(refused(Subcube::new(&cube, 16, 0)).contains("a mask of bits below its size"));
    assert!(refused(Subcube::new(&six, 1, 0)).contains("dissemination and rds"));
    assert!(refused(Subcube::row(&odd, 0)).starts_with("square grid: a power of four"));
    assert!(refused(Subcube::column(&six, 0)).starts_with("square grid"));
    let row = Subcube::row(&cube, 0).unwrap();
    assert_eq!(run(row.signal(4, 0)), Err(Error::from(Cause::Rank { rank: 4, size: 4 })));
    assert_eq!(cube.steps.borrow().len(), 0);
    assert_eq!(run(butterfly(&row)), Ok(()));
}
