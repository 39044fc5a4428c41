//! Names that a user may have meant.

/// Shorter words are the beginning of too much.
const PREFIX_MIN: usize = 3;
/// Policies of waiting, without their bounds.
const POLICIES: [&str; 10] =
    ["adaptive", "block", "grain2cs", "holder-running", "randomised", "recent", "spin", "spin-yield", "two-phase", "yield"];

/// The end of a message about an unknown word: the name that was probably meant, or else all names.
pub fn meant(word: &str, names: &[&str]) -> String {
    near(word, names).map_or_else(|| format!("; there are {}", names.join(", ")), |name| format!("; did you mean `{name}`?"))
}

/// What is wrong with the name of a policy that was probably misspelt; `None` if it is like no other.
pub fn misspelt_policy(name: &str) -> Option<String> {
    let head = name.split([':', '!']).next().unwrap_or(name);
    let near = near(head, &POLICIES).filter(|near| *near != head)?;
    Some(format!("`{name}` is not a waiting policy; did you mean `{near}`?"))
}

/// The name that is most like a word, or the only one that it begins.
fn near<'n>(word: &str, names: &[&'n str]) -> Option<&'n str> {
    let alike = names.iter().map(|&name| (distance(word, name), name)).min();
    let alike = alike.filter(|(distance, name)| *distance <= 1 + name.len() / 4).map(|(_, name)| name);
    let mut begun = names.iter().filter(|name| word.len() >= PREFIX_MIN && name.starts_with(word));
    alike.or_else(|| begun.next().filter(|_| begun.next().is_none()).copied())
}

/// How many letters must be changed, added, taken out or swapped with their neighbour. Both words may be
/// foreign text of any length: their first letters decide.
fn distance(a: &str, b: &str) -> usize {
    const MOST: usize = 64;
    let [a, b] = [a, b].map(|word| word.chars().take(MOST).collect::<String>());
    strsim::osa_distance(&a, &b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_recognised() {
        let keys = ["threads", "barriers", "name"];
        for (word, says) in [
            ("thredas", "did you mean `threads`"),
            ("barier", "did you mean `barriers`"),
            ("colour", "there are threads, barriers"),
        ] {
            assert!(meant(word, &keys).contains(says), "{word}: {}", meant(word, &keys));
        }
        assert_eq!(distance("", "abc"), 3);
        assert_eq!([distance("", &"x".repeat(100_000)), distance(&"x".repeat(100_000), "")], [64; 2]);
        assert_eq!(distance("abcd", "acbd"), 1);
    }

    #[test]
    fn slips_and_beginnings_are_understood() {
        let papers = ["guignon2000", "namyst1999", "tsafrir-feitelson2002"];
        assert_eq!(meant("tsafrir", &papers), "; did you mean `tsafrir-feitelson2002`?");
        assert_eq!(meant("guigon2000", &papers), "; did you mean `guignon2000`?");
        assert_eq!(meant("nobody", &papers), "; there are guignon2000, namyst1999, tsafrir-feitelson2002");
        assert_eq!(misspelt_policy("adaptiv").as_deref(), Some("`adaptiv` is not a waiting policy; did you mean `adaptive`?"));
        assert!(misspelt_policy("two-pase:20us").is_some_and(|said| said.ends_with("`two-phase`?")));
        assert_eq!((misspelt_policy("two-phase:often"), misspelt_policy("nothing-like-it")), (None, None));
    }
}
