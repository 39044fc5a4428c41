//! Writes the binary form, rank by rank.
use super::error::{GoalError, GoalPlace};
use super::format::{ANY, COOKIE, COOKIE_BYTES, Dependents, GoalKind, GoalOperation, HEADER, NODE, Node, PLACE, RANKS_MAX};
use foregather_machine::Rank;
use std::io::{Seek, SeekFrom, Write};

/// One operation waits for another one of its rank.
#[derive(Clone, Copy, Debug)]
struct Edge {
    waits: u32,
    awaited: u32,
    on_start: bool,
}

/// Writes a trace in the binary form. Only the rank that is being written is in memory.
pub struct GoalWriter<W> {
    into: W,
    ranks: u32,
    places: Vec<u8>,
    position: u64,
    highest: (u8, u8),
    operations: Vec<GoalOperation>,
    edges: Vec<Edge>,
}

impl<W: Write + Seek> GoalWriter<W> {
    /// Begins a trace of that many ranks.
    ///
    /// # Errors
    /// If there are none or too many, or it cannot be written.
    pub fn new(mut into: W, ranks: u32) -> Result<Self, GoalError> {
        if !(1..=RANKS_MAX).contains(&ranks) {
            return Err(GoalError::file(format!("invalid number of ranks {ranks}: expected 1 to {RANKS_MAX}")));
        }
        let position = HEADER + u64::from(ranks) * PLACE;
        into.seek(SeekFrom::Start(position))?;
        Ok(Self { into, ranks, places: Vec::new(), position, highest: (0, 0), operations: Vec::new(), edges: Vec::new() })
    }

    /// Adds an operation to the present rank; returns its number.
    pub fn operation(&mut self, operation: GoalOperation) -> u32 {
        self.operations.push(operation);
        self.operations.len() as u32 - 1
    }

    /// Adds a send; returns its number.
    pub fn send(&mut self, size: u64, to: Rank, tag: u32) -> u32 {
        self.operation(GoalOperation { kind: GoalKind::Send, size, peer: to, tag, cpu: 0, nic: 0 })
    }

    /// Adds a receive; returns its number.
    pub fn recv(&mut self, size: u64, from: Rank, tag: u32) -> u32 {
        self.operation(GoalOperation { kind: GoalKind::Recv, size, peer: from, tag, cpu: 0, nic: 0 })
    }

    /// Adds a calculation of that length on a processor; returns its number.
    pub fn calc(&mut self, length_ns: u64, cpu: u8) -> u32 {
        self.operation(GoalOperation { kind: GoalKind::Calc, size: length_ns, peer: 0, tag: 0, cpu, nic: 0 })
    }

    /// `waits` cannot begin before `awaited` is over.
    ///
    /// # Panics
    /// If the present rank has no such operations.
    pub fn requires(&mut self, waits: u32, awaited: u32) {
        self.edge(Edge { waits, awaited, on_start: false });
    }

    /// `waits` cannot begin before `awaited` has begun.
    ///
    /// # Panics
    /// If the present rank has no such operations.
    pub fn irequires(&mut self, waits: u32, awaited: u32) {
        self.edge(Edge { waits, awaited, on_start: true });
    }

    fn edge(&mut self, edge: Edge) {
        let count = self.operations.len() as u32;
        assert!(edge.waits < count && edge.awaited < count, "an operation of this rank");
        self.edges.push(edge);
    }

    /// Bytes that the present rank takes in memory.
    pub(super) fn resident(&self) -> u64 {
        // An operation, its two counts and its line of the block; an edge, and its place in the appendix.
        let (node, edge) = (size_of::<GoalOperation>() + 16 + NODE, size_of::<Edge>() + 4);
        (self.operations.len() * node + self.edges.len() * edge) as u64
    }

    /// Ends the present rank.
    ///
    /// # Errors
    /// If it cannot be written, or all ranks were written before.
    pub fn end_rank(&mut self) -> Result<(), GoalError> {
        let rank = (self.places.len() as u64 / PLACE) as Rank;
        if rank == self.ranks {
            return Err(GoalError::file(format!("all {rank} ranks are written")));
        }
        for (number, operation) in self.operations.iter().enumerate() {
            let any = operation.kind == GoalKind::Recv && operation.peer == ANY;
            if operation.kind != GoalKind::Calc && operation.peer >= self.ranks && !any {
                let what = format!("`{}`: there are {} ranks", operation.described(), self.ranks);
                return Err(GoalError::new(GoalPlace::Operation(rank, number as u32), what));
            }
            self.highest = (self.highest.0.max(operation.cpu), self.highest.1.max(operation.nic));
        }
        let block = self.block();
        self.into.write_all(&block)?;
        self.places.extend((self.position - COOKIE_BYTES).to_le_bytes());
        self.position += block.len() as u64;
        self.places.extend((self.position - COOKIE_BYTES).to_le_bytes());
        self.operations.clear();
        self.edges.clear();
        Ok(())
    }

    /// The present rank's block. Dependents of an operation stand in the order in which they were added,
    /// those of its end first.
    fn block(&self) -> Vec<u8> {
        let count = self.operations.len();
        let (mut dependencies, mut runs) = (vec![0u32; count], vec![[Dependents::default(); 2]; count]);
        for edge in &self.edges {
            dependencies[edge.waits as usize] += 1;
            runs[edge.awaited as usize][usize::from(edge.on_start)].count += 1;
        }
        let mut next = 0;
        for run in runs.iter_mut().flatten() {
            run.start = next;
            next += run.count;
        }
        let mut appendix = vec![0u32; self.edges.len()];
        let mut filled: Vec<[u32; 2]> = runs.iter().map(|of| of.map(|run| run.start)).collect();
        for edge in &self.edges {
            let at = &mut filled[edge.awaited as usize][usize::from(edge.on_start)];
            appendix[*at as usize] = edge.waits;
            *at += 1;
        }
        let roots: Vec<u32> = (0..count as u32).filter(|&number| dependencies[number as usize] == 0).collect();
        let mut block = Vec::with_capacity(8 + roots.len() * 4 + count * NODE + appendix.len() * 4);
        let mut put = |numbers: &[u32]| numbers.iter().for_each(|number| block.extend(number.to_le_bytes()));
        put(&[count as u32, roots.len() as u32]);
        put(&roots);
        for (number, &operation) in self.operations.iter().enumerate() {
            let [on_end, on_start] = runs[number];
            block.extend(Node { dependencies: dependencies[number], operation, on_end, on_start }.encode());
        }
        appendix.iter().for_each(|number| block.extend(number.to_le_bytes()));
        block
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// If a rank is missing, or it cannot be written.
    pub fn finish(mut self) -> Result<W, GoalError> {
        let written = self.places.len() as u64 / PLACE;
        if written < u64::from(self.ranks) {
            return Err(GoalError::file(format!("rank {written} is missing: num_ranks is {}", self.ranks)));
        }
        self.into.seek(SeekFrom::Start(0))?;
        self.into.write_all(&COOKIE.to_le_bytes())?;
        self.into.write_all(&self.ranks.to_le_bytes())?;
        self.into.write_all(&[self.highest.0, self.highest.1])?;
        self.into.write_all(&self.places)?;
        self.into.flush()?;
        Ok(self.into)
    }
}
