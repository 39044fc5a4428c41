//! The same over messages made of words, and what only these know: members that go away, deadlines, the length of a ring.
use super::{STEP, contents};
use crate::{PortProgram, Ports, World};
use foregather_machine::{Cause, Clock, Endpoint, Error, Nanos};
use foregather_message::{ChannelPort, Channels, Protocol, receive, send};
use foregather_wait::Policy;

/// Everything, over channels, with rings of several lengths and waits of several kinds.
pub fn all_over_channels(world: &impl World) {
    super::all(&OverChannels { world, room: None, policy: Policy::Block });
    super::all(&OverChannels { world, room: Some(500), policy: Policy::TwoPhase { spin: Nanos::from_us(5) } });
    let shortest = OverChannels { world, room: Some(32), policy: Policy::Block };
    super::arrive_in_order(&shortest, &[Nanos::ZERO; 2], &SMALL);
    crate::collective::all(&OverChannels { world, room: None, policy: Policy::Block });
    who_leaves_in_order_harms_nobody(world);
    who_goes_away_is_named(world);
    waits_can_be_bounded(world);
    what_makes_no_group_is_refused(world);
}

const SMALL: [super::Parcel; 3] = [
    super::Parcel { tag: 0, bytes: 700, protocol: Protocol::Long },
    super::Parcel { tag: 0, bytes: 0, protocol: Protocol::Forced },
    super::Parcel { tag: 1, bytes: 99, protocol: Protocol::Short },
];

/// A world with words as one with ports.
struct OverChannels<'w, W> {
    world: &'w W,
    /// Bytes between each two members; the usual if none.
    room: Option<usize>,
    policy: Policy,
}

impl<W: World> Ports for OverChannels<'_, W> {
    fn run<T: Send>(&self, slots: u32, start: &[Nanos], program: &(impl PortProgram<T> + Sync)) -> Vec<T> {
        let size = start.len() as u32;
        let channels = match self.room {
            Some(room) => Channels::with_room(size, slots, room).unwrap(),
            None => Channels::new(size, slots).unwrap(),
        };
        self.world.run(size, async |cpu: W::Cpu<'_>, rank| {
            let port = channels.port(cpu, rank, self.policy).unwrap();
            port.delay(start[rank as usize]).await;
            let end = program.node(&port).await;
            port.leave();
            end
        })
    }
}

/// What has gone to one member only, and not been taken yet, it can still take; and the others go on without it.
fn who_leaves_in_order_harms_nobody<W: World>(world: &W) {
    let channels = Channels::new(3, 1).unwrap();
    let ends = world.run(3, async |cpu: W::Cpu<'_>, rank| {
        let port = channels.port(cpu, rank, Policy::Block).unwrap();
        let mut buffer = vec![0; 9_000];
        if rank == 0 {
            send(&port, 1, 0, &contents(0, 0, 9_000), Protocol::Long).await.unwrap();
            port.leave();
            return Ok(0);
        }
        if rank == 1 {
            port.delay(STEP).await;
            receive(&port, 0, 0, &mut buffer).await.unwrap();
            assert!(buffer == contents(0, 0, 9_000));
            port.signal(2, 0).await.unwrap();
            port.wait(0).await.unwrap();
        } else {
            port.wait(0).await.unwrap();
            port.delay(STEP).await;
            port.signal(1, 0).await.unwrap();
        }
        // But who waits for more from the one that has left is told.
        let more = receive(&port, 0, 0, &mut buffer).await;
        port.leave();
        more
    });
    let left = || Err(Error::from(Cause::Poisoned { by: Some(0) }));
    assert_eq!(ends, [Ok(0), left(), left()]);
}

/// Rank 1 is dropped without leaving. What it did before holds; after that, nobody waits in vain, whomever for.
fn who_goes_away_is_named<W: World>(world: &W) {
    for way in 0..4 {
        let channels = Channels::new(3, 1).unwrap();
        let ends = world.run(3, async |cpu: W::Cpu<'_>, rank| {
            let port = channels.port(cpu, rank, Policy::Block).unwrap();
            if rank == 1 {
                port.signal(0, 0).await?;
                return port.signal(2, 0).await;
            }
            port.wait(0).await.unwrap();
            match way {
                0 => port.wait(0).await,
                1 => receive(&port, 1, 0, &mut []).await.map(drop),
                2 => receive(&port, 2 - rank, 0, &mut []).await.map(drop),
                _ => send(&port, 1, 0, &[1; 40_000], Protocol::Long).await,
            }
        });
        let gone = || Err(Error::from(Cause::Poisoned { by: Some(1) }));
        assert_eq!(ends, [gone(), Ok(()), gone()], "way {way}");
    }
}

/// A bound on a wait says who did not come; a wait for nothing in particular can be begun again.
fn waits_can_be_bounded<W: World>(world: &W) {
    let channels = Channels::new(2, 2).unwrap();
    world.run(2, async |cpu: W::Cpu<'_>, rank| {
        let port: ChannelPort<'_, W::Cpu<'_>> = channels.port(cpu, rank, Policy::Block).unwrap();
        if rank == 0 {
            port.set_deadline(port.now() + STEP);
            let end = receive(&port, 1, 0, &mut []).await;
            assert!(matches!(Error::of(&end), Some(Cause::TimedOut { rank: 0, peer: Some(1), .. })), "{end:?}");
            let end = port.wait(0).await;
            assert!(matches!(Error::of(&end), Some(Cause::TimedOut { what: "null message", peer: None, .. })), "{end:?}");
            port.set_deadline(Nanos::MAX);
            port.signal(1, 1).await.unwrap();
            assert_eq!(receive(&port, 1, 0, &mut [0; 8]).await, Ok(3));
        } else {
            port.wait(1).await.unwrap();
            send(&port, 0, 0, &[1; 3], Protocol::Short).await.unwrap();
        }
        port.leave();
    });
}

fn what_makes_no_group_is_refused<W: World>(world: &W) {
    world.run(1, async |cpu: W::Cpu<'_>, _| {
        let cause = |made: Result<Channels<W::Cpu<'_>>, Error>| made.err().map(|error| error.cause().clone());
        assert!(matches!(cause(Channels::new(0, 1)), Some(Cause::Size { size: 0, .. })));
        assert!(matches!(cause(Channels::new(5_000, 1)), Some(Cause::Size { size: 5_000, .. })));
        assert!(matches!(cause(Channels::with_room(2, 1, 31)), Some(Cause::Setting { .. })));
        let channels = Channels::new(1, 1).unwrap();
        assert!(channels.port(cpu, 1, Policy::Block).is_err());
    });
}
