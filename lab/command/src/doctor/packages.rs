//! Which packages have what is missing, by the distribution's package manager.
use foregather_host::regular;
use std::path::Path;

/// Behind this a remedy names the package of Debian and its relatives.
const DEBIAN: &str = "(Debian: ";
/// What says which distribution this is; it has some hundred bytes.
const OS_RELEASE: &str = "/etc/os-release";
const BYTES_MAX: u64 = 64 << 10;

/// A family of distributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinuxFamily {
    Debian,
    Fedora,
    Arch,
    Alpine,
}

/// Packages of Debian, and those of Fedora, Arch and Alpine that have the same; empty if none is known.
const SAME: [(&str, [&str; 3]); 7] = [
    ("libgomp1", ["libgomp", "gcc-libs", "libgomp"]),
    ("libomp5", ["libomp", "openmp", "openmp"]),
    ("libfabric1", ["libfabric", "libfabric", ""]),
    ("libpmix2", ["pmix", "openpmix", ""]),
    ("libopenblas0-pthread", ["openblas-threads", "openblas", "openblas"]),
    ("libblis4-openmp", ["blis-openmp", "", ""]),
    ("python3-numpy", ["python3-numpy", "python-numpy", "py3-numpy"]),
];

impl LinuxFamily {
    /// The one that this machine has, if its packages are known.
    pub(super) fn here() -> Option<Self> {
        Self::of(&regular::read_text(Path::new(OS_RELEASE), BYTES_MAX).ok()?)
    }

    /// By its `ID`, or else by one that it is like.
    fn of(os_release: &str) -> Option<Self> {
        let value = |key: &str| os_release.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().trim_matches('"');
        value("ID=").split(' ').chain(value("ID_LIKE=").split(' ')).find_map(|id| match id {
            "debian" | "ubuntu" => Some(Self::Debian),
            "fedora" | "rhel" | "centos" => Some(Self::Fedora),
            "arch" => Some(Self::Arch),
            "alpine" => Some(Self::Alpine),
            _ => None,
        })
    }

    /// The package here that has what a remedy installs.
    fn package(self, remedy: &str) -> Option<&str> {
        let debian = remedy.split_once(DEBIAN)?.1.split_once(')')?.0;
        let at = match self {
            Self::Debian => return Some(debian),
            Self::Fedora => 0,
            Self::Arch => 1,
            Self::Alpine => 2,
        };
        SAME.iter().find(|(name, _)| *name == debian).map(|(_, others)| others[at]).filter(|name| !name.is_empty())
    }

    fn manager(self) -> &'static str {
        match self {
            Self::Debian => "apt-get install -y",
            Self::Fedora => "dnf install -y",
            Self::Arch => "pacman -S --needed",
            Self::Alpine => "apk add",
        }
    }
}

/// A remedy as it is to be read here: the package by its name here, or without Debian's.
pub(super) fn remedy_here(remedy: &str, here: Option<LinuxFamily>) -> String {
    let Some((what, rest)) = remedy.split_once(DEBIAN) else { return remedy.to_owned() };
    let rest = rest.split_once(')').map_or("", |(_, rest)| rest);
    match here.and_then(|here| here.package(remedy)) {
        Some(package) => format!("install {package}{rest}"),
        None => format!("{}{rest}", what.trim_end()),
    }
}

/// One command that installs the packages of all these remedies, in lines of that many columns; none if no
/// package is known.
pub(super) fn command<'r>(
    remedies: impl Iterator<Item = &'r str>,
    here: Option<LinuxFamily>,
    root: bool,
    columns: usize,
) -> Option<String> {
    let here = here?;
    let mut packages: Vec<&str> = remedies.filter_map(|remedy| here.package(remedy)).collect();
    packages.sort_unstable();
    packages.dedup();
    if packages.is_empty() {
        return None;
    }
    let sudo = if root { "" } else { "sudo " };
    let (mut lines, mut line) = (String::new(), format!("{sudo}{}", here.manager()));
    for package in packages {
        // Room for the backslash that joins it with the next line.
        if line.len() + 1 + package.len() + 2 > columns {
            lines.push_str(&line);
            lines.push_str(" \\\n");
            line = " ".to_owned();
        }
        line.push(' ');
        line.push_str(package);
    }
    Some(lines + &line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_are_known_by_their_names_or_those_that_they_are_like() {
        for (text, family) in [
            ("NAME=x\nID=debian\n", Some(LinuxFamily::Debian)),
            ("ID=linuxmint\nID_LIKE=\"ubuntu debian\"", Some(LinuxFamily::Debian)),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"", Some(LinuxFamily::Fedora)),
            ("ID=manjaro\nID_LIKE=arch", Some(LinuxFamily::Arch)),
            ("VERSION_ID=3.20\nID=alpine", Some(LinuxFamily::Alpine)),
            ("ID=void", None),
            ("", None),
        ] {
            assert_eq!(LinuxFamily::of(text), family, "{text}");
        }
    }

    const REMEDIES: [&str; 4] = [
        "install F (Debian: libfabric1)",
        "install O (Debian: libomp5)",
        "install F (Debian: libfabric1); jobs",
        "`cargo build`",
    ];

    fn said(here: Option<LinuxFamily>, root: bool, columns: usize) -> String {
        command(REMEDIES.into_iter(), here, root, columns).unwrap_or_default()
    }

    #[test]
    fn one_command_installs_all_that_has_a_package_here() {
        assert_eq!(said(Some(LinuxFamily::Debian), false, 60), "sudo apt-get install -y libfabric1 libomp5");
        assert_eq!(said(Some(LinuxFamily::Debian), true, 20), "apt-get install -y \\\n  libfabric1 \\\n  libomp5");
        assert_eq!(said(Some(LinuxFamily::Fedora), false, 60), "sudo dnf install -y libfabric libomp");
        assert_eq!(said(Some(LinuxFamily::Arch), true, 60), "pacman -S --needed libfabric openmp");
        assert_eq!(said(Some(LinuxFamily::Alpine), true, 60), "apk add openmp");
        assert_eq!(said(None, true, 60), "");
    }

    #[test]
    fn remedies_name_the_package_here_or_none() {
        let here = |here| remedy_here(REMEDIES[2], here);
        assert_eq!(here(Some(LinuxFamily::Debian)), "install libfabric1; jobs");
        assert_eq!([here(None), here(Some(LinuxFamily::Alpine))], ["install F; jobs"; 2]);
        assert_eq!(remedy_here(REMEDIES[3], None), "`cargo build`");
    }
}
