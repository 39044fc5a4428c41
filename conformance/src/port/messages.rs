//! One node sends, one receives.
use super::{SIZES, contents};
use crate::{PortProgram, Ports};
use foregather_machine::{Cause, Error, Nanos, Port};
use foregather_message::{Protocol, receive, send};

pub(super) fn all(ports: &impl Ports) {
    for protocol in Protocol::ALL {
        for bytes in SIZES {
            let parcels: Vec<_> = (0..6).map(|i| Parcel { tag: i % 2, bytes, protocol }).collect();
            arrive_in_order(ports, &[Nanos::ZERO; 2], &parcels);
        }
    }
    let mixed = |i: usize| Parcel { tag: i as u32 * 7 % 3, bytes: SIZES[i * 5 % 7], protocol: Protocol::ALL[i % 3] };
    arrive_in_order(ports, &[Nanos::ZERO; 2], &(0..42).map(mixed).collect::<Vec<_>>());
    for start in [[0, 0], [0, 5], [5, 0]] {
        let start = start.map(|late| super::STEP * late);
        assert_eq!(ports.run(1, &start, &Unposted), [Ok(()), Ok(())]);
        assert_eq!(ports.run(1, &start, &WrongLengths), [Ok(()), Ok(())]);
    }
    assert_eq!(ports.run(1, &[Nanos::ZERO; 2], &Nowhere), [Ok(()), Ok(())]);
}

/// One message: short ones that are too long for that protocol go by the long one.
#[derive(Clone, Copy, Debug)]
pub struct Parcel {
    /// Its tag.
    pub tag: u32,
    /// Its length.
    pub bytes: usize,
    /// Its protocol.
    pub protocol: Protocol,
}

/// Sends them all from node 0 to node 1, which takes them tag by tag, each tag's in the order in which they
/// were sent.
pub fn arrive_in_order(ports: &impl Ports, start: &[Nanos; 2], parcels: &[Parcel]) {
    let ends = ports.run(1, start, &InOrder(parcels));
    assert_eq!(ends, [Ok(()), Ok(())], "{parcels:?}, beginning at {start:?}");
}

struct InOrder<'p>(&'p [Parcel]);

/// Comes behind all others of its tag, and so shows that none of them came twice.
const LAST: &[u8] = b"last";

impl InOrder<'_> {
    /// By the highest tag first, so that messages of the others wait meanwhile.
    fn tags(&self) -> impl Iterator<Item = u32> {
        (0..=self.0.iter().map(|parcel| parcel.tag).max().unwrap_or(0)).rev()
    }
}

impl PortProgram<Result<(), Error>> for InOrder<'_> {
    async fn node<P: Port>(&self, port: &P) -> Result<(), Error> {
        let numbered = || (0_u64..).zip(self.0);
        if port.rank() == 0 {
            port.wait(0).await?;
            for (number, parcel) in numbered() {
                let short = parcel.protocol == Protocol::Short && parcel.bytes > port.short_limit();
                let protocol = if short { Protocol::Long } else { parcel.protocol };
                send(port, 1, parcel.tag, &contents(0, number, parcel.bytes), protocol).await?;
            }
            for tag in self.tags() {
                send(port, 1, tag, LAST, Protocol::Short).await?;
            }
            return Ok(());
        }
        for parcel in self.0 {
            port.post(0, parcel.tag)?;
        }
        port.signal(0, 0).await?;
        let mut buffer = vec![0; 70_000];
        for tag in self.tags() {
            for (number, parcel) in numbered().filter(|(_, parcel)| parcel.tag == tag) {
                let came = receive(port, 0, tag, &mut buffer).await?;
                assert_eq!(came, parcel.bytes, "message {number} of {:?}", self.0);
                assert!(buffer[..came] == contents(0, number, came), "message {number} of {:?} is another one", self.0);
            }
            let came = receive(port, 0, tag, &mut buffer).await?;
            assert_eq!(&buffer[..came], LAST, "a message of {:?} came twice", self.0);
        }
        Ok(())
    }
}

/// A forced message without an announcement is lost, and the node that asks for it is told; the next one
/// comes.
struct Unposted;

impl PortProgram<Result<(), Error>> for Unposted {
    async fn node<P: Port>(&self, port: &P) -> Result<(), Error> {
        if port.rank() == 0 {
            send(port, 1, 3, &[1; 5_000], Protocol::Forced).await?;
            return send(port, 1, 3, &[2], Protocol::Short).await;
        }
        // Another message is announced.
        port.post(0, 4)?;
        let mut buffer = [0; 8];
        let lost = receive(port, 0, 3, &mut buffer).await;
        if !matches!(Error::of(&lost), Some(Cause::Unposted { from: 0, tag: 3 })) {
            // A later message may be seen first, but not instead.
            assert_eq!((lost, buffer[0]), (Ok(1), 2));
            let lost = receive(port, 0, 3, &mut buffer).await;
            assert!(matches!(Error::of(&lost), Some(Cause::Unposted { from: 0, tag: 3 })), "{lost:?}");
            return Ok(());
        }
        assert_eq!(receive(port, 0, 3, &mut buffer).await?, 1);
        Ok(())
    }
}

/// Too long for a short message, or too long for the receiver's buffer: both sides learn how long it was,
/// without harm.
struct WrongLengths;

impl PortProgram<Result<(), Error>> for WrongLengths {
    async fn node<P: Port>(&self, port: &P) -> Result<(), Error> {
        let (limit, wrong) = (port.short_limit(), 9_999);
        let refused = |end: Result<usize, Error>| match Error::of(&end) {
            Some(&Cause::Length { bytes, room, .. }) => (bytes, room),
            other => (wrong, other.map_or(0, |_| wrong)),
        };
        if port.rank() == 0 {
            let end = send(port, 1, 0, &vec![7; limit + 1], Protocol::Short).await;
            assert_eq!(refused(end.map(|()| 0)), (limit + 1, limit));
            send(port, 1, 0, &vec![7; limit], Protocol::Short).await?;
            send(port, 1, 0, &[8; 3_000], Protocol::Long).await?;
            return send(port, 1, 0, &[9], Protocol::Short).await;
        }
        let mut buffer = [0; 2_999];
        assert_eq!(refused(receive(port, 0, 0, &mut buffer[..limit - 1]).await), (limit, limit - 1));
        assert_eq!(refused(receive(port, 0, 0, &mut buffer).await), (3_000, 2_999));
        assert_eq!((receive(port, 0, 0, &mut buffer).await?, buffer[0]), (1, 9));
        Ok(())
    }
}

/// There are only two nodes.
struct Nowhere;

impl PortProgram<Result<(), Error>> for Nowhere {
    async fn node<P: Port>(&self, port: &P) -> Result<(), Error> {
        let nobody = |end: Result<(), Error>| matches!(Error::of(&end), Some(Cause::Rank { rank: 2, size: 2 }));
        for protocol in Protocol::ALL {
            assert!(nobody(send(port, 2, 0, &[1], protocol).await), "{protocol:?}");
        }
        assert!(nobody(port.post(2, 0)) && nobody(port.signal(2, 0).await));
        Ok(())
    }
}
