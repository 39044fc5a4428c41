//! One name has one idea: a reader of three rooms learns each word once.
//!
//! A type's name that several packages define is listed with the one meaning that it has in all of them.
//! Words themselves are the affair of `typos.toml`.
use crate::source::{Source, is_for_tests};
use crate::tree::Tree;
use crate::violation::Violation;
use proc_macro2::Ident;
use std::collections::BTreeMap;
use syn::visit::{self, Visit};

/// This file, as violations name it.
const LIST: &str = "xtask/src/tidy/vocabulary.rs";
const MANIFEST: &str = "Cargo.toml";

/// Every name of a type that several packages define and that is not listed, and every listed name that is
/// none of those any more.
pub(super) fn check(tree: &Tree, sources: &[Source<'_>]) -> Vec<Violation> {
    check_with(tree, sources, &SHARED)
}

fn check_with(tree: &Tree, sources: &[Source<'_>], listed: &[(&str, &str)]) -> Vec<Violation> {
    let mut types = Types::new();
    for source in sources.iter().filter(|source| !source.test) {
        let package = package_of(tree, source.path);
        let mut finder = Finder(Vec::new());
        finder.visit_file(&source.file);
        for (name, line) in finder.0 {
            types.entry(name).or_default().entry(package).or_insert((source.path, line));
        }
    }
    let unlisted = types.iter().filter_map(|(name, places)| judge(name, places, listed));
    let is_shared = |name: &str| types.get(name).is_some_and(|places| places.len() > 1);
    let old = listed.iter().filter(|(name, _)| tree.text(LIST).is_some() && !is_shared(name));
    unlisted.chain(old.map(|(name, _)| unshared(name))).collect()
}

fn unshared(name: &str) -> Violation {
    Violation::new(LIST, 1, "shared-name", format!("`{name}` is no type of several packages: take it off the list"))
}

/// The names of types; of each, the packages that define it, and where they do so first.
type Types<'a> = BTreeMap<String, BTreeMap<&'a str, (&'a str, usize)>>;

fn judge(name: &str, places: &BTreeMap<&str, (&str, usize)>, listed: &[(&str, &str)]) -> Option<Violation> {
    let &(path, line) = places.values().next()?;
    if places.len() < 2 || listed.iter().any(|(listed, _)| *listed == name) {
        return None;
    }
    let packages: Vec<String> = places.values().map(|(path, line)| format!("{path}:{line}")).collect();
    let remedy = format!("give each its own name, or list the one meaning in {LIST}");
    let what = format!("`{name}` is a type of {} packages ({}): {remedy}", places.len(), packages.join(", "));
    Some(Violation::new(path, line, "shared-name", what))
}

/// The innermost directory around a file that has a manifest.
fn package_of<'a>(tree: &Tree, path: &'a str) -> &'a str {
    let mut ancestors = path.rmatch_indices('/').map(|(at, _)| &path[..at]);
    ancestors.find(|place| tree.text(&format!("{place}/{MANIFEST}")).is_some()).unwrap_or("")
}

/// The types that a file defines, and their lines; not those for tests or within a function, and not
/// associated types, which are named for each trait alone.
struct Finder(Vec<(String, usize)>);

impl Finder {
    fn define(&mut self, name: &Ident) {
        self.0.push((name.to_string(), name.span().start().line));
    }
}

/// Visits an item unless it is for tests only, and notes its name if it is a type.
macro_rules! items {
    ($($visit:ident: $syntax:ident $(, $name:ident)?;)*) => {
        $(fn $visit(&mut self, item: &'ast syn::$syntax) {
            if !is_for_tests(&item.attrs) {
                $(self.define(&item.$name);)?
                visit::$visit(self, item);
            }
        })*
    };
}

impl<'ast> Visit<'ast> for Finder {
    items! {
        visit_item_struct: ItemStruct, ident;
        visit_item_enum: ItemEnum, ident;
        visit_item_union: ItemUnion, ident;
        visit_item_type: ItemType, ident;
        visit_item_trait: ItemTrait, ident;
        visit_item_mod: ItemMod;
    }

    fn visit_block(&mut self, _: &'ast syn::Block) {}
}

/// A name, and what it means everywhere. One that means two things is no entry: give the types two names.
pub(super) const SHARED: [(&str, &str); 111] = [
    ("Action", "what is done next"),
    ("Allocator", "what gives out memory, and how much of it"),
    ("Answer", "what a cell or an experiment replies"),
    ("Array", "elements that ranks share"),
    ("Awaited", "the ranks that a wait is for"),
    ("Bare", "a lane without messages above it"),
    ("Barrier", "a point where threads or ranks wait until all of them have come"),
    ("Broadcast", "one writer's messages to several readers"),
    ("Bytes", "some bytes of a larger whole"),
    ("Cause", "why a call failed"),
    ("Claim", "one thing that a paper says"),
    ("Column", "one column of a table"),
    ("Comparison", "two results side by side"),
    ("Contestant", "one program of a comparison"),
    ("Counts", "how often each of some things happened"),
    ("Distribution", "how values are spread"),
    ("Done", "a call without a result, or its error"),
    ("Draw", "a stream of random decisions"),
    ("Entry", "one element of a table or a list"),
    ("Episodes", "repeated waits of a team at its barrier"),
    ("Errno", "a system call's error number"),
    ("Error", "a call failed"),
    ("Event", "something that happens at one moment"),
    ("Expected", "what a paper gives as a claim's number"),
    ("Experiment", "something that is measured or reproduced"),
    ("Exposed", "memory that peers may read, as its owner sees it"),
    ("Exposure", "one piece of memory that peers may read"),
    ("Exposures", "all such memory of a lane"),
    ("Face", "the language of a BLAS's interface"),
    ("Facts", "what is known when a decision is made"),
    ("FailsWith", "what shows that a claim can fail"),
    ("Fault", "something that goes wrong: a page fault, or a mistake on purpose"),
    ("Faults", "how something goes wrong, and who mends it"),
    ("Frame", "what is sent over a connection at once"),
    ("FrameHead", "the header of a frame"),
    ("FrameKind", "the kind of a frame"),
    ("Grain", "the unit in which memory or work is divided"),
    ("Group", "threads or processes that are treated as one"),
    ("Header", "what stands first in a file or a segment and says what it is"),
    ("Hogs", "busy processes, which end with this value"),
    ("Host", "one computer of several, with what it holds"),
    ("Inbox", "what has come and was not taken yet"),
    ("Inner", "what all handles of a fabric share"),
    ("Int", "an integer of a BLAS's interface"),
    ("Job", "processes or threads that were started together"),
    ("Lane", "one thread's end of a fabric"),
    ("Link", "one end of a connection between two"),
    ("Lu", "a factorisation into triangles"),
    ("Machine", "the computer that is measured or simulated, as far as its reader looks at it"),
    ("Mapping", "mapped memory, unmapped with this value"),
    ("Measured", "what a measurement gave"),
    ("Measurement", "one measured quantity"),
    ("Member", "one of those who meet"),
    ("MpiHandle", "a handle of any MPI library"),
    ("Network", "nodes that exchange null messages"),
    ("Node", "one node of a network, or of the operations of a trace"),
    ("Noise", "what disturbs a run from outside"),
    ("Once", "something that happens once"),
    ("Operands", "the vectors and matrices of a measured call"),
    ("Outcome", "what came of a run or a wait"),
    ("Panic", "the payload of a panic"),
    ("Paper", "a file of papers/"),
    ("Parcel", "a message on its way"),
    ("Payload", "what a frame carries"),
    ("Peer", "a library of another project"),
    ("Pending", "something that was begun and is not complete"),
    ("PingPong", "the result of a series of round trips"),
    ("Pipe", "both ends of a pipe"),
    ("Placement", "on which processors threads run"),
    ("Plan", "what is to be done, as it stands before it begins"),
    ("Point", "one combination of a sweep's choices, as it is run or drawn"),
    ("Ports", "ends of a network for sized messages"),
    ("Processor", "a processor as a world sees it"),
    ("Program", "what is run, with its input"),
    ("Random", "a stream of random numbers"),
    ("Rank", "one of those that work together: its number, or its handle"),
    ("ReadingEnd", "a reader of a broadcast and its next message"),
    ("Recorder", "what writes a record"),
    ("Recording", "what a program's threads were seen to do"),
    ("Reduction", "one value made of a value of each member"),
    ("Report", "how a team or a simulation fared"),
    ("Request", "what a peer asks for"),
    ("Results", "the document of an experiment"),
    ("Row", "one line of a table of results"),
    ("Run", "one run of an experiment or of a simulation"),
    ("Sample", "one observation of many"),
    ("Scope", "the threads that may sleep on a word"),
    ("Served", "what serving others came to"),
    ("Settings", "what a user may choose of a part of the house"),
    ("Setup", "what a series or a model begins with"),
    ("Share", "a part of the processors' time"),
    ("Shared", "what several threads use at once"),
    ("Slot", "one place of several alike, which is taken and given back"),
    ("Span", "a stretch without a gap"),
    ("Stats", "counters that any thread may read"),
    ("Study", "what is simulated"),
    ("Tag", "what tells messages of one connection apart"),
    ("TaskState", "what a task is doing"),
    ("Thread", "one thread of execution"),
    ("Timeline", "what happened when, on several nodes"),
    ("UnsafeCell", "a cell that loom can watch"),
    ("Value", "a number, or words in its place"),
    ("Verdict", "what became of a claim"),
    ("Wait", "one wait, while it goes on"),
    ("WaitFor", "what a wait is for"),
    ("Waiter", "what waits at a barrier"),
    ("Want", "the access that a thread needs"),
    ("Wanted", "what is looked for"),
    ("Window", "what lies between two moments"),
    ("Word", "a number that is loaded and stored at once"),
    ("World", "what gives the traits their meaning"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order() {
        assert!(SHARED.is_sorted_by(|(a, _), (b, _)| a < b));
    }

    /// What is said of three files, among three packages and the workspace around them.
    fn names(files: [(&str, &str); 3], listed: &[(&str, &str)]) -> Vec<String> {
        let [a, b, c] = files;
        let packages = [("Cargo.toml", ""), ("core/a/Cargo.toml", ""), ("core/b/Cargo.toml", ""), ("core/b/c/Cargo.toml", "")];
        let [whole, core_a, core_b, core_c] = packages;
        let tree = Tree::of([whole, core_a, core_b, core_c, a, b, c, (LIST, "")]);
        let (sources, unparsed) = Source::all(&tree);
        assert_eq!(unparsed, []);
        check_with(&tree, &sources, listed).iter().map(Violation::to_string).collect()
    }

    #[test]
    fn a_name_of_several_packages_is_found_where_the_first_defines_it() {
        let files = [
            ("core/a/src/a.rs", "\nstruct Gear;"),
            ("core/b/src/b.rs", "trait Gear {}"),
            ("core/b/c/src/c.rs", "type Gear = u8;"),
        ];
        let found = "core/a/src/a.rs:2: shared-name: `Gear` is a type of 3 packages (core/a/src/a.rs:2, core/b/src/b.rs:1, \
                     core/b/c/src/c.rs:1): give each its own name, or list the one meaning in xtask/src/tidy/vocabulary.rs";
        assert_eq!(names(files, &[]), [found]);
        assert_eq!(names(files, &[("Gear", "A wheel with teeth.")]), [] as [&str; 0]);
        let old = "xtask/src/tidy/vocabulary.rs:1: shared-name: `Gears` is no type of several packages: take it off the list";
        assert_eq!(names(files, &[("Gears", "Not it.")]), [found, old]);
    }

    #[test]
    fn a_name_of_one_package_is_not_shared() {
        let (a, b) = (("core/a/src/a.rs", "struct Gear;"), ("core/b/src/b.rs", "struct Wheel;"));
        for (path, text) in [
            ("core/a/src/again.rs", "struct Gear;"),
            ("core/b/c/src/c.rs", "impl A for B { type Gear = u8; }\ntrait A { type Gear; }"),
            ("core/b/c/src/c.rs", "fn f() -> Gear { Gear }\nmod gear { enum A { Gear } }"),
            ("core/b/c/src/c.rs", "fn f() { struct Gear; }\nimpl A { fn f() { type Gear = u8; } }"),
            ("core/b/c/src/c.rs", "#[cfg(test)]\nmod tests {\n mod fake { struct Gear; }\n}"),
            ("core/b/c/src/c.rs", "#[cfg(test)]\nstruct Gear;\n#[test]\nfn f() { struct Gear; }"),
            ("core/b/c/src/tests.rs", "struct Gear;"),
            ("core/b/c/tests/c.rs", "struct Gear;"),
            ("core/b/c/benches/c.rs", "struct Gear;"),
            ("core/b/c/examples/c.rs", "struct Gear;"),
        ] {
            assert_eq!(names([a, b, (path, text)], &[]), [] as [&str; 0], "{path}: {text}");
        }
        let outside_of_tests = "#[cfg(test)]\nmod tests {}\n#[cfg(not(test))]\nstruct Gear;";
        assert_eq!(names([a, b, ("core/b/c/src/c.rs", outside_of_tests)], &[]).len(), 1);
    }
}
