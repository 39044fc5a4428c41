//! The facts of this machine, for the record: a result means little without them. Read from `/proc` and
//! `/sys`; a fact that a machine does not tell is `None`.
use crate::cgroup;
use foregather_machine::Nanos;
use rustix::fd::OwnedFd;
use rustix::mm::{UserfaultfdFlags, userfaultfd};
use rustix::time::{ClockId, clock_getres};
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::PathBuf;

/// More bytes than the kernel writes about one processor.
const FIRST_CPU: u64 = 8 << 10;

/// The machine that this process runs on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The processor's name.
    pub cpu: Option<String>,
    /// Its microcode.
    pub microcode: Option<String>,
    /// Processors in use by the kernel.
    pub cpus_online: u32,
    /// Hardware threads that share a core.
    pub threads_per_core: Option<u32>,
    /// Processor packages.
    pub sockets: Option<u32>,
    /// Memory nodes.
    pub numa_nodes: Option<u32>,
    /// The first processor's caches: `L2 unified 1024K shared by 0-1`.
    pub caches: Vec<String>,
    /// Main memory in KiB.
    pub memory_kib: Option<u64>,
    /// The kernel's release and version.
    pub kernel: String,
    /// How the kernel lets itself be preempted: from its version, its command line and its debug file.
    pub preemption: Option<String>,
    /// Ticks a second.
    pub tick_hz: Option<u32>,
    /// The words of the kernel's command line that change how it schedules, idles or tells time.
    pub kernel_cmdline_hints: Vec<String>,
    /// The hypervisor underneath, if there is one.
    pub hypervisor: Option<String>,
    /// The kernel's source of time.
    pub clocksource: Option<String>,
    /// How the clock frequency is chosen.
    pub governor: Option<String>,
    /// What puts idle processors to sleep: driver and governor.
    pub idle_driver: Option<String>,
    /// For how many nanoseconds an idle virtual processor polls before it gives itself back to the
    /// hypervisor.
    pub haltpoll_ns: Option<u64>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub thp: Option<String>,
    /// Which version of control groups limits processor time here ([`cgroup::version`]).
    pub cgroup_version: &'static str,
    /// Whether this process may handle its own page faults.
    pub userfaultfd: bool,
    /// The C library.
    pub libc: Option<String>,
}

/// Gathers the facts.
pub fn machine() -> Machine {
    Machine {
        tick_hz: tick_hz(),
        hypervisor: hypervisor(),
        cgroup_version: cgroup::version(),
        userfaultfd: user_faults().is_some(),
        libc: libc_version(),
        ..Files(PathBuf::from("/")).machine()
    }
}

/// The facts that tell costs from those of another machine: the processor's model, and the kernel's release
/// and version. All the rest of [`machine`] takes a millisecond to read.
pub(crate) fn model_and_kernel() -> (Option<String>, String) {
    let files = Files(PathBuf::from("/"));
    (files.model(), files.kernel())
}

/// The machine's name in its network; empty if the kernel does not tell.
pub fn host_name() -> String {
    Files(PathBuf::from("/")).read("proc/sys/kernel/hostname").unwrap_or_default()
}

/// The files of a machine, below a directory, so that other machines' files can be tested.
pub(crate) struct Files(pub(crate) PathBuf);

impl Files {
    pub(crate) fn read(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.0.join(path)).ok()?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn machine(&self) -> Machine {
        let cpuinfo = self.read("proc/cpuinfo").unwrap_or_default();
        let meminfo = self.read("proc/meminfo").unwrap_or_default();
        let cmdline = self.read("proc/cmdline").unwrap_or_default();
        let version = self.read("proc/sys/kernel/version");
        let online = self.read("sys/devices/system/cpu/online").and_then(|list| parse_list(&list)).unwrap_or_default();
        let siblings = self.read("sys/devices/system/cpu/cpu0/topology/thread_siblings_list");
        let nodes = self.read("sys/devices/system/node/online");
        let count = |list: Option<String>| list.and_then(|list| parse_list(&list)).map(|list| list.len() as u32);
        let idle = ["driver", "governor"].map(|what| self.read(&format!("sys/devices/system/cpu/cpuidle/current_{what}")));
        let thp = self.read("sys/kernel/mm/transparent_hugepage/enabled");
        Machine {
            cpu: self.model(),
            microcode: field(&cpuinfo, "microcode"),
            cpus_online: if online.is_empty() { parallelism() } else { online.len() as u32 },
            threads_per_core: count(siblings),
            sockets: self.sockets(&online),
            numa_nodes: count(nodes),
            caches: self.caches(),
            memory_kib: field(&meminfo, "MemTotal").and_then(|text| text.split(' ').next()?.parse().ok()),
            preemption: self.preemption(version.as_deref().unwrap_or_default(), &cmdline),
            kernel: self.kernel(),
            kernel_cmdline_hints: cmdline_hints(&cmdline),
            clocksource: self.read("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            governor: self.read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            idle_driver: joined(&idle, ", governor "),
            haltpoll_ns: self.read("sys/module/haltpoll/parameters/guest_halt_poll_ns").and_then(|text| text.parse().ok()),
            thp: thp.and_then(|text| chosen(&text)),
            ..Machine::default()
        }
    }

    /// The kernel generates the file for each reader, line by line; the first processor's lines are enough.
    fn model(&self) -> Option<String> {
        let mut first = Vec::new();
        fs::File::open(self.0.join("proc/cpuinfo")).ok()?.take(FIRST_CPU).read_to_end(&mut first).ok()?;
        let first = String::from_utf8_lossy(&first);
        field(&first, "model name").or_else(|| field(&first, "CPU implementer"))
    }

    fn kernel(&self) -> String {
        let [release, version] = ["osrelease", "version"].map(|what| self.read(&format!("proc/sys/kernel/{what}")));
        joined(&[release, version], " ").unwrap_or_default()
    }

    fn sockets(&self, online: &[u32]) -> Option<u32> {
        let package = |cpu| self.read(&format!("sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"));
        let packages: BTreeSet<_> = online.iter().filter_map(package).collect();
        (!packages.is_empty()).then_some(packages.len() as u32)
    }

    fn caches(&self) -> Vec<String> {
        let cache = |index| {
            let read = |what: &str| self.read(&format!("sys/devices/system/cpu/cpu0/cache/index{index}/{what}"));
            let (level, kind, size) = (read("level")?, read("type")?.to_lowercase(), read("size")?);
            let shared = read("shared_cpu_list").map_or(String::new(), |list| format!(" shared by {list}"));
            Some(format!("L{level} {kind} {size}{shared}"))
        };
        (0..8).map_while(cache).collect()
    }

    fn preemption(&self, version: &str, cmdline: &str) -> Option<String> {
        let built = version.split(' ').find(|word| word.starts_with("PREEMPT"));
        let asked = cmdline.split(' ').find(|word| word.starts_with("preempt="));
        let now = self.read("sys/kernel/debug/sched/preempt").and_then(|text| text.split(['(', ')']).nth(1).map(str::to_owned));
        joined(&[built.map(str::to_owned), asked.map(str::to_owned), now], ", ")
    }
}

/// The parts that are there.
fn joined(parts: &[Option<String>], between: &str) -> Option<String> {
    let parts: Vec<_> = parts.iter().flatten().map(String::as_str).collect();
    (!parts.is_empty()).then(|| parts.join(between))
}

/// The value of `name : value`, the first of its name.
fn field(text: &str, name: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.filter(|(key, value)| key.trim() == name && !value.trim().is_empty()).map(|(_, value)| value.trim().to_owned()).next()
}

/// The numbers in a list of processors or nodes, such as `0-3,8`.
pub(crate) fn parse_list(text: &str) -> Option<Vec<u32>> {
    const MOST: u32 = 1 << 16;
    let mut list = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last > MOST {
            return None;
        }
        list.extend(first..=last);
    }
    Some(list)
}

/// The word in brackets of `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    text.split_once('[')?.1.split_once(']').map(|(word, _)| word.to_owned())
}

fn cmdline_hints(cmdline: &str) -> Vec<String> {
    const BEGINNINGS: [&str; 16] = [
        "preempt",
        "isolcpus",
        "nohz",
        "rcu_nocbs",
        "idle=",
        "intel_idle",
        "processor.max_cstate",
        "cpuidle",
        "haltpoll",
        "mitigations",
        "clocksource",
        "tsc",
        "threadirqs",
        "sched_",
        "skew_tick",
        "nosmt",
    ];
    let words = cmdline.split_ascii_whitespace();
    words.filter(|word| BEGINNINGS.iter().any(|beginning| word.starts_with(beginning))).map(str::to_owned).collect()
}

fn parallelism() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
}

/// Returns how many processors are online.
pub fn online() -> u32 {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online").ok().and_then(|list| parse_list(&list));
    list.filter(|list| !list.is_empty()).map_or_else(parallelism, |list| list.len() as u32)
}

/// The scheduler's tick, if the kernel tells: the coarse clock advances once a tick.
pub fn tick() -> Option<Nanos> {
    let step = clock_getres(ClockId::MonotonicCoarse);
    // A kernel that another program imitates may say anything.
    Some(Nanos(step.tv_nsec as u64)).filter(|tick| step.tv_sec == 0 && (Nanos::from_us(10)..=Nanos::from_ms(100)).contains(tick))
}

fn tick_hz() -> Option<u32> {
    tick().map(|tick| (1e9 / tick.0 as f64).round() as u32)
}

/// The hypervisor introduces itself in CPUID leaf 4000_0000h, if there is one.
#[cfg(target_arch = "x86_64")]
fn hypervisor() -> Option<String> {
    use core::arch::x86_64::__cpuid;
    // SAFETY: every x86-64 processor has CPUID; the hypervisor's leaf is asked only if leaf 1 says that one
    // exists.
    #[allow(unused_unsafe)]
    let leaf = unsafe { (__cpuid(1).ecx & (1 << 31) != 0).then(|| __cpuid(0x4000_0000)) }?;
    let name: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx].into_iter().flat_map(u32::to_le_bytes).collect();
    let name = String::from_utf8_lossy(&name).trim_matches(['\0', ' ']).to_owned();
    Some(match name.as_str() {
        "KVMKVMKVM" => "KVM".to_owned(),
        "Microsoft Hv" => "Hyper-V".to_owned(),
        "VMwareVMware" => "VMware".to_owned(),
        "XenVMMXenVMM" => "Xen".to_owned(),
        "TCGTCGTCGTCG" => "QEMU (emulated)".to_owned(),
        "" => "unnamed".to_owned(),
        _ => name,
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn hypervisor() -> Option<String> {
    let read = |path: &str| fs::read_to_string(path).ok();
    let name = read("/sys/hypervisor/type").or_else(|| read("/proc/device-tree/hypervisor/compatible"))?;
    Some(name.trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned())
}

/// Asks for faults in user mode only, which is what unprivileged processes may get.
fn user_faults() -> Option<OwnedFd> {
    const USER_MODE_ONLY: u32 = 1;
    let flags = UserfaultfdFlags::CLOEXEC | UserfaultfdFlags::from_bits_retain(USER_MODE_ONLY);
    // SAFETY: a descriptor without registered memory changes nothing; it is closed at once.
    unsafe { userfaultfd(flags) }.ok()
}

/// The name and version of the C library. `None` if it is not GNU's.
#[cfg(target_env = "gnu")]
pub fn libc_version() -> Option<String> {
    // SAFETY: the call returns a C string that lives forever.
    let version = unsafe { core::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    Some(format!("glibc {}", version.to_string_lossy()))
}

/// The name and version of the C library. `None` if it is not GNU's.
#[cfg(not(target_env = "gnu"))]
pub fn libc_version() -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_can_be_described() {
        let machine = machine();
        assert!(machine.cpus_online >= 1 && !machine.kernel.is_empty(), "{machine:#?}");
        assert!(machine.tick_hz.is_none_or(|hz| (10..=10_000).contains(&hz)), "{machine:#?}");
    }

    #[test]
    fn a_machine_without_files_is_described_too() {
        let machine = Files(PathBuf::from("/no/such/directory")).machine();
        assert!(machine.cpus_online >= 1);
        assert_eq!(Machine { cpus_online: 0, ..machine }, Machine::default());
    }

    #[test]
    fn files_are_understood() {
        let root = std::env::temp_dir().join(format!("foregather-facts-{}", std::process::id()));
        for (path, text) in [
            ("proc/cpuinfo", "processor\t: 0\nmodel name\t: Fast: 3 GHz\nmicrocode\t: 0x1\n\nmodel name\t: Other\n"),
            ("proc/meminfo", "MemTotal:        8000000 kB\nMemFree: 1 kB\n"),
            ("proc/cmdline", "quiet root=/dev/x preempt=full isolcpus=1\n"),
            ("proc/sys/kernel/osrelease", "6.1.0\n"),
            ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC today\n"),
            ("sys/devices/system/cpu/online", "0-1,4\n"),
            ("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n"),
            ("sys/devices/system/cpu/cpu4/topology/physical_package_id", "1\n"),
            ("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n"),
            ("sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n"),
            ("sys/devices/system/cpu/cpu0/cache/index0/size", "32K\n"),
            ("sys/devices/system/cpu/cpuidle/current_driver", "haltpoll\n"),
            ("sys/kernel/debug/sched/preempt", "none voluntary (full) lazy\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let machine = Files(root.clone()).machine();
        fs::remove_dir_all(root).unwrap();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!((machine.cpu, machine.microcode, machine.memory_kib), (some("Fast: 3 GHz"), some("0x1"), Some(8_000_000)));
        assert_eq!((machine.cpus_online, machine.sockets, machine.threads_per_core), (3, Some(2), None));
        assert_eq!((machine.caches, machine.idle_driver), (vec!["L1 data 32K".to_owned()], some("haltpoll")));
        assert_eq!(machine.preemption, some("PREEMPT_DYNAMIC, preempt=full, full"));
        assert_eq!(machine.kernel_cmdline_hints, ["preempt=full", "isolcpus=1"]);
        assert_eq!((machine.kernel.as_str(), machine.thp), ("6.1.0 #1 SMP PREEMPT_DYNAMIC today", some("madvise")));
    }

    #[test]
    fn lists_are_read_and_malformed_ones_refused() {
        assert_eq!(parse_list("0-2,8\n"), Some(vec![0, 1, 2, 8]));
        for wrong in ["", "a", "3-1", "0-", "-1", "1,,2", "0-4294967295"] {
            assert_eq!(parse_list(wrong), None, "{wrong}");
        }
    }
}
