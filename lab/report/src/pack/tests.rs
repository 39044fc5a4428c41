//! What was packed comes out again: an unpacker written from the RFC's tables, not from the packer.
use super::*;

struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn bit(&mut self) -> u32 {
        let bit = self.data[self.at / 8] >> (self.at % 8) & 1;
        self.at += 1;
        u32::from(bit)
    }

    fn number(&mut self, bits: u32) -> u32 {
        (0..bits).map(|i| self.bit() << i).sum()
    }

    fn code(&mut self, bits: u32) -> u32 {
        (0..bits).fold(0, |code, _| (code << 1) | self.bit())
    }

    fn symbol(&mut self) -> u32 {
        let mut code = self.code(7);
        if code <= 0b001_0111 {
            return 256 + code;
        }
        code = (code << 1) | self.bit();
        match code {
            0x30..=0xbf => code - 0x30,
            0xc0..=0xc7 => 280 + code - 0xc0,
            _ => 144 + ((code << 1) | self.bit()) - 0x190,
        }
    }
}

const LENGTHS: [u32; 29] =
    [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
const DISTANCES: [u32; 30] = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193,
    12289, 16385, 24577,
];

fn inflate(data: &[u8]) -> Vec<u8> {
    let (mut reader, mut out) = (Reader { data, at: 0 }, Vec::new());
    assert_eq!(reader.number(3), 0b011);
    loop {
        match reader.symbol() {
            256 => return out,
            literal @ 0..=255 => out.push(literal as u8),
            symbol => {
                let code = symbol as usize - 257;
                let extra = if (8..28).contains(&code) { (code as u32 - 4) / 4 } else { 0 };
                let length = LENGTHS[code] + reader.number(extra);
                let code = reader.code(5) as usize;
                let extra = if code < 4 { 0 } else { code as u32 / 2 - 1 };
                let distance = (DISTANCES[code] + reader.number(extra)) as usize;
                (0..length).for_each(|_| out.push(out[out.len() - distance]));
            }
        }
    }
}

#[test]
fn what_was_deflated_is_inflated_to_the_same() {
    let mut noise = Vec::new();
    let mut x = 1_u32;
    for _ in 0..70_000 {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        noise.push((x >> 24) as u8);
    }
    let far = [&noise[..40_000], &noise[..20_000]].concat(); // repeats from beyond the window
    let numbered: String = (0..9000).map(|i| format!("{{\"id\":\"ping-pong/{i}\",\"p50\":{}}}", i * i)).collect();
    let cases: [&[u8]; 7] = [b"", b"a", b"abcabcabcabc", &[0; 1000], &noise, &far, numbered.as_bytes()];
    for case in cases {
        assert!(inflate(&deflate(case)) == case, "a case of {} bytes", case.len());
    }
    assert!(deflate(numbered.as_bytes()).len() * 3 < numbered.len());
}

#[test]
fn base64_is_that_of_rfc_4648() {
    let cases = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
    for (plain, packed) in cases {
        assert_eq!(base64(plain.as_bytes()), packed);
    }
}
