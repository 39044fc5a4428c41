//! A message goes around all ranks, and each rank adds its own number. Ranks are threads, or processes under
//! a launcher:
//!
//! `foregather run -n 4 ring`, `mpiexec -n 4 ring`, `srun -n 4 ring`
//!
//! `cargo add foregather --features job`
use foregather::{Error, job};

fn main() -> Result<(), Error> {
    let sums = job(4, |me| {
        let (next, before) = ((me.rank() + 1) % me.size(), (me.rank() + me.size() - 1) % me.size());
        let mut sum = [u64::from(me.rank())];
        if me.size() == 1 {
            return Ok(sum[0]);
        }
        if me.rank() > 0 {
            me.receive(before, &mut sum)?;
            sum[0] += u64::from(me.rank());
        }
        me.send(next, &sum)?;
        if me.rank() == 0 {
            me.receive(before, &mut sum)?;
            println!("{} ranks: {}", me.size(), sum[0]);
        }
        me.sum(u64::from(me.rank()))
    })?;
    // The sums of this process's ranks.
    println!("{sums:?}");
    Ok(())
}
