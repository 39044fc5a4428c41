//! Reading the program's environment: variables by name, and what of them is not understood.

/// Reads variables and notes what it does not understand.
pub(crate) struct VariableReader<'r> {
    of: &'r dyn Fn(&str) -> Option<String>,
    pub(crate) complaints: Vec<String>,
}

impl<'r> VariableReader<'r> {
    pub(crate) fn new(of: &'r dyn Fn(&str) -> Option<String>) -> Self {
        Self { of, complaints: Vec::new() }
    }

    /// A variable that needs no reading.
    pub(crate) fn raw(&self, name: &str) -> Option<String> {
        self.find(name).map(|(_, text)| text)
    }

    /// A variable, else the one for all devices, with its name.
    fn find(&self, name: &str) -> Option<(String, String)> {
        let named = |name: String| (self.of)(&name).map(|text| (name, text));
        named(name.to_owned()).or_else(|| named(format!("{name}_ALL")))
    }

    pub(crate) fn get<T>(&mut self, name: &str, needs: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (name, text) = self.find(name)?;
        let value = read(text.trim());
        if value.is_none() {
            self.complain(&format!("{name}={} is ignored: it takes {needs}", foregather_machine::shown(&text)));
        }
        value
    }

    pub(crate) fn complain(&mut self, complaint: &str) {
        self.complaints.push(complaint.to_owned());
    }
}

/// A number from 1 on.
pub(crate) fn positive(text: &str) -> Option<u32> {
    number(text).filter(|&number| number > 0)
}

/// A number from 0 on.
pub(crate) fn number(text: &str) -> Option<u32> {
    text.parse().ok().filter(|&number| number <= i32::MAX as u32)
}

/// Entries with a comma between.
pub(crate) fn list<T>(text: &str, one: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    text.split(',').map(|part| one(part.trim())).collect()
}

pub(crate) fn truth(text: &str) -> Option<bool> {
    named(text, &[("true", true), ("false", false)])
}

/// What stands for that name.
pub(crate) fn named<T: Copy>(text: &str, names: &[(&str, T)]) -> Option<T> {
    names.iter().find(|(name, _)| text.eq_ignore_ascii_case(name)).map(|&(_, value)| value)
}

/// A number and one of the letters, which stand for powers of 2; a space for no letter.
pub(crate) fn scaled(text: &str, letters: &[(char, u32)]) -> Option<u64> {
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, letter) = (text[..at].parse::<u64>().ok()?, text[at..].trim());
    let power = match letter.chars().next() {
        None => letters.iter().find(|(letter, _)| *letter == ' ')?.1,
        Some(_) if letter.len() > 1 => return None,
        Some(letter) => letters.iter().find(|(known, _)| known.eq_ignore_ascii_case(&letter))?.1,
    };
    number.checked_mul(1 << power)
}
