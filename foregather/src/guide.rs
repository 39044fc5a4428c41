//! The smallest programs, beside those of other libraries.
//!
//! Numbers are lines of the task alone, without `use` and `main`; behind them stands what a program needs
//! besides the language.
//!
//! | task | std | rayon | crossbeam | mpi4py | here |
//! |---|---|---|---|---|---|
//! | four threads meet | 2 lines, `Barrier` | - | 2, `WaitGroup` (once) | 1, `Barrier`, a launcher | 2, `Barrier` |
//! | meet within a bound, and wait on | - | - | - | - | 1, `wait_timeout` |
//! | meet, and name a member that has gone | - | - | - | - | 1, `members` |
//! | a sum of a slice | 8, threads | 1, other bits each run | as std | 1, a launcher | 1, same bits |
//! | a sweep over rows | 4, threads | 1 | as std | - | 1 |
//! | a message around a ring | 8, threads and channels | - | as std | 3, a launcher | 5, with a launcher or without |
//! | a histogram that ranks share | 6, `Mutex` | 3 | as std | 8, windows | 8 |
//!
//! # Four threads meet
//!
//! `cargo add foregather --no-default-features`
//!
//! ```
//! let barrier = std::sync::Barrier::new(4); // waits forever, sleeps at once
//! std::thread::scope(|threads| (0..4).for_each(|_| _ = threads.spawn(|| barrier.wait())));
//! ```
//!
//! ```
//! let barrier = foregather::Barrier::new(4); // waits as the load demands, and says who is missing
//! std::thread::scope(|threads| (0..4).for_each(|_| _ = threads.spawn(|| barrier.wait().expect("none leaves"))));
//! ```
//!
//! # A sum of a slice
//!
//! `cargo add foregather`
//!
//! ```text
//! numbers.par_iter().sum::<f64>()    // rayon: another order of additions each run
//! comm.allreduce(sum(mine))          # mpi4py: each rank has a part of the slice
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
//! `cargo add foregather --features job`
//!
//! ```text
//! from mpi4py import MPI             # mpiexec -n 4 python ring.py
//! comm = MPI.COMM_WORLD; me, n = comm.rank, comm.size
//! comm.isend(me, (me + 1) % n); before = comm.recv(source=(me - 1) % n)
//! ```
//!
//! ```
//! # fn main() -> Result<(), foregather::Error> {
//! foregather::job(4, |me| {
//!     let before = (me.rank() + me.size() - 1) % me.size();
//!     me.send((me.rank() + 1) % me.size(), &[me.rank()])?;
//!     me.receive_vec::<u32>(before)
//! })?;
//! # Ok(())
//! # }
//! ```
//!
//! # A histogram that ranks share
//!
//! `cargo add foregather --features shared`
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
//! # What would another machine do
//!
//! `cargo add foregather --no-default-features --features sim`: what would eight threads that meet on four
//! processors pay for spinning, under today's Linux? `..tsafrir2002()` fills in what this scheduler does not
//! use; times are drawn in multiples of `resolution`; the closure says whether to go on.
//!
//! ```
//! use foregather::engine::{Costs, Nanos, Policy};
//! use foregather::sim::smp::{Distribution, Eevdf, Job, MachineSpec, Prices, Record, Scheduler, Stop, Study, run};
//!
//! let elapsed_ns = |policy| {
//!     let scheduler = Scheduler::Eevdf(Eevdf { slice: Eevdf::base_slice(4), ..Eevdf::LINUX });
//!     let compute = Distribution::Exponential { mean_ns: 20_000.0 };
//!     let machine = MachineSpec {
//!         cpus: 4,
//!         scheduler,
//!         prices: Prices::measured(&Costs::TYPICAL),
//!         resolution: Nanos(1),
//!         ..MachineSpec::tsafrir2002()
//!     };
//!     let study = Study {
//!         machine,
//!         jobs: vec![Job::meeting("team", 8, 100, compute, policy)],
//!         stop: Stop::AllJobs,
//!         limit: Nanos::from_ms(10_000),
//!         seed: 1,
//!         shuffled: true,
//!         record: Record::NOTHING,
//!     };
//!     run(&study, || true).map(|outcome| outcome.jobs[0].elapsed_ns)
//! };
//! assert!(elapsed_ns(Policy::Spin)? > 10.0 * elapsed_ns(Policy::Block)?);
//! # Ok::<(), String>(())
//! ```
//!
//! # What they cost
//!
//! `cargo bench -p foregather --features full --bench door` measures all of this; the contestants take turns
//! in one run. Below: two virtual processors of one x86-64 server, medians of 25 rounds (9 beside hogs),
//! nanoseconds; other machines differ, and so does this one from hour to hour: where two numbers stand, its
//! two processors were two threads of one core, or two cores.
//!
//! | a meeting of | `Barrier::wait` | `Member::wait` | std | `pthread_barrier` |
//! |---|---|---|---|---|
//! | 1 thread | 13 | 12 | 245 | 240 |
//! | 2 threads | 76, 170 | 55, 167 | 21,000, 16,000 | 19,000, 5,000 |
//! | 4 threads on 2 processors | 2,400 | 2,200 | 22,000 | 21,000 |
//! | 2 threads beside 2 busy processes | 79, 170 | 63, 170 | 12,000, 9,900 | 7,900, 7,700 |
//! | 4 threads beside 2 busy processes | 44,000 to 49,000 | 34,000 to 44,000 | 44,000 | 17,000 to 23,000 |
//!
//! **The last row is lost:** with more threads than processors *and* other busy programs, `pthread_barrier`
//! takes a third to two thirds of the time of `Barrier`. There six runnable threads share two processors, and
//! a waiting thread's spin takes time from the thread that it waits for. If your program runs so, a policy
//! that sleeps at once may do better: [`Group::member`](crate::engine::Group::member) takes
//! [`Policy::Block`](crate::engine::Policy::Block).
//!
//! | a sum of, nanoseconds | loop | `reduce` | rayon |
//! |---|---|---|---|
//! | 100 numbers | 39 | 195 | 16,000 |
//! | 10,000 | 8,200 | 3,600 | 27,000 |
//! | 1 million | 822,000 | 420,000 | 441,000 |
//! | 10 million | 8.24 million | 4.23 million | 4.20 million |
//! | 1,000 rows of 1,000 roots (`for_each`) | 1.15 million | 614,000, of processor time 617,000 | 641,000, of processor time 1.8 million |
//!
//! | ranks that are threads, nanoseconds | here | beside |
//! |---|---|---|
//! | a round trip of 32 bytes | 390 | 415 by a messenger of the engine |
//! | `Array::get` | .54 | .51 of a slice |
//! | `Array::set` | .54 | .54 of a slice |
//! | an element of a row that is read | .21 | .09 copied from a slice |
//! | an element of a row that is updated | .52 | |
//! | `Locked::with`, alone | 4.4 | 4.4 of a `Mutex` |
//! | `Locked::with`, two at once | 40 | 27 of a `Mutex` |
