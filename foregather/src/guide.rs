//! The smallest programs, beside those of other libraries.
//!
//! Lines are those of the task alone, without `use` and `main`; names are those that one has to know besides the language.
//!
//! | task | std | rayon | crossbeam | mpi4py | here |
//! |---|---|---|---|---|---|
//! | four threads meet | 2 lines, `Barrier` | - | 2, `WaitGroup` (once) | 1, `Barrier`, a launcher | 2, `Barrier` |
//! | the same, bounded, and wait on | - | - | - | - | 1, `wait_timeout` |
//! | the same, naming a member that has gone | - | - | - | - | 1, `members` |
//! | a sum of a slice | 8, threads | 1, other bits each run | 8, threads | 1, a launcher | 1, same bits |
//! | a sweep over rows | 4, threads | 1 | 4, threads | - | 1 |
//! | a message around a ring | 8, threads and channels | - | 8, threads and channels | 4, a launcher | 4, with a launcher or without |
//! | a histogram that ranks share | 6, `Mutex` | 3 | 6 | 8, windows | 8 |
//!
//! # Four threads meet
//!
//! ```
//! use std::sync::Barrier; // std: waits for ever, sleeps at once
//! let barrier = Barrier::new(4);
//! std::thread::scope(|threads| (0..4).for_each(|_| _ = threads.spawn(|| barrier.wait())));
//! ```
//!
//! ```
//! use foregather::Barrier; // waits as the load demands; `wait_timeout`, `guard`, `members` do more
//! let barrier = Barrier::new(4);
//! std::thread::scope(|threads| (0..4).for_each(|_| _ = threads.spawn(|| barrier.wait())));
//! ```
//!
//! # A sum of a slice
//!
//! ```text
//! numbers.par_iter().sum::<f64>()                                    rayon: the order of additions differs from run to run
//! comm.allreduce(sum(mine))                                          mpi4py: each rank has a part of the slice
//! ```
//!
//! ```
//! # let numbers = [1.5; 300];
//! let sum = foregather::reduce(&numbers, |part| part.iter().sum::<f64>(), |a, b| a + b);
//! # assert_eq!(sum, 450.0);
//! ```
//!
//! # A message around a ring
//!
//! ```text
//! from mpi4py import MPI                                             # mpiexec -n 4 python ring.py
//! comm = MPI.COMM_WORLD; me, n = comm.rank, comm.size
//! comm.isend(me, (me + 1) % n); before = comm.recv(source=(me - 1) % n)
//! ```
//!
//! ```
//! # fn main() -> Result<(), foregather::Error> {
//! foregather::job(4, |me| {
//!     let (next, before) = ((me.rank() + 1) % me.size(), (me.rank() + me.size() - 1) % me.size());
//!     me.send(next, &[me.rank()])?;
//!     me.receive_vec::<u32>(before)
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! # A histogram that ranks share
//!
//! ```
//! # fn main() -> Result<(), foregather::Error> {
//! foregather::shared(4, |me| {
//!     let bins = me.locked::<[u64; 12]>()?;
//!     let mut mine = [0; 12];
//!     me.share(120_000).for_each(|n| mine[n % 12] += 1);
//!     bins.with(|bins| bins.iter_mut().zip(mine).for_each(|(bin, n)| *bin += n))?;
//!     me.barrier()?;
//!     bins.get()
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! # What they cost
//!
