//! A rank's ends, and its part in an errand: what rank 0 asks for on the control lane both ranks do.
use super::ways::{LARGE, Pattern, Way};
use super::{Answer, Waits};
use foregather_host::{clock, pause::pause, usage};
use foregather_machine::{Address, Cpu, Error, Fabric, Key, Nanos, Why, run_ready};
use foregather_message::{Cheaper, Messenger, Mode, Receive, Safer, Settings};
use foregather_wait::Policy;

/// Looks between two checks whether a wait on the bare fabric may go on.
const LOOKS: u32 = 1_024;
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
            Self::Leave => [3, 0, 0],
        }
    }

    fn of([what, which, rounds]: [u32; 3]) -> Self {
        match what {
            0 => Self::Rounds { way: which as usize, pattern: Pattern::PingPong, rounds },
            1 => Self::Rounds { way: which as usize, pattern: Pattern::Stream, rounds },
            2 => Self::UntilTold { end: which as usize },
            _ => Self::Leave,
        }
    }
}

/// One rank's.
pub(super) struct Ends<F: Fabric> {
    /// On which rank 0 says what is next; it sleeps, so that nothing else is disturbed.
    control: Messenger<F>,
    bare: F,
    ends: Vec<Messenger<F>>,
    /// Of [`super::Task::Size`]; the messages' ways have an end each, in that order.
    pub(super) ways: Vec<Way>,
    why: Why,
    from: Vec<u8>,
    into: Vec<u8>,
}

impl<F: Fabric> Ends<F> {
    /// From as many lanes as [`lanes`] says; `settings` are the ends'.
    pub(super) fn new(lanes: Vec<F>, settings: &[Settings], ways: Vec<Way>, bytes: usize, until: Nanos) -> Result<Self, Error> {
        let mut lanes = lanes.into_iter();
        let too_few = || super::strange("it has too few lanes".to_owned());
        let control = lanes.next().ok_or_else(too_few)?;
        let control = Messenger::new(control, Settings { policy: Some(Policy::Block), ..Settings::default() })?;
        let bare = lanes.next().ok_or_else(too_few)?;
        let ends: Vec<_> =
            lanes.zip(settings).map(|(lane, settings)| Messenger::new(lane, *settings)).collect::<Result<_, _>>()?;
        ends.iter().chain([&control]).for_each(|end| end.set_deadline(until));
        let why = Why::new("measuring frames", bare.here().rank).of(1 - bare.here().rank).until(until);
        // Different on both sides, and written to: pages that nobody has written are all the same one.
        Ok(Self { control, bare, ends, ways, why, from: vec![1; bytes.max(8)], into: vec![2; bytes.max(8)] })
    }

    pub(super) fn rank(&self) -> u32 {
        self.control.rank_here()
    }

    pub(super) fn bare(&self) -> &F {
        &self.bare
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
            run_ready(receive(&self.control, &mut words))?;
            let word = |at: usize| u32::from_le_bytes([words[at], words[at + 1], words[at + 2], words[at + 3]]);
            let errand = Errand::of([word(0), word(4), word(8)]);
            if errand == Errand::Leave {
                self.leave();
                return Ok(());
            }
            let spent = match errand {
                Errand::UntilTold { end } => {
                    let began = usage::thread_cpu();
                    run_ready(echo(&self.ends[end]))?;
                    usage::thread_cpu() - began
                }
                _ => self.play(errand, bytes)?.1,
            };
            run_ready(send(&self.control, &spent.0.to_le_bytes()))?;
        }
    }

    /// Rank 0: begins an errand.
    pub(super) fn ask(&self, errand: Errand) -> Result<(), Error> {
        let words: Vec<u8> = errand.words().iter().flat_map(|word| word.to_le_bytes()).collect();
        run_ready(send(&self.control, &words))
    }

    /// Rank 0: the processor time that rank 1 has spent on it.
    pub(super) fn spent_there(&self) -> Result<Nanos, Error> {
        let mut spent = [0; 8];
        run_ready(receive(&self.control, &mut spent))?;
        Ok(Nanos(u64::from_le_bytes(spent)))
    }

    pub(super) fn leave(self) {
        self.bare.leave();
        self.ends.into_iter().chain([self.control]).for_each(Messenger::leave);
    }

    /// Rank 0's part of [`Errand::UntilTold`]: round trips of 8 bytes, each told how long it took, until the time is up.
    pub(super) fn round_trips(&self, end: usize, span: Nanos, mut each: impl FnMut(Nanos)) -> Result<(), Error> {
        let end_of = &self.ends[end];
        let trip = |more: u64| {
            let mut back = [0; 8];
            run_ready(async {
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
    pub(super) fn play(&mut self, errand: Errand, bytes: usize) -> Result<(Nanos, Nanos), Error> {
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
            (Way::Memcpy, _) => {
                (0..if self.rank() == 0 { rounds } else { 0 }).for_each(|_| {
                    std::hint::black_box(&mut *into).copy_from_slice(std::hint::black_box(from));
                });
                Ok(())
            }
            (Way::ReadAlone | Way::ReadHelped, _) => self.reads(rounds, from, into, way == Way::ReadHelped),
            (Way::Frames | Way::InPlace, Pattern::PingPong) => self.frames(rounds, from, into, way == Way::Frames),
            (Way::Frames | Way::InPlace, Pattern::Stream) => self.many_frames(rounds, from, into, way == Way::Frames),
            (_, Pattern::PingPong) => run_ready(ping_pong(end(), rounds, from, into)),
            (_, Pattern::Stream) => run_ready(stream(end(), rounds, from, into)),
        }
    }

    fn peer(&self) -> Address {
        let here = self.bare.here();
        Address { rank: 1 - here.rank, lane: here.lane }
    }

    /// A bounded wait that spins.
    #[inline]
    fn until<T>(&self, mut probe: impl FnMut() -> Result<Option<T>, Error>) -> Result<T, Error> {
        loop {
            for _ in 0..LOOKS {
                if let Some(found) = probe()? {
                    return Ok(found);
                }
                pause();
            }
            self.bare.cpu().check(self.bare.bell(), &self.why)?;
        }
    }

    #[inline]
    fn post(&self, bytes: &[u8], copy: bool) -> Result<(), Error> {
        let to = self.peer();
        if bytes.len() <= self.bare.limits().inline {
            return self.until(|| Ok(self.bare.post(to, 0, bytes)?.then_some(())));
        }
        if copy {
            self.bare.fill(to, |buffer| buffer[..bytes.len()].copy_from_slice(bytes));
        }
        self.until(|| Ok(self.bare.post_filled(to, 0, bytes.len())?.then_some(())))
    }

    #[inline]
    fn take(&self, into: &mut [u8], copy: bool, help: bool) -> Result<(), Error> {
        let from = self.until(|| {
            let come = self.bare.arrived(None);
            if help && come.is_none() {
                self.bare.help();
            }
            Ok(come)
        })?;
        self.bare.look(from, |_, bytes| {
            let len = bytes.len().min(into.len());
            if copy {
                into[..len].copy_from_slice(&bytes[..len]);
            } else if let (Some(to), Some(first)) = (into.first_mut(), bytes.first()) {
                *to = *first;
            }
        });
        self.bare.release(from);
        Ok(())
    }

    fn frames(&self, rounds: u32, from: &[u8], into: &mut [u8], copy: bool) -> Result<(), Error> {
        for turn in 0..2 * rounds {
            if turn % 2 == self.rank() { self.post(from, copy)? } else { self.take(into, copy, false)? }
        }
        Ok(())
    }

    fn many_frames(&self, rounds: u32, from: &[u8], into: &mut [u8], copy: bool) -> Result<(), Error> {
        if self.rank() == 1 {
            (0..rounds).try_for_each(|_| self.take(into, copy, false))?;
            return self.post(&[], true);
        }
        (0..rounds).try_for_each(|_| self.post(from, copy))?;
        self.take(&mut [], true, false)
    }

    /// Announced, read and answered, to and fro.
    fn reads(&self, rounds: u32, from: &[u8], into: &mut [u8], help: bool) -> Result<(), Error> {
        let key = self.bare.expose(&[from])?;
        for turn in 0..2 * rounds {
            if turn % 2 == self.rank() {
                self.post(&key.0.to_le_bytes(), true)?;
                self.take(&mut [], true, help)?;
            } else {
                let mut key = [0; 8];
                self.take(&mut key, true, false)?;
                run_ready(self.bare.get(self.peer(), Key(u64::from_le_bytes(key)), &mut [&mut *into]))?;
                self.post(&[], true)?;
            }
        }
        self.bare.conceal(key);
        Ok(())
    }
}

/// The other rank of a messenger between two.
trait Pair {
    fn rank_here(&self) -> u32;
}

impl<F: Fabric> Pair for Messenger<F> {
    #[inline]
    fn rank_here(&self) -> u32 {
        self.fabric().here().rank
    }
}

#[inline]
async fn send<F: Fabric>(end: &Messenger<F>, bytes: &[u8]) -> Result<(), Error> {
    let mut message = end.begin_packing(1 - end.rank_here())?;
    if bytes.len() < LARGE {
        message.pack(Safer(bytes), Receive::Express).await?;
    } else {
        message.pack(Cheaper(bytes), Receive::Cheaper).await?;
    }
    message.end().await
}

#[inline]
async fn receive<F: Fabric>(end: &Messenger<F>, into: &mut [u8]) -> Result<(), Error> {
    let mut message = end.begin_unpacking_from(1 - end.rank_here())?;
    if into.len() < LARGE {
        message.unpack_express_into(Mode::Safer, into).await?;
    } else {
        message.unpack(Mode::Cheaper, into).await?;
    }
    message.end().await
}

async fn ping_pong<F: Fabric>(end: &Messenger<F>, rounds: u32, from: &[u8], into: &mut [u8]) -> Result<(), Error> {
    for turn in 0..2 * rounds {
        if turn % 2 == end.rank_here() {
            send(end, from).await?;
        } else {
            receive(end, into).await?;
        }
    }
    Ok(())
}

async fn stream<F: Fabric>(end: &Messenger<F>, rounds: u32, from: &[u8], into: &mut [u8]) -> Result<(), Error> {
    if end.rank_here() == 1 {
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

/// Answers until told that this was the last.
async fn echo<F: Fabric>(end: &Messenger<F>) -> Result<(), Error> {
    loop {
        let mut more = [0; 8];
        receive(end, &mut more).await?;
        send(end, &more).await?;
        if more == [0; 8] {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errand_is_read_as_it_was_sent() {
        let rounds = |pattern| Errand::Rounds { way: 3, pattern, rounds: 77 };
        for errand in [rounds(Pattern::PingPong), rounds(Pattern::Stream), Errand::UntilTold { end: 4 }, Errand::Leave] {
            assert_eq!(Errand::of(errand.words()), errand);
        }
    }
}
