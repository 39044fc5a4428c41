//! A rank's ends, messages of one piece between two ranks in the patterns that are measured, and the rank's
//! part in an errand: what rank 0 asks for on the control lane both ranks do. Messages of one size go by
//! every way in turn: batch after batch, every other round backwards, so that a disturbance meets them all.
use super::bare::Bare;
use super::{Answer, Timed, Waits};
use super::{LARGE, Pattern, Transport};
use foregather_host::{clock, usage};
use foregather_machine::{Error, Fabric, Limits, Nanos, block_on};
use foregather_message::{Cheaper, Messenger, Mode, Receive, Safer, Settings};
use foregather_wait::Policy;

/// Lanes that are no end's: control, and the bare fabric.
pub(super) const OWN_LANES: u32 = 2;

/// What both ranks are to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    /// `rounds` rounds by the way of that number, after some that do not count.
    Rounds { transport: usize, pattern: Pattern, rounds: u32 },
    /// Round trips at that end until rank 0 has enough.
    UntilTold { end: usize },
    /// The rank ends.
    Leave,
}

impl Errand {
    fn words(self) -> [u32; 3] {
        match self {
            Self::Rounds { transport, pattern: Pattern::PingPong, rounds } => [0, transport as u32, rounds],
            Self::Rounds { transport, pattern: Pattern::Stream, rounds } => [1, transport as u32, rounds],
            Self::UntilTold { end } => [2, end as u32, 0],
            Self::Rounds { transport, pattern: Pattern::BothWays, rounds } => [3, transport as u32, rounds],
            Self::Leave => [4, 0, 0],
        }
    }

    fn of([what, which, rounds]: [u32; 3]) -> Self {
        match what {
            0 => Self::Rounds { transport: which as usize, pattern: Pattern::PingPong, rounds },
            1 => Self::Rounds { transport: which as usize, pattern: Pattern::Stream, rounds },
            2 => Self::UntilTold { end: which as usize },
            3 => Self::Rounds { transport: which as usize, pattern: Pattern::BothWays, rounds },
            _ => Self::Leave,
        }
    }
}

/// All that one rank sends and receives by.
pub(super) struct Ends<F: Fabric> {
    /// On which rank 0 says what is next; it sleeps, so that nothing else is disturbed.
    control: Messenger<F>,
    bare: Bare<F>,
    ends: Vec<Messenger<F>>,
    /// Of [`super::Measurand::Size`]; the messages' ways have an end each, in that order.
    pub(super) transports: Vec<Transport>,
    from: Vec<u8>,
    into: Vec<u8>,
}

impl<F: Fabric> Ends<F> {
    /// From as many lanes as [`OWN_LANES`] and the settings; `settings` are the ends'.
    pub(super) fn new(
        lanes: Vec<F>,
        settings: &[Settings],
        transports: Vec<Transport>,
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
        // Different on both sides, and written to: pages that were never written are all the same one.
        Ok(Self { control, bare, ends, transports, from: vec![1; bytes.max(8)], into: vec![2; bytes.max(8)] })
    }

    pub(super) fn rank(&self) -> u32 {
        rank(&self.control)
    }

    /// Both ranks, before anything else: to, fro and to on every lane. Where connections are made by the
    /// first frame, both sides have to wait on that very lane meanwhile; the third frame says that the second
    /// has come.
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

    /// Rank 0's part of [`Errand::UntilTold`]: round trips of 8 bytes, each told how long it took, until the
    /// time is up.
    pub(super) fn round_trips(&self, end: usize, span: Nanos, mut each: impl FnMut(Nanos)) -> Result<(), Error> {
        let end_of = &self.ends[end];
        let round_trip = |more: u64| {
            let mut back = [0; 8];
            block_on(async {
                send(end_of, &more.to_le_bytes()).await?;
                receive(end_of, &mut back).await
            })
        };
        // Rank 1 wakes up.
        (0..3).try_for_each(|_| round_trip(1))?;
        let mut last = clock::now();
        let until = last + span;
        while last < until {
            round_trip(1)?;
            let now = clock::now();
            each(now - last);
            last = now;
        }
        round_trip(0)
    }

    /// A rank's part of [`Errand::Rounds`]: how long it took, and this thread's processor time.
    pub(super) fn run(&mut self, errand: Errand, bytes: usize) -> Result<(Nanos, Nanos), Error> {
        let Errand::Rounds { transport, pattern, rounds } = errand else { return Ok((Nanos::ZERO, Nanos::ZERO)) };
        let (from, mut into) = (std::mem::take(&mut self.from), std::mem::take(&mut self.into));
        let end = self.some(transport, pattern, rounds / 8 + 1, &from[..bytes], &mut into[..bytes]).and_then(|()| {
            let began = (clock::now(), usage::thread_cpu());
            self.some(transport, pattern, rounds, &from[..bytes], &mut into[..bytes])?;
            Ok((clock::now() - began.0, usage::thread_cpu() - began.1))
        });
        (self.from, self.into) = (from, into);
        end
    }

    fn some(&self, number: usize, pattern: Pattern, rounds: u32, from: &[u8], into: &mut [u8]) -> Result<(), Error> {
        let transport = self.transports[number];
        let end = || &self.ends[self.transports[..number].iter().filter(|transport| transport.is_message()).count()];
        match (transport, pattern) {
            (Transport::Memcpy, _) => {
                (0..if self.rank() == 0 { rounds } else { 0 }).for_each(|_| {
                    std::hint::black_box(&mut *into).copy_from_slice(std::hint::black_box(from));
                });
                Ok(())
            }
            (Transport::ReadAlone | Transport::ReadHelped, _) => {
                self.bare.reads(rounds, from, into, transport == Transport::ReadHelped)
            }
            (Transport::Frames | Transport::InPlace, Pattern::PingPong) => {
                self.bare.frames(rounds, from, into, transport == Transport::Frames)
            }
            (Transport::Frames | Transport::InPlace, Pattern::Stream) => {
                self.bare.many_frames(rounds, from, into, transport == Transport::Frames)
            }
            (_, Pattern::PingPong) => block_on(ping_pong(end(), rounds, from, into)),
            (_, Pattern::Stream) => block_on(stream(end(), rounds, from, into)),
            (_, Pattern::BothWays) => block_on(both_ways(end(), rounds, from, into)),
        }
    }
}

#[inline]
pub(super) fn rank<F: Fabric>(end: &Messenger<F>) -> u32 {
    end.fabric().here().rank
}

#[inline]
pub(super) async fn send<F: Fabric>(end: &Messenger<F>, bytes: &[u8]) -> Result<(), Error> {
    if bytes.len() < LARGE {
        end.send_whole(1 - rank(end), Safer(bytes), Receive::Express).await
    } else {
        end.send_whole(1 - rank(end), Cheaper(bytes), Receive::Cheaper).await
    }
}

#[inline]
pub(super) async fn receive<F: Fabric>(end: &Messenger<F>, into: &mut [u8]) -> Result<(), Error> {
    let (sent, receive) = if into.len() < LARGE { (Mode::Safer, Receive::Express) } else { (Mode::Cheaper, Receive::Cheaper) };
    end.receive_whole(1 - rank(end), sent, receive, into).await
}

pub(super) async fn ping_pong<F: Fabric>(end: &Messenger<F>, rounds: u32, from: &[u8], into: &mut [u8]) -> Result<(), Error> {
    for turn in 0..2 * rounds {
        if turn % 2 == rank(end) {
            send(end, from).await?;
        } else {
            receive(end, into).await?;
        }
    }
    Ok(())
}

pub(super) async fn stream<F: Fabric>(end: &Messenger<F>, rounds: u32, from: &[u8], into: &mut [u8]) -> Result<(), Error> {
    if rank(end) == 1 {
        for _ in 0..rounds {
            receive(end, into).await?;
        }
        return send(end, &[]).await;
    }
    for _ in 0..rounds {
        send(end, from).await?;
    }
    receive(end, &mut []).await
}

/// Messages that are open each way at a time.
const WINDOW: u32 = 16;

pub(super) async fn both_ways<F: Fabric>(end: &Messenger<F>, rounds: u32, from: &[u8], into: &mut [u8]) -> Result<(), Error> {
    for done in (0..rounds).step_by(WINDOW as usize) {
        let now = WINDOW.min(rounds - done);
        end.scope(async |scope| {
            for _ in 0..now {
                if from.len() < LARGE {
                    send(end, from).await?;
                } else {
                    let mut message = end.begin_packing(1 - rank(end))?;
                    message.pack(Cheaper(from), Receive::Cheaper).await?;
                    scope.end_later(message).await?;
                }
            }
            for _ in 0..now {
                receive(end, into).await?;
            }
            Ok(())
        })
        .await?;
    }
    Ok(())
}

/// Answers until told that this was the last.
pub(super) async fn echo<F: Fabric>(end: &Messenger<F>) -> Result<(), Error> {
    loop {
        let mut more = [0; 8];
        receive(end, &mut more).await?;
        send(end, &more).await?;
        if more == [0; 8] {
            return Ok(());
        }
    }
}

/// Rounds of a batch at most, and for the guess at how long one takes.
const ROUNDS: (u32, u32) = (200_000, 16);

/// Which of them there are on such a fabric.
pub(super) fn possible(transports: &[Transport], bytes: usize, limits: &Limits) -> Vec<Transport> {
    transports.iter().copied().filter(|transport| transport.takes(bytes, limits)).collect()
}

/// Rank 0's part.
pub(super) fn measure_sizes<F: Fabric>(
    ends: &mut Ends<F>,
    bytes: usize,
    (batches, batch_ns): (u32, u64),
    answer: &mut Answer,
) -> Result<(), Error> {
    let series: Vec<(usize, Pattern)> = ends
        .transports
        .iter()
        .enumerate()
        .flat_map(|(transport, of)| of.patterns().iter().map(move |&pattern| (transport, pattern)))
        .collect();
    let mut timed: Vec<Timed> =
        series.iter().map(|&(transport, pattern)| Timed::none(ends.transports[transport], pattern)).collect();
    let mut rounds = Vec::new();
    for &(transport, pattern) in &series {
        let mut guess = Timed::none(ends.transports[transport], pattern);
        batch(ends, (transport, pattern), ROUNDS.1, bytes, &mut guess)?;
        let one = (guess.wall_ns / u64::from(ROUNDS.1)).max(1);
        rounds.push((batch_ns / one).clamp(4, ROUNDS.0.into()) as u32);
    }
    for turn in 0..batches {
        for i in 0..series.len() {
            let i = if turn % 2 == 0 { i } else { series.len() - 1 - i };
            batch(ends, series[i], rounds[i], bytes, &mut timed[i])?;
        }
    }
    for (end, transport) in ends.transports.iter().filter(|transport| transport.is_message()).enumerate() {
        let waits = Some(ends.waits(end));
        timed.iter_mut().filter(|timed| timed.transport == *transport).for_each(|timed| timed.waits = waits);
    }
    answer.sizes = timed;
    Ok(())
}

fn batch<F: Fabric>(
    ends: &mut Ends<F>,
    (transport, pattern): (usize, Pattern),
    rounds: u32,
    bytes: usize,
    timed: &mut Timed,
) -> Result<(), Error> {
    let errand = Errand::Rounds { transport, pattern, rounds };
    ends.ask(errand)?;
    let (took, here) = ends.run(errand, bytes)?;
    let there = ends.spent_there()?;
    let halves = if pattern == Pattern::PingPong && timed.transport != Transport::Memcpy { 2.0 } else { 1.0 };
    timed.ns.push(took.0 as f64 / f64::from(rounds) / halves);
    timed.cpu_ns = [timed.cpu_ns[0] + here.0, timed.cpu_ns[1] + there.0];
    timed.wall_ns += took.0;
    Ok(())
}

impl Timed {
    fn none(transport: Transport, pattern: Pattern) -> Self {
        Self { transport, pattern, ns: vec![], cpu_ns: [0; 2], wall_ns: 0, waits: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errand_is_read_as_it_was_sent() {
        let rounds = |pattern| Errand::Rounds { transport: 3, pattern, rounds: 77 };
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
