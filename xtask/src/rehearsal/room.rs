//! Where the lines run: here, or in a bare system of their own.
use crate::build::{done, sysroot, target};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// The Debian that is installed.
const SUITE: &str = "bookworm";
/// What it has beyond the least: what README's lines ask for.
const PACKAGES: &str = "python3-venv,gcc,libc6-dev,libgomp1,pkg-config";
/// Its folder with the index, the registry and the lines.
const INSIDE: &str = "/rehearsal";
/// Its folder with the toolchain.
const TOOLCHAIN: &str = "/toolchain";
/// The user that types, without a right to anything else.
const USER: &str = "1000";

/// Mounts, in namespaces of their own, what the bare system lacks, and types the lines there. Arguments: its
/// root, the folder of the rehearsal, the toolchain.
const ENTER: &str = r#"set -eu
ip link set lo up
mount --bind "$2" "$1/rehearsal"
mount --bind -o ro "$3" "$1/toolchain"
mount -t proc proc "$1/proc"
for device in null zero urandom; do touch "$1/dev/$device"; mount --bind "/dev/$device" "$1/dev/$device"; done
mkdir -p "$1/dev/shm"
mount -t tmpfs tmpfs "$1/dev/shm"
exec chroot --userspec=1000:1000 "$1" /usr/bin/env -i HOME=/rehearsal/home PATH=/toolchain/bin:/usr/bin:/bin /bin/bash /rehearsal/enter.sh
"#;

/// Types the lines here, in a home of their own.
pub(super) fn run_here(place: &Path) -> Result<()> {
    prepare(place, &place.display().to_string())?;
    let path = env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", sysroot()?.join("bin").display());
    done(Command::new("bash").arg(place.join("enter.sh")).env_clear().env("HOME", place.join("home")).env("PATH", path))
}

/// Types the lines in a bare Debian, which stays for the next time.
pub(super) fn run_in_chroot(place: &Path) -> Result<()> {
    prepare(place, INSIDE)?;
    let root = target()?.join(format!("rehearsal-{SUITE}"));
    if !root.join("usr/bin/gcc").exists() {
        let _ = fs::remove_dir_all(&root);
        done(Command::new("debootstrap").args(["--variant=minbase", &format!("--include={PACKAGES}"), SUITE]).arg(&root))
            .context("debootstrap installs a bare Debian: `apt-get install debootstrap`")?;
    }
    for folder in [INSIDE, TOOLCHAIN] {
        fs::create_dir_all(root.join(&folder[1..]))?;
    }
    done(Command::new("chown").args(["-R", USER]).arg(place))?;
    let mut room = Command::new("unshare");
    room.args(["--mount", "--net", "--pid", "--fork", "sh", "-c", ENTER, "sh"]);
    done(room.arg(&root).arg(place).arg(sysroot()?)).context("the lines in the bare Debian")
}

/// Writes where pip and cargo find the index and the registry. `seen` is the path of the place for the lines.
fn prepare(place: &Path, seen: &str) -> Result<()> {
    let cargo = place.join("home/.cargo");
    fs::create_dir_all(&cargo)?;
    let sources = "[source.crates-io]\nreplace-with = \"rehearsal\"\n\n[source.rehearsal]\n";
    fs::write(cargo.join("config.toml"), format!("{sources}directory = \"{seen}/crates\"\n"))?;
    let script = format!(
        "set -euo pipefail\npython3 -m venv \"$HOME/python\"\nexport PATH=$HOME/python/bin:$PATH PIP_INDEX_URL=file://{seen}/simple/ \
         PIP_DISABLE_PIP_VERSION_CHECK=1\ncd {seen}/work\n. ./lines.sh\n"
    );
    Ok(fs::write(place.join("enter.sh"), script)?)
}
