//! Feeds random input to all code in this crate that reads data from others.
use crate::frame::{FIRST_FRAME_MAX, Inbox, JobFrame, MOST_OF_HUB, MOST_OF_RANK, VERSION};
use crate::meet::root_of;
use crate::nodes;
use crate::spawn::Host;
use crate::whereabouts::Whereabouts;
use foregather_host::fuzz::{Parser, feed};
use foregather_host::heap::CountingHeap;

#[global_allocator]
static HEAP: CountingHeap = CountingHeap;

fn frames() -> Vec<Vec<u8>> {
    let token = [7; 32];
    let (text, version) = (String::from("rank 1 was late"), VERSION);
    let all = [
        JobFrame::Hello { version, nonce: token },
        JobFrame::Join { version, rank: 1, size: 2, nonce: token, proof: token },
        JobFrame::Welcome { proof: token },
        JobFrame::Refused { last: true, why: text.clone() },
        JobFrame::Beat,
        JobFrame::RankAddress { round: 1, bytes: vec![1; 40] },
        JobFrame::RankAddresses { round: 1, addresses: vec![vec![], vec![2; 9], vec![3; 30]] },
        JobFrame::Lost { rank: 1, quiet: false },
        JobFrame::Leave,
        JobFrame::Ended { version, rank: 1, proof: token, how: text.clone() },
        JobFrame::Absent { which: text },
    ];
    let mut seeds: Vec<_> = all.iter().map(JobFrame::encode).collect();
    seeds.push(seeds.concat());
    seeds
}

/// Reads `bytes` in two pieces, as they may arrive, until no further frame can be read.
fn read_frames(bytes: &[u8], most: usize) -> bool {
    let mut inbox = Inbox::default();
    let mut some = false;
    let (first, second) = bytes.split_at(bytes.len() / 2);
    for piece in [first, second] {
        inbox.push(piece);
        while let Ok(Some(_)) = inbox.next(most) {
            some = true;
        }
    }
    some
}

fn parsers() -> Vec<Parser> {
    let texts = |all: &[&str]| all.iter().map(|text| text.as_bytes().to_vec()).collect();
    vec![
        Parser { name: "frames of unverified peers", seeds: frames(), read: |bytes| read_frames(bytes, FIRST_FRAME_MAX) },
        Parser { name: "frames of ranks", seeds: frames(), read: |bytes| read_frames(bytes, MOST_OF_RANK) },
        Parser { name: "frames of the hub", seeds: frames(), read: |bytes| read_frames(bytes, MOST_OF_HUB) },
        Parser {
            name: "whereabouts",
            seeds: texts(&["6f1c-22 4026531836 77 host", "b 1 1 ?"]),
            read: |bytes| Whereabouts::decode(bytes).is_some(),
        },
        Parser {
            name: "hosts",
            seeds: texts(&["# ours\nn1 slots=4 address=10.0.0.1\n\n n2 # one\n", "me@n3 slots=4096 address=fd00::1"]),
            read: |bytes| Host::parse(&String::from_utf8_lossy(bytes)).is_ok(),
        },
        Parser {
            name: "lists of nodes",
            seeds: texts(&["rack1n[01-04,7],login", "n[03,05-9],m", "rack2n[2-3]n[007-9]-ib,x"]),
            read: |bytes| nodes::first(&String::from_utf8_lossy(bytes)).is_ok(),
        },
        Parser {
            name: "addresses of rank 0",
            seeds: texts(&["n1:80", "[fd00::1]:80", "fd00::1", "10.0.0.7"]),
            read: |bytes| root_of(&String::from_utf8_lossy(bytes), "job").is_ok(),
        },
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
