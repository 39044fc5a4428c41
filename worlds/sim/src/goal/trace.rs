//! A trace in the binary form: checked once, then read as its operations become ready.
use super::blocks::{BlockSource, Blocks};
use super::error::{GoalError, GoalPlace};
use super::format::{ANY, COOKIE, COOKIE_BYTES, COOKIE_SPENT, Dependents, GoalKind, GoalOperation, HEADER, NODE, Node};
use super::format::{PLACE, RANKS_MAX, u32_at, u64_at};
use foregather_machine::Rank;
use std::cmp::Ordering;

/// Returns whether a file that begins with these bytes is a trace in the binary form.
pub fn is_binary(beginning: &[u8]) -> bool {
    beginning.len() >= 8 && [COOKIE, COOKIE_SPENT].contains(&u64_at(beginning, 0))
}

/// A rank's part of the file.
#[derive(Clone, Copy, Debug)]
struct RankBlock {
    /// The number of its first operation among those of all ranks.
    first: u64,
    operations: u32,
    roots: u32,
    roots_at: u64,
    nodes_at: u64,
    appendix_at: u64,
    /// How many numbers the appendix has.
    appendix: u64,
}

/// The most operations of a trace whose ranks are repeated: they take 8 GiB.
const OPERATIONS_MAX: u64 = 1 << 31;

/// The file has not been asked yet for how many others an operation waits.
const UNREAD: u32 = 0;
/// An operation has become ready.
const BEGUN: u32 = u32::MAX;

/// A trace in the binary form. Opening it checks where the ranks' blocks lie; an operation is checked when it
/// is read.
pub struct GoalTrace {
    blocks: Blocks,
    ranks: Vec<RankBlock>,
    cpus: u32,
    nics: u32,
    operations: u64,
    /// How many of its ranks the file has. Others repeat them ([`GoalTrace::repeat`]).
    of_file: u32,
    /// For each operation, for how many others it still waits, and one more; or what is below.
    left: Vec<u32>,
}

impl GoalTrace {
    /// Opens a trace.
    ///
    /// # Errors
    /// If it cannot be read, or is no well-formed trace: the place of the first mistake.
    pub fn open(source: Box<dyn BlockSource>) -> Result<Self, GoalError> {
        let mut blocks = Blocks::new(source)?;
        if blocks.length() < HEADER {
            return Err(GoalError::file(format!("{} bytes are too few for a trace: it is truncated", blocks.length())));
        }
        let header: [u8; HEADER as usize] = blocks.get(0)?;
        match u64_at(&header, 0) {
            COOKIE => {}
            COOKIE_SPENT => {
                return Err(GoalError::file("LogGOPSim has used this file up (--save-mem): make it again from its text"));
            }
            other => return Err(GoalError::file(format!("begins with {other}, and a binary GOAL trace with {COOKIE}"))),
        }
        let count = u32_at(&header, 8);
        if !(1..=RANKS_MAX).contains(&count) {
            return Err(GoalError::file(format!("invalid number of ranks {count}: expected 1 to {RANKS_MAX}")));
        }
        if HEADER + u64::from(count) * PLACE > blocks.length() {
            return Err(GoalError::file(format!(
                "truncated: the places of {count} ranks do not fit into {} bytes",
                blocks.length()
            )));
        }
        blocks.fit(count);
        let (cpus, nics) = (u32::from(header[12]) + 1, u32::from(header[13]) + 1);
        let mut trace = Self { blocks, ranks: Vec::new(), cpus, nics, operations: 0, of_file: count, left: Vec::new() };
        let mut free = HEADER + u64::from(count) * PLACE;
        for rank in 0..count {
            free = trace.read_block(rank, free)?;
        }
        let operations = usize::try_from(trace.operations).ok().filter(|&count| count < isize::MAX as usize / 4);
        let too_many = || GoalError::file(format!("{} operations do not fit into memory", trace.operations));
        trace.left = vec![UNREAD; operations.ok_or_else(too_many)?];
        Ok(trace)
    }

    /// Repeats the ranks of the file until there are `times` as many, as one ring: a message goes as far
    /// round the ring as it went round that of the file, by the shorter way, so copies exchange messages
    /// with their neighbours. A message half way round stays within its copy. Call it before the trace is
    /// simulated.
    ///
    /// # Errors
    /// If `times` is 0, or there would be too many ranks or operations.
    pub fn repeat(mut self, times: u32) -> Result<Self, GoalError> {
        let most = (RANKS_MAX / self.of_file).min((OPERATIONS_MAX / self.operations.max(1)) as u32);
        if !(1..=most).contains(&times) {
            let (ranks, operations) = (self.of_file, self.operations);
            let what = format!(
                "invalid number of repetitions {times}: expected 1 to {most} for {ranks} ranks with {operations} operations"
            );
            return Err(GoalError::file(what));
        }
        let of_file = self.ranks.clone();
        for copy in 1..u64::from(times) {
            let first = copy * self.operations;
            self.ranks.extend(of_file.iter().map(|block| RankBlock { first: first + block.first, ..*block }));
        }
        self.operations *= u64::from(times);
        self.left = vec![UNREAD; self.operations as usize];
        self.blocks.fit(self.ranks.len() as u32);
        Ok(self)
    }

    /// Returns the rank of the ring with which `rank` exchanges the messages that the file exchanges with
    /// `peer`.
    fn around(&self, rank: Rank, peer: Rank) -> Rank {
        let (of_file, all) = (self.of_file, self.ranks.len() as u32);
        let own = rank % of_file;
        let ahead = (peer + of_file - own) % of_file;
        match (ahead * 2).cmp(&of_file) {
            Ordering::Less => (rank + ahead) % all,
            Ordering::Equal => rank - own + peer,
            Ordering::Greater => (rank + all - (of_file - ahead)) % all,
        }
    }

    /// Reads where the parts of a rank's block lie, which must not lie before `free`; returns its end.
    fn read_block(&mut self, rank: Rank, free: u64) -> Result<u64, GoalError> {
        let wrong = |what: String| GoalError::new(GoalPlace::Rank(rank), what);
        let place: [u8; PLACE as usize] = self.blocks.get(HEADER + u64::from(rank) * PLACE)?;
        let [start, end] = [0, 8].map(|at| u64_at(&place, at).saturating_add(COOKIE_BYTES));
        if start < free || end < start.saturating_add(8) {
            return Err(wrong(format!(
                "its block lies from byte {start} to {end}: blocks must follow each other from byte {free} on"
            )));
        }
        if end > self.blocks.length() {
            return Err(wrong(format!("truncated: its block ends at byte {end}, and the file at {}", self.blocks.length())));
        }
        let counts: [u8; 8] = self.blocks.get(start)?;
        let [operations, roots] = [0, 4].map(|at| u32_at(&counts, at));
        let roots_at = start + 8;
        let nodes_at = roots_at + u64::from(roots) * 4;
        let appendix_at = nodes_at + u64::from(operations) * NODE as u64;
        if appendix_at > end || roots > operations {
            return Err(wrong(format!(
                "its {operations} operations, {roots} of them ready at once, do not fit into a block of {} bytes",
                end - start
            )));
        }
        let first = self.operations;
        self.ranks.push(RankBlock {
            first,
            operations,
            roots,
            roots_at,
            nodes_at,
            appendix_at,
            appendix: (end - appendix_at) / 4,
        });
        self.operations += u64::from(operations);
        Ok(end)
    }

    #[cold]
    fn mistake(&self, rank: Rank, number: u32, node: &Node) -> GoalError {
        let GoalOperation { peer, cpu, nic, .. } = node.operation;
        let ranks = self.of_file;
        let what = match () {
            () if u32::from(cpu) >= self.cpus || u32::from(nic) >= self.nics => {
                format!("processor {cpu} and NIC {nic}: the header says {} and {}", self.cpus, self.nics)
            }
            () if !self.has_peer(&node.operation) => format!("rank {peer}: there are {ranks}"),
            () => "the operations that depend on it lie beyond its rank's block: the file is truncated".to_owned(),
        };
        GoalError::new(GoalPlace::Operation(rank, number), what)
    }

    fn has_peer(&self, of: &GoalOperation) -> bool {
        let any = of.kind == GoalKind::Recv && of.peer == ANY;
        of.kind == GoalKind::Calc || of.peer < self.of_file || any
    }

    /// The `index`-th number from `at` on.
    #[inline(always)]
    fn number(&mut self, at: u64, index: u64) -> Result<u32, GoalError> {
        Ok(u32::from_le_bytes(self.blocks.get(at + index * 4)?))
    }

    /// For how many others an operation waits by the file: its first number.
    #[inline(always)]
    fn dependencies(&mut self, nodes_at: u64, number: u32) -> Result<u32, GoalError> {
        Ok(u32::from_le_bytes(self.blocks.get(nodes_at + u64::from(number) * NODE as u64)?))
    }

    /// An operation, checked.
    #[inline(always)]
    pub(super) fn node(&mut self, rank: Rank, number: u32) -> Result<Node, GoalError> {
        let RankBlock { nodes_at, appendix, .. } = self.ranks[rank as usize];
        let bytes: [u8; NODE] = self.blocks.get(nodes_at + u64::from(number) * NODE as u64)?;
        let mut node = Node::decode(&bytes).map_err(|kind| {
            let what = format!("unknown type {kind}: expected 1 (send), 2 (recv) or 3 (calc)");
            GoalError::new(GoalPlace::Operation(rank, number), what)
        })?;
        let inside = |of: Dependents| of.count == 0 || u64::from(of.start) + u64::from(of.count) <= appendix;
        let GoalOperation { cpu, nic, .. } = node.operation;
        let has_places = u32::from(cpu) < self.cpus && u32::from(nic) < self.nics;
        if has_places && inside(node.on_end) && inside(node.on_start) && self.has_peer(&node.operation) {
            if self.ranks.len() as u32 != self.of_file && node.operation.kind != GoalKind::Calc && node.operation.peer != ANY {
                node.operation.peer = self.around(rank, node.operation.peer);
            }
            return Ok(node);
        }
        Err(self.mistake(rank, number, &node))
    }

    /// An operation that became ready, which it can only once.
    #[inline(always)]
    pub(super) fn begin(&mut self, rank: Rank, number: u32) -> Result<Node, GoalError> {
        let node = self.node(rank, number)?;
        let left = &mut self.left[(self.ranks[rank as usize].first + u64::from(number)) as usize];
        if *left == 1 || (*left == UNREAD && node.dependencies == 0) {
            *left = BEGUN;
            return Ok(node);
        }
        let what = "is listed as ready, and is not, or twice: make the file again from its text";
        Err(GoalError::new(GoalPlace::Operation(rank, number), what))
    }

    /// The operations of a rank that are ready at once.
    pub(super) fn roots(&mut self, rank: Rank, into: &mut Vec<u32>) -> Result<(), GoalError> {
        let RankBlock { roots, roots_at, operations, .. } = self.ranks[rank as usize];
        into.clear();
        for at in 0..u64::from(roots) {
            let root = self.number(roots_at, at)?;
            if root >= operations {
                return Err(GoalError::new(
                    GoalPlace::Rank(rank),
                    format!("operation {root} is listed as ready: there are {operations}"),
                ));
            }
            into.push(root);
        }
        Ok(())
    }

    /// One more of the operations that these wait for is over; those that wait for no other are passed to
    /// `ready`.
    #[inline]
    pub(super) fn release(&mut self, rank: Rank, of: Dependents, mut ready: impl FnMut(u32)) -> Result<(), GoalError> {
        if of.count == 0 {
            return Ok(());
        }
        let RankBlock { first, operations, nodes_at, appendix_at, .. } = self.ranks[rank as usize];
        for at in u64::from(of.start)..u64::from(of.start) + u64::from(of.count) {
            let number = self.number(appendix_at, at)?;
            let place = (first + u64::from(number)) as usize;
            let left = match self.left.get(place).filter(|_| number < operations) {
                Some(&UNREAD) => self.dependencies(nodes_at, number)?.saturating_add(1),
                Some(&left) => left,
                None => UNREAD,
            };
            if left <= 1 || left == BEGUN {
                let what =
                    format!("operation {number} has fewer dependencies than depend on it: make the file again from its text");
                return Err(GoalError::new(GoalPlace::Rank(rank), what));
            }
            self.left[place] = left - 1;
            if left == 2 {
                ready(number);
            }
        }
        Ok(())
    }

    /// The operations that depend on one, by a number each.
    pub(super) fn dependents(&mut self, rank: Rank, number: u32) -> Result<Vec<u32>, GoalError> {
        let (node, at) = (self.node(rank, number)?, self.ranks[rank as usize].appendix_at);
        let runs = [node.on_end, node.on_start].map(|of| u64::from(of.start)..u64::from(of.start) + u64::from(of.count));
        runs.into_iter().flatten().map(|index| self.number(at, index)).collect()
    }

    /// Returns whether an operation never became ready.
    pub(super) fn is_waiting(&self, rank: Rank, number: u32) -> bool {
        let RankBlock { first, operations, .. } = self.ranks[rank as usize];
        number < operations && self.left[(first + u64::from(number)) as usize] != BEGUN
    }

    /// How many ranks it has.
    pub fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// How many operations it has.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// How many operations a rank has.
    pub fn operations_of(&self, rank: Rank) -> u32 {
        self.ranks[rank as usize].operations
    }

    /// How many processors each rank has.
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// How many NICs each rank has.
    pub fn nics(&self) -> u32 {
        self.nics
    }
}
