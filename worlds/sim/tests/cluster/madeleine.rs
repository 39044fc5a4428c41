//! The message layer on VIA: the results that Namyst et al. 1999 report, from one calibration of the NIC.
use super::*;
use foregather_machine::{Clock, Member};
use foregather_message::{Cheaper, Messenger, Mode, Path, Receive, Settings};
use foregather_sim::cluster::raw::{Registration, ping_pong};

/// One message of one piece.
async fn turn(messenger: &Messenger<Lane<'_, Heap>>, sends: bool, memory: &mut [u8]) -> Result<(), Error> {
    let peer = 1 - messenger.rank();
    if sends {
        let mut message = messenger.begin_packing(peer)?;
        message.pack(Cheaper(memory), Receive::Cheaper).await?;
        message.end().await
    } else {
        let mut message = messenger.begin_unpacking_from(peer)?;
        message.unpack(Mode::Cheaper, memory).await?;
        message.end().await
    }
}

fn half(spec: ClusterSpec, path: Path, bytes: usize, rounds: u32) -> Nanos {
    let times = all(simulate(spec, async |lane| {
        let settings = Settings { path, policy: Some(Policy::Spin), ..Settings::default() };
        let messenger = Messenger::new(lane, settings).unwrap();
        let mut memory = vec![7; bytes];
        let began = messenger.now();
        for _ in 0..rounds {
            for sender in 0..2 {
                turn(&messenger, messenger.rank() == sender, &mut memory).await.unwrap();
            }
        }
        messenger.delay(Nanos::ZERO).await;
        messenger.now() - began
    }));
    Nanos(times[0].0 / (2 * u64::from(rounds)))
}

fn spec() -> ClusterSpec {
    ClusterSpec { wait: Policy::Spin, ..ClusterSpec::namyst1999(2, 1) }
}

fn raw(bytes: usize, registration: Registration) -> Nanos {
    ping_pong::<Heap>(&spec(), bytes, 10, registration).unwrap().half
}

fn through_buffers(bytes: usize, buffer: u32) -> Nanos {
    let mut spec = spec();
    spec.nic.buffer = buffer;
    half(spec, Path::Buffered, bytes, 10)
}

/// Figure 6: an offer and a request, whatever the length.
#[test]
fn from_memory_to_memory_a_message_costs_75_us_more_than_raw_whatever_its_length() {
    for bytes in [512, 4_096, 32_768, 65_536] {
        let (direct, fresh) = (half(spec(), Path::Direct, bytes, 10), raw(bytes, Registration::PerMessage));
        let more = direct - fresh;
        assert!(more >= us(70) && more <= us(80), "{bytes} B: {more}");
        assert!(bytes < 32_768 || direct < fresh.percent(105), "throughput of {bytes} B: {direct} against {fresh}");
    }
}

/// The 53 us of the paper, whose driver registers the page of even the smallest message on either side; and
/// without that.
#[test]
fn the_smallest_message_takes_one_message_and_two_registrations() {
    let of = |pages: usize| {
        let times = all(simulate(spec(), async |lane| {
            let messenger = Messenger::new(lane, Settings { policy: Some(Policy::Spin), ..Settings::default() }).unwrap();
            let (mut memory, began) = ([0; 4], messenger.now());
            for sender in (0..20).map(|turn| turn % 2) {
                messenger.fabric().register(pages);
                turn(&messenger, messenger.rank() == sender, &mut memory).await.unwrap();
                messenger.fabric().forget(pages);
            }
            messenger.delay(Nanos::ZERO).await;
            messenger.now() - began
        }));
        Nanos(times[0].0 / 20)
    };
    let (bare, registered) = (of(0), of(1));
    assert!(bare >= us(35) && bare <= us(37), "{bare}");
    assert!(registered >= us(45) && registered <= us(57), "{registered}");
}

/// Figure 7: copies are hidden behind the wire, and short buffers wait less in the switch. Predicted, not
/// fitted.
#[test]
fn static_buffers_beat_raw_messages_and_512_bytes_are_best() {
    for bytes in [1_024, 2_048, 4_096, 5_120, 8_192] {
        let (through, once) = (through_buffers(bytes, 512), raw(bytes, Registration::Once));
        assert!(through < once, "{bytes} B: {through} against {once}");
    }
    // The first driver used them for messages of up to 5120 bytes.
    for bytes in [4_096, 5_120, 8_192] {
        let by_buffer = [256, 512, 1_024, 2_048].map(|buffer| through_buffers(bytes, buffer));
        assert_eq!(by_buffer.iter().min(), Some(&by_buffer[1]), "{bytes} B: {by_buffer:?}");
    }
}

/// While messages are on their way another thread of the same processor computes.
#[test]
fn computing_and_transferring_overlap_on_one_processor() {
    let both = |transfers: u32, work: Nanos| {
        let mut spec = ClusterSpec { wait: Policy::Block, ..ClusterSpec::namyst1999(2, 2) };
        // Linux 2.2 lets a sleeper in at once only after its first epoch, 200 ms.
        spec.machine.scheduler = Scheduler::Eevdf(Eevdf::LINUX);
        let times = all(simulate(spec, async |lane| {
            if lane.here().lane == 1 {
                lane.delay(if lane.rank() == 0 { work } else { Nanos::ZERO }).await;
                return lane.now();
            }
            let settings = Settings { path: Path::Direct, policy: Some(Policy::Block), ..Settings::default() };
            let messenger = Messenger::new(lane, settings).unwrap();
            let mut memory = vec![0; 32_768];
            for _ in 0..transfers {
                turn(&messenger, messenger.rank() == 1, &mut memory).await.unwrap();
            }
            messenger.delay(Nanos::ZERO).await;
            messenger.now()
        }));
        times[0].max(times[1])
    };
    let (transfer, work) = (both(20, Nanos::ZERO), us(60_000));
    assert!(transfer > us(55_000) && transfer < us(65_000), "about as long as the work: {transfer}");
    let together = both(20, work);
    assert!(together < work.max(transfer).percent(110), "{together} against {work} and {transfer}");
}
