//! The rooms of the house and the arrows between them: downwards only.
//!
//! The compiler refuses cycles but not a room that reaches for a higher one, so what may use what stands
//! here, explicitly. A new room is one line in [`ROOMS`].
use crate::tree::Tree;
use crate::violation::Violation;
use toml::{Table, Value};

/// A part of the house whose rooms may use the same others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wing {
    /// Algorithms, written once.
    Core,
    /// What hardware gives them.
    World,
    /// What virtual time gives them; knows nothing of hardware.
    Sim,
    /// What is built of the two.
    System,
    /// What every world must pass.
    Conformance,
    /// Seeds: what tries all protocols in virtual time.
    Swarm,
    /// What is measured, and the cells that all are measured by.
    Bench,
    /// The command, in rooms; may use everything below.
    Lab,
    /// What else users meet; may use everything below but the lab.
    Roof,
    /// The work of peers, measured by our cells.
    Peers,
    /// Chores, alone in the garden.
    Garden,
}
use Wing::{Bench, Conformance, Core, Garden, Lab, Peers, Roof, Sim, Swarm, System, World};

struct HouseRoom {
    directory: &'static str,
    package: &'static str,
    wing: Wing,
    /// Within a wing a room may use those of a lower floor.
    floor: u8,
}

const fn room(directory: &'static str, package: &'static str, wing: Wing, floor: u8) -> HouseRoom {
    HouseRoom { directory, package, wing, floor }
}

const ROOMS: [HouseRoom; 36] = [
    room("core/machine", "foregather-machine", Core, 0),
    room("core/wait", "foregather-wait", Core, 1),
    room("core/barrier", "foregather-barrier", Core, 2),
    room("core/task", "foregather-task", Core, 3),
    room("core/message", "foregather-message", Core, 3),
    room("worlds/sim", "foregather-sim", Sim, 0),
    room("worlds/host", HOST, World, 0),
    room("worlds/thread", "foregather-thread", World, 1),
    room("worlds/shm", "foregather-shm", World, 2),
    room("worlds/ofi", "foregather-ofi", World, 3),
    room("worlds/mpi", "foregather-mpi", World, 3),
    room("worlds/launch", "foregather-launch", World, 4),
    room("systems/team", "foregather-team", System, 0),
    room("systems/blas", "foregather-blas", System, 1),
    room("systems/dsm", "foregather-dsm", System, 1),
    room("systems/openmp", "foregather-openmp", System, 1),
    room("systems/watch", "foregather-watch", System, 1),
    room("conformance", "foregather-conformance", Conformance, 0),
    room("conformance/swarm", "foregather-swarm", Swarm, 0),
    room("bench", "foregather-bench", Bench, 0),
    room("faces/blas", "foregather-blas-face", Roof, 0),
    room("faces/openmp", "foregather-openmp-face", Roof, 0),
    room("lab/results", "foregather-results", Lab, 0),
    room("lab/measure", "foregather-measure", Lab, 1),
    room("lab/simulate", "foregather-simulate", Lab, 1),
    room("lab/reproduce", "foregather-reproduce", Lab, 2),
    room("lab/report", "foregather-report", Lab, 1),
    room("lab/command", "foregather-lab", Lab, 3),
    room("foregather", "foregather", Roof, 0),
    room("faces/pthread", "foregather-pthread-face", Roof, 1),
    room("faces/watch", "foregather-watch-face", Roof, 1),
    room("faces/mpi", "foregather-mpi-face", Roof, 1),
    room("faces/c", "foregather-c", Roof, 1),
    room("faces/python", "foregather-python", Roof, 1),
    room("peers", "foregather-peers", Peers, 0),
    room("xtask", "xtask", Garden, 0),
];
const HOST: &str = "foregather-host";

impl HouseRoom {
    fn may_use(&self, other: &Self) -> bool {
        match (self.wing, other.wing) {
            (Core, Core) | (World, World) | (System, System) | (Lab, Lab) => other.floor < self.floor,
            (World | Sim | Conformance, Core) | (System | Bench, Core | World | Sim) | (Bench, System) => true,
            // What results are called.
            (Bench | Peers, Lab) => other.floor == 0,
            (Swarm, Core | Sim | System | Conformance) => true,
            (Roof, Roof) => other.floor < self.floor,
            (Lab | Roof, Core | World | Sim | System | Conformance | Bench) => true,
            (Peers, Bench | Core) => true,
            (Peers, World) => other.package == HOST,
            _ => false,
        }
    }
}

fn room_of(package: &str) -> Option<&'static HouseRoom> {
    ROOMS.iter().find(|room| room.package == package)
}

/// What the root of a crate says that meets the machine only through traits; clippy does the rest.
const NO_MACHINE: &str = "#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]";

/// Every manifest of a package against the table.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let without_machine = |room: &&HouseRoom| matches!(room.wing, Core | Sim | System | Conformance);
    let roots = ROOMS.iter().filter(without_machine).map(|room| format!("{}/src/lib.rs", room.directory));
    let open = roots.filter(|root| tree.text(root).is_some_and(|text| !text.contains(NO_MACHINE)));
    let mut violations: Vec<_> =
        open.map(|root| Violation::new(&root, 1, "world", format!("the crate must say `{NO_MACHINE}`"))).collect();
    let root: Table = tree.text("Cargo.toml").and_then(|text| text.parse().ok()).unwrap_or_default();
    let shared = root.get("workspace").and_then(|workspace| workspace.get("dependencies"));
    let manifests = tree.texts().filter(|(path, _)| *path == "Cargo.toml" || path.ends_with("/Cargo.toml"));
    violations.extend(manifests.flat_map(|(path, text)| check_manifest(path, text, shared)));
    violations
}

fn check_manifest(path: &str, text: &str, shared: Option<&Value>) -> Vec<Violation> {
    let violation = |line, what| Violation::new(path, line, "arrow", what);
    let manifest: Table = match text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![violation(1, format!("does not parse: {}", error.message()))],
    };
    let Some(package) = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str) else {
        return Vec::new();
    };
    let directory = path.trim_end_matches("Cargo.toml").trim_end_matches('/');
    let Some(room) = room_of(package).filter(|room| room.directory == directory) else {
        let what = format!("no room is known for `{package}` in `{directory}`: enter it in xtask/src/tidy/house.rs");
        return vec![violation(1, what)];
    };
    let mut violations = Vec::new();
    for (used, key, for_tests) in dependencies(&manifest, shared) {
        let Some(other) = room_of(&used) else { continue };
        // Benches of a simulator need a clock; its library cannot use it.
        let timed = room.wing == Sim && other.package == HOST;
        // A page is tested with what simulations give.
        let drawn = room.wing == Lab && other.wing == Lab;
        let tested = for_tests && (other.wing == Conformance || other.package == package || timed || drawn);
        if !room.may_use(other) && !tested {
            let line = text.lines().position(|line| line.trim_start().starts_with(&key)).map_or(1, |at| at + 1);
            let what = format!("`{package}` may not use `{used}`: arrows go downwards only (xtask/src/tidy/house.rs)");
            violations.push(violation(line, what));
        }
    }
    violations
}

/// The packages that a manifest depends on, the keys it calls them by, and whether only its tests do.
fn dependencies(manifest: &Table, shared: Option<&Value>) -> Vec<(String, String, bool)> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(|targets| targets.values());
    let owners = [manifest].into_iter().chain(targets.filter_map(Value::as_table));
    let kinds = [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)];
    let mut found = Vec::new();
    for owner in owners {
        for (kind, for_tests) in kinds {
            for (key, value) in owner.get(kind).and_then(Value::as_table).into_iter().flatten() {
                let inherited = shared.and_then(|shared| shared.get(key)).filter(|_| value.get("workspace").is_some());
                let renamed = value.get("package").or_else(|| inherited?.get("package")).and_then(Value::as_str);
                found.push((renamed.unwrap_or(key).to_owned(), key.clone(), for_tests));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::violation::lines_of;

    fn verdict(directory: &str, package: &str, rest: &str) -> Vec<(usize, &'static str)> {
        let manifest = format!("[package]\nname = \"{package}\"\n{rest}");
        let shared = "[workspace.dependencies]\nhall = { path = \"lab/command\", package = \"foregather-lab\" }\n";
        lines_of(&check(&Tree::of([("Cargo.toml", shared), (&format!("{directory}/Cargo.toml"), &manifest)])))
    }

    fn uses(user: &str, used: &str) -> bool {
        let room = room_of(user).unwrap();
        verdict(room.directory, user, &format!("[dependencies]\n{used}.workspace = true\n")).is_empty()
    }

    #[test]
    fn downward_arrows_pass_and_upward_ones_do_not() {
        for (user, used) in [
            ("foregather-barrier", "foregather-wait"),
            ("foregather-barrier", "serde"),
            ("foregather-thread", "foregather-host"),
            ("foregather-sim", "foregather-barrier"),
            ("foregather-dsm", "foregather-shm"),
            ("foregather-blas", "foregather-team"),
            ("foregather-bench", "foregather-sim"),
            ("foregather-bench", "foregather-results"),
            ("foregather-swarm", "foregather-dsm"),
            ("foregather-lab", "foregather-bench"),
            ("foregather-lab", "foregather-measure"),
            ("foregather-reproduce", "foregather-simulate"),
            ("foregather-peers", "foregather-host"),
            ("foregather-peers", "foregather-machine"),
        ] {
            assert!(uses(user, used), "{user} may use {used}");
        }
        for (user, used) in [
            ("foregather-machine", "foregather-wait"),
            ("foregather-wait", "foregather-wait"),
            ("foregather-wait", "foregather-thread"),
            ("foregather-host", "foregather-thread"),
            ("foregather-sim", "foregather-host"),
            ("foregather-thread", "foregather-sim"),
            ("foregather-conformance", "foregather-thread"),
            ("foregather-swarm", "foregather-thread"),
            ("foregather-bench", "foregather-lab"),
            ("foregather-bench", "foregather-measure"),
            ("foregather-results", "foregather-measure"),
            ("foregather-report", "foregather-measure"),
            ("foregather-report", "foregather-reproduce"),
            ("foregather-measure", "foregather-simulate"),
            ("foregather-bench", "foregather-conformance"),
            ("foregather-lab", "foregather"),
            ("foregather", "foregather-lab"),
            ("foregather-lab", "foregather-peers"),
            ("foregather-peers", "foregather-thread"),
            ("foregather-lab", "xtask"),
            ("xtask", "foregather-machine"),
        ] {
            assert!(!uses(user, used), "{user} may not use {used}");
        }
    }

    #[test]
    fn tests_may_also_use_the_conformance_suite_and_those_of_the_lab_its_rooms() {
        let of = |kind: &str, used: &str| verdict("worlds/thread", "foregather-thread", &format!("[{kind}]\n{used} = {{}}\n"));
        assert_eq!(of("dev-dependencies", "foregather-conformance"), []);
        assert_eq!(of("dependencies", "foregather-conformance"), [(4, "arrow")]);
        assert_eq!(of("dev-dependencies", "foregather-lab"), [(4, "arrow")]);
        let report = |kind: &str| verdict("lab/report", "foregather-report", &format!("[{kind}]\nforegather-reproduce = {{}}\n"));
        assert_eq!(report("dev-dependencies"), []);
        assert_eq!(report("dependencies"), [(4, "arrow")]);
    }

    #[test]
    fn targets_and_other_names_hide_nothing() {
        let of = |rest: &str| verdict("core/wait", "foregather-wait", rest);
        assert_eq!(of("[target.'cfg(loom)'.dependencies]\nforegather-machine = {}\n"), []);
        assert_eq!(of("[target.'cfg(loom)'.dependencies]\n\nforegather-barrier = {}\n"), [(5, "arrow")]);
        assert_eq!(of("[build-dependencies]\nup = { package = \"foregather-lab\" }\n"), [(4, "arrow")]);
        assert_eq!(of("[dependencies]\nhall.workspace = true\n"), [(4, "arrow")]);
    }

    #[test]
    fn what_is_deterministic_says_so() {
        let said = |directory: &str, text: &str| lines_of(&check(&Tree::of([(&format!("{directory}/src/lib.rs"), text)])));
        for deterministic in ["core/wait", "worlds/sim", "systems/dsm", "conformance"] {
            assert_eq!(said(deterministic, "//! Why.\n"), [(1, "world")]);
            assert_eq!(said(deterministic, NO_MACHINE), []);
        }
        assert_eq!(said("worlds/host", "//! Why.\n"), []);
    }

    #[test]
    fn a_room_must_be_known_and_at_its_place() {
        assert_eq!(verdict("core/wait", "foregather-wait", ""), []);
        assert_eq!(verdict("core/wait", "foregather-new", ""), [(1, "arrow")]);
        assert_eq!(verdict("core/other", "foregather-wait", ""), [(1, "arrow")]);
    }
}
