//! The settings as a text (OpenMP 5.2 §21.7).
use crate::places::listed;
use crate::settings::{DisplayEnv, Settings};

/// The date of the standard that programs are told.
const VERSION: &str = "201511";

impl Settings {
    /// The settings as lines, in the form that the GNU runtime gives them.
    pub fn text(&self, shown: DisplayEnv) -> String {
        let Self { icvs, places, devices, .. } = self;
        let truth = |truth: bool| if truth { "TRUE" } else { "FALSE" }.to_owned();
        let joined = |entries: Vec<String>| entries.join(",");
        let threads = if self.threads.is_empty() { vec![icvs.threads] } else { self.threads.clone() };
        let stack = self.stack_bytes.unwrap_or(0).to_string();
        let mut lines = vec![
            ("_OPENMP", VERSION.to_owned()),
            ("OMP_DYNAMIC", truth(icvs.dynamic)),
            ("OMP_NESTED", truth(icvs.active_levels > 1)),
            ("OMP_NUM_THREADS", joined(threads.iter().map(u32::to_string).collect())),
            ("OMP_SCHEDULE", icvs.schedule.to_string()),
            ("OMP_PROC_BIND", joined(places.binds.iter().map(|bind| bind.name().to_owned()).collect())),
            ("OMP_PLACES", listed(&places.places)),
            ("OMP_STACKSIZE", stack.clone()),
            ("OMP_WAIT_POLICY", if self.asks_to_spin == Some(true) { "ACTIVE" } else { "PASSIVE" }.to_owned()),
            ("OMP_THREAD_LIMIT", icvs.thread_limit.to_string()),
            ("OMP_MAX_ACTIVE_LEVELS", icvs.active_levels.to_string()),
            ("OMP_NUM_TEAMS", devices.teams.to_string()),
            ("OMP_TEAMS_THREAD_LIMIT", devices.thread_limit.to_string()),
            ("OMP_CANCELLATION", truth(self.cancellation)),
            ("OMP_DEFAULT_DEVICE", devices.default.to_string()),
            ("OMP_MAX_TASK_PRIORITY", self.max_task_priority.to_string()),
            ("OMP_DISPLAY_AFFINITY", truth(places.shown)),
            ("OMP_AFFINITY_FORMAT", places.format.clone()),
            ("OMP_ALLOCATOR", self.allocator.text.clone()),
            ("OMP_TARGET_OFFLOAD", devices.offload.name().to_owned()),
            ("FOREGATHER_THREADS_BY", self.why_threads.clone()),
        ];
        if shown == DisplayEnv::All {
            let looks = self.spin_looks.map_or_else(String::new, |looks| looks.to_string());
            lines.extend([
                ("GOMP_CPU_AFFINITY", places.cpu_affinity.clone().unwrap_or_default()),
                ("GOMP_STACKSIZE", stack),
                ("GOMP_SPINCOUNT", looks),
            ]);
        }
        let lines: String = lines.iter().map(|(name, value)| format!("  {name} = '{value}'\n")).collect();
        format!("\nOPENMP DISPLAY ENVIRONMENT BEGIN\n{lines}OPENMP DISPLAY ENVIRONMENT END\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_team::{Allowed, Share};

    #[test]
    fn the_default_size_of_a_region_has_its_reason() {
        let share = Some(Share { members: 2, variable: "MPI_LOCALNRANKS" });
        let allowed = Allowed { processors: 4, quota: None, wanted: None, share };
        let text = Settings::read(|_| None, allowed, &[0, 1, 2, 3]).text(DisplayEnv::Standard);
        assert!(text.contains("  OMP_NUM_THREADS = '2'\n"), "{text}");
        assert!(text.contains("  FOREGATHER_THREADS_BY = '4 processors, a share of 2 by MPI_LOCALNRANKS'\n"), "{text}");
        let of = |name: &str| (name == "OMP_NUM_THREADS").then(|| "3".to_owned());
        let settings = Settings::read(of, allowed, &[0, 1, 2, 3]);
        assert_eq!((settings.icvs.threads, settings.processors), (3, 4));
        assert!(settings.text(DisplayEnv::Standard).contains("  FOREGATHER_THREADS_BY = 'OMP_NUM_THREADS'\n"));
    }

    #[test]
    fn the_settings_stand_line_by_line() {
        let variables = [("OMP_PROC_BIND", "close,spread"), ("OMP_PLACES", "{0:2},{3}"), ("OMP_SCHEDULE", "guided,4")];
        let of = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let settings = Settings::read(of, Allowed { processors: 4, quota: None, wanted: None, share: None }, &[0, 1, 2, 3]);
        let text = settings.text(DisplayEnv::Standard);
        for line in
            ["_OPENMP = '201511'", "OMP_PROC_BIND = 'CLOSE,SPREAD'", "OMP_PLACES = '{0:2},{3}'", "OMP_SCHEDULE = 'GUIDED,4'"]
        {
            assert!(text.contains(&format!("\n  {line}\n")), "{text}");
        }
        assert!(!text.contains("GOMP_") && settings.text(DisplayEnv::All).contains("  GOMP_SPINCOUNT = ''\n"));
    }
}
