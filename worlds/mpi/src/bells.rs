//! Words that the ranks of one host share. MPI does not wake threads, so the sender of a frame wakes the
//! receiver.
use foregather_machine::{Address, Cause, Error, Rank, SharedLines, WordLine};
use foregather_thread::Word;

/// The bells and rosters of a group of lanes, in memory that the ranks of one host share. There is one line
/// for each lane of the host, with its bell and the number of frames sent to it, followed by one roster for
/// each lane number.
#[derive(Clone)]
pub struct Bells {
    lines: SharedLines<Word>,
    /// The index of the line with each rank's first bell; `None` for a rank that shares no memory with this
    /// one.
    first: Box<[Option<usize>]>,
    lanes: u32,
}

impl Bells {
    /// Returns the number of lines that [`Bells::shared`] needs for `local` ranks of one host, out of `size`
    /// ranks with `lanes` lanes each.
    pub const fn lines(local: usize, size: u32, lanes: u32) -> usize {
        lanes as usize * (local + Self::roster_lines(size))
    }

    const fn roster_lines(size: u32) -> usize {
        1 + size as usize
    }

    /// Creates the bells of a group of `size` ranks with `lanes` lanes each, over `lines` that the ranks in
    /// `local` share. The lines must initially be zero, and can be used by one group only.
    ///
    /// # Errors
    /// [`Cause::Rank`] if `local` has a rank of `size` or above; [`Cause::Setting`] if there are fewer lines
    /// than [`Bells::lines`].
    pub fn shared(lines: SharedLines<Word>, local: &[Rank], (size, lanes): (u32, u32)) -> Result<Self, Error> {
        if let Some(&rank) = local.iter().find(|&&rank| rank >= size) {
            return Err(Cause::Rank { rank, size }.into());
        }
        if lines.len() < Self::lines(local.len(), size, lanes) {
            return Err(Cause::Setting { what: "the lines of bells", needs: "a bell for each lane, and the rosters" }.into());
        }
        let line_of = |rank: Rank| local.iter().position(|&known| known == rank).map(|at| at * lanes as usize);
        Ok(Self { lines, first: (0..size).map(line_of).collect(), lanes })
    }

    /// Creates bells for one process alone, which wake only its own threads.
    pub(crate) fn own(rank: Rank, (size, lanes): (u32, u32)) -> Result<Self, Error> {
        Self::shared(SharedLines::own(Self::lines(1, size, lanes)), &[rank], (size, lanes))
    }

    /// Returns the bell of a lane and the word that counts the frames sent to it, or `None` if the lane's
    /// rank shares no memory with this one.
    #[inline]
    pub(crate) fn of(&self, to: Address) -> Option<(&Word, &Word)> {
        let first = *self.first.get(to.rank as usize)?;
        self.lines.at(first? + to.lane as usize).map(|line| (&line[0], &line[1]))
    }

    /// Returns the roster of the lanes with number `lane`. The lines of ranks that share no memory with this
    /// one remain zero.
    pub(crate) fn roster(&self, lane: u32) -> &[WordLine<Word>] {
        let (all, each) = (&self.lines[..], Self::roster_lines(self.first.len() as u32));
        let from = self.first.iter().flatten().count() * self.lanes as usize + lane as usize * each;
        &all[from..from + each]
    }

    /// Returns whether these bells are for a group of this size and include the bells of `rank`.
    pub(crate) fn serve(&self, rank: Rank, (size, lanes): (u32, u32)) -> bool {
        self.first.len() == size as usize && self.lanes == lanes && self.first[rank as usize].is_some()
    }

    /// Returns whether every rank can wake this one.
    pub(crate) fn reach_all(&self) -> bool {
        self.first.iter().all(Option::is_some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bells_and_rosters_do_not_overlap() {
        let (local, size, lanes) = ([1, 4], 5, 3);
        let lines = SharedLines::own(Bells::lines(local.len(), size, lanes));
        let bells = Bells::shared(lines.clone(), &local, (size, lanes)).unwrap();
        let addresses = local.iter().flat_map(|&rank| (0..lanes).map(move |lane| Address { rank, lane }));
        let mut all: Vec<_> = addresses.map(|to| core::ptr::from_ref(bells.of(to).unwrap().0).addr()).collect();
        all.extend((0..lanes).flat_map(|lane| bells.roster(lane)).map(|line| core::ptr::from_ref(&line[0]).addr()));
        let expected: Vec<_> = lines.iter().map(|line| core::ptr::from_ref(&line[0]).addr()).collect();
        assert_eq!(all, expected);
        assert!(bells.of(Address { rank: 0, lane: 0 }).is_none() && !bells.reach_all());
    }

    #[test]
    fn too_few_lines_and_unknown_ranks_are_errors() {
        let lines = SharedLines::own(Bells::lines(2, 2, 1) - 1);
        assert!(matches!(Bells::shared(lines.clone(), &[0, 1], (2, 1)).err().unwrap().cause(), Cause::Setting { .. }));
        assert!(matches!(Bells::shared(lines, &[2], (2, 1)).err().unwrap().cause(), Cause::Rank { rank: 2, size: 2 }));
        assert!(Bells::own(0, (1, 1)).unwrap().reach_all());
    }
}
