//! Links between the documents of the repository lead somewhere.
use crate::tree::Tree;
use crate::violation::Violation;

/// Every link of every Markdown file, but those to the network and within the page.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, text) in tree.ending(".md") {
        let mut fenced = false;
        for (at, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            }
            let broken = targets(line).into_iter().filter(|target| !fenced && !resolves(tree, path, target));
            violations.extend(broken.map(|target| {
                let what = format!("`{target}` is no file of the repository: mend the link or add the file");
                Violation::new(path, at + 1, "link", what)
            }));
        }
    }
    violations
}

/// Where the links of a line lead: `[text](target)`, `[name]: target`, and the attributes of HTML.
fn targets(line: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    // Every other piece between backticks is code.
    for prose in line.split('`').step_by(2) {
        for (open, close) in [("](", ')'), ("src=\"", '"'), ("href=\"", '"')] {
            targets.extend(prose.split(open).skip(1).filter_map(|rest| Some(rest.split_once(close)?.0)));
        }
    }
    if line.starts_with('[') {
        targets.extend(line.split_once("]: ").map(|(_, target)| target));
    }
    // `split_whitespace` takes a title away.
    targets.iter().filter_map(|target| target.split_whitespace().next()).collect()
}

fn resolves(tree: &Tree, from: &str, target: &str) -> bool {
    let target = target.trim_start_matches('<').trim_end_matches('>');
    let path = target.split(['#', '?']).next().unwrap_or_default();
    let has_scheme = path.split_once(':').is_some_and(|(scheme, _)| scheme.chars().all(|c| c.is_ascii_alphanumeric()));
    if path.is_empty() || has_scheme {
        return true;
    }
    let mut place: Vec<&str> = if path.starts_with('/') { Vec::new() } else { from.split('/').collect() };
    place.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if place.pop().is_none() => return false,
            ".." => {}
            name => place.push(name),
        }
    }
    // The crate's documentation stands beside the built book, where `.ci/pages` follows these links.
    let is_documentation = from.starts_with("docs/") && place.first() == Some(&"doc");
    is_documentation || tree.holds(&place.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::violation::lines_of;

    fn verdict(text: &str) -> Vec<(usize, &'static str)> {
        lines_of(&check(&Tree::of([("docs/a.md", text), ("docs/b.md", ""), ("core/wait/src/lib.rs", "")])))
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        for good in [
            "[b](b.md), [c](../core/wait/src/lib.rs#L3 \"Title\") and [d](../core/wait/)",
            "[b](<b.md>) [root](/core) ![here](./b.md)",
            "[net](https://example.org/x) [mail](mailto:a@example.org) [top](#top)",
            "[b]: b.md",
            "[item](../doc/foregather/fn.job.html#errors)",
            "<img src=\"b.md\">",
            "`[code](nowhere)`\n```\n[code](nowhere)\n```\n[b](b.md)",
        ] {
            assert_eq!(verdict(good), [], "{good}");
        }
    }

    #[test]
    fn links_that_lead_nowhere_do_not() {
        for bad in [
            "\n[x](x.md)",
            "\n[b](b.md) [x](core/wait)",
            "\n[x](../../out)",
            "\n[x]: x.md",
            "\n<img alt=\"\" src=\"x.svg\">",
            "\n`code` [x](x.md#part)",
        ] {
            assert_eq!(verdict(bad), [(2, "link")], "{bad}");
        }
        assert_eq!(verdict("```\n```\n[x](x.md)"), [(3, "link")]);
    }
}
