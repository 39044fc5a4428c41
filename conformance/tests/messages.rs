//! Messages on the table: every order of deliveries for the smallest cases, random ones beyond. Each explorer
//! has a planted fault.
use foregather_conformance::messages::{
    PiecePlan, abandoned, crossfire, disagreeing, given_up_open, gone, impatient, later_is_read_at_the_end, left_in_order,
    one_message, owned, several_open,
};
use foregather_conformance::table::{Chooser, Table, TableLane};
use foregather_conformance::{PortProgram, Ports, collective, port};
use foregather_machine::{Address, Cause, Clock, Endpoint, Error, Limits, Member, Nanos, Rank, SplitMix};
use foregather_message::collective::shift;
use foregather_message::{Messenger, Mode, Path, Receive, Safer, Settings};
use foregather_wait::Policy;
use std::cell::RefCell;

/// A narrow fabric: events that are rare elsewhere happen all the time here.
const NARROW: Limits = Limits { lanes: 1, inline: 24, buffer: 128, credits: 2, spare: 8, gather: 3, direct: true };
const SETTINGS: Settings = Settings {
    policy: Some(Policy::Block),
    path: Path::Chosen,
    direct_at: Some(300),
    credits: None,
    alert: None,
    slots: 4,
    kept_bytes: 1 << 20,
};

fn messengers(table: &Table, size: u32, settings: Settings) -> Vec<Messenger<TableLane<'_>>> {
    (0..size).map(|rank| Messenger::new(table.lane(rank, 0), settings).unwrap()).collect()
}

/// Runs a program on every rank; returns the results, or which ranks are stuck.
fn run<T>(
    table: &Table,
    settings: Settings,
    size: u32,
    program: impl AsyncFn(&Messenger<TableLane<'_>>) -> T,
) -> Result<Vec<T>, Vec<String>> {
    let messengers = messengers(table, size, settings);
    let program = &program;
    let ends = table.run(messengers.iter().map(|messenger| Box::pin(program(messenger)) as _).collect(), |_| ());
    ends.into_iter().collect::<Option<_>>().ok_or_else(|| table.deadlocked())
}

/// Runs it in random orders, in both kinds of networks.
fn for_random_orders(seeds: u64, size: u32, program: impl AsyncFn(&Messenger<TableLane<'_>>, u64) -> Result<(), Error>) {
    for seed in 0..seeds {
        for helped in [false, true] {
            let table = Table::new(size, NARROW, Chooser::random(seed));
            let table = if helped { table.helped() } else { table };
            let path = [Path::Chosen, Path::Buffered, Path::Direct][seed as usize % 3];
            let ends = run(&table, Settings { path, ..SETTINGS }, size, async |messenger| program(messenger, seed).await);
            let ends = ends.unwrap_or_else(|stuck| panic!("seed {seed}, helped {helped}: {stuck:?}"));
            assert!(ends.iter().all(|end| *end == Ok(())), "seed {seed}, helped {helped}: {ends:?}");
        }
    }
}

#[test]
fn two_sides_that_only_send_never_wait_for_each_other() {
    for_random_orders(150, 2, async |messenger, _| crossfire(messenger, 7, 100, 400).await);
    for_random_orders(60, 4, async |messenger, _| crossfire(messenger, 3, 200, 301).await);
}

#[test]
fn every_order_of_a_small_crossfire_ends_well() {
    let (mut chooser, mut orders) = (Chooser::every(), 0);
    loop {
        let table = Table::new(3, NARROW, chooser);
        let ends = run(&table, SETTINGS, 3, async |messenger| crossfire(messenger, 1, 100, 0).await);
        assert!(ends.as_ref().is_ok_and(|ends| ends.iter().all(|end| *end == Ok(()))), "{ends:?}");
        (chooser, orders) = (table.into_chooser(), orders + 1);
        if !chooser.advance() || orders == 20_000 {
            break;
        }
    }
    assert!(orders > 50, "{orders}");
}

#[test]
fn a_receiver_that_takes_nothing_in_stops_the_crossfire() {
    // The negative control of the two tests above: nothing is kept for later.
    for seed in 0..20 {
        let table = Table::new(2, NARROW, Chooser::random(seed));
        let lazy = Settings { kept_bytes: 0, path: Path::Buffered, ..SETTINGS };
        let ends = run(&table, lazy, 2, async |messenger| crossfire(messenger, 7, 100, 400).await);
        // Both wait for credits of each other, and both learn of it.
        let ends = ends.unwrap_or_else(|stuck| panic!("seed {seed}: {stuck:?}"));
        assert!(ends.iter().all(|end| is_circle(end, &[0, 1])), "seed {seed}: {ends:?}");
    }
}

/// Whether the error names exactly these ranks, with any of them first.
fn is_circle(end: &Result<(), Error>, expected: &[Rank]) -> bool {
    let Some(Cause::Deadlock { ranks, .. }) = Error::of(end) else { return false };
    let mut ranks = ranks.clone();
    ranks.sort_unstable();
    ranks == expected
}

/// Waits for the message of that rank, which is a number.
async fn hear(messenger: &Messenger<TableLane<'_>>, from: Rank) -> Result<u32, Error> {
    let mut message = messenger.begin_unpacking_from(from)?;
    let number = message.unpack_express(Mode::Safer).await?;
    message.end().await.map(|()| number)
}

async fn tell(messenger: &Messenger<TableLane<'_>>, to: Rank) -> Result<(), Error> {
    let mut message = messenger.begin_packing(to)?;
    message.pack(Safer(&to.to_le_bytes()), Receive::Express).await?;
    message.end().await
}

/// Waits that long for a null message that does not come: on the table computing takes no time while others
/// only wait.
async fn busy(messenger: &Messenger<TableLane<'_>>, span: Nanos) {
    messenger.set_deadline(messenger.now() + span);
    assert!(messenger.wait(3).await.is_err());
    messenger.set_deadline(Nanos::MAX);
}

#[test]
fn ranks_that_wait_in_a_circle_are_all_told_and_others_are_not() {
    for seed in 0..200 {
        for (size, circle) in [(1, &[0][..]), (2, &[0, 1]), (3, &[0, 1, 2]), (4, &[0, 1])] {
            let table = Table::new(size, NARROW, Chooser::random(seed));
            let last = circle.len() as u32;
            let ends = run(&table, SETTINGS, size, async |messenger| {
                let rank = messenger.rank();
                // A rank outside the circle waits for it.
                let end = hear(messenger, if rank < last { (rank + 1) % last } else { rank - 1 }).await;
                end.map(drop)
            });
            let told = ends.as_ref().map_or_else(|_| vec![], |ends| ends.iter().filter(|end| is_circle(end, circle)).collect());
            // The ranks outside wait on for a rank that has learned of it and does nothing more.
            let all = if size == last { told.len() == circle.len() } else { ends.is_err() };
            assert!(all, "seed {seed}, {size} ranks: {ends:?} {:?}", table.deadlocked());
        }
    }
}

#[test]
fn who_waits_long_for_what_comes_hears_of_no_circle() {
    // Race 7: one rank computes for about as long as a wait lasts before it asks, and then answers. A chase
    // that is on its way by then tells of waits that are over, or are about to be: a messenger that does not
    // count frames fails here.
    for seed in 0..400_u64 {
        let table = Table::new(3, NARROW, Chooser::random(seed));
        let ends = run(&table, SETTINGS, 3, async |messenger| {
            let rank = messenger.rank();
            let (mut random, mut mine) = (SplitMix(seed), SplitMix(seed << 2 | u64::from(rank)));
            for _ in 0..6 {
                let starter = random.below(3) as u32;
                let pause = Nanos(random.below(400_000_000) + 240_000_000);
                if rank == starter {
                    busy(messenger, pause).await;
                    tell(messenger, (rank + 1) % 3).await?;
                    hear(messenger, (rank + 2) % 3).await?;
                } else {
                    busy(messenger, Nanos(mine.below(200_000_000))).await;
                    hear(messenger, (rank + 2) % 3).await?;
                    tell(messenger, (rank + 1) % 3).await?;
                }
            }
            Ok::<_, Error>(())
        });
        let ends = ends.unwrap_or_else(|stuck| panic!("seed {seed}: {stuck:?}"));
        assert!(ends.iter().all(|end| *end == Ok(())), "seed {seed}: {ends:?}");
    }
}

#[test]
fn any_pieces_arrive_as_they_were_packed() {
    for_random_orders(600, 2, async |messenger, seed| one_message(messenger, &PiecePlan::random(seed, 12, 3_000)).await);
}

#[test]
fn later_pieces_are_read_at_the_end() {
    for_random_orders(20, 2, async |messenger, _| later_is_read_at_the_end(messenger).await);
}

#[test]
fn a_disagreement_is_named_on_both_sides() {
    for_random_orders(60, 2, async |messenger, _| disagreeing(messenger, 40).await);
    for_random_orders(60, 2, async |messenger, _| disagreeing(messenger, 700).await);
}

#[test]
fn a_dropped_message_is_told_to_its_receiver() {
    for_random_orders(60, 2, async |messenger, _| abandoned(messenger).await);
}

#[test]
fn several_messages_are_open_both_ways() {
    for bytes in [0, 100, 400] {
        for_random_orders(100, 2, async |messenger, _| several_open(messenger, 40, bytes).await);
    }
}

#[test]
fn owned_memory_is_sent_and_given_back() {
    for bytes in [0, 100, 400] {
        for_random_orders(60, 2, async |messenger, _| owned(messenger, bytes).await);
    }
}

#[test]
fn a_scope_that_fails_gives_up_what_is_open() {
    for_random_orders(60, 2, async |messenger, _| given_up_open(messenger, 700).await);
}

#[test]
fn a_deadline_ends_a_wait() {
    for_random_orders(5, 2, async |messenger, _| impatient(messenger, Nanos(100)).await);
}

#[test]
fn whoever_waits_is_told_when_all_others_have_left() {
    for seed in 0..100 {
        let table = Table::new(3, NARROW, Chooser::random(seed));
        let messengers = messengers(&table, 3, SETTINGS);
        let ends = table.run(messengers.into_iter().map(|messenger| Box::pin(left_in_order(messenger)) as _).collect(), |_| ());
        assert!(ends.iter().all(|end| *end == Some(Ok(()))), "seed {seed}: {ends:?} {:?}", table.deadlocked());
    }
}

#[test]
fn whoever_goes_away_without_leaving_is_named() {
    for seed in 0..20 {
        let table = Table::new(3, NARROW, Chooser::random(seed));
        let messengers = messengers(&table, 3, SETTINGS);
        let ends = table.run(messengers.into_iter().map(|messenger| Box::pin(gone(messenger)) as _).collect(), |_| ());
        assert!(ends.iter().all(|end| *end == Some(Ok(()))), "seed {seed}: {ends:?} {:?}", table.deadlocked());
    }
}

#[test]
fn a_lost_rank_fails_every_wait_wherever_it_dies() {
    for seed in 0..200 {
        let table = Table::new(3, NARROW, Chooser::random(seed));
        let messengers = messengers(&table, 3, SETTINGS);
        let program = |messenger| Box::pin(crossfire(messenger, 4, 100, 400)) as _;
        let ends = table.run(messengers.iter().map(program).collect(), |now| {
            if now == 10 + seed {
                table.kill(2);
            }
        });
        assert!(ends.iter().all(Option::is_some), "seed {seed}: {ends:?} {:?}", table.deadlocked());
        let ends: Vec<_> = ends.into_iter().flatten().collect();
        let told = |end: &Result<(), Error>| {
            matches!(Error::of(end), None | Some(Cause::PeerLost { rank: 2, .. } | Cause::Poisoned { by: Some(2) }))
        };
        assert!(ends.iter().all(told), "seed {seed}: {ends:?}");
    }
}

#[test]
fn survivors_name_the_lost_rank_and_not_each_other() {
    for seed in 0..400 {
        let table = Table::new(4, NARROW, Chooser::random(seed));
        let messengers = messengers(&table, 4, SETTINGS);
        // Each goes away with its messenger as soon as it fails: its error must name the lost rank.
        let program = |messenger: Messenger<_>| {
            Box::pin(async move {
                let mut into = [0; 300];
                for _ in 0..1_000 {
                    shift(&messenger, 1, &[0; 300], &mut into).await?;
                }
                Ok(())
            }) as _
        };
        let ends: Vec<Option<Result<(), Error>>> = table.run(messengers.into_iter().map(program).collect(), |now| {
            if now == 10 + seed {
                table.kill_before(3, (seed % 3) as u32);
            }
        });
        let named = |end: &Option<Result<(), Error>>| {
            end.as_ref().is_some_and(|end| matches!(Error::of(end), Some(Cause::PeerLost { rank: 3, .. })))
        };
        assert!(ends[..3].iter().all(named), "seed {seed}: {ends:?} {:?}", table.deadlocked());
    }
    #[cfg(feature = "probes")]
    assert!(foregather_machine::reached_here().contains_key("messenger:13"));
}

#[test]
fn hostile_frames_are_named_errors() {
    for seed in 0..3_000_u64 {
        let table = Table::new(2, NARROW, Chooser::random(seed));
        let mut random = foregather_machine::SplitMix(seed);
        let address = |rank| Address { rank, lane: 0 };
        for _ in 0..1 + random.below(4) {
            let head = if random.below(2) == 0 {
                random.below(1 << 32) as u32
            } else {
                random.below(16) as u32 | (random.below(8) << 16) as u32
            };
            let bytes: Vec<u8> = (0..random.below(40)).map(|_| random.below(256) as u8).collect();
            table.forge(address(0), address(1), head, &bytes);
        }
        let told = RefCell::new(None);
        let messengers = messengers(&table, 2, SETTINGS);
        let victim = async {
            let mut message = messengers[1].begin_unpacking_from(0)?;
            let _: u32 = message.unpack_express(foregather_message::Mode::Safer).await?;
            message.end().await
        };
        table.run(vec![Box::pin(async { *told.borrow_mut() = Some(victim.await) })], |_| ());
        // It may wait for more, get an error, or have got a message: but nothing breaks.
        let told = told.into_inner();
        assert!(told.is_some() || !table.deadlocked().is_empty(), "seed {seed}");
    }
}

/// Every run is another order.
struct Orders(std::cell::Cell<u64>);

impl Ports for Orders {
    fn run<T: Send>(&self, slots: u32, start: &[Nanos], program: &(impl PortProgram<T> + Sync)) -> Vec<T> {
        self.0.set(self.0.get() + 1);
        let size = start.len() as u32;
        let table = Table::new(size, Limits { buffer: 256, ..NARROW }, Chooser::random(self.0.get()));
        let messengers = messengers(&table, size, Settings { slots: slots.max(1), ..SETTINGS });
        let node = async |messenger: Messenger<TableLane<'_>>| {
            let end = program.node(&messenger).await;
            messenger.leave();
            end
        };
        let ends = table.run(messengers.into_iter().map(|messenger| Box::pin(node(messenger)) as _).collect(), |_| ());
        ends.into_iter().collect::<Option<_>>().unwrap_or_else(|| panic!("order {}: {:?}", self.0.get(), table.deadlocked()))
    }
}

#[test]
fn ports_and_collectives_work_over_messengers() {
    let orders = Orders(std::cell::Cell::new(0));
    port::all(&orders);
    collective::all(&orders);
}
