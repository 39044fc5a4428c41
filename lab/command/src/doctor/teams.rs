//! What a fitting team would be here, and from which size on the BLAS would call it.
use super::{Check, Status, check, note_unless};
use foregather_blas::{Routine, kept_crossovers};
use foregather_host::facts;
use foregather_team::{Allowed, Team};

/// Size, waiting, what of the settings is not understood, crossovers.
pub(super) fn teams() -> Vec<Check> {
    // No call, no thread.
    let report = Team::fitting().report();
    let mut checks = vec![
        size(&report.allowed, facts::machine().cpus_online, setting()),
        check("team: waiting", Status::Ok, report.policy, ""),
    ];
    checks.extend(report.trouble.iter().map(|trouble| misunderstood(trouble)));
    checks.push(crossovers(report.allowed.members()));
    checks
}

/// The variable that teams ask.
fn setting() -> &'static str {
    if std::env::var_os("FOREGATHER_THREADS").is_some() { "FOREGATHER_THREADS" } else { "OMP_NUM_THREADS" }
}

/// How many members, and what bounds them.
fn size(allowed: &Allowed, online: u32, setting: &str) -> Check {
    let members = allowed.members();
    let (bound, remedy) = if members >= online {
        ("the machine", String::new())
    } else if members >= allowed.processors {
        ("affinity", "allow it more processors (taskset, cpuset), unless that is wanted".to_owned())
    } else if allowed.wanted == Some(members) {
        (setting, format!("raise or unset {setting}, unless it is wanted"))
    } else {
        ("the quota", "a higher quota, unless it is wanted".to_owned())
    };
    let alone = if members < 2 { ", so all calls are serial" } else { "" };
    check("team: size", note_unless(members >= online), format!("{members} by {bound} ({allowed}){alone}"), remedy)
}

fn misunderstood(trouble: &str) -> Check {
    let (found, remedy) = trouble.split_once("; ").unwrap_or((trouble, "correct or unset it: until then it is ignored"));
    check("team: settings", Status::Note, found, remedy)
}

fn crossovers(members: u32) -> Check {
    const NAME: &str = "blas: crossovers";
    if members < 2 {
        return check(NAME, Status::Ok, "none are needed, since all calls are serial", "");
    }
    let measure = "`foregather measure blas --crossovers` measures and keeps them";
    let (path, kept) = kept_crossovers(members);
    let Some(path) = path else {
        return check(NAME, Status::Note, "cannot be kept", "set HOME, XDG_CACHE_HOME or FOREGATHER_MACHINE");
    };
    match kept {
        Err(why) => check(NAME, Status::Note, why, measure),
        Ok(0) => check(NAME, Status::Note, format!("none are kept in {} yet", path.display()), measure),
        Ok(routines) => {
            let all = Routine::ALL.len();
            check(NAME, Status::Ok, format!("of {routines} of {all} routines, in {}", path.display()), "")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_bounds_a_team_is_named_with_its_remedy() {
        let name = "OMP_NUM_THREADS";
        for (allowed, bound, status) in [
            (Allowed { processors: 4, quota: None, wanted: None }, "4 by the machine", Status::Ok),
            (Allowed { processors: 4, quota: Some(8.0), wanted: Some(6) }, "4 by the machine", Status::Ok),
            (Allowed { processors: 2, quota: None, wanted: None }, "2 by affinity", Status::Note),
            (Allowed { processors: 4, quota: Some(1.5), wanted: None }, "2 by the quota", Status::Note),
            (Allowed { processors: 4, quota: Some(2.5), wanted: Some(2) }, "2 by OMP_NUM_THREADS", Status::Note),
        ] {
            let check = size(&allowed, 4, name);
            assert!(check.found.starts_with(bound) && check.status == status, "{check:?}");
            assert_eq!(check.remedy.is_empty(), status == Status::Ok, "{check:?}");
        }
        let alone = size(&Allowed { processors: 4, quota: None, wanted: Some(1) }, 4, name);
        assert!(alone.found.contains("serial") && alone.remedy.contains(name), "{alone:?}");
    }

    #[test]
    fn what_is_misunderstood_is_told_with_what_it_should_be() {
        let threads = misunderstood("FOREGATHER_THREADS=x is no number of threads: take 1 or more");
        assert!(threads.found.ends_with("take 1 or more") && threads.remedy.contains("unset"), "{threads:?}");
        let wait = misunderstood("FOREGATHER_WAIT: `x` is no waiting policy; there are spin, block");
        assert_eq!(
            (wait.found.as_str(), wait.remedy.as_str()),
            ("FOREGATHER_WAIT: `x` is no waiting policy", "there are spin, block")
        );
    }
}
