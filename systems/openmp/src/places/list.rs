//! The program's list of places, as the environment has it: by what processors share, or one by one
//! (OpenMP 5.2 §21.1.6).
use foregather_host::topology::{SharedLevel, groups};
use foregather_machine::CpuId;

/// A list of places: each a set of processors, in order.
type PlaceList = Vec<Vec<CpuId>>;

/// Numbers beyond this are no processors.
const MOST: i64 = 1 << 16;

/// PlaceList by name, `cores` or `sockets(2)`, or as a list, `{0,1}:4:2,!{4}`, of the processors that are
/// `allowed`. `None`: it is neither.
pub(crate) fn named(text: &str, allowed: &[CpuId]) -> Option<PlaceList> {
    let (name, most) = match text.split_once('(') {
        Some((name, rest)) => (name.trim(), rest.trim().strip_suffix(')')?.trim().parse().ok().filter(|&most: &usize| most > 0)?),
        None => (text, usize::MAX),
    };
    let shared = [
        ("threads", SharedLevel::Thread),
        ("cores", SharedLevel::Core),
        ("ll_caches", SharedLevel::LastCache),
        ("numa_domains", SharedLevel::Memory),
        ("sockets", SharedLevel::Socket),
    ];
    match shared.into_iter().find(|(known, _)| name.eq_ignore_ascii_case(known)) {
        Some((_, shared)) => Some(groups(shared, allowed).into_iter().take(most).collect()),
        None => Some(usable(PlaceReader::all(text, PlaceReader::places)?, allowed)),
    }
}

/// PlaceList as `GOMP_CPU_AFFINITY` has them: `0 3 4-15:2`, each processor one.
pub(crate) fn cpu_affinity(text: &str, allowed: &[CpuId]) -> Option<PlaceList> {
    let mut places = Vec::new();
    for word in text.split([' ', ',', '\t']).filter(|word| !word.is_empty()) {
        let (range, stride) = word.split_once(':').unwrap_or((word, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str| text.parse::<CpuId>().ok().filter(|&number| i64::from(number) < MOST);
        let (first, last, stride) = (number(first)?, number(last)?, number(stride).filter(|&stride| stride > 0)?);
        if first > last {
            return None;
        }
        places.extend((first..=last).step_by(stride as usize).map(|cpu| vec![i64::from(cpu)]));
    }
    Some(usable(places, allowed))
}

/// What of these places the program may use.
fn usable(places: Vec<Vec<i64>>, allowed: &[CpuId]) -> PlaceList {
    let usable = |place: Vec<i64>| allowed.iter().copied().filter(|&cpu| place.contains(&i64::from(cpu))).collect::<Vec<_>>();
    places.into_iter().map(usable).filter(|place| !place.is_empty()).collect()
}

/// PlaceList as a list is written.
pub fn listed(places: &[Vec<CpuId>]) -> String {
    let places = places.iter().map(|place| format!("{{{}}}", ranges(place, ':', |first, last| last - first + 1)));
    places.collect::<Vec<_>>().join(",")
}

/// Processors in order, those that follow each other as the first, a sign, and what `end` makes of the first
/// and the last.
pub fn ranges(cpus: &[CpuId], sign: char, end: impl Fn(CpuId, CpuId) -> CpuId) -> String {
    let runs = cpus.chunk_by(|one, next| one + 1 == *next);
    let run = |run: &[CpuId]| match run {
        [first, .., last] => format!("{first}{sign}{}", end(*first, *last)),
        _ => run.iter().map(CpuId::to_string).collect(),
    };
    runs.map(run).collect::<Vec<_>>().join(",")
}

/// Reads a list of places, or of processors, from left to right.
struct PlaceReader<'t>(&'t str);

/// An entry of a list: what it names, or what it takes away again.
enum PlaceEntry<T> {
    Named(Vec<T>),
    Excluded(T),
}

impl<'t> PlaceReader<'t> {
    fn all<T>(text: &'t str, read: impl Fn(&mut Self) -> Option<T>) -> Option<T> {
        let mut reader = Self(text.trim());
        read(&mut reader).filter(|_| reader.0.trim().is_empty())
    }

    fn sign(&mut self, sign: char) -> bool {
        let rest = self.0.trim_start().strip_prefix(sign);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn number(&mut self) -> Option<i64> {
        let text = self.0.trim_start();
        let digits = text.strip_prefix('-').unwrap_or(text);
        let length = text.len() - digits.len() + digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let number = text[..length].parse().ok().filter(|number: &i64| number.abs() < MOST)?;
        self.0 = &text[length..];
        Some(number)
    }

    /// `:count:stride`, each with what is meant without.
    fn interval(&mut self) -> Option<(i64, i64)> {
        let count = if self.sign(':') { self.number().filter(|&count| count > 0)? } else { return Some((1, 1)) };
        Some((count, if self.sign(':') { self.number()? } else { 1 }))
    }

    /// Entries with commas between. What is taken away must have been named before.
    fn list<T: PartialEq>(&mut self, entry: impl Fn(&mut Self, bool) -> Option<PlaceEntry<T>>) -> Option<Vec<T>> {
        let mut list = Vec::new();
        loop {
            let excludes = self.sign('!');
            match entry(self, excludes)? {
                PlaceEntry::Named(more) => list.extend(more),
                PlaceEntry::Excluded(one) => {
                    let before = list.len();
                    list.retain(|other| *other != one);
                    (list.len() < before).then_some(())?;
                }
            }
            if !self.sign(',') {
                return (!list.is_empty()).then_some(list);
            }
        }
    }

    fn places(&mut self) -> Option<Vec<Vec<i64>>> {
        self.list(|reader, excludes| {
            let place = reader.place()?;
            if excludes {
                return Some(PlaceEntry::Excluded(place));
            }
            let (count, stride) = reader.interval()?;
            let shifted = |by: i64| place.iter().map(|cpu| cpu + by * stride).collect::<Vec<_>>();
            let places: Vec<_> = (0..count).map(shifted).collect();
            places.iter().flatten().all(|cpu| (0..MOST).contains(cpu)).then_some(PlaceEntry::Named(places))
        })
    }

    /// One processor, or several in braces.
    fn place(&mut self) -> Option<Vec<i64>> {
        if !self.sign('{') {
            return self.number().map(|cpu| vec![cpu]);
        }
        let mut place = self.list(|reader, excludes| {
            let first = reader.number()?;
            if excludes {
                return Some(PlaceEntry::Excluded(first));
            }
            let (count, stride) = reader.interval()?;
            Some(PlaceEntry::Named((0..count).map(|at| first + at * stride).collect()))
        })?;
        place.sort_unstable();
        place.dedup();
        (self.sign('}') && place[0] >= 0).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EIGHT: [CpuId; 8] = [0, 1, 2, 3, 4, 5, 6, 7];

    fn list(text: &str) -> Option<String> {
        named(text, &EIGHT).map(|places| listed(&places))
    }

    #[test]
    fn lists_have_intervals_and_exclusions() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(list("{0}:4"), some("{0},{1},{2},{3}"));
        assert_eq!(list(" { 0 : 2 : 3 } , {7} "), some("{0,3},{7}"));
        assert_eq!(list("{7,6}:2:-3"), some("{6:2},{3:2}"));
        assert_eq!(list("{6,7}:4:-2,!{2,3}"), some("{6:2},{4:2},{0:2}"));
        assert_eq!(list("{0:4,!2},{1}"), some("{0:2,3},{1}"));
        assert_eq!(list("0,5"), some("{0},{5}"));
        assert_eq!(list("{6}:4"), some("{6},{7}"), "places without a processor are left out");
        assert_eq!(list("{9}"), some(""));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in
            ["", "{", "{}", "{0", "{0}:", "{0}:0", "{0}:-2", "{0}:3:-1", "{!0}", "{0},!{1}", "corse", "{0}}", "{99999999}"]
        {
            assert_eq!(list(text), None, "{text}");
        }
        for text in ["cores(", "cores()", "cores(0)", "cores(x)", "cores(1)x"] {
            assert_eq!(list(text), None, "{text}");
        }
    }

    #[test]
    fn names_stand_for_what_processors_share() {
        assert_eq!(named("Threads", &[0, 3]), Some(vec![vec![0], vec![3]]));
        assert_eq!(named("threads(1)", &[0, 3]), Some(vec![vec![0]]));
        let all = foregather_host::affinity::allowed();
        for name in ["cores", "ll_caches", "numa_domains", "sockets( 99 )"] {
            let mut cpus = named(name, &all).unwrap().concat();
            cpus.sort_unstable();
            assert_eq!(cpus, all, "{name}");
        }
    }

    #[test]
    fn the_older_variable_names_processors_one_by_one() {
        let list = |text| cpu_affinity(text, &EIGHT).map(|places| listed(&places));
        assert_eq!(list("0 3 1-2, 4-7:2").as_deref(), Some("{0},{3},{1},{2},{4},{6}"));
        assert_eq!(list("6-9").as_deref(), Some("{6},{7}"));
        for text in ["3-1", "1-2:0", "x", "1-"] {
            assert_eq!(list(text), None, "{text}");
        }
    }

    #[test]
    fn processors_in_a_row_are_a_range() {
        assert_eq!(ranges(&[0, 1, 2, 5], '-', |_, last| last), "0-2,5");
    }
}
