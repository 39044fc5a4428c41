//! A rank's ends, and its part in an errand: what rank 0 asks for on the control lane both ranks do.
use super::bare::Bare;
use super::letters::{self, both_ways, echo, ping_pong, receive, send, stream};
use super::transport::{Pattern, Transport};
use super::{Answer, Waits};
use foregather_host::{clock, usage};
use foregather_machine::{Error, Fabric, Nanos, block_on};
use foregather_message::{Messenger, Settings};
use foregather_wait::Policy;

/// Lanes that are no end's: control, and the bare fabric.
pub(super) const OWN_LANES: u32 = 2;

/// What both ranks are to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    /// So many rounds by the way of that number, after some that do not count.
    Rounds { way: usize, pattern: Pattern, rounds: u32 },
    /// Round trips at that end until rank 0 has enough.
    UntilTold { end: usize },
    /// Nothing more.
    Leave,
}

impl Errand {
    fn words(self) -> [u32; 3] {
        match self {
            Self::Rounds { way, pattern: Pattern::PingPong, rounds } => [0, way as u32, rounds],
            Self::Rounds { way, pattern: Pattern::Stream, rounds } => [1, way as u32, rounds],
            Self::UntilTold { end } => [2, end as u32, 0],
            Self::Rounds { way, pattern: Pattern::BothWays, rounds } => [3, way as u32, rounds],
            Self::Leave => [4, 0, 0],
        }
    }

    fn of([what, which, rounds]: [u32; 3]) -> Self {
        match what {
            0 => Self::Rounds { way: which as usize, pattern: Pattern::PingPong, rounds },
            1 => Self::Rounds { way: which as usize, pattern: Pattern::Stream, rounds },
            2 => Self::UntilTold { end: which as usize },
            3 => Self::Rounds { way: which as usize, pattern: Pattern::BothWays, rounds },
            _ => Self::Leave,
        }
    }
}

/// One rank's.
pub(super) struct Ends<F: Fabric> {
    /// On which rank 0 says what is next; it sleeps, so that nothing else is disturbed.
    control: Messenger<F>,
    bare: Bare<F>,
    ends: Vec<Messenger<F>>,
    /// Of [`super::Task::Size`]; the messages' ways have an end each, in that order.
    pub(super) ways: Vec<Transport>,
    from: Vec<u8>,
    into: Vec<u8>,
}

impl<F: Fabric> Ends<F> {
    /// From as many lanes as [`OWN_LANES`] and the settings; `settings` are the ends'.
    pub(super) fn new(
        lanes: Vec<F>,
        settings: &[Settings],
        ways: Vec<Transport>,
        bytes: usize,
        until: Nanos,
    ) -> Result<Self, Error> {
        let mut lanes = lanes.into_iter();
        let too_few = || super::strange("it has too few lanes".to_owned());
        let control = lanes.next().ok_or_else(too_few)?;
        let control = Messenger::new(control, Settings { policy: Some(Policy::Block), ..Settings::default() })?;
        let bare = Bare::new(lanes.next().ok_or_else(too_few)?, until);
        let ends: Vec<_> =
            lanes.zip(settings).map(|(lane, settings)| Messenger::new(lane, *settings)).collect::<Result<_, _>>()?;
        ends.iter().chain([&control]).for_each(|end| end.set_deadline(until));
        // Different on both sides, and written to: pages that nobody has written are all the same one.
        Ok(Self { control, bare, ends, ways, from: vec![1; bytes.max(8)], into: vec![2; bytes.max(8)] })
    }

    pub(super) fn rank(&self) -> u32 {
        letters::rank(&self.control)
    }

    /// Both ranks, before anything else: to, fro and to on every lane. Where connections are made by the first frame, both sides have to
    /// wait on that very lane meanwhile; the third frame says that the second has come.
    pub(super) fn greet(&self) -> Result<(), Error> {
        let mut word = [0; 8];
        for end in [&self.control].into_iter().chain(&self.ends) {
            for turn in 0..3 {
                if turn % 2 == self.rank() {
                    block_on(send(end, &word))?;
                } else {
                    block_on(receive(end, &mut word))?;
                }
            }
        }
        self.bare.frames(2, &word, &mut [0; 8], true)
    }

    /// For what is told of the ends.
    pub(super) fn tell(&self, answer: &mut Answer) {
        answer.direct_at = self.ends.first().map(Messenger::direct_at).filter(|&bytes| bytes < usize::MAX);
    }

    pub(super) fn waits(&self, end: usize) -> Waits {
        let all = self.ends[end].account();
        Waits { first_look: all.first_look, spun: all.spun, yielded: all.yielded, slept: all.parked }
    }

    /// Rank 1: does what it is asked for, until nothing more is.
    pub(super) fn serve(mut self, bytes: usize) -> Result<(), Error> {
        loop {
            let mut words = [0; 12];
            block_on(receive(&self.control, &mut words))?;
            let word = |at: usize| u32::from_le_bytes([words[at], words[at + 1], words[at + 2], words[at + 3]]);
            let errand = Errand::of([word(0), word(4), word(8)]);
            if errand == Errand::Leave {
                self.leave();
                return Ok(());
            }
            let spent = match errand {
                Errand::UntilTold { end } => {
                    let began = usage::thread_cpu();
                    block_on(echo(&self.ends[end]))?;
                    usage::thread_cpu() - began
                }
                _ => self.run(errand, bytes)?.1,
            };
            block_on(send(&self.control, &spent.0.to_le_bytes()))?;
        }
    }

    /// Rank 0: begins an errand.
    pub(super) fn ask(&self, errand: Errand) -> Result<(), Error> {
        let words: Vec<u8> = errand.words().iter().flat_map(|word| word.to_le_bytes()).collect();
        block_on(send(&self.control, &words))
    }

    /// Rank 0: the processor time that rank 1 has spent on it.
    pub(super) fn spent_there(&self) -> Result<Nanos, Error> {
        let mut spent = [0; 8];
        block_on(receive(&self.control, &mut spent))?;
        Ok(Nanos(u64::from_le_bytes(spent)))
    }

    pub(super) fn leave(self) {
        self.bare.lane.leave();
        self.ends.into_iter().chain([self.control]).for_each(Messenger::leave);
    }

    /// Rank 0's part of [`Errand::UntilTold`]: round trips of 8 bytes, each told how long it took, until the time is up.
    pub(super) fn round_trips(&self, end: usize, span: Nanos, mut each: impl FnMut(Nanos)) -> Result<(), Error> {
        let end_of = &self.ends[end];
        let trip = |more: u64| {
            let mut back = [0; 8];
            block_on(async {
                send(end_of, &more.to_le_bytes()).await?;
                receive(end_of, &mut back).await
            })
        };
        // Rank 1 wakes up.
        (0..3).try_for_each(|_| trip(1))?;
        let mut last = clock::now();
        let until = last + span;
        while last < until {
            trip(1)?;
            let now = clock::now();
            each(now - last);
            last = now;
        }
        trip(0)
    }

    /// A rank's part of [`Errand::Rounds`]: how long it took, and this thread's processor time.
    pub(super) fn run(&mut self, errand: Errand, bytes: usize) -> Result<(Nanos, Nanos), Error> {
        let Errand::Rounds { way, pattern, rounds } = errand else { return Ok((Nanos::ZERO, Nanos::ZERO)) };
        let (from, mut into) = (std::mem::take(&mut self.from), std::mem::take(&mut self.into));
        let end = self.some(way, pattern, rounds / 8 + 1, &from[..bytes], &mut into[..bytes]).and_then(|()| {
            let began = (clock::now(), usage::thread_cpu());
            self.some(way, pattern, rounds, &from[..bytes], &mut into[..bytes])?;
            Ok((clock::now() - began.0, usage::thread_cpu() - began.1))
        });
        (self.from, self.into) = (from, into);
        end
    }

    fn some(&self, number: usize, pattern: Pattern, rounds: u32, from: &[u8], into: &mut [u8]) -> Result<(), Error> {
        let way = self.ways[number];
        let end = || &self.ends[self.ways[..number].iter().filter(|way| way.is_message()).count()];
        match (way, pattern) {
            (Transport::Memcpy, _) => {
                (0..if self.rank() == 0 { rounds } else { 0 }).for_each(|_| {
                    std::hint::black_box(&mut *into).copy_from_slice(std::hint::black_box(from));
                });
                Ok(())
            }
            (Transport::ReadAlone | Transport::ReadHelped, _) => {
                self.bare.reads(rounds, from, into, way == Transport::ReadHelped)
            }
            (Transport::Frames | Transport::InPlace, Pattern::PingPong) => {
                self.bare.frames(rounds, from, into, way == Transport::Frames)
            }
            (Transport::Frames | Transport::InPlace, Pattern::Stream) => {
                self.bare.many_frames(rounds, from, into, way == Transport::Frames)
            }
            (_, Pattern::PingPong) => block_on(ping_pong(end(), rounds, from, into)),
            (_, Pattern::Stream) => block_on(stream(end(), rounds, from, into)),
            (_, Pattern::BothWays) => block_on(both_ways(end(), rounds, from, into)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errand_is_read_as_it_was_sent() {
        let rounds = |pattern| Errand::Rounds { way: 3, pattern, rounds: 77 };
        for errand in [
            rounds(Pattern::PingPong),
            rounds(Pattern::Stream),
            rounds(Pattern::BothWays),
            Errand::UntilTold { end: 4 },
            Errand::Leave,
        ] {
            assert_eq!(Errand::of(errand.words()), errand);
        }
    }
}
