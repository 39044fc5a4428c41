//! Under other launchers, if they are installed: the same program, which contains nothing specific to them.
use crate::{command, count, end, installed, program, text};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn greets_under(launcher: &str, change: impl Fn(&mut Command)) -> Output {
    let mut command = command(&[words(launcher), program("greets")].concat());
    change(&mut command);
    end(command)
}

fn assert_greeted(output: &Output, size: usize) {
    let text = text(output);
    assert!(output.status.success(), "{text}");
    assert_eq!(count(&text, &format!("of {size}, {size} here: sum {}\n", size * (size + 1) / 2)), size, "{text}");
}

/// Runs four ranks that also send each other frames.
fn assert_sends(launcher: &str, change: impl Fn(&mut Command)) {
    let mut command = command(&[words(launcher), program("sends")].concat());
    change(&mut command);
    let output = end(command);
    assert!(output.status.success() && count(&text(&output), "sent by shm") == 4, "{}", text(&output));
}

const MPIRUN: &str = "mpirun.openmpi --allow-run-as-root --oversubscribe -n 4";

#[test]
fn alone() {
    assert_greeted(&end(command(&program("greets"))), 1);
}

#[test]
fn under_hydra() {
    if installed("mpiexec.hydra", "mpich") {
        assert_greeted(&greets_under("mpiexec.hydra -n 4", |_| {}), 4);
        assert_sends("mpiexec.hydra -n 4", |_| {});
    }
}

#[test]
fn under_open_mpi() {
    if installed("mpirun.openmpi", "openmpi-bin") {
        assert_greeted(&greets_under(MPIRUN, |_| {}), 4);
        assert_sends(MPIRUN, |_| {});
    }
}

/// Without Open MPI's own variables, a rank looks as if any PMIx server had started it, and asks that server
/// for the size.
#[test]
fn under_a_pmix_server() {
    if installed("mpirun.openmpi", "openmpi-bin and libpmix2") {
        assert_greeted(&greets_under(&format!("{MPIRUN} env -u OMPI_COMM_WORLD_RANK -u OMPI_COMM_WORLD_SIZE"), |_| {}), 4);
    }
}

#[test]
fn at_a_root_that_the_user_names() {
    if installed("mpiexec.hydra", "mpich") {
        let root = |command: &mut Command| {
            command.env("FOREGATHER_ROOT", "127.0.0.1").env("FOREGATHER_SECRET", "ours");
        };
        assert_greeted(&greets_under("mpiexec.hydra -n 3", root), 3);
    }
}

/// A Slurm cluster of one machine, which is stopped when this is dropped.
struct Slurm(PathBuf);

impl Slurm {
    fn up(nodes: u32) -> Option<Self> {
        let parts = ["slurmctld", "slurmd", "srun", "munged"];
        let root = rustix::process::geteuid().is_root();
        if !parts.iter().all(|part| installed(part, "slurmctld, slurmd, slurm-client and munge")) || !root {
            return None;
        }
        let folder = std::env::temp_dir().join(format!("foregather-slurm-{}-{nodes}", std::process::id()));
        let this = Self(folder);
        let output = this.script("up").arg(nodes.to_string()).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        Some(this)
    }

    fn script(&self, what: &str) -> Command {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/slurm");
        let mut command = Command::new(script);
        // Daemons must not keep the pipes of this test open.
        command.arg(what).arg(&self.0);
        command
    }

    fn srun(&self, options: &str) -> Output {
        greets_under(&format!("srun --overcommit {options}"), |command| {
            command.env("SLURM_CONF", self.0.join("slurm.conf"));
        })
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let _ = self.script("down").output();
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn under_slurm_on_one_node_and_on_several() {
    let Some(slurm) = Slurm::up(3) else { return };
    assert_greeted(&slurm.srun("-N 1 -n 4"), 4);
    assert_greeted(&slurm.srun("-N 1 -n 4 --mpi=pmi2"), 4);
    assert_sends("srun --overcommit -N 2 -n 4", |command| {
        command.env("SLURM_CONF", slurm.0.join("slurm.conf"));
    });
    assert_greeted(&slurm.srun("-N 3 -n 6"), 6);
    assert_greeted(&slurm.srun("-N 3 -n 6 --mpi=pmi2"), 6);
}
