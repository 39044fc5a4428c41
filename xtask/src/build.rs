//! Builds everything that a release consists of, for this machine or for any Linux of an architecture.
//!
//! One call of cargo builds all parts, so each crate is compiled once. For other machines zig links, against
//! symbols of an old glibc, and paths of this machine are replaced: two builds of a commit are the same
//! bytes.
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The packages of all libraries, and that of the command.
pub(crate) const PARTS: [&str; 7] = [
    "foregather-c",
    "foregather-openmp-face",
    "foregather-pthread-face",
    "foregather-blas-face",
    "foregather-lab",
    "foregather-watch-face",
    "foregather-mpi-face",
];
/// The oldest glibc on which portable builds run: that of RHEL 8. Wheels name it `manylinux_2_28`.
pub(crate) const GLIBC: &str = "2.28";
/// The architectures of portable builds.
pub(crate) const ARCHITECTURES: [&str; 2] = ["x86_64", "aarch64"];

/// Where the results of a build run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Platform {
    /// On this machine, and on others that have a glibc as new.
    Here,
    /// On every Linux of this architecture with [`GLIBC`] or newer.
    Portable(&'static str),
}

impl Platform {
    /// Returns the portable platform of an architecture.
    pub(crate) fn portable(architecture: &str) -> Result<Self> {
        let known = ARCHITECTURES.into_iter().find(|known| *known == architecture);
        known
            .map(Self::Portable)
            .with_context(|| format!("no releases are made for `{architecture}`; expected {}", ARCHITECTURES.join(" or ")))
    }

    pub(crate) fn architecture(self) -> &'static str {
        match self {
            Self::Here => env::consts::ARCH,
            Self::Portable(architecture) => architecture,
        }
    }

    /// Returns rustc's name of a portable platform.
    pub(crate) fn triple(self) -> Option<String> {
        match self {
            Self::Here => None,
            Self::Portable(architecture) => Some(format!("{architecture}-unknown-linux-gnu")),
        }
    }

    /// Returns the folder of everything that is made for this platform.
    pub(crate) fn target(self) -> Result<PathBuf> {
        let target = target()?;
        Ok(self.triple().map_or(target.clone(), |triple| target.join(triple)))
    }

    /// Builds packages. Returns the folder in which cargo leaves them.
    pub(crate) fn build(self, packages: &[&str]) -> Result<PathBuf> {
        let profile = profile();
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(root()?).args(["build", "--quiet", "--locked", "--profile", &profile]);
        for package in packages {
            cargo.args(["-p", package]);
        }
        if let Some(triple) = self.triple() {
            cargo.args(["--target", &triple]);
            self.configure(&mut cargo)?;
            // zig takes `--strip-debug` for `--strip-all`.
            cargo.env(format!("CARGO_PROFILE_{}_STRIP", profile.to_uppercase()), "none");
        }
        done(&mut cargo)?;
        Ok(self.target()?.join(profile))
    }

    /// Sets the linker of a portable build, and what makes builds of a commit the same.
    pub(crate) fn configure(self, command: &mut Command) -> Result<()> {
        let Some(triple) = self.triple() else { return Ok(()) };
        let variable = format!("CARGO_TARGET_{}_LINKER", triple.to_uppercase().replace('-', "_"));
        command.env(variable, self.zig()?).env("RUSTFLAGS", remapped()?).env("CARGO_ZIGBUILD_PYTHON_PATH", python());
        if let Some(epoch) = epoch()? {
            command.env("SOURCE_DATE_EPOCH", epoch);
        }
        if let Some(commit) = last_commit("%h")? {
            command.env("FOREGATHER_COMMIT", commit);
        }
        Ok(())
    }

    /// Writes a script that links as rustc wants it, by zig.
    fn zig(self) -> Result<PathBuf> {
        let script = self.target()?.join("zig-cc");
        let text = format!(
            "#!/bin/sh\nexec '{}' -m maturin zig cc -- -target {}-linux-gnu.{GLIBC} \"$@\"\n",
            python().display(),
            self.architecture()
        );
        if !fs::read_to_string(&script).is_ok_and(|old| old == text) {
            fs::create_dir_all(self.target()?)?;
            fs::write(&script, text)?;
            fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        }
        Ok(script)
    }

    /// Returns a C compiler's command that links a shared library, and what it needs for panics.
    pub(crate) fn linker(self) -> (Command, &'static str) {
        match self {
            Self::Here => (Command::new("cc"), "-lgcc_s"),
            Self::Portable(architecture) => {
                let mut zig = Command::new(python());
                zig.args(["-m", "ziglang", "cc", "-target", &format!("{architecture}-linux-gnu.{GLIBC}")]);
                (zig, "-lunwind")
            }
        }
    }

    /// Returns the command that runs a program of this platform: by the runner that cargo, too, takes from
    /// the environment (`CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER`) where the architecture is another.
    pub(crate) fn command(self, program: &Path) -> Result<Command> {
        if self.architecture() == env::consts::ARCH {
            return Ok(Command::new(program));
        }
        let triple = self.triple().unwrap_or_default();
        let variable = format!("CARGO_TARGET_{}_RUNNER", triple.to_uppercase().replace('-', "_"));
        let runner = env::var(&variable)
            .with_context(|| format!("{} is for {triple}; set {variable}=\"qemu-aarch64 -L SYSROOT\"", program.display()))?;
        let mut words = runner.split_whitespace();
        let mut command = Command::new(words.next().with_context(|| format!("{variable} is empty"))?);
        command.args(words).arg(program);
        Ok(command)
    }

    /// Removes the lines of the source from a program, a library or an archive. The names of its functions
    /// stay, so that debuggers and profilers can show them.
    pub(crate) fn strip(self, file: &Path, options: &[&str]) -> Result<()> {
        let mut strip = match self {
            Self::Here => Command::new("strip"),
            // rustc's own knows all architectures.
            Self::Portable(_) => rust_objcopy()?,
        };
        done(strip.args(options).arg(file)).context("`strip` is in the package binutils")
    }
}

/// The repository.
pub(crate) fn root() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask stands in the workspace")
}

/// The folder of everything that is built.
pub(crate) fn target() -> Result<PathBuf> {
    Ok(env::var_os("CARGO_TARGET_DIR").map_or(root()?.join("target"), PathBuf::from))
}

/// How optimised: as for users, or as FOREGATHER_PROFILE says.
fn profile() -> String {
    env::var("FOREGATHER_PROFILE").unwrap_or_else(|_| "release".to_owned())
}

/// The interpreter that has maturin and zig.
pub(crate) fn python() -> PathBuf {
    env::var_os("FOREGATHER_PYTHON").unwrap_or_else(|| "python3".into()).into()
}

/// Returns the time of the commit, for archives: the same for all builds of it.
pub(crate) fn epoch() -> Result<Option<String>> {
    if let Ok(epoch) = env::var("SOURCE_DATE_EPOCH") {
        return Ok(Some(epoch));
    }
    last_commit("%ct")
}

/// Returns what git's format says of the last commit; a release's sources have no history.
fn last_commit(format: &str) -> Result<Option<String>> {
    let log = ["log", "-1", "--abbrev=12", &format!("--format={format}")];
    let Ok(commit) = Command::new("git").current_dir(root()?).args(log).output() else { return Ok(None) };
    let said = String::from_utf8(commit.stdout)?.trim().to_owned();
    Ok((!said.is_empty()).then_some(said))
}

/// Returns rustc's flags that replace the paths of this machine.
fn remapped() -> Result<String> {
    let home = env::var_os("CARGO_HOME").map_or_else(|| home().map(|home| home.join(".cargo")), |home| Ok(home.into()))?;
    let mapped = [(home, "/cargo"), (sysroot()?, "/rust"), (root()?.to_owned(), "/foregather")];
    let flags = mapped.map(|(path, to)| format!("--remap-path-prefix={}={to}", path.display()));
    Ok(flags.join(" "))
}

fn home() -> Result<PathBuf> {
    env::var_os("HOME").map(PathBuf::from).context("HOME is not set; set CARGO_HOME")
}

/// The folder of the toolchain.
pub(crate) fn sysroot() -> Result<PathBuf> {
    let printed = Command::new("rustc").current_dir(root()?).args(["--print", "sysroot"]).output().context("rustc")?;
    ensure!(printed.status.success(), "`rustc --print sysroot` exited with {}", printed.status);
    Ok(String::from_utf8(printed.stdout)?.trim().into())
}

fn rust_objcopy() -> Result<Command> {
    let sysroot = sysroot()?;
    let tool = sysroot.join(format!("lib/rustlib/{}-unknown-linux-gnu/bin/rust-objcopy", env::consts::ARCH));
    ensure!(tool.exists(), "{} is missing; install Rust by rustup", tool.display());
    let mut command = Command::new(tool);
    // It looks for LLVM's library in a folder that it does not have.
    command.env("LD_LIBRARY_PATH", sysroot.join("lib"));
    Ok(command)
}

/// Runs a program and fails if it does.
pub(crate) fn done(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{} cannot be started", command.get_program().display()))?;
    ensure!(status.success(), "{} exited with {status}", command.get_program().display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_architecture_without_releases_is_refused() {
        assert_eq!(Platform::portable("aarch64").unwrap().triple().unwrap(), "aarch64-unknown-linux-gnu");
        let refused = Platform::portable("riscv64").unwrap_err().to_string();
        assert_eq!(refused, "no releases are made for `riscv64`; expected x86_64 or aarch64");
    }

    #[test]
    fn no_path_of_this_machine_is_left() {
        let flags = remapped().unwrap();
        assert!(flags.ends_with(&format!("--remap-path-prefix={}=/foregather", root().unwrap().display())), "{flags}");
        assert_eq!(flags.split(' ').count(), 3);
    }
}
