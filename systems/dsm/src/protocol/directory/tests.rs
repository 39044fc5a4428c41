//! Tests of one manager, step by step: which ranks get which messages, in which order.
use super::*;

/// The directory of rank 0 of four, and the messages that it sends.
struct Bench(Directory);

const PAGE: Minipage = Minipage(0);

impl Bench {
    fn new() -> Self {
        Self(Directory::new(Homes::central(4, 0).unwrap(), 0, 8))
    }

    fn step(&mut self, from: Rank, message: Message) -> Vec<(Address, Message)> {
        let mut sent = Vec::new();
        self.0.step(from, message, &mut |to, message| sent.push((to, message))).unwrap();
        sent
    }

    fn ask(&mut self, rank: Rank, want: Want) -> Vec<(Address, Message)> {
        self.step(rank, Message::Request { minipage: PAGE, want, lane: 1 })
    }

    fn served(&mut self, rank: Rank, want: Want) {
        self.ask(rank, want);
        self.step(rank, Message::Installed { minipage: PAGE });
    }
}

fn forward(owner: Rank, access: Access, rank: Rank) -> (Address, Message) {
    (server_of(owner), Message::Forward { minipage: PAGE, access, by: Address { rank, lane: 1 } })
}

fn invalidate(rank: Rank) -> (Address, Message) {
    (server_of(rank), Message::Invalidate { minipage: PAGE })
}

fn reply(rank: Rank, message: Message) -> (Address, Message) {
    (Address { rank, lane: 1 }, message)
}

#[test]
fn a_read_is_forwarded_to_the_owner_and_leaves_it_the_owner() {
    let mut bench = Bench::new();
    assert_eq!(bench.ask(1, Want::Read), [forward(0, Access::Read, 1)]);
    assert_eq!(bench.step(1, Message::Installed { minipage: PAGE }), []);
    let holding = bench.0.holding(PAGE);
    assert_eq!((holding.owner, holding.copies.bits(), holding.busy), (0, 0b11, false));
}

#[test]
fn a_write_waits_until_every_other_reader_has_closed_its_copy() {
    let mut bench = Bench::new();
    bench.served(1, Want::Read);
    bench.served(2, Want::Read);
    assert_eq!(bench.ask(3, Want::Write), [invalidate(1), invalidate(2)], "the owner closes its copy when it sends it");
    assert_eq!(bench.step(2, Message::Invalidated { minipage: PAGE }), []);
    assert_eq!(bench.step(1, Message::Invalidated { minipage: PAGE }), [forward(0, Access::Write, 3)]);
    bench.step(3, Message::Installed { minipage: PAGE });
    let holding = bench.0.holding(PAGE);
    assert_eq!((holding.owner, holding.copies.bits()), (3, 0b1000));
}

#[test]
fn an_upgrade_moves_no_data_even_if_another_is_the_owner() {
    let mut bench = Bench::new();
    bench.served(1, Want::Read);
    assert_eq!(bench.ask(1, Want::Write), [invalidate(0)]);
    let grant = Message::Grant { minipage: PAGE, access: Access::Write };
    assert_eq!(bench.step(0, Message::Invalidated { minipage: PAGE }), [reply(1, grant)]);
    bench.step(1, Message::Installed { minipage: PAGE });
    assert_eq!(bench.0.counts().next().unwrap().1.upgrades, 1);
}

#[test]
fn requests_queue_until_the_acknowledgement_and_are_served_in_order() {
    let mut bench = Bench::new();
    bench.ask(1, Want::Write);
    assert_eq!((bench.ask(2, Want::Write), bench.ask(3, Want::Read)), (vec![], vec![]));
    assert_eq!(bench.0.holding(PAGE).queued, 2);
    assert_eq!(bench.step(1, Message::Installed { minipage: PAGE }), [forward(1, Access::Write, 2)]);
    assert_eq!(bench.step(2, Message::Installed { minipage: PAGE }), [forward(2, Access::Read, 3)]);
    bench.step(3, Message::Installed { minipage: PAGE });
    let counts = Counts { reads: 1, writes: 2, competing: 2, ..Counts::default() };
    assert_eq!(bench.0.counts().collect::<Vec<_>>(), [(PAGE, counts)]);
}

#[test]
fn two_threads_of_one_rank_do_not_compete() {
    let mut bench = Bench::new();
    bench.ask(1, Want::Write);
    bench.step(1, Message::Request { minipage: PAGE, want: Want::Push(Hosts::all(4)), lane: 2 });
    assert_eq!(bench.0.counts().next().unwrap().1.competing, 0);
    bench.ask(2, Want::Read);
    assert_eq!(bench.0.counts().next().unwrap().1.competing, 1);
}

#[test]
fn a_push_goes_to_those_without_a_copy_and_ends_when_all_have_it() {
    let mut bench = Bench::new();
    bench.served(1, Want::Write);
    bench.served(2, Want::Read);
    let spread = (server_of(1), Message::Spread { minipage: PAGE, to: Hosts::from_bits(0b1001) });
    assert_eq!(bench.ask(1, Want::Push(Hosts::all(4))), [spread]);
    assert_eq!(bench.step(3, Message::Installed { minipage: PAGE }), []);
    assert_eq!(bench.step(0, Message::Installed { minipage: PAGE }), [reply(1, Message::Done { minipage: PAGE })]);
    let holding = bench.0.holding(PAGE);
    assert_eq!((holding.owner, holding.copies.bits(), holding.busy), (1, 0b1111, false));
    assert_eq!(bench.ask(1, Want::Push(Hosts::all(4))), [reply(1, Message::Done { minipage: PAGE })], "all have it");
}

#[test]
fn what_is_freed_is_refused_to_those_in_the_queue_and_to_later_ones() {
    let mut bench = Bench::new();
    bench.served(1, Want::Read);
    assert_eq!(bench.ask(2, Want::Free), [invalidate(0), invalidate(1)]);
    assert_eq!(bench.ask(3, Want::Write), []);
    bench.step(0, Message::Invalidated { minipage: PAGE });
    let refused = |access| Message::Refused { minipage: PAGE, access };
    let ended = [reply(2, Message::Done { minipage: PAGE }), reply(3, refused(Access::Write))];
    assert_eq!(bench.step(1, Message::Invalidated { minipage: PAGE }), ended);
    assert_eq!(bench.ask(0, Want::Read), [reply(0, refused(Access::Read))]);
    assert_eq!(bench.ask(0, Want::Free), [reply(0, refused(Access::None))], "freed twice");
    assert_eq!(bench.ask(0, Want::Allocate), [reply(0, Message::Done { minipage: PAGE })]);
    assert_eq!(bench.ask(3, Want::Read), [forward(0, Access::Read, 3)]);
}

#[test]
fn an_answer_that_nobody_awaits_is_an_error() {
    let mut bench = Bench::new();
    bench.served(1, Want::Read);
    bench.ask(2, Want::Write);
    for message in [Message::Installed { minipage: PAGE }, Message::Invalidated { minipage: PAGE }] {
        assert!(bench.0.step(2, message, &mut |_, _| ()).is_err(), "{message:?} before the copies are closed");
    }
    assert!(bench.0.step(0, Message::Request { minipage: Minipage(8), want: Want::Read, lane: 1 }, &mut |_, _| ()).is_err());
}
