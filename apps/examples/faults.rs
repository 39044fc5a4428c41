//! What faults cost between two processes: `foregather run -n 2 faults [BYTES]`. Rank 1 owns and manages what rank 0 touches.
//! `WAIT` names a policy, such as `two-phase:50us`; without it servers and threads wait by the adaptive one.
use foregather_dsm::memory::{Array, Settings, Thread, lanes, run};
use foregather_launch::{Job, Lanes};
use foregather_machine::{Clock, Error, Fabric, Placement};

const ROUNDS: usize = 30;
const UNITS: usize = 100;

fn main() -> Result<(), Error> {
    let bytes: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(148);
    let job = Job::join()?;
    foregather_host::affinity::pin(job.rank() % 2)?;
    match job.lanes(lanes(1))? {
        Lanes::Shm(lanes) => of_rank(lanes, bytes),
        Lanes::Ofi(lanes) => of_rank(lanes, bytes),
    }?;
    job.leave()
}

fn of_rank<F: Fabric + Send + 'static>(lanes: Vec<F>, bytes: usize) -> Result<(), Error>
where
    <F::Cpu as foregather_machine::Cpu>::Word: Send + Sync,
{
    let costs = lanes[0].cpu().costs();
    let policy = std::env::var("WAIT").ok().and_then(|name| foregather_wait::Policy::parse(&name, &costs).ok());
    let settings = Settings { bytes: 8 << 20, views: 26, policy, ..Settings::default() };
    let words = bytes.div_ceil(4);
    run(lanes, settings, |layout| layout.array::<u32>(2 * UNITS * words, words), |thread, all| faults(thread, all, words))?;
    Ok(())
}

fn faults<F: Fabric>(thread: &Thread<'_, F>, all: &Array<u32>, words: usize) -> Result<(), Error> {
    let mine = (0..all.units()).filter(|&unit| all.minipage(unit).0 % 2 == 1).take(UNITS).collect::<Vec<_>>();
    let mut times = [(); 3].map(|()| Vec::new());
    let touch = |what: usize, times: &mut [Vec<u64>; 3], write: bool| {
        for &unit in &mine {
            let began = thread.messenger().now();
            if write {
                all.set(unit * words, 1)
            } else {
                assert!(all.get(unit * words) < 2)
            }
            times[what].push((thread.messenger().now() - began).0);
        }
    };
    for _ in 0..ROUNDS {
        for upgrade in [true, false] {
            if thread.rank() == 1 {
                mine.iter().for_each(|&unit| all.set(unit * words, 0));
            }
            thread.barrier()?;
            if thread.rank() == 0 && upgrade {
                touch(0, &mut times, false);
                touch(1, &mut times, true);
            } else if thread.rank() == 0 {
                touch(2, &mut times, true);
            }
            thread.barrier()?;
        }
    }
    if thread.rank() == 0 {
        for (name, times) in ["read", "upgrade", "write"].iter().zip(&mut times) {
            times.sort_unstable();
            println!("{name}: median {} ns, least {}, 99th {}", times[times.len() / 2], times[0], times[times.len() * 99 / 100]);
        }
    }
    Ok(())
}
