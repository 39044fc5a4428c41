//! The interfaces of the Fortran module are those of `foregather.h`: this test writes them.
//!
//! `UPDATE_EXPECT=1 cargo test -p foregather-c --test fortran` writes them after a change of the header.
use expect_test::expect_file;
use std::fmt::Write;

const HEADER: &str = include_str!("../include/foregather.h");
const MODULE: &str = include_str!("../include/foregather.f90");
/// The lines of the module between which the interfaces are.
const BEGIN: &str = "    ! Written by faces/c/tests/fortran.rs, from foregather.h.\n";
const END: &str = "    ! End of what is written.\n";
/// Parameters that are arrays; all other pointers to numbers and handles are to one.
const ARRAYS: [(&str, &str); 2] = [("fg_barrier_members_of", "into"), ("fg_writer_lost", "into")];
/// Types that have no counterpart here: functions with such a parameter are left out.
const FOREIGN: [&str; 2] = ["const fg_part *", "const void **"];
/// Fortran's names do not distinguish case: this one is the constant `FG_VERSION`.
const CLASHES: &str = "fg_version";
/// The names that a declaration may import, in the order in which they are written.
const KINDS: [&str; 7] = ["c_int", "c_int32_t", "c_int64_t", "c_size_t", "c_double", "c_ptr", "c_funptr"];

/// A number's type. Fortran has no unsigned numbers.
fn number(c: &str) -> Option<&'static str> {
    Some(match c {
        "int" => "integer(c_int)",
        "int32_t" | "uint32_t" => "integer(c_int32_t)",
        "int64_t" | "uint64_t" => "integer(c_int64_t)",
        "size_t" => "integer(c_size_t)",
        "double" => "real(c_double)",
        _ => return None,
    })
}

/// The name of a parameter of `function` and its type with attributes. `None` if it has no counterpart.
fn parameter(function: &str, c: &str) -> Option<(String, String)> {
    if let Some((_, rest)) = c.split_once("(*") {
        return Some((rest.split_once(')')?.0.to_owned(), "type(c_funptr), value".to_owned()));
    }
    let at = c.rfind([' ', '*'])? + 1;
    let (c_type, name) = (c[..at].trim(), &c[at..]);
    let shape = if ARRAYS.contains(&(function, name)) { "(*)" } else { "" };
    // A number that a collective call changes has this name.
    let intent = if name == "value" { "intent(inout)" } else { "intent(out)" };
    let fortran = match c_type.strip_suffix('*').map(str::trim) {
        _ if FOREIGN.contains(&c_type) => return None,
        None => format!("{}, value", number(c_type)?),
        Some(target) if target.ends_with('*') => "type(c_ptr), intent(out)".to_owned(),
        Some(target) => number(target).map_or("type(c_ptr), value".to_owned(), |number| format!("{number}, {intent}")),
    };
    Some((format!("{name}{shape}"), fortran))
}

/// The parameters in C's parentheses, which may hold functions with parameters of their own.
fn split(parameters: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut all) = (0, 0, Vec::new());
    for (at, letter) in parameters.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                all.push(parameters[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    all.push(parameters[begin..].trim());
    all.retain(|parameter| *parameter != "void");
    all
}

/// The interface of a function that is declared on that line of the header.
fn interface(line: &str) -> Option<String> {
    let (before, parameters) = line.strip_suffix(");")?.split_once('(')?;
    let at = before.find("fg_")?;
    let (result, name) = (before[..at].trim(), &before[at..]);
    if name == CLASHES {
        return None;
    }
    let result = if result == "const char *" { "type(c_ptr)" } else { number(result)? };
    let parameters: Option<Vec<_>> = split(parameters).into_iter().map(|c| parameter(name, c)).collect();
    let parameters = parameters?;
    let mut declared: Vec<(String, Vec<String>)> = Vec::new();
    for (name, fortran) in &parameters {
        match declared.last_mut().filter(|(last, _)| last == fortran) {
            Some((_, names)) => names.push(name.clone()),
            None => declared.push((fortran.clone(), vec![name.clone()])),
        }
    }
    let uses = |kind: &&&str| {
        let kind = format!("({kind})");
        result.contains(&kind) || declared.iter().any(|(fortran, _)| fortran.contains(&kind))
    };
    let kinds: Vec<&str> = KINDS.iter().filter(uses).copied().collect();
    let names: Vec<&str> = parameters.iter().map(|(name, _)| name.trim_end_matches("(*)")).collect();
    let mut text = format!("        {result} function {name}({}) bind(c)\n", names.join(", "));
    let _ = writeln!(text, "            import :: {}", kinds.join(", "));
    for (fortran, names) in declared {
        let _ = writeln!(text, "            {fortran} :: {}", names.join(", "));
    }
    Some(text + "        end function\n")
}

#[test]
fn the_interfaces_of_the_fortran_module_are_those_of_the_header() {
    let interfaces: Vec<String> = HEADER.lines().filter_map(interface).collect();
    assert!(interfaces.len() > 60, "{} functions", interfaces.len());
    let longest = interfaces.iter().flat_map(|text| text.lines()).map(str::len).max();
    assert!(longest <= Some(132), "Fortran's lines have at most 132 characters");
    let (before, rest) = MODULE.split_once(BEGIN).expect("the module says where its interfaces begin");
    let (_, after) = rest.split_once(END).expect("and where they end");
    let written = format!("{before}{BEGIN}    interface\n{}    end interface\n{END}{after}", interfaces.concat());
    expect_file!["../include/foregather.f90"].assert_eq(&written);
}
