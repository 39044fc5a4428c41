//! Whom teams and the BLAS can be compared with here.
use super::{Check, Status, check};
use foregather_measure::peers::{BUILD, Listed, listed, program};

/// The peers' program, and what it finds by its verbs.
pub(super) fn peers() -> Vec<Check> {
    let Some(program) = program() else { return vec![check("peers", Status::Missing, "not built", BUILD)] };
    let lists = [("peers: teams", "list-teams"), ("peers: blas", "list-blas")];
    let found = lists.into_iter().flat_map(|(name, verb)| match listed(&program, verb) {
        Ok(listed) => of(name, listed),
        Err(error) => vec![check(name, Status::Missing, format!("{error:#}"), BUILD)],
    });
    [check("peers", Status::Ok, program.display().to_string(), "")].into_iter().chain(found).collect()
}

/// Those that are here in one line, and one for each remedy.
fn of(name: &'static str, Listed { found, missing }: Listed) -> Vec<Check> {
    let here: Vec<String> = found.into_iter().map(|(name, _)| name).collect();
    let here = (!here.is_empty()).then(|| check(name, Status::Ok, here.join(", "), ""));
    let missing = missing.into_iter().map(|of| check(name, Status::Missing, format!("no {}", of.names), of.remedy));
    here.into_iter().chain(missing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_measure::peers::Missing;

    #[test]
    fn what_is_here_is_one_line_and_what_is_missing_one_for_each_remedy() {
        let found = ["gomp", "rayon-join"].map(|name| (name.to_owned(), vec![])).into();
        let missing = vec![Missing { names: "mkl".into(), remedy: "install it".into() }];
        let lines = of("peers: blas", Listed { found, missing });
        let lines: Vec<_> = lines.iter().map(|line| (line.status, line.found.as_str(), line.remedy.as_str())).collect();
        assert_eq!(lines, [(Status::Ok, "gomp, rayon-join", ""), (Status::Missing, "no mkl", "install it")]);
        assert!(of("peers: blas", Listed { found: vec![], missing: vec![] }).is_empty());
    }
}
