//! The raw data within the page: JSON, deflated (RFC 1951) and in base64, a sixth of its size. Browsers unpack both.
//! Only fixed codes and the nearest repetition are used: results repeat themselves so much that it suffices.

const WINDOW: usize = 32_768;
const LONGEST: usize = 258;
const SHORTEST: usize = 4;

/// The text as base64 of raw deflate.
pub(super) fn pack(text: &str) -> String {
    base64(&deflate(text.as_bytes()))
}

/// Bits from the least significant on, as deflate wants them.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    pending: u64,
    count: u32,
}

impl Bits {
    fn push(&mut self, value: u32, bits: u32) {
        self.pending |= u64::from(value) << self.count;
        self.count += bits;
        while self.count >= 8 {
            self.bytes.push(self.pending as u8);
            self.pending >>= 8;
            self.count -= 8;
        }
    }

    /// Huffman codes go out from their most significant bit on.
    fn code(&mut self, code: u32, bits: u32) {
        self.push(code.reverse_bits() >> (32 - bits), bits);
    }

    /// A literal byte, the end (256) or a length code, in the fixed code of RFC 1951 §3.2.6.
    fn symbol(&mut self, symbol: u32) {
        match symbol {
            0..=143 => self.code(0x30 + symbol, 8),
            144..=255 => self.code(0x190 + symbol - 144, 9),
            256..=279 => self.code(symbol - 256, 7),
            _ => self.code(0xc0 + symbol - 280, 8),
        }
    }

    /// "Copy `length` bytes from `distance` bytes ago."
    fn repeat(&mut self, length: usize, distance: usize) {
        let l = length as u32 - 3;
        match l {
            255 => self.symbol(285),
            0..=7 => self.symbol(257 + l),
            _ => {
                let extra = l.ilog2() - 2;
                self.symbol(261 + 4 * extra + ((l >> extra) & 3));
                self.push(l & ((1 << extra) - 1), extra);
            }
        }
        let d = distance as u32 - 1;
        if d < 4 {
            return self.code(d, 5);
        }
        let extra = d.ilog2() - 1;
        self.code(2 * (extra + 1) + ((d >> extra) & 1), 5);
        self.push(d & ((1 << extra) - 1), extra);
    }
}

fn deflate(data: &[u8]) -> Vec<u8> {
    let mut out = Bits::default();
    out.push(0b011, 3); // the last block, in fixed codes
    // For each hash of four bytes where they were last seen, and for each place the one before it.
    let (mut last, mut before) = (vec![usize::MAX; 1 << 15], vec![usize::MAX; data.len()]);
    let hash = |at: usize| {
        let four = data[at..at + SHORTEST].iter().fold(0_u32, |h, &b| (h << 8) | u32::from(b));
        (four.wrapping_mul(0x9e37_79b1) >> 17) as usize
    };
    let mut at = 0;
    while at < data.len() {
        let found = if at + SHORTEST <= data.len() { longest(data, at, last[hash(at)], &before) } else { None };
        let length = found.map_or(1, |(length, _)| length);
        match found {
            Some((length, distance)) => out.repeat(length, distance),
            None => out.symbol(u32::from(data[at])),
        }
        for seen in at..(at + length).min(data.len().saturating_sub(SHORTEST - 1)) {
            let slot = &mut last[hash(seen)];
            before[seen] = std::mem::replace(slot, seen);
        }
        at += length;
    }
    out.symbol(256);
    out.push(0, 7); // fills the last byte
    out.bytes
}

/// The longest repetition at `at` among the nearest candidates: its length and distance.
fn longest(data: &[u8], at: usize, mut candidate: usize, before: &[usize]) -> Option<(usize, usize)> {
    let room = (data.len() - at).min(LONGEST);
    let mut best = None;
    for _ in 0..32 {
        if candidate == usize::MAX || at - candidate > WINDOW {
            break;
        }
        let length = (0..room).take_while(|&i| data[candidate + i] == data[at + i]).count();
        if length >= SHORTEST && best.is_none_or(|(longest, _)| length > longest) {
            best = Some((length, at - candidate));
        }
        candidate = before[candidate];
    }
    best
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let three = chunk.iter().chain([&0, &0]).take(3).fold(0_u32, |all, &b| (all << 8) | u32::from(b));
        for i in 0..4 {
            let digit = DIGITS[(three >> (18 - 6 * i)) as usize & 63];
            text.push(if i <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests;
