//! The engine below the public API: each algorithm is written once, as an `async fn` over small traits, and
//! runs in every world.
//!
//! Use it to plug in your own policy, barrier or world, to run an algorithm in virtual time, or for features
//! that the public API hides: pinned ranks, wait statistics, several lanes, messages built piece by piece.
//!
//! # Barriers
//!
//! A [`Group`] is a set of members that wait at the same barrier again and again. Each member has a handle,
//! which records statistics of its waits.
//!
//! ```
//! use foregather::engine::{Algorithm, Group, block_on};
//! use foregather::threads;
//!
//! let group = Group::new(Algorithm::Central, 3)?;
//! let accounts = threads::run(3, |_| None, |cpu, rank| {
//!     let mut member = group.join(cpu, rank)?;
//!     for _ in 0..1_000 {
//!         // ... compute ...
//!         block_on(member.wait())?;
//!     }
//!     Ok::<_, foregather::engine::Error>(member.account().snapshot())
//! })?;
//! for account in accounts {
//!     println!("{}", account?); // how the waits ended, by which rules, and the longest
//! }
//! # Ok::<(), foregather::engine::Error>(())
//! ```
//!
//! # How it waits
//!
//! [`Group::join`] uses the adaptive policy with this machine's measured costs. Before every step it checks
//! what it can observe: where the awaited members run, whether they are running, how long its yields took,
//! and whether another processor is idle. The first matching row of [`adaptive::TABLE`] decides. Print an
//! account to see how often each row was used.
//!
//! | it observes | it does |
//! |---|---|
//! | nothing yet | pauses for half a microsecond: on an idle machine most waits end here |
//! | an awaited member on its own processor | yields to it; if yields go to a background thread, sleeps or moves away instead |
//! | the whole team stacked on one processor | probes the other processor with an idle-class thread, and moves there if it is idle |
//! | no thread that needs its processor | spins, for as long as a sleep and its wake-up would cost |
//! | after that, an awaited member that is running | keeps spinning |
//! | after that, an awaited member queued behind a background thread | pulls that member to its own processor |
//! | otherwise | sleeps |
//!
//! It moves threads only if all members may run on the same processors, and restores the affinity mask
//! immediately. A team with a pinned member is never moved, and `FOREGATHER_PLACEMENT=off` in the environment
//! disables all moves. Under a real-time scheduling class every spin is bounded.
//!
//! [`Group::member`] accepts any other [`Policy`], for programs that know their load and for comparisons:
//!
//! | your team | fixed policy | why |
//! |---|---|---|
//! | has a processor for each thread, on an idle machine | [`Policy::TwoPhase`] with 20 us or more, or [`Policy::Spin`] | blocking costs a wake-up from an idle processor |
//! | has more threads than processors, on an otherwise idle machine | [`Policy::Yield`] | a context switch costs about a microsecond, a spin in vain costs its whole limit |
//! | runs under background load | [`Policy::TwoPhase`] | a yield to a background thread costs a whole scheduler tick |
//! | must not waste CPU time | [`Policy::Block`] | |
//!
//! `foregather measure barriers` measures these policies on your machine.
//!
//! # When a wait cannot succeed
//!
//! If a member panics, returns early or is dropped, no other member waits forever: each member that still
//! needs it gets [`Cause::Poisoned`] with its rank. [`BarrierMember::wait_for`] has a timeout, and its error
//! names a missing member. At the central barrier, the member still counts as arrived after a timeout, and
//! its next wait continues the same episode.
//!
//! ```
//! use foregather::engine::{Cause, Error, Algorithm, Group, Nanos, Policy, block_on};
//! use foregather::threads;
//!
//! let group = Group::new(Algorithm::Central, 2)?;
//! // Member 1 never comes.
//! let ends = threads::run(1, |_| None, |cpu, rank| {
//!     block_on(group.member(cpu, rank, Policy::Block)?.wait_for(Nanos::from_ms(1)))
//! })?;
//! assert!(matches!(Error::of(&ends[0]), Some(Cause::TimedOut { peer: Some(1), .. })));
//! # Ok::<(), Error>(())
//! ```
//!
//! # Simultaneous release
//!
//! A barrier releases its members one after another: about 0.1 us apart if they spin, about 10 us if they
//! sleep. [`BarrierMember::harmonize`] makes all of them wait until a common deadline, and returns whether
//! this member was on time.
//!
//! ```
//! use foregather::engine::{Error, Algorithm, Group, Nanos, Punctual, block_on};
//! use foregather::threads;
//!
//! let group = Group::new(Algorithm::Central, 2)?;
//! let missed = threads::run(2, |_| None, |cpu, rank| {
//!     let mut member = group.join(cpu, rank)?;
//!     let mut missed = 0;
//!     for _ in 0..100 {
//!         if let Punctual::Missed { .. } = block_on(member.harmonize(Nanos::from_us(100)))? {
//!             missed += 1; // what is measured from here on would be about the late start
//!         }
//!     }
//!     Ok::<_, Error>(missed)
//! })?;
//! println!("late starts: {missed:?}");
//! # Ok::<(), Error>(())
//! ```
//!
//! # Fork and join
//!
//! A [`ForkJoin`] has a leader and workers. [`Leader::fork`] releases the workers into the next region;
//! [`Leader::join`] waits until all of them have finished their parts. The leader does not wait at the fork
//! and workers do not wait at the join, so a region costs less than two barriers.
//!
//! ```
//! use foregather::engine::{Error, ForkJoin, block_on};
//! use foregather::threads;
//! use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
//!
//! let (team, sum) = (ForkJoin::new(3)?, AtomicU32::new(0));
//! threads::run(3, |_| None, |cpu, rank| {
//!     if rank == 0 {
//!         let mut leader = team.lead(cpu)?;
//!         for _ in 0..100 {
//!             let region = leader.fork()?;
//!             // ... the leader's own part ...
//!             block_on(leader.join())?;
//!             assert_eq!(sum.load(Relaxed), 3 * region);
//!         }
//!         leader.finish()
//!     } else {
//!         let mut worker = team.join(cpu, rank)?;
//!         while let Some(_region) = block_on(worker.wait())? {
//!             sum.fetch_add(rank, Relaxed);
//!             worker.done()?;
//!         }
//!         Ok(())
//!     }
//! })?
//! .into_iter()
//! .collect::<Result<(), Error>>()?;
//! # Ok::<(), Error>(())
//! ```
//!
//! # Teams with their own threads
//!
//! [`team::Team`] is a fork-join team with threads of its own. Any thread can call a closure on it through
//! `&self`, and continues when all calls have returned.
//!
//! ```
//! use foregather::engine::team::Team;
//! use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
//!
//! let team = Team::fitting();
//! let (numbers, sum) = ((0..1_000).collect::<Vec<u64>>(), AtomicU64::new(0));
//! // Once for each member, of whom the caller is the first.
//! team.run(|member| {
//!     let mine = member.share(numbers.len());
//!     sum.fetch_add(numbers[mine].iter().sum(), Relaxed);
//! });
//! // Once for each part; members take them one by one, so parts may differ in length.
//! team.split(10, |part| {
//!     sum.fetch_add(numbers[part * 100..][..100].iter().sum(), Relaxed);
//! });
//! assert_eq!(sum.into_inner(), 2 * 499_500);
//! println!("{}", team.report()); // how large it is and why, and how its calls went
//! ```
//!
//! - **Size.** [`Team::new`](team::Team::new) creates a team of the given size. A fitting team has as many
//!   members as affinity, the control group's quota and `FOREGATHER_THREADS` (or, if that is not set,
//!   `OMP_NUM_THREADS`) allow; it checks them about once a second. It uses fewer members while more would not
//!   be faster, and tries a larger team again after 20 ms to 1 s. [`Team::global`](team::Team::global) is the
//!   fitting team that all libraries of a process share.
//! - **Late members.** When the caller has finished its own call, it waits for at most the same time again,
//!   and then makes the calls of members that have not started. Members that have started take the parts of a
//!   `split`. One thread may therefore make the calls of several members, one after another.
//! - **Busy.** No call waits for a team: if another thread is in a call, or a member calls from inside its
//!   own call, the new call runs on the calling thread alone, with one member. Results must therefore not
//!   depend on the number of members.
//! - **Panics.** The first panic of a member resumes in the caller after all calls have ended. The team
//!   remains usable.
//! - **Forks.** A forked child has a team of its own, whose threads start at its first call. If a process
//!   forks inside a call, the child must not continue that call.
//! - **Waiting.** Adaptive: between calls, workers keep spinning for about the gap that they have learned to
//!   expect. `FOREGATHER_WAIT` selects another policy, such as `block` or `two-phase:20us`. Invalid values of
//!   these variables are ignored; the report and `foregather doctor` list them.
//!
//! `foregather measure teams` compares it with scoped threads, rayon and the OpenMP runtimes that are
//! installed.
//!
//! # Linear algebra
//!
//! [`blas`](crate::blas) has every routine of the reference BLAS for `f32`, `f64` and their complex
//! counterparts, on matrix and vector views that carry their dimensions.
//!
//! ```
//! use foregather::blas::{Matrix, MatrixMut, Trans, gemm};
//!
//! // By columns, as in Fortran: two rows and three columns, three and four, two and four.
//! let (a, b, mut c) = ([1.0, 4.0, 2.0, 5.0, 3.0, 6.0], [1.0; 12], [0.0; 8]);
//! let (a, b) = (Matrix::columns(&a, 2, 3, 2)?, Matrix::columns(&b, 3, 4, 3)?);
//! gemm(Trans::No, Trans::No, 1.0, a, b, 0.0, MatrixMut::columns(&mut c, 2, 4, 2)?)?;
//! assert_eq!(c, [6.0, 15.0, 6.0, 15.0, 6.0, 15.0, 6.0, 15.0]);
//! # Ok::<(), foregather::blas::Error>(())
//! ```
//!
//! - **Crossovers.** A call that is large enough runs on the global team; [`blas::on`](crate::blas::on) runs
//!   a call on any team. The crossover size, from which the team is faster, is measured when a routine is
//!   first used. This takes some milliseconds, and the result is stored with the machine's costs, per team
//!   size: one crossover for calls in quick succession, one for calls after a pause. `foregather measure blas
//!   --crossovers` prints them; `foregather doctor` shows where they are stored.
//! - **Reproducible results.** The work is split by the shapes of the operands alone. With the same vector
//!   unit, a result therefore has the same bits for any team size, and for the calling thread alone.
//! - **Serial calls.** A call runs serially if the team is busy or if `FOREGATHER_THREADS=1`. A forked child
//!   has a team of its own.
//!
//! Existing programs can use it as well: `libforegather_blas.so` exports the Fortran and C symbols of the
//! reference BLAS, for 32-bit and 64-bit integers.
//!
//! ```sh
//! cargo build --profile dist --locked -p foregather-blas-face
//! library=$PWD/target/dist/libforegather_blas.so
//! mkdir -p target/blas/lib && ln -sf "$library" target/blas/lib/libblas.so.3
//!
//! LD_LIBRARY_PATH=$PWD/target/blas/lib program    # one that is linked with libblas.so.3: NumPy of Debian
//! LD_PRELOAD=$library program                     # one that brings its own: NumPy of pip
//! sudo update-alternatives --install /usr/lib/x86_64-linux-gnu/libblas.so.3 libblas.so.3-x86_64-linux-gnu "$library" 200  # all, on Debian
//! ```
//!
//! With `FOREGATHER_BLAS_TRACE=1`, it prints at exit which of its symbols were called and how often. If it
//! prints none, the program uses another BLAS.
//!
//! # Between processes
//!
//! Groups and teams also work in the memory of a [`shm::Segment`](crate::processes::shm::Segment): each
//! process creates its own handle for the same lines. Waits of a
//! [`shm::Process`](crate::processes::shm::Process) that watches other processes fail with
//! [`Cause::PeerLost`] when one of them dies, and all members get its rank.
//!
//! ```
//! use foregather::processes::shm::{Process, Segment, Watch};
//! use foregather::engine::{Error, Algorithm, Group, block_on};
//! use std::os::fd::AsRawFd;
//! use std::sync::Arc;
//!
//! let segment = Arc::new(Segment::of_lines(Group::<Process>::lines(Algorithm::Central, 2))?);
//! let fd = segment.fd().as_raw_fd();
//! std::thread::scope(|threads| {
//!     // In a real program, another process has inherited the descriptor, and watches its parent.
//!     let other = threads.spawn(move || {
//!         let segment = Arc::new(Segment::inherited(fd)?);
//!         let group = Group::over(segment.lines(), Algorithm::Central, 2)?;
//!         block_on(group.join(Watch::none().process(), 1)?.wait())
//!     });
//!     let group = Group::over(segment.lines(), Algorithm::Central, 2)?;
//!     block_on(group.join(Watch::none().process(), 0)?.wait())?;
//!     other.join().expect("it does not panic")
//! })?;
//! # Ok::<(), Error>(())
//! ```
//!
//! # Messages
//!
//! A [`Messenger`](message::Messenger) builds messages piece by piece. The send mode and the receive mode of
//! a piece are types, so the compiler enforces their rules. A `Safer` piece is copied at once; a `Cheaper`
//! piece stays borrowed until the message ends; a `Later` piece is read when the message ends. An EXPRESS
//! piece is available as soon as it is unpacked; a CHEAPER piece can be read when the message has ended. A
//! messenger runs over any [`Fabric`]: between two threads as here, in a job between processes or hosts, and
//! on simulated nodes.
//!
//! ```
//! use foregather::engine::message::{Cheaper, Messenger, Mode, Receive, Safer, Settings};
//! use foregather::processes::shm::{SegmentSpec, ShmFabric};
//! use foregather::engine::{Address, Error, block_on};
//! use foregather::threads;
//!
//! let fabric = ShmFabric::between_threads(SegmentSpec::new(2, 1))?;
//! let sums = threads::run(2, |_| None, |cpu, rank| {
//!     let messenger = Messenger::new(fabric.lane(cpu, Address { rank, lane: 0 })?, Settings::default())?;
//!     let sum = block_on(async {
//!         if rank == 0 {
//!             let body = vec![1; 100_000];
//!             let mut message = messenger.begin_packing(1)?;
//!             message.pack(Safer(&100_000_u32.to_le_bytes()), Receive::Express).await?;
//!             message.pack(Cheaper(&body), Receive::Cheaper).await?;
//!             message.end().await?;
//!             return Ok(0);
//!         }
//!         let mut body = Vec::new();
//!         let mut message = messenger.begin_unpacking().await?;
//!         let length: u32 = message.unpack_express(Mode::Safer).await?;
//!         body.resize(length as usize, 0);
//!         message.unpack(Mode::Cheaper, &mut body).await?;
//!         message.end().await?; // `body` can be read from here on
//!         Ok::<_, Error>(body.iter().map(|&byte| u32::from(byte)).sum())
//!     })?;
//!     messenger.leave();
//!     Ok::<_, Error>(sum)
//! })?;
//! assert_eq!(sums.into_iter().collect::<Result<Vec<u32>, _>>()?, [0, 100_000]);
//! # Ok::<(), Error>(())
//! ```
//!
//! A [`scope`](message::Messenger::scope) can keep several messages open at once, and waits at its end until
//! all of them have been fetched. Two ranks that send each other large messages can thus transfer in both
//! directions at the same time. `send_owned` does the same with memory that the messenger owns until then.
//! `send_whole` and `receive_whole` transfer a message of one piece without a handle.
//!
//! ```
//! use foregather::engine::message::{Cheaper, Messenger, Mode, Receive, Settings};
//! use foregather::processes::shm::{SegmentSpec, ShmFabric};
//! use foregather::engine::{Address, Error, block_on};
//! use foregather::threads;
//!
//! let fabric = ShmFabric::between_threads(SegmentSpec::new(2, 1))?;
//! let sums = threads::run(2, |_| None, |cpu, rank| {
//!     let messenger = Messenger::new(fabric.lane(cpu, Address { rank, lane: 0 })?, Settings::default())?;
//!     let (mine, mut theirs) = (vec![rank as u8 + 1; 1 << 20], vec![0; 1 << 20]);
//!     block_on(messenger.scope(async |scope| {
//!         let mut message = messenger.begin_packing(1 - rank)?;
//!         message.pack(Cheaper(&mine), Receive::Cheaper).await?;
//!         scope.end_later(message).await?;
//!         messenger.receive_whole(1 - rank, Mode::Cheaper, Receive::Cheaper, &mut theirs).await
//!     }))?;
//!     messenger.leave();
//!     Ok::<_, Error>(theirs.iter().map(|&byte| u32::from(byte)).sum())
//! })?;
//! assert_eq!(sums.into_iter().collect::<Result<Vec<u32>, _>>()?, [2 << 20, 1 << 20]);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Jobs
//!
//! The ranks of a job find each other under `foregather run`, `srun`, `mpiexec` and `mpirun`: first
//! [`Job::join`](crate::processes::launch::Job::join), then
//! [`Job::lanes`](crate::processes::launch::Job::lanes), which uses shared memory on one host and libfabric
//! between hosts. If a rank dies or stops responding, the waits of all other ranks fail with
//! [`Cause::PeerLost`]. `worlds/launch/examples/ranks.rs` is a complete program.
//!
//! A death is usually detected within 0.2 s. A rank that stops responding is reported lost after
//! `FOREGATHER_PEER_TIMEOUT` (default `2s`, at least `500ms`), and never earlier than half of that. Machines
//! that swap or are suspended briefly need more; under a debugger, `off` disables the check.
//! `worlds/launch/README.md` lists all these variables, and what unverified peers on the network can do.
//!
//! # Shared memory
//!
//! Ranks without common physical memory can share arrays: [`dsm::memory::run`] gives each of them the same
//! arrays. A load of data that another rank has written, or a store to data that another rank has read,
//! causes a page fault; the fault handler fetches the bytes, and the program continues. The memory is
//! sequentially consistent: every load returns the last value that any rank stored, as if all ranks were
//! threads of one machine. The unit of sharing is the allocation, down to 8 bytes, so ranks that write
//! neighbouring elements of different units cause no false sharing.
//!
//! - All ranks allocate with the same calls, before their threads start. All threads can load and store each
//!   array at any time. Accesses to several words may tear unless a lock or a barrier separates them.
//! - Plain data only ([`dsm::memory::Plain`]): a pointer of one rank is meaningless on another.
//! - System calls cannot fault: copy data to private memory before you write it to a file.
//!
//! ```
//! use foregather::engine::dsm::memory::{Array, Settings, SharedAllocator, Thread, lanes, run};
//! use foregather::processes::shm::{SegmentSpec, ShmFabric};
//! use foregather::engine::{Address, Error, Fabric};
//! use foregather::threads;
//!
//! fn layout(layout: &mut SharedAllocator) -> Result<Array<u64>, Error> {
//!     layout.array(8, 1) // eight elements, each shared for itself
//! }
//!
//! fn program<F: Fabric>(thread: &Thread<'_, F>, all: &Array<u64>) -> Result<u64, Error> {
//!     all.set(thread.number() as usize, 21);
//!     thread.barrier()?;
//!     Ok((0..all.len()).map(|at| all.get(at)).sum())
//! }
//!
//! // In a real program ranks are processes, and `launch::Job` returns their lanes. Here they are threads.
//! let fabric = ShmFabric::between_threads(SegmentSpec::new(2, lanes(1)))?;
//! let sums = threads::run(2, |_| None, |cpu, rank| {
//!     let lane = |lane| fabric.lane(cpu.clone(), Address { rank, lane });
//!     let served = run((0..lanes(1)).map(lane).collect::<Result<_, Error>>()?, Settings::default(), layout, program)?;
//!     Ok::<_, Error>(served.leave()[0].result)
//! })?;
//! assert_eq!(sums.into_iter().collect::<Result<Vec<_>, _>>()?, [42, 42]);
//! # Ok::<(), Error>(())
//! ```
//!
//! `foregather app` runs five programs on it, and reports false sharing and races.
//!
//! # Packets and collective operations
//!
//! Packets of known size use the short, long or forced protocol over any [`Port`]; a messenger is a port, and
//! so is a simulated node. [`message::collective`] builds broadcasts, reductions and exchanges from them.
//! Here four members shift a message around a ring.
//!
//! ```
//! use foregather::engine::message::{Messenger, Protocol, Ring, Settings};
//! use foregather::engine::{Address, Error, block_on};
//! use foregather::processes::shm::{SegmentSpec, ShmFabric};
//! use foregather::threads;
//!
//! let fabric = ShmFabric::between_threads(SegmentSpec::new(4, 1))?;
//! let got = threads::run(4, |_| None, |cpu, rank| {
//!     let port = Messenger::new(fabric.lane(cpu, Address { rank, lane: 0 })?, Settings::default())?;
//!     let (out, mut into) = ([rank as u8; 1_000], [0; 1_000]);
//!     block_on(Ring::of(rank, 4)?.shift(&port, 7, &out, &mut into, Protocol::Long))?;
//!     port.leave();
//!     Ok::<_, Error>(into[0])
//! })?;
//! // The ring is 0, 1, 3, 2: neighbours differ in one bit.
//! assert_eq!(got.into_iter().collect::<Result<Vec<_>, _>>()?, [2, 0, 3, 1]);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Simulation in virtual time
//!
//! ```
//! use foregather::sim::{event::Heap, net::{Network, profile}};
//! use foregather::engine::{Error, Nanos, butterfly};
//!
//! let network = Network::<Heap, _>::new(128, 7, profile::IPSC860)?;
//! let nodes = network.nodes();
//! let run = network.run(&nodes, |_| Nanos::ZERO, butterfly);
//! assert_eq!(run.finished, [Nanos::from_us(525); 128]); // Seidel & Davis 1992: seven exchanges of 75 us
//! # Ok::<(), Error>(())
//! ```
//!
//! Threads that share processors can be simulated under any scheduler. This program computes the cost of
//! spinning for eight threads on four processors, under the scheduler of today's Linux:
//!
//! ```
//! use foregather::sim::smp::{Distribution, Eevdf, Job, MachineSpec, Prices, Record, Scheduler, Stop, Study, run};
//! use foregather::engine::{Costs, Nanos, Policy};
//!
//! let elapsed_ns = |policy| {
//!     let (scheduler, prices) = (Scheduler::Eevdf(Eevdf::LINUX), Prices::measured(&Costs::TYPICAL));
//!     let compute = Distribution::Exponential { mean_ns: 20_000.0 };
//!     let study = Study {
//!         machine: MachineSpec { cpus: 4, scheduler, prices, resolution: Nanos(1), ..MachineSpec::tsafrir2002() },
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
//! assert!(elapsed_ns(Policy::Block)? > elapsed_ns(Policy::default())?);
//! # Ok::<(), String>(())
//! ```
pub use foregather_barrier::{
    Algorithm, Arrival, BarrierMember, CachePadded, Central, ForkJoin, Group, Leader, Punctual, Seat, SignalCost, SignalMatrix,
    Signaller, Subcube, Worker, butterfly, dissemination, dissemination_by, gather_release, rds, sync0, tournament, tree,
};
pub use foregather_machine::{
    Address, Affinity, Cause, Clock, Costs, Cpu, CpuId, Endpoint, Error, Fabric, FabricCosts, Key, Limits, LogGp, LogGpVariant,
    Member, Nanos, Packet, Placement, Port, Rank, Ready, SharedLines, Slope, SplitMix, Switch, ThreadId, VALUE_MASK, WaitContext,
    WordLine, block_on, ready,
};
pub use foregather_wait::{
    Account, Adaptive, Effect, Histogram, Interest, Multiple, Outcome, ParsePolicyError, Policy, Progress, Roster, Snapshot,
    Step, Strategy, Surroundings, Wait, WaitFor, Waited, Waiter, adaptive,
};

/// Memory that ranks share although each has an address space of its own.
#[cfg(feature = "shared")]
pub use foregather_dsm as dsm;
/// Queries to Linux: clock, affinity, quota, scheduling class.
pub use foregather_host as host;
/// Messages built piece by piece, collective operations, packets.
#[cfg(feature = "job")]
pub use foregather_message as message;
/// Closures on several threads, by reference.
#[cfg(feature = "team")]
pub use foregather_team as team;
