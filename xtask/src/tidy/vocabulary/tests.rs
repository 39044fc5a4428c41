//! Old words and shared names, planted where they are definitions and where they are not.
use super::old::ItemKind::{Field, Function, Module, Type, Variant};
use super::*;
use crate::violation::lines_of;

const ANY: [Old; 1] = [Old { old: "old", now: "new", kinds: &[Type, Variant, Function, Field, Module], place: &[] }];

fn words(path: &str, text: &str, olds: &[Old]) -> Vec<(usize, &'static str)> {
    let tree = Tree::of([(path, text)]);
    let (sources, unparsed) = Source::all(&tree);
    assert_eq!(unparsed, []);
    lines_of(&check_with(&tree, &sources, olds, &[]))
}

#[test]
fn an_old_word_is_found_at_the_line_of_its_definition() {
    for definition in [
        "struct old;",
        "pub enum old {}",
        "union old { a: u8 }",
        "type old = u8;",
        "trait old {}",
        "trait A { type old; }",
        "enum A { B, old(u8) }",
        "fn old() {}",
        "impl A { pub(crate) const fn old(&self) {} }",
        "trait A { fn old(); }",
        "struct A { old: u8 }",
        "enum A { B { old: u8 } }",
        "mod old;",
        "mod old {}",
        "mod a { fn f() { struct old; } }",
        "impl B for A { fn f() { fn old() {} } }",
        "#[cfg(test)] mod tests { struct A { old: u8 } }",
    ] {
        assert_eq!(words("a.rs", &format!("//! Why.\n\n{definition}\n"), &ANY), [(3, "old-word")], "{definition}");
    }
}

#[test]
fn an_old_word_that_defines_nothing_of_ours_is_none() {
    for other in [
        "impl B for A { type old = u8; fn old(&self) {} }",
        "fn f(old: u8) -> u8 { let old = old + 1; g(|old| old); a.old() + b::old + old(1) }",
        "macro_rules! m { () => { fn old() {} }; }",
        "m! { struct old; }",
        "use a::old;",
        "fn f<old>() {}",
        "unsafe extern \"C\" { fn old(); }",
        "struct older { olds: u8 } // old",
    ] {
        assert_eq!(words("a.rs", other, &ANY), [], "{other}");
    }
}

#[test]
fn a_row_is_of_its_kinds_and_places_alone() {
    let here = [Old { old: "old", now: "new", kinds: &[Function, Field], place: &["core/wait/", "lab/"] }];
    let text = "struct old {\n old: u8\n}\nenum A { old }\nfn old() {}\nmod old {}\n";
    for path in ["core/wait/src/a.rs", "lab/tests/a.rs"] {
        assert_eq!(words(path, text, &here), [(2, "old-word"), (5, "old-word")]);
    }
    for path in ["core/waiting/src/a.rs", "core/lab/src/a.rs", "a.rs"] {
        assert_eq!(words(path, text, &here), []);
    }
    let tree = Tree::of([("core/wait/a.rs", "fn old() {}")]);
    let told = check_with(&tree, &Source::all(&tree).0, &here, &[]);
    assert_eq!(told[0].to_string(), "core/wait/a.rs:1: old-word: `old` is the old word: call it `new`");
}

#[test]
fn the_tables_do_not_contradict_themselves() {
    let meet = |a: &Old, b: &Old| a.kinds.iter().any(|kind| b.kinds.contains(kind));
    let near = |a: &Old, b: &Old| {
        let all = a.place.is_empty() || b.place.is_empty();
        all || a.place.iter().any(|a| b.place.iter().any(|b| a.starts_with(b) || b.starts_with(a)))
    };
    for (at, a) in OLD.iter().enumerate() {
        assert!(a.place.iter().all(|place| place.ends_with('/')), "{}: a place is a directory", a.old);
        for b in &OLD {
            assert!(!(meet(a, b) && near(a, b) && a.now == b.old), "{} is to be {}, which is old itself", a.old, a.now);
        }
        for b in &OLD[at + 1..] {
            assert!(!(meet(a, b) && near(a, b) && a.old == b.old), "{} has two rows", a.old);
        }
    }
    assert!(SHARED.is_sorted_by(|(a, _), (b, _)| a < b));
}

/// What is said of three files, among three packages and the workspace around them.
fn names(files: [(&str, &str); 3], listed: &[(&str, &str)]) -> Vec<String> {
    let [a, b, c] = files;
    let packages = [("Cargo.toml", ""), ("core/a/Cargo.toml", ""), ("core/b/Cargo.toml", ""), ("core/b/c/Cargo.toml", "")];
    let [whole, core_a, core_b, core_c] = packages;
    let tree = Tree::of([whole, core_a, core_b, core_c, a, b, c]);
    let (sources, unparsed) = Source::all(&tree);
    assert_eq!(unparsed, []);
    check_with(&tree, &sources, &[], listed).iter().map(Violation::to_string).collect()
}

#[test]
fn a_name_of_three_packages_is_found_where_the_first_defines_it() {
    let files =
        [("core/a/src/a.rs", "\nstruct Gear;"), ("core/b/src/b.rs", "trait Gear {}"), ("core/b/c/src/c.rs", "type Gear = u8;")];
    let found = "core/a/src/a.rs:2: shared-name: `Gear` is a type of 3 packages (core/a/src/a.rs:2, core/b/src/b.rs:1, \
                 core/b/c/src/c.rs:1): give each its own name, or list the one meaning in xtask/src/tidy/vocabulary/shared.rs";
    assert_eq!(names(files, &[]), [found]);
    assert_eq!(names(files, &[("Gears", "Not it.")]), [found]);
    assert_eq!(names(files, &[("Gear", "A wheel with teeth.")]), [] as [&str; 0]);
}

#[test]
fn a_name_of_two_packages_is_not_shared() {
    let (a, b) = (("core/a/src/a.rs", "struct Gear;"), ("core/b/src/b.rs", "enum Gear {}"));
    for (path, text) in [
        ("core/b/src/again.rs", "struct Gear;"),
        ("core/b/c/src/c.rs", "impl A for B { type Gear = u8; }\ntrait A { type Gear; }"),
        ("core/b/c/src/c.rs", "fn f() -> Gear { Gear }\nmod gear { enum A { Gear } }"),
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
