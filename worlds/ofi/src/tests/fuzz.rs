//! Nonsense for all code here that reads what others have written.
use crate::asked::PeerRead;
use crate::wire::{EndpointAddress, FrameKind, RemoteMemory, Tag, TagReading, read_head, write_head};
use foregather_host::fuzz::{Parser, feed};
use foregather_host::heap::CountingHeap;

#[global_allocator]
static HEAP: CountingHeap = CountingHeap;

const STAMP: u32 = 0x12_3456;

fn read_tag(bytes: &[u8]) -> bool {
    let bits = bytes.first_chunk().map_or(0, |bits| u64::from_le_bytes(*bits));
    matches!(Tag::read(bits, STAMP, 40), TagReading::Ours(Tag { from: 0..40, .. }))
}

fn read_frame(bytes: &[u8]) -> bool {
    let mut reading = PeerRead::default();
    let ticket = reading.begin(0);
    read_head(bytes).is_some_and(|(_, _, rest)| reading.told(0, ticket, rest))
}

fn parsers() -> Vec<Parser> {
    let lanes = vec![vec![2, 0, 1, 2, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]; 3];
    let address = EndpointAddress { provider: "tcp;ofi_rxm".to_owned(), drawn: [1; 16], lanes };
    let tags = [FrameKind::Frame, FrameKind::Bye, FrameKind::Done].map(|kind| Tag { kind, from: 3, number: 9 }.pack(STAMP));
    let frame = |records: &[RemoteMemory]| {
        let mut frame = vec![0; 12];
        write_head(&mut frame, 1, 77);
        frame.extend(RemoteMemory::write_all(records, false));
        frame
    };
    let record = RemoteMemory { address: 1 << 40, len: 4_096, key: 5 };
    vec![
        Parser { name: "addresses", seeds: vec![address.write()], read: |bytes| EndpointAddress::read(bytes, 1).is_ok() },
        Parser { name: "tags", seeds: tags.map(|tag| tag.to_le_bytes().to_vec()).to_vec(), read: read_tag },
        Parser { name: "frames with records", seeds: vec![frame(&[]), frame(&[record; 7])], read: read_frame },
    ]
}

#[test]
fn a_sample_of_nonsense_breaks_no_parser() {
    feed(&parsers(), 1);
}

#[test]
#[ignore = "a chore: FOREGATHER_FUZZ says how many"]
fn nonsense_breaks_no_parser() {
    feed(&parsers(), 2);
}
