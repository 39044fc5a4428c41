//! The names in an rt-app file as numbers.

/// Names of resources, in the order of their first use.
#[derive(Default)]
pub(super) struct ResourceNames {
    mutexes: Vec<String>,
    /// Conditions, and what threads suspend on; the latter are told apart by a first character.
    conditions: Vec<String>,
    /// Timers with the instance that owns them, if they are unique.
    timers: Vec<(String, Option<usize>)>,
    barriers: Vec<(String, u32)>,
    instances: usize,
}

/// A timer of such a name is each thread's own.
const UNIQUE: &str = "unique";

fn number<T: PartialEq>(all: &mut Vec<T>, one: T) -> u32 {
    let at = all.iter().position(|other| *other == one).unwrap_or_else(|| {
        all.push(one);
        all.len() - 1
    });
    at as u32
}

impl ResourceNames {
    /// The number of the next thread.
    pub(super) fn instance(&mut self) -> usize {
        self.instances += 1;
        self.instances
    }

    pub(super) fn mutex(&mut self, name: &str) -> u32 {
        number(&mut self.mutexes, name.to_owned())
    }

    pub(super) fn condition(&mut self, name: &str) -> u32 {
        number(&mut self.conditions, format!("c{name}"))
    }

    pub(super) fn suspended(&mut self, name: &str) -> u32 {
        number(&mut self.conditions, format!("s{name}"))
    }

    pub(super) fn timer(&mut self, name: &str, instance: usize) -> u32 {
        number(&mut self.timers, (name.to_owned(), name.starts_with(UNIQUE).then_some(instance)))
    }

    /// A barrier, which so many threads more use.
    pub(super) fn barrier(&mut self, name: &str, users: u32) -> u32 {
        let at = self.barriers.iter().position(|(other, _)| other == name).unwrap_or_else(|| {
            self.barriers.push((name.to_owned(), 0));
            self.barriers.len() - 1
        });
        self.barriers[at].1 += users;
        at as u32
    }

    /// The numbers of mutexes, conditions and timers; and of each barrier's users.
    pub(super) fn counts(&self) -> ([u32; 3], Vec<u32>) {
        let counts = [self.mutexes.len(), self.conditions.len(), self.timers.len()];
        (counts.map(|count| count as u32), self.barriers.iter().map(|(_, users)| *users).collect())
    }
}
