//! Programs whose results must equal those of one thread for the same input.
use crate::bounded::bounded;
use foregather::engine::SplitMix;
use foregather::shared;

fn serial_life(field: &[Vec<u8>], turns: usize) -> Vec<Vec<u8>> {
    let mut now = field.to_vec();
    for _ in 0..turns {
        let at = |y: usize| &now[y % now.len()];
        now = (0..now.len()).map(|y| step(at(y + now.len() - 1), at(y), at(y + 1))).collect();
    }
    now
}

/// Returns the next state of a row, on a torus.
fn step(above: &[u8], row: &[u8], below: &[u8]) -> Vec<u8> {
    let width = row.len();
    let column = |x: usize| above[x % width] + row[x % width] + below[x % width];
    let next = |x: usize| match (column(x + width - 1) + column(x) + column(x + 1), row[x]) {
        (3, _) | (4, 1) => 1,
        _ => 0,
    };
    (0..width).map(next).collect()
}

#[test]
fn life_is_what_one_thread_makes_of_it() {
    let mut random = SplitMix(7);
    for ranks in (1..=4).cycle().take(12) {
        let (height, width) = (1 + random.below(23) as usize, 1 + random.below(70) as usize);
        let field: Vec<Vec<u8>> = (0..height).map(|_| (0..width).map(|_| random.below(2) as u8).collect()).collect();
        let fields = bounded(|| {
            shared(ranks, |me| {
                let (mut now, mut next) = (me.rows::<u8>(height, width)?, me.rows::<u8>(height, width)?);
                for y in me.share(height) {
                    now.write(y, &field[y]);
                }
                me.barrier()?;
                let mut around = [(); 3].map(|()| vec![0; width]);
                for _ in 0..10 {
                    for y in me.share(height) {
                        for (row, from) in around.iter_mut().zip(y + height - 1..) {
                            now.read(from % height, row);
                        }
                        next.write(y, &step(&around[0], &around[1], &around[2]));
                    }
                    me.barrier()?;
                    (now, next) = (next, now);
                }
                let row = |y| (0..width).map(|x| now.get(y, x)).collect::<Vec<u8>>();
                Ok((0..height).map(row).collect::<Vec<_>>())
            })
        });
        let expected = serial_life(&field, 10);
        assert!(fields.unwrap().into_iter().all(|field| field == expected), "{ranks} ranks, {height} x {width}");
    }
}

#[test]
fn a_histogram_misses_nothing() {
    let mut random = SplitMix(11);
    for ranks in 1..=4 {
        let values: Vec<usize> = (0..1 + random.below(3_000)).map(|_| random.below(12) as usize).collect();
        let mut expected = [0_u64; 12];
        values.iter().for_each(|&value| expected[value] += 1);
        let bins = bounded(|| {
            shared(ranks, |me| {
                let bins = me.locked::<[u64; 12]>()?;
                let counts = me.array::<u64>(12 * ranks as usize)?;
                for part in values[me.share(values.len())].chunks(50) {
                    bins.with(|bins| part.iter().for_each(|&value| bins[value] += 1))?;
                    let own = me.rank() as usize * 12;
                    part.iter().for_each(|&value| counts.set(own + value, counts.get(own + value) + 1));
                }
                me.barrier()?;
                let sum = |bin| (0..me.size() as usize).map(|rank| counts.get(rank * 12 + bin)).sum();
                Ok((bins.get()?, std::array::from_fn(sum)))
            })
        });
        assert!(bins.unwrap().into_iter().all(|bins| bins == (expected, expected)), "{ranks} ranks");
    }
}
