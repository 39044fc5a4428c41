//! Minimal programs, compared with those of other libraries.
//!
//! The numbers are lines of code for the task itself, without `use` and `main`. After each number is what the
//! program needs besides the language.
//!
//! | task | std | rayon | crossbeam | mpi4py | here |
//! |---|---|---|---|---|---|
//! | barrier of four threads | 2 lines, `Barrier` | - | 2, `WaitGroup` (once) | 1, `Barrier`, a launcher | 2, `Barrier` |
//! | wait with a timeout, then continue the wait | - | - | - | - | 1, `wait_timeout` |
//! | wait, and get the name of a member that has left | - | - | - | - | 1, `members` |
//! | a sum of a slice | 8, threads | 1, other bits each run | as std | 1, a launcher | 1, same bits |
//! | a sweep over rows | 4, threads | 1 | as std | - | 1 |
//! | a message around a ring | 8, threads and channels | - | as std | 3, a launcher | 5, with a launcher or without |
//! | a histogram that ranks share | 6, `Mutex` | 3 | as std | 8, windows | 8 |
//!
//! # A barrier of four threads
//!
//! `cargo add foregather --no-default-features`
//!
//! ```
//! let barrier = std::sync::Barrier::new(4); // no timeout; blocks immediately
//! std::thread::scope(|threads| (0..4).for_each(|_| _ = threads.spawn(|| barrier.wait())));
//! ```
//!
//! ```
//! let barrier = foregather::Barrier::new(4); // waits adapt to the load; errors name the missing threads
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
//! `cargo add foregather --no-default-features --features sim`. This program computes the cost of spinning
//! for eight threads at a barrier on four processors, under the scheduler of today's Linux. `..tsafrir2002()`
//! fills in fields that this scheduler does not use; times are rounded to multiples of `resolution`; the
//! closure returns whether the simulation should continue.
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
//! `cargo bench -p foregather --features full --bench door` measures all of this; the libraries take turns
//! within one run. The tables below are from two virtual processors of one x86-64 server: medians of 25
//! rounds (9 under background load), in nanoseconds. Other machines differ, and this one differs from hour to
//! hour. If a cell has two numbers, the two processors were two threads of one core, or two cores.
//!
//! | a barrier of | `Barrier::wait` | `Member::wait` | std | `pthread_barrier` |
//! |---|---|---|---|---|
//! | 1 thread | 13 | 12 | 245 | 240 |
//! | 2 threads | 76, 170 | 55, 167 | 21,000, 16,000 | 19,000, 5,000 |
//! | 4 threads on 2 processors | 2,400 | 2,200 | 22,000 | 21,000 |
//! | 2 threads, with 2 busy processes | 79, 170 | 63, 170 | 12,000, 9,900 | 7,900, 7,700 |
//! | 4 threads, with 2 busy processes | 44,000 to 49,000 | 34,000 to 44,000 | 44,000 | 17,000 to 23,000 |
//!
//! **Foregather loses in the last row:** with more threads than processors *and* background load,
//! `pthread_barrier` takes a third to a half of the time of `Barrier`. There, six runnable threads share two
//! processors, and a waiting thread's spin takes CPU time from the thread that it waits for. In this
//! situation a policy that blocks immediately may be faster: pass
//! [`Policy::Block`](crate::engine::Policy::Block) to [`Group::member`](crate::engine::Group::member).
//!
//! | sum of a slice of, nanoseconds | loop | `reduce` | rayon |
//! |---|---|---|---|
//! | 100 numbers | 39 | 195 | 16,000 |
//! | 10,000 | 8,200 | 3,600 | 27,000 |
//! | 1 million | 822,000 | 420,000 | 441,000 |
//! | 10 million | 8.24 million | 4.23 million | 4.20 million |
//! | 1,000 rows of 1,000 roots (`for_each`) | 1.15 million | 614,000 (617,000 CPU time) | 641,000 (1.8 million CPU time) |
//!
//! | ranks that are threads, nanoseconds | Foregather | for comparison |
//! |---|---|---|
//! | a round trip of 32 bytes | 390 | 415 with a messenger of the engine |
//! | `Array::get` | 0.54 | 0.51 in a slice |
//! | `Array::set` | 0.54 | 0.54 in a slice |
//! | reading a row, per element | 0.21 | 0.09 for a copy from a slice |
//! | updating a row, per element | 0.52 | |
//! | `Locked::with`, uncontended | 4.4 | 4.4 with a `Mutex` |
//! | `Locked::with`, two ranks at once | 40 | 27 with a `Mutex` |
