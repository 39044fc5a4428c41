//! Four ranks fill a table by rows and count the values in one histogram. Ranks are threads. Under a launcher
//! they are processes, on one host or several, and still share the memory:
//!
//! `foregather run -n 4 histogram`
//!
//! `cargo add foregather --features shared`
use foregather::{Error, shared};

const HEIGHT: usize = 64;
const WIDTH: usize = 256;

fn main() -> Result<(), Error> {
    shared(4, |me| {
        let table = me.rows::<u32>(HEIGHT, WIDTH)?;
        let bins = me.locked::<[u64; 8]>()?;
        for y in me.share(HEIGHT) {
            table.update(y, |row| row.iter_mut().enumerate().for_each(|(x, cell)| *cell = (x * y) as u32 % 8));
        }
        me.barrier()?;
        // Each rank counts rows that another rank has written.
        let (mut counts, mut row) = ([0; 8], [0; WIDTH]);
        for y in me.share(HEIGHT) {
            table.read(HEIGHT - 1 - y, &mut row);
            row.iter().for_each(|&cell| counts[cell as usize] += 1);
        }
        bins.with(|bins| bins.iter_mut().zip(counts).for_each(|(bin, count)| *bin += count))?;
        me.barrier()?;
        if me.rank() == 0 {
            let bins = bins.get()?;
            assert_eq!(bins.iter().sum::<u64>(), (HEIGHT * WIDTH) as u64);
            println!("{bins:?}");
        }
        Ok(())
    })?;
    Ok(())
}
