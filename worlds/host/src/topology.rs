//! Which processors belong together: threads of a core, cores of a socket, those behind one cache or beside
//! one memory.
use crate::facts::{Files, parse_list};
use foregather_machine::CpuId;
use std::path::PathBuf;

/// What processors may have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedLevel {
    /// Nothing: each is alone.
    Thread,
    /// A core.
    Core,
    /// The cache next to memory.
    LastCache,
    /// The memory next to them.
    Memory,
    /// A socket.
    Socket,
}

/// The given processors by what they share: groups in the order of their first members. One whose share is
/// not known is alone.
pub fn groups(shared: SharedLevel, of: &[CpuId]) -> Vec<Vec<CpuId>> {
    Files(PathBuf::from("/")).groups(shared, of)
}

impl Files {
    fn groups(&self, shared: SharedLevel, of: &[CpuId]) -> Vec<Vec<CpuId>> {
        let mut groups: Vec<Vec<CpuId>> = Vec::new();
        for &cpu in of {
            if groups.iter().any(|group| group.contains(&cpu)) {
                continue;
            }
            let together = self.together(shared, cpu).unwrap_or_default();
            groups.push(of.iter().copied().filter(|other| *other == cpu || together.contains(other)).collect());
        }
        groups
    }

    /// All that share that with a processor.
    fn together(&self, shared: SharedLevel, cpu: CpuId) -> Option<Vec<CpuId>> {
        let list = |path: String| self.read(&path).and_then(|list| parse_list(&list));
        let beside = format!("sys/devices/system/cpu/cpu{cpu}");
        match shared {
            SharedLevel::Thread => None,
            SharedLevel::Core => list(format!("{beside}/topology/thread_siblings_list")),
            SharedLevel::Socket => list(format!("{beside}/topology/core_siblings_list")),
            SharedLevel::LastCache => {
                let level = |index| Some((self.read(&format!("{beside}/cache/index{index}/level"))?.parse::<u32>().ok()?, index));
                let (_, last) = (0..8).map_while(level).max()?;
                list(format!("{beside}/cache/index{last}/shared_cpu_list"))
            }
            SharedLevel::Memory => {
                let nodes = list("sys/devices/system/node/online".to_owned())?;
                let cpus = nodes.iter().filter_map(|node| list(format!("sys/devices/system/node/node{node}/cpulist")));
                cpus.into_iter().find(|cpus| cpus.contains(&cpu))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn processors_are_together_as_the_kernel_says() {
        let root = std::env::temp_dir().join(format!("foregather-topology-{}", std::process::id()));
        let write = |path: String, text: &str| {
            let path = root.join("sys/devices/system").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for cpu in 0..4 {
            write(format!("cpu/cpu{cpu}/topology/thread_siblings_list"), ["0,2\n", "1,3\n"][cpu % 2]);
            write(format!("cpu/cpu{cpu}/topology/core_siblings_list"), "0-3\n");
            for (index, level, list) in [(0, "1\n", "0\n"), (1, "3\n", ["0-1\n", "2-3\n"][cpu / 2])] {
                write(format!("cpu/cpu{cpu}/cache/index{index}/level"), level);
                write(format!("cpu/cpu{cpu}/cache/index{index}/shared_cpu_list"), list);
            }
        }
        write("node/online".to_owned(), "0-1\n");
        write("node/node0/cpulist".to_owned(), "0,3\n");
        write("node/node1/cpulist".to_owned(), "1-2\n");
        let files = Files(root.clone());
        let of = |shared, of: &[CpuId]| files.groups(shared, of);
        assert_eq!(of(SharedLevel::Thread, &[3, 1]), [[3], [1]]);
        assert_eq!(of(SharedLevel::Core, &[0, 1, 2, 3]), [[0, 2], [1, 3]]);
        assert_eq!(of(SharedLevel::Core, &[1, 2, 3]), [vec![1, 3], vec![2]]);
        assert_eq!(of(SharedLevel::LastCache, &[0, 1, 2, 3]), [[0, 1], [2, 3]]);
        assert_eq!(of(SharedLevel::Memory, &[0, 1, 2, 3]), [[0, 3], [1, 2]]);
        assert_eq!(of(SharedLevel::Socket, &[0, 1, 3]), [[0, 1, 3]]);
        assert_eq!(of(SharedLevel::Socket, &[0, 9]), [[0], [9]], "a processor that the kernel does not describe");
        fs::remove_dir_all(root).unwrap();
    }
}
