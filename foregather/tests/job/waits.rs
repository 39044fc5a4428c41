//! Ranks that wait for each other.
use crate::bounded;
use foregather::engine::{Cause, Error};
use foregather::job;

const LARGE: usize = 8 << 20;

#[test]
fn ranks_that_all_send_first_do_not_wait_for_each_other() {
    for (ranks, bytes) in [(2, LARGE), (3, LARGE), (3, 64 << 10), (3, (64 << 10) + 1), (2, 0)] {
        let got = bounded(move || {
            job(ranks, |me| {
                let (to, from) = ((me.rank() + 1) % me.size(), (me.rank() + me.size() - 1) % me.size());
                me.send(to, &vec![me.rank() as u8; bytes])?;
                let got = me.receive_vec::<u8>(from)?;
                Ok(got == vec![from as u8; bytes])
            })
        });
        assert_eq!(got, Ok(vec![true; ranks as usize]), "{ranks} ranks, {bytes} bytes");
    }
}

#[test]
fn both_ways_at_once() {
    for bytes in [1, 64 << 10, LARGE] {
        let got = bounded(move || {
            job(3, |me| {
                let (peer, mut into) = ((3 - me.rank()) % 3, vec![9; bytes]);
                let came = me.exchange(peer, &vec![me.rank() as u8; bytes], &mut into)?;
                Ok(came == bytes && into == vec![peer as u8; bytes])
            })
        });
        assert_eq!(got, Ok(vec![true; 3]), "{bytes} bytes");
    }
}

#[test]
fn a_rank_may_send_to_itself() {
    let got = bounded(|| {
        job(2, |me| {
            me.send(me.rank(), &[7_u32; 4])?;
            me.send(me.rank(), &vec![5_u64; 100_000])?;
            let few: Vec<u32> = me.receive_vec(me.rank())?;
            let many: Vec<u64> = me.receive_vec(me.rank())?;
            Ok(few == [7; 4] && many == vec![5; 100_000])
        })
    });
    println!("{got:?}");
}
