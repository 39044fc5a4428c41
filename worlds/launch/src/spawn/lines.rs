//! The output of ranks, line by line, each prefixed with its rank, so that lines of several ranks are never
//! interleaved.
use foregather_machine::Rank;

/// A longer line is split into several, each prefixed with the rank.
const MOST: usize = 16 << 20;

pub(super) struct Lines {
    prefix: String,
    /// The line that is not complete yet.
    open: Vec<u8>,
}

impl Lines {
    pub(super) fn of(rank: Rank) -> Self {
        Self { prefix: format!("[{rank}] "), open: Vec::new() }
    }

    /// Appends the lines that are complete now to `to`.
    pub(super) fn feed(&mut self, bytes: &[u8], to: &mut Vec<u8>) {
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            self.open.extend_from_slice(piece);
            if self.open.ends_with(b"\n") || self.open.len() >= MOST {
                self.end(to);
            }
        }
    }

    /// Appends the rest of the last line to `to`.
    pub(super) fn end(&mut self, to: &mut Vec<u8>) {
        if self.open.is_empty() {
            return;
        }
        if !self.open.ends_with(b"\n") {
            self.open.push(b'\n');
        }
        to.extend_from_slice(self.prefix.as_bytes());
        to.append(&mut self.open);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(pieces: &[&[u8]]) -> Vec<u8> {
        let (mut lines, mut to) = (Lines::of(3), Vec::new());
        for piece in pieces {
            lines.feed(piece, &mut to);
        }
        lines.end(&mut to);
        to
    }

    #[test]
    fn each_line_says_whose_it_is_however_it_comes() {
        assert_eq!(printed(&[b"a\nb", b"c", b"\n\nd"]), b"[3] a\n[3] bc\n[3] \n[3] d\n");
        assert_eq!(printed(&[b""]), b"");
    }

    #[test]
    fn a_line_of_a_few_megabytes_stays_whole_and_one_without_end_is_cut() {
        let long = vec![b'x'; 3 << 20];
        assert_eq!(printed(&[&long, b"\n"]), [&b"[3] "[..], &long, b"\n"].concat());
        let half = vec![b'x'; MOST / 2];
        let found = printed(&[&half, &half, &half]);
        assert_eq!(found.len(), 3 * half.len() + 2 * "[3] \n".len());
    }
}
