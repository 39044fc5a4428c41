//! Lines of Python, as a thread of the program's interpreter saw them.
use serde::Serialize;
use std::collections::BTreeMap;

/// A line, and the line of the user's own code from which it was called, if that is another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PythonLine {
    /// `sklearn/cluster/_kmeans.py:697 <- train.py:41`.
    pub place: String,
    /// In how many looks a thread that executed this line had a parallel region open.
    pub with_region: u64,
    /// In how many looks it was executed.
    pub looks: u64,
}

impl PythonLine {
    fn inner(&self) -> &str {
        self.place.split_once(ARROW).map_or(&self.place, |(inner, _)| inner)
    }

    fn user(&self) -> &str {
        self.place.split_once(ARROW).map_or(&self.place, |(_, user)| user)
    }
}

/// Between a line and the one that called it.
const ARROW: &str = " <- ";

/// The lines of all interpreters of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PythonLines {
    /// How many looks there were.
    pub looks: u64,
    /// The lines, those with regions first.
    pub lines: Vec<PythonLine>,
}

impl PythonLines {
    /// Adds up what interpreters wrote, each into a part of the file that ends with a zero: a line with its
    /// number of looks, then a line `WITH_REGION <tab> LOOKS <tab> PLACE` for each place. Other lines are
    /// left out.
    pub fn parse(file: &[u8]) -> Self {
        let mut looks = 0;
        let mut places: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for part in file.split(|&byte| byte == 0).filter_map(|part| str::from_utf8(part).ok()) {
            let mut lines = part.lines();
            looks += lines.next().and_then(|line| line.parse().ok()).unwrap_or(0);
            for line in lines {
                let mut words = line.splitn(3, '\t');
                let mut number = || words.next()?.parse::<u64>().ok();
                if let (Some(with_region), Some(seen), Some(place)) = (number(), number(), words.next()) {
                    let place = places.entry(place.to_owned()).or_default();
                    *place = (place.0 + with_region, place.1 + seen);
                }
            }
        }
        let to_line = |(place, (with_region, looks))| PythonLine { place, with_region, looks };
        let mut lines: Vec<PythonLine> = places.into_iter().map(to_line).collect();
        lines.sort_by_key(|line| core::cmp::Reverse((line.with_region, line.looks)));
        Self { looks, lines }
    }

    /// The line to name, in a sentence: the user's line that has regions open most of the time, else the one
    /// that is executed most of the time. `None` if it was seen in less than a twentieth of the looks, or if
    /// there were few.
    pub fn costly(&self) -> Option<String> {
        let sentence = |count: fn(&PythonLine) -> u64, verb: &str| {
            let mut users: BTreeMap<&str, u64> = BTreeMap::new();
            self.lines.iter().for_each(|line| *users.entry(line.user()).or_default() += count(line));
            let (user, looks) = users.into_iter().max_by_key(|&(_, looks)| looks)?;
            let share = (looks as f64 / self.looks.max(1) as f64).min(1.0);
            let most = self.lines.iter().filter(|line| line.user() == user).max_by_key(|line| count(line))?;
            let inner = if most.place == user { String::new() } else { format!(", most in {}", most.inner()) };
            (share >= 0.05).then(|| format!("{user} {verb} {:.0} % of the time{inner}", share * 100.0))
        };
        if self.looks < 10 {
            return None;
        }
        sentence(|line| line.with_region, "has parallel regions open").or_else(|| sentence(|line| line.looks, "takes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_opens_regions_is_named_before_the_one_that_takes_longer() {
        let file = b"100\n0\t60\ttrain.py:3\n30\t35\tfit.py:9 <- train.py:4\nbroken\n\0\x00100\n5\t5\tfit.py:9 <- train.py:4\n\0";
        let lines = PythonLines::parse(file);
        let first = PythonLine { place: "fit.py:9 <- train.py:4".to_owned(), with_region: 35, looks: 40 };
        assert_eq!((lines.looks, lines.lines.len(), &lines.lines[0]), (200, 2, &first));
        assert_eq!(lines.costly().unwrap(), "train.py:4 has parallel regions open 18 % of the time, most in fit.py:9");
        let two = PythonLines::parse(b"10\n2\t3\ta.py:1 <- t.py:4\n1\t1\ta.py:2 <- t.py:4\n2\t2\tb.py:5 <- t.py:9\n");
        assert_eq!(two.costly().unwrap(), "t.py:4 has parallel regions open 30 % of the time, most in a.py:1");
        let without = PythonLines::parse(b"10\n0\t6\ttrain.py:3\n0\t1\ta.py:1\n");
        assert_eq!(without.costly().unwrap(), "train.py:3 takes 60 % of the time");
        for nothing in [&b""[..], b"\0\0", b"x\ny", b"100\n0\t1\ta.py:1\n", b"9\n0\t9\ta.py:1\n"] {
            assert_eq!(PythonLines::parse(nothing).costly(), None, "{nothing:?}");
        }
    }
}
