//! The patterns of Schedgen, LogGOPSim's generator, as GOAL text.
use std::fmt::Write;

/// One rank's operations.
#[derive(Default)]
pub(crate) struct Rank {
    text: String,
    count: usize,
}

impl Rank {
    fn operation(&mut self, what: &str) -> usize {
        self.count += 1;
        writeln!(self.text, "l{}: {what}", self.count).unwrap();
        self.count
    }

    pub(crate) fn send(&mut self, bytes: u64, to: usize) -> usize {
        self.operation(&format!("send {bytes}b to {to} tag 0"))
    }

    pub(crate) fn recv(&mut self, bytes: u64, from: usize) -> usize {
        self.operation(&format!("recv {bytes}b from {from} tag 0"))
    }

    pub(crate) fn calc(&mut self, length_ns: u64) -> usize {
        self.operation(&format!("calc {length_ns}"))
    }

    pub(crate) fn requires(&mut self, waits: usize, awaited: usize) {
        writeln!(self.text, "l{waits} requires l{awaited}").unwrap();
    }

    /// `waits` requires `awaited`, if that is there.
    fn after(&mut self, waits: usize, awaited: Option<usize>) {
        awaited.into_iter().for_each(|awaited| self.requires(waits, awaited));
    }
}

/// A trace of which each rank does what `program` writes.
pub(crate) fn trace(ranks: usize, program: impl Fn(usize, &mut Rank)) -> String {
    let mut text = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        let mut operations = Rank::default();
        program(rank, &mut operations);
        write!(text, "\nrank {rank} {{\n{}}}\n", operations.text).unwrap();
    }
    text
}

/// A pattern as GOAL text.
pub(crate) fn text(pattern: &str, ranks: usize, bytes: u64) -> String {
    match pattern {
        "binomial-broadcast" | "binomial-reduce" => binomial(ranks, bytes, pattern == "binomial-reduce"),
        "binary-broadcast" => binary(ranks, bytes),
        "dissemination" => dissemination(ranks, bytes),
        "two-way-dissemination" => two_way(ranks, bytes),
        "pipelined-ring" | "dependent-ring" => ring(ranks, bytes, pattern == "dependent-ring"),
        "double-ring" => trace(ranks, |rank, all| {
            for step in [1, ranks - 1] {
                let send = all.send(bytes, (rank + step) % ranks);
                let recv = all.recv(bytes, (rank + ranks - step) % ranks);
                all.after(send, (rank > 0).then_some(recv));
            }
        }),
        "gather" | "scatter" => trace(ranks, |rank, all| {
            let (gather, peers) = (pattern == "gather", if rank == 0 { 1..ranks } else { 0..1 });
            for peer in peers {
                if gather == (rank == 0) {
                    all.recv(bytes, peer)
                } else {
                    all.send(bytes, peer)
                };
            }
        }),
        "linear-barrier" => trace(ranks, |rank, all| {
            if rank > 0 {
                all.send(bytes, 0);
                all.recv(bytes, 0);
                return;
            }
            let all_there = all.calc(0);
            for peer in 1..ranks {
                let recv = all.recv(bytes, peer);
                let send = all.send(bytes, peer);
                all.requires(all_there, recv);
                all.requires(send, all_there);
            }
        }),
        "bisection" => trace(ranks / 2 * 2, |rank, all| {
            let half = ranks / 2;
            let peer = |rank: usize| {
                if rank < half {
                    half + (rank * 5 + 1) % half
                } else {
                    (0..half).find(|low| half + (low * 5 + 1) % half == rank).unwrap()
                }
            };
            if rank < half {
                all.send(bytes, peer(rank))
            } else {
                all.recv(bytes, peer(rank))
            };
        }),
        "all-to-all" | "all-to-all-v" => trace(ranks, |rank, all| {
            let uneven = pattern == "all-to-all-v";
            let size = |from: usize, to: usize| if uneven { bytes * ((from * 7 + to * 3) as u64 % 11) / 4 + 1 } else { bytes };
            for step in 1..ranks {
                let (to, from) = ((rank + step) % ranks, (rank + ranks - step) % ranks);
                all.send(size(rank, to), to);
                all.recv(size(from, rank), from);
            }
        }),
        "recursive-doubling" => recursive_doubling(ranks.next_power_of_two(), bytes),
        other => panic!("no pattern {other}"),
    }
}

fn binomial(ranks: usize, bytes: u64, reduce: bool) -> String {
    trace(ranks, |rank, all| {
        let (mut up, mut down) = (None, None);
        for round in 0..ranks.next_power_of_two().ilog2() {
            let reach = 1 << round;
            if rank < reach && rank + reach < ranks {
                let new = if reduce { all.recv(bytes, rank + reach) } else { all.send(bytes, rank + reach) };
                down = Some(new);
            }
            if let (Some(up), Some(down)) = (up, down) {
                if reduce { all.requires(up, down) } else { all.requires(down, up) }
            }
            if (reach..2 * reach).contains(&rank) {
                let new = if reduce { all.send(bytes, rank - reach) } else { all.recv(bytes, rank - reach) };
                up = Some(new);
            }
        }
    })
}

fn binary(ranks: usize, bytes: u64) -> String {
    trace(ranks, |rank, all| {
        let recv = (rank > 0).then(|| all.recv(bytes, (rank - 1) / 2));
        for child in [2 * rank + 1, 2 * rank + 2].into_iter().filter(|&child| child < ranks) {
            let send = all.send(bytes, child);
            all.after(send, recv);
        }
    })
}

fn dissemination(ranks: usize, bytes: u64) -> String {
    trace(ranks, |rank, all| {
        let (mut reach, mut last) = (1, None);
        while reach < ranks {
            let send = all.send(bytes, (rank + reach) % ranks);
            all.after(send, last);
            last = Some(all.recv(bytes, (rank + ranks - reach) % ranks));
            reach *= 2;
        }
    })
}

fn two_way(ranks: usize, bytes: u64) -> String {
    trace(ranks, |rank, all| {
        let (mut reach, mut last): (usize, Option<[usize; 2]>) = (1, None);
        while reach < ranks {
            let sends = [1, 2].map(|way| all.send(bytes, (rank + way * reach) % ranks));
            if let Some(recvs) = last {
                let first = all.calc(bytes);
                all.requires(first, recvs[1]);
                all.requires(first, recvs[0]);
                let second = all.calc(bytes);
                all.requires(second, recvs[0]);
                all.requires(sends[1], first);
                sends.into_iter().for_each(|send| all.requires(send, second));
            }
            last = Some([1, 2].map(|way| all.recv(bytes, (rank + 3 * ranks - way * reach) % ranks)));
            reach *= 3;
        }
    })
}

/// Seven segments through all ranks; in the dependent one a rank receives only once it has sent what was
/// before.
fn ring(ranks: usize, bytes: u64, dependent: bool) -> String {
    trace(ranks, |rank, all| {
        let mut before = None;
        for segment in 0..bytes.min(7) {
            let size = bytes * (segment + 1) / bytes.min(7) - bytes * segment / bytes.min(7);
            let recv = (rank > 0).then(|| all.recv(size, rank - 1));
            let send = (rank + 1 < ranks).then(|| all.send(size, rank + 1));
            if let (Some(recv), Some(send)) = (recv, send) {
                all.requires(send, recv);
            }
            if let Some(recv) = recv.filter(|_| dependent) {
                all.after(recv, before);
            }
            before = send;
        }
    })
}

/// Reduce-scatter, then all-gather.
fn recursive_doubling(ranks: usize, bytes: u64) -> String {
    let rounds = ranks.ilog2();
    trace(ranks, |rank, all| {
        let mut last = None;
        let halving = (0..rounds).map(|round| (bytes >> (round + 1), 1 << round));
        let doubling = (0..rounds).rev().map(|round| (bytes >> (round + 1), 1 << round));
        for (size, mask) in halving.chain(doubling) {
            let send = all.send(size.max(1), rank ^ mask);
            all.after(send, last);
            last = Some(all.recv(size.max(1), rank ^ mask));
        }
    })
}
