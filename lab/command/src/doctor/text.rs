//! A diagnosis for a terminal: the verdict, what is missing and what that costs, one command that installs
//! it, then all that was found.
use super::packages::{self, LinuxFamily};
use super::{Check, CheckStatus, Diagnosis};
use crate::screen::{Ink, Screen};

/// Fewer columns are no room for what was found beside its name: it stands below it.
const LEAST_COLUMNS: usize = 24;

/// Where a user goes on whose program is slow on a machine that lacks nothing.
const NEXT: &str = "Why a program waits: `foregather advise -- PROGRAM`; which one waits now: `foregather top`";

impl Diagnosis {
    /// The whole of it, as wide as the screen; `peers`: also what only benchmarks need.
    pub fn to_text(&self, peers: bool, screen: &Screen) -> String {
        self.text_for(peers, screen, LinuxFamily::here(), is_root())
    }

    fn text_for(&self, peers: bool, screen: &Screen, here: Option<LinuxFamily>, root: bool) -> String {
        let lacking = |of_peers: bool| {
            self.checks.iter().filter(move |check| !check.costs.is_empty() && check.is_peer == of_peers).collect::<Vec<&Check>>()
        };
        let (own, of_peers) = (lacking(false), lacking(true));
        let mut parts = vec![verdict(own.len(), screen)];
        parts.extend(self.lacking(&own, screen, here, root));
        match of_peers.len() {
            0 => {}
            count if peers => {
                let what = format!("{} that only benchmarks compare with:", parts_missing(count));
                parts.push(screen.inked(Ink::Strong, &screen.wrapped(&what, 0)));
                parts.extend(self.lacking(&of_peers, screen, here, root));
            }
            count => {
                let what = format!("{} that only benchmarks compare with: see `foregather doctor --peers`", parts_missing(count));
                parts.push(screen.wrapped(&what, 0));
            }
        }
        parts.push(self.details(peers, screen));
        parts.push(screen.wrapped(NEXT, 0));
        parts.join("\n\n")
    }

    /// What is missing with its remedies, and one command for those that have a package.
    fn lacking(&self, lacking: &[&Check], screen: &Screen, here: Option<LinuxFamily>, root: bool) -> Vec<String> {
        let mut parts = Vec::new();
        if !lacking.is_empty() {
            let entries = lacking.iter().map(|check| {
                let remedy = packages::remedy_here(&check.remedy, here);
                let costs = screen.inked(Ink::Amiss, &format!("- {}", screen.wrapped(&check.costs, 2)));
                format!("{costs}\n  -> {}", screen.wrapped(&remedy, 5))
            });
            parts.push(entries.collect::<Vec<_>>().join("\n"));
        }
        let remedies = lacking.iter().map(|check| check.remedy.as_str());
        if let Some(command) = packages::command(remedies, here, root, screen.columns()) {
            parts.push(format!("{}\n{command}", screen.inked(Ink::Strong, &screen.wrapped("To install what has a package:", 0))));
        }
        parts
    }

    /// What is here, in two columns.
    fn details(&self, peers: bool, screen: &Screen) -> String {
        let is_shown = |check: &&Check| check.status != CheckStatus::Missing && (peers || !check.is_peer);
        let here: Vec<&Check> = self.checks.iter().filter(is_shown).collect();
        let names = here.iter().map(|check| check.name.len()).max().unwrap_or(0) + 2;
        let mut lines = Vec::new();
        for check in here {
            let found = if check.found.is_empty() { "-" } else { &check.found };
            // A long path, too, has a line of its own.
            let room = screen.columns().saturating_sub(names);
            let beside = room >= LEAST_COLUMNS && found.split(' ').all(|word| word.chars().count() <= room);
            let indent = if beside { names } else { 2 };
            let name = if beside { format!("{:<names$}", check.name) } else { format!("{}\n  ", check.name) };
            lines.push(format!("{name}{}", screen.wrapped(found, indent)));
            if !check.remedy.is_empty() && check.costs.is_empty() {
                let remedy = screen.wrapped(&check.remedy, indent + 3);
                lines.push(screen.inked(Ink::Amiss, &format!("{:indent$}-> {remedy}", "")));
            }
        }
        lines.join("\n")
    }
}

fn verdict(lacking: usize, screen: &Screen) -> String {
    let (ink, what) = match lacking {
        0 => (Ink::Good, "Foregather works here, and nothing is missing.".to_owned()),
        1 => (Ink::Strong, "Foregather works here; one optional part is missing:".to_owned()),
        many => (Ink::Strong, format!("Foregather works here; {many} optional parts are missing:")),
    };
    screen.inked(ink, &screen.wrapped(&what, 0))
}

/// `1 part is missing`, `3 parts are missing`.
fn parts_missing(count: usize) -> String {
    if count == 1 { "1 part is missing".to_owned() } else { format!("{count} parts are missing") }
}

/// Returns whether this process can install packages without asking for privileges.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|of| of.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::super::{check, missing};
    use super::*;

    /// Of a machine that lacks some of all kinds.
    fn diagnosis() -> Diagnosis {
        let note = "`foregather measure waits` measures them with care and keeps them";
        let checks = vec![
            check("processor", CheckStatus::Ok, "AMD EPYC 7B13", ""),
            check(
                "caches",
                CheckStatus::Ok,
                "L1 data 32K shared by 0, L1 instruction 32K shared by 0, L2 unified 1024K shared by 0",
                "",
            ),
            check(
                "shared memory",
                CheckStatus::Note,
                "pages protected by mprotect: EPERM",
                "`sysctl vm.unprivileged_userfaultfd=1`",
            )
            .costing("without userfaultfd: shared memory works, with dearer faults and fewer views"),
            check("machine costs", CheckStatus::Note, "typical ones \u{1b}[2J", note),
            missing(
                "libomp",
                "not found",
                "install LLVM's OpenMP runtime (Debian: libomp5)",
                "without libomp: no comparison with clang's OpenMP",
            )
            .of_benchmarks(),
            missing(
                "libfabric",
                "not found",
                "install libfabric (Debian: libfabric1)",
                "without libfabric: no jobs on several hosts",
            ),
            missing("peers", "not built", "`cargo build -p peers`", "without the program of peers: no comparison with any BLAS")
                .of_benchmarks(),
        ];
        Diagnosis { schema: "", checks }
    }

    fn said(columns: usize, here: Option<LinuxFamily>) -> String {
        diagnosis().text_for(true, &Screen::plain(columns), here, false)
    }

    #[test]
    fn sixty_columns_have_the_verdict_first_then_what_is_missing_and_one_command() {
        expect_test::expect![[r#"
            Foregather works here; 2 optional parts are missing:

            - without userfaultfd: shared memory works, with dearer
              faults and fewer views
              -> `sysctl vm.unprivileged_userfaultfd=1`
            - without libfabric: no jobs on several hosts
              -> install libfabric1

            To install what has a package:
            sudo apt-get install -y libfabric1

            2 parts are missing that only benchmarks compare with:

            - without libomp: no comparison with clang's OpenMP
              -> install libomp5
            - without the program of peers: no comparison with any BLAS
              -> `cargo build -p peers`

            To install what has a package:
            sudo apt-get install -y libomp5

            processor      AMD EPYC 7B13
            caches         L1 data 32K shared by 0, L1 instruction 32K
                           shared by 0, L2 unified 1024K shared by 0
            shared memory  pages protected by mprotect: EPERM
            machine costs  typical ones ?[2J
                           -> `foregather measure waits` measures them
                              with care and keeps them

            Why a program waits: `foregather advise -- PROGRAM`; which
            one waits now: `foregather top`"#]]
        .assert_eq(&said(60, Some(LinuxFamily::Debian)));
    }

    #[test]
    fn twenty_columns_are_enough() {
        expect_test::expect![[r#"
            Foregather works
            here; 2 optional
            parts are missing:

            - without
              userfaultfd:
              shared memory
              works, with dearer
              faults and fewer
              views
              -> `sysctl vm.unprivileged_userfaultfd=1`
            - without libfabric:
              no jobs on several
              hosts
              -> install
                 libfabric

            To install what has
            a package:
            sudo pacman -S --needed \
              libfabric

            2 parts are missing
            that only benchmarks
            compare with:

            - without libomp: no
              comparison with
              clang's OpenMP
              -> install openmp
            - without the
              program of peers:
              no comparison with
              any BLAS
              -> `cargo build -p peers`

            To install what has
            a package:
            sudo pacman -S --needed \
              openmp

            processor
              AMD EPYC 7B13
            caches
              L1 data 32K shared
              by 0, L1
              instruction 32K
              shared by 0, L2
              unified 1024K
              shared by 0
            shared memory
              pages protected by
              mprotect: EPERM
            machine costs
              typical ones ?[2J
              -> `foregather measure waits`
                 measures them
                 with care and
                 keeps them

            Why a program waits:
            `foregather advise -- PROGRAM`;
            which one waits now:
            `foregather top`"#]]
        .assert_eq(&said(20, Some(LinuxFamily::Arch)));
    }

    #[test]
    fn where_no_package_is_known_the_remedies_say_what_to_install() {
        let said = said(60, None);
        assert!(
            !said.contains("sudo") && said.contains("-> install LLVM's OpenMP runtime\n") && !said.contains("Debian"),
            "{said}"
        );
    }

    #[test]
    fn a_machine_that_has_all_says_so_in_a_line() {
        let checks = vec![check("processor", CheckStatus::Ok, "", "")];
        let said = Diagnosis { schema: "", checks }.text_for(false, &Screen::plain(60), None, true);
        let said = said.replace('\n', " ");
        assert_eq!(said, format!("Foregather works here, and nothing is missing.  processor  -  {NEXT}"));
    }

    #[test]
    fn a_machine_that_lacks_only_peers_lacks_nothing_of_a_users() {
        let peer = missing("libomp", "not found", "install it", "without libomp: no comparison").of_benchmarks();
        let of = Diagnosis { schema: "", checks: vec![check("processor", CheckStatus::Ok, "x", ""), peer] };
        let said = |peers| of.text_for(peers, &Screen::plain(200), None, true);
        assert_eq!(
            said(false),
            "Foregather works here, and nothing is missing.\n\n1 part is missing that only benchmarks compare with: see \
             `foregather doctor --peers`\n\nprocessor  x\n\n"
                .to_owned()
                + NEXT
        );
        assert!(said(true).contains("that only benchmarks compare with:\n\n- without libomp"), "{}", said(true));
    }
}
