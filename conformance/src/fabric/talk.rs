//! What every program needs: waiting with a bound, sending where there may be no room, receiving in place.
use foregather_machine::{Address, Clock, Fabric, Key, Member, Nanos, Rank, SplitMix, WaitContext};
use foregather_wait::Policy;

/// Longer than any wait of a program in any world: a frame that takes this long is lost.
pub(super) const BOUND: Nanos = Nanos::from_ms(30_000);

/// One lane, and how many there are of each rank.
pub(super) struct Talk<'f, F> {
    pub(super) fabric: &'f F,
    lanes: u32,
}

/// Lane 0 of a rank.
pub(super) const fn at(rank: Rank) -> Address {
    Address { rank, lane: 0 }
}

/// The contents of a frame: no two are equal.
pub(super) fn contents(from: Address, to: Address, number: u32, bytes: usize) -> Vec<u8> {
    let ends = [from.rank, from.lane, to.rank, to.lane].into_iter().fold(1, |all, part| all * 31 + u64::from(part));
    let mut random = SplitMix(SplitMix::mix(ends << 32 | u64::from(number)));
    (0..bytes).map(|_| random.next() as u8).collect()
}

impl<'f, F: Fabric> Talk<'f, F> {
    pub(super) fn new(fabric: &'f F, lanes: u32) -> Self {
        assert!(lanes <= fabric.limits().lanes, "the fabric has too few lanes for this program");
        Self { fabric, lanes }
    }

    pub(super) fn here(&self) -> Address {
        self.fabric.here()
    }

    pub(super) fn rank(&self) -> Rank {
        Member::rank(self.fabric)
    }

    /// All lanes but this one.
    pub(super) fn others(&self) -> impl Iterator<Item = Address> {
        let (here, lanes) = (self.here(), self.lanes);
        let all = (0..self.fabric.size()).flat_map(move |rank| (0..lanes).map(move |lane| Address { rank, lane }));
        all.filter(move |&other| other != here)
    }

    /// Sleeps on the bell until `probe` finds something, and meanwhile helps lanes that read from this one.
    pub(super) async fn until<T>(&self, what: &'static str, probe: impl FnMut() -> Option<T>) -> T {
        self.until_by(Policy::Block, what, probe).await
    }

    pub(super) async fn until_by<T>(&self, policy: Policy, what: &'static str, mut probe: impl FnMut() -> Option<T>) -> T {
        let (fabric, cpu) = (self.fabric, self.fabric.cpu());
        let why = WaitContext::new(what, self.rank()).until(cpu.now() + BOUND);
        let probe = || {
            fabric.progress();
            probe()
        };
        match policy.wait(cpu, fabric.bell(), why, probe).await {
            Ok((found, _)) => found,
            Err(error) => panic!("{:?}: {error}", self.here()),
        }
    }

    /// Sends, through a static buffer if it is too long for other ways, as soon as there is room.
    pub(super) async fn send(&self, to: Address, head: u32, bytes: &[u8]) {
        self.until("room", || self.try_send(to, head, bytes).then_some(())).await;
    }

    pub(super) fn try_send(&self, to: Address, head: u32, bytes: &[u8]) -> bool {
        if bytes.len() <= self.fabric.limits().inline {
            return self.fabric.post(to, head, bytes).expect("an inline frame");
        }
        self.try_filled(to, head, bytes)
    }

    pub(super) fn try_filled(&self, to: Address, head: u32, bytes: &[u8]) -> bool {
        self.fabric.write_with(to, |buffer| buffer[..bytes.len()].copy_from_slice(bytes));
        self.fabric.post_filled(to, head, bytes.len()).expect("a static buffer")
    }

    /// The next frame from that lane, read twice, and released.
    pub(super) async fn receive(&self, from: Address) -> (u32, Vec<u8>) {
        let read = |head: u32, bytes: &[u8]| (head, bytes.to_vec());
        let frame = self.until("a frame", || self.fabric.peek(from, read)).await;
        assert_eq!(
            self.fabric.peek(from, read).as_ref(),
            Some(&frame),
            "a second look at a frame from {from:?} shows another one"
        );
        self.fabric.release(from);
        frame
    }

    /// Expects that the next frame from that lane is this one.
    pub(super) async fn expect(&self, from: Address, head: u32, bytes: &[u8]) {
        let (came, said) = self.receive(from).await;
        assert_eq!((came, said.len()), (head, bytes.len()), "{:?}: another frame from {from:?}", self.here());
        assert!(said == bytes, "{:?}: frame {head} from {from:?} says something else", self.here());
    }

    /// Tells `to` where to read.
    pub(super) async fn send_key(&self, to: Address, key: Key) {
        self.send(to, 0, &key.0.to_le_bytes()).await;
    }

    pub(super) async fn receive_key(&self, from: Address) -> Key {
        let (_, bytes) = self.receive(from).await;
        Key(u64::from_le_bytes(bytes.try_into().expect("a key of eight bytes")))
    }
}
