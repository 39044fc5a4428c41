//! Journals without what can be no fault whoever comes first: most touches of most programs are of what one thread has for itself, and
//! a run is played many times over.
use foregather_dsm::journal::{Journal, Operation};
use foregather_dsm::replay::Grain;
use foregather_dsm::{Access, Minipage};

/// Who touches a page.
#[derive(Clone, Copy, PartialEq)]
enum Whose {
    Nobody,
    One(u32),
    Several,
}

/// Leaves out all but the first touch to read and the first to write of pages that one thread has for itself; of minipages on such a
/// page, too. What was computed before them belongs to the event behind. What is left makes the same faults, by minipages and by pages.
pub(super) fn thin(journals: &mut [Journal], pages: &Grain) {
    let mut whose = vec![Whose::Nobody; pages.bytes().len()];
    for journal in &*journals {
        for event in &journal.events {
            let (minipage, others) = match event.what {
                Operation::Touch { minipage, .. } | Operation::Prefetch { minipage, .. } => (minipage, false),
                Operation::Push { minipage } => (minipage, true),
                _ => continue,
            };
            let Minipage(page) = pages.of_minipage(minipage);
            let whose = &mut whose[page as usize];
            let alone = [Whose::Nobody, Whose::One(journal.thread)].contains(whose) && !others;
            *whose = if alone { Whose::One(journal.thread) } else { Whose::Several };
        }
    }
    for journal in journals {
        let (mut had, mut owed_ns) = (vec![Access::None; whose.len()], 0);
        journal.events.retain_mut(|event| {
            event.computed_ns += std::mem::take(&mut owed_ns);
            let Operation::Touch { minipage, access, .. } = event.what else { return true };
            let Minipage(page) = pages.of_minipage(minipage);
            let had = &mut had[minipage.0 as usize];
            if *had >= access && whose[page as usize] != Whose::Several {
                owed_ns = event.computed_ns;
                return false;
            }
            *had = access.max(*had);
            true
        });
        journal.events.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_dsm::journal::Event;
    use foregather_dsm::memory::Site;

    fn journal(thread: u32, did: impl IntoIterator<Item = Operation>) -> Journal {
        let event = |what| Event { computed_ns: 10, at_ns: 0, waited_ns: 0, what };
        Journal { thread, events: did.into_iter().map(event).collect(), ..Journal::default() }
    }

    fn touch(minipage: u32, access: Access) -> Operation {
        Operation::touch(Minipage(minipage), access, 0..8)
    }

    #[test]
    fn only_what_one_thread_has_for_itself_is_left_out_and_its_computing_is_kept() {
        // Two minipages to a page of 2000 bytes.
        let minipages = (0..6).map(Minipage).collect();
        let site = Site { place: String::new(), element_bytes: 8, unit_bytes: 1_000, level: 1, minipages };
        let pages = Grain::pages(&[site], 6, 2_000);
        let (read, write) = (Access::Read, Access::Write);
        let own = [touch(0, read), touch(0, write), touch(0, read), touch(0, write), touch(1, write), Operation::Barrier];
        let shared =
            [touch(2, read), touch(2, read), touch(4, write), Operation::Push { minipage: Minipage(4) }, touch(4, write)];
        let kept: Vec<Operation> = own[..2].iter().chain(&own[4..]).chain(&shared).cloned().collect();
        let mut journals = [journal(0, own.into_iter().chain(shared)), journal(1, [touch(3, read)])];
        thin(&mut journals, &pages);
        assert_eq!(journals[0].events.iter().map(|event| event.what.clone()).collect::<Vec<_>>(), kept);
        assert_eq!(journals[0].events.iter().map(|event| event.computed_ns).sum::<u64>(), 110);
        assert_eq!(journals[0].events[2].computed_ns, 30, "two were left out before it");
        assert_eq!(journals[1].events.len(), 1);
    }
}
