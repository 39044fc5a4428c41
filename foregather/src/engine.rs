//! The engine beneath the front door: algorithms written once, as `async fn` over small traits, for every
//! world.
//!
//! Use it to bring a policy, a barrier or a world of your own, to run an algorithm in virtual time, or for
//! what the front door does not show: ranks that are placed, accounts, many lanes, messages built piece by
//! piece.
//!
//! # Meeting
//!
//! A [`Group`] is a team that meets again and again. Each member has a handle and keeps an account of its
//! waits.
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
//! [`Group::join`] takes the adaptive policy with the costs of this machine. Before every step it looks at
//! what it can know: where the awaited members run, whether they do, how long its yields took, whether
//! another processor is free. The first row of [`adaptive::TABLE`] that fits decides; `println!` of an
//! account says how often each row did.
//!
//! | it sees | it does |
//! |---|---|
//! | nothing yet | pauses for half a microsecond: most waits of a team that is alone end here |
//! | an awaited member on its own processor | yields to it; if yields go to a stranger, sleeps instead, or moves away |
//! | its team stacked on one processor | sends a scout to the other one, and moves there if it is free |
//! | no thread that needs its processor | spins, for as long as a sleep and its wake-up would cost |
//! | then, an awaited member that computes | spins on |
//! | then, an awaited member that waits behind a stranger | fetches it to its own processor |
//! | otherwise | sleeps |
//!
//! It moves threads only if all members may run on the same processors, and puts the mask back at once; a
//! team with a pinned member stays where it is, and `FOREGATHER_PLACEMENT=off` in the environment keeps all
//! teams where they are. Under a real-time class every spin is bounded.
//!
//! [`Group::member`] takes any other [`Policy`]. They are for programs that know better, and for comparison:
//!
//! | your team | fixed policy | why |
//! |---|---|---|
//! | fits its processors, no other program runs | [`Policy::TwoPhase`] with 20 us or more, or [`Policy::Spin`] | blocking costs a wake-up through an idle processor |
//! | has more threads than processors, no other program runs | [`Policy::Yield`] | a hand-over costs about a microsecond, a wasted spin all of its bound |
//! | shares its processors with strangers | [`Policy::TwoPhase`] | a yield to a stranger costs a whole tick |
//! | must not burn processor time | [`Policy::Block`] | |
//!
//! `foregather measure barriers` shows the table for your own machine.
//!
//! # When a wait cannot succeed
//!
//! If a member panics, returns early or is dropped, no other is left waiting: a member that still needs it
//! gets [`Cause::Poisoned`] with its rank. [`BarrierMember::wait_for`] bounds a wait and names a missing
//! member; at the central barrier the arrival stays, and the next wait goes on with it.
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
//! # Leaving together
//!
//! A barrier releases its members one after the other: a tenth of a microsecond apart if they spin, ten if
//! they sleep. [`BarrierMember::harmonize`] waits that out, to a deadline that all know, and says whether
//! this member met it.
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
//! A [`ForkJoin`] is a leader and its workers: [`Leader::fork`] releases them into the next region,
//! [`Leader::join`] waits until all have done their part. No member waits at the fork, no worker at the join,
//! so a region costs less than two barriers.
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
//! # Teams for programs
//!
//! [`team::Team`] is a fork-join with threads of its own: any thread calls a closure on it, by reference, and
//! goes on when all calls are done.
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
//! - **Size.** [`Team::new`](team::Team::new) has as many members as it is told. A fitting team has as many
//!   as affinity, the control group's quota and `FOREGATHER_THREADS`, else `OMP_NUM_THREADS`, allow, asked
//!   again about once a second; it works with fewer while more do not pay, and tries again after 20 ms to a
//!   second. [`Team::global`](team::Team::global) is the fitting team that all libraries of a process share.
//! - **Late members.** When the caller has done its own call, and waited as long again at most, it makes the
//!   calls of members that have not begun; members that are there take the parts of a `split`. So one thread
//!   may make the calls of several members, one after the other.
//! - **Busy.** No call waits for a team: a call that another thread makes meanwhile, or a member within its
//!   own, runs alone, with one member. Results must not depend on how many there are.
//! - **Panics.** The first panic of a member goes on in the caller, after all calls have ended; the team
//!   works on.
//! - **Forks.** A child has a team of its own, whose threads start at its first call. Only a fork within a
//!   call must not go on with it.
//! - **Waiting.** Adaptive; between calls workers stay hot for about the gap that they have learned.
//!   `FOREGATHER_WAIT` names another policy, such as `block` or `two-phase:20us`. Invalid values of these
//!   variables are ignored; the report and `foregather doctor` say so.
//!
//! `foregather measure teams` compares it with scoped threads, rayon and the OpenMP runtimes that are
//! installed.
//!
//! # Linear algebra
//!
//! [`blas`](crate::blas) has every routine of the reference BLAS for `f32`, `f64` and their complex numbers,
//! on views that know their extents.
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
//!   one on any team. The size from which on this pays is measured at a routine's first use, for some
//!   milliseconds, and kept beside the machine's costs for teams of that size: one crossover for calls that
//!   follow each other, one for calls after a pause. `foregather measure blas --crossovers` prints them,
//!   `foregather doctor` says where they are kept.
//! - **Bits.** A result lies on a grid that depends on its shape alone, so on one processor's vector unit it
//!   has the same bits whether the caller alone or any team computes it.
//! - **Serial** is a call that finds the team busy, and every call with `FOREGATHER_THREADS=1`. A child of a
//!   fork has a team of its own.
//!
//! Existing programs can call it, too: `libforegather_blas.so` has the Fortran and C symbols of the reference
//! BLAS, for integers of 32 and of 64 bits.
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
//! With `FOREGATHER_BLAS_TRACE=1` it prints at exit which of its symbols were called, and how often: none
//! means that the program uses another BLAS.
//!
//! # Between processes
//!
//! Groups and teams also stand over the lines of a [`shm::Segment`](crate::processes::shm::Segment); each
//! process makes its own over the same lines. Waits of a [`shm::Process`](crate::processes::shm::Process)
//! that watches others fail with [`Cause::PeerLost`] when one of them dies, and its name reaches all members.
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
//!     // In earnest this is another process that has inherited the descriptor, and watches its parent.
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
//! A [`Messenger`](message::Messenger) builds messages piece by piece. How a piece is sent and how it is
//! received are types, so the compiler checks the promises: `Safer` is copied at once, `Cheaper` stays
//! borrowed until the message has ended, `Later` is read then; an EXPRESS piece is the value that unpacking
//! it returns, a CHEAPER one can be read when the message has ended. It runs over any
//! [`Fabric`]: here between two threads, in a job between processes or hosts, and on simulated nodes.
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
//! Several messages are open at a time in a [`scope`](message::Messenger::scope), which waits at its end
//! until all were fetched; so two ranks that send each other much lose no time by taking turns. `send_owned`
//! does so with memory that is given away until then, and a message of one piece needs no handle:
//! `send_whole`, `receive_whole`.
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
//! The ranks of a job find each other under `foregather run`, `srun`, `mpiexec` or `mpirun` alike:
//! [`Job::join`](crate::processes::launch::Job::join), then
//! [`Job::lanes`](crate::processes::launch::Job::lanes), which are shared memory on one host and libfabric
//! between several. A rank that dies or stands still ends the waits of all others with [`Cause::PeerLost`].
//! `worlds/launch/examples/ranks.rs` is a whole program.
//!
//! A death is known at once; a rank that stands still is lost after `FOREGATHER_PEER_TIMEOUT` (`2s`; `500ms`
//! at least), and never after less than half of that. Machines that swap, or are stopped for a moment, need
//! more; under a debugger `off` waits for stopped ranks forever. `worlds/launch/README.md` has all such
//! variables, and what strangers in the network can do.
//!
//! # Shared memory
//!
//! Ranks that share no memory can act as if they did: [`dsm::memory::run`] gives each of them the same
//! arrays. A load of what another rank has written, and a store of what another has read, fault; the fault
//! fetches the bytes, and the program goes on. It is sequentially consistent: every load gives the last value
//! that any rank stored, as if all were threads of one machine. The unit of sharing is the allocation, down
//! to 8 bytes, so ranks that write neighbouring elements of different units do not disturb each other.
//!
//! - All ranks allocate by the same calls, before their threads begin; all threads can load and store each
//!   array at any time. Several words are whole for others only behind a lock or a barrier.
//! - Plain data only ([`dsm::memory::Plain`]): a pointer of one rank means nothing on another.
//! - System calls cannot fault: write data to files through a private copy.
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
//! // In earnest ranks are processes: `launch::Job` gives their lanes. Here they are threads, each with a memory of its own.
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
//! `foregather app` runs five programs on it, and says where false sharing and races are.
//!
//! # Packets and collective operations
//!
//! Sized packets travel by the short, the long or the forced protocol, over any [`Port`]: a messenger is one,
//! and so is a simulated node. [`message::collective`] makes broadcasts, reductions and exchanges of them.
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
//! # The same in virtual time
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
//! Or on processors that threads share, under any scheduler: what would eight threads on four processors pay
//! for spinning, under today's Linux?
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

/// Memory that ranks share although each has its own.
#[cfg(feature = "shared")]
pub use foregather_dsm as dsm;
/// What Linux can be asked: clock, affinity, quota, scheduling class.
pub use foregather_host as host;
/// Messages built piece by piece, collective operations, packets.
#[cfg(feature = "job")]
pub use foregather_message as message;
/// Closures on several threads, by reference.
#[cfg(feature = "team")]
pub use foregather_team as team;
