//! The variables of each rank of a job, and the socket on which its rank 0 will listen.
use super::hosts::Host;
use super::{SpawnPlan, os, setting};
use crate::detect::MOST_RANKS;
use crate::own;
use crate::secret::{self, JobKey};
use crate::settings::HOST_ADDRESS;
use foregather_machine::{Error, Rank};
use std::env;
use std::net::{IpAddr, Ipv4Addr, TcpListener};

/// The fabric that the ranks should use.
pub(crate) const FABRIC: &str = "FOREGATHER_FABRIC";

pub(super) struct Variables {
    /// The number of ranks.
    size: u32,
    common: Vec<(String, String)>,
    /// The jobs that contain the ranks; this one is the last.
    within: String,
    /// The host of each rank; empty if all are on this host.
    hosts: Vec<Host>,
}

impl Variables {
    /// Returns the variables and, if rank 0 will be on this host, its bound socket.
    pub(super) fn new(plan: &SpawnPlan) -> Result<(Self, Option<TcpListener>), Error> {
        if plan.size == 0 || plan.size > MOST_RANKS {
            return Err(setting("the number of ranks", "1 to 4096"));
        }
        if plan.program.first().is_none_or(|program| program.is_empty()) {
            return Err(Error::other("the program's name is empty: write what is to be started behind `--`"));
        }
        let hosts = host_of_ranks(&plan.hosts, plan.size)?;
        let (root, listener) = root(&hosts)?;
        let name = secret::job_name()?;
        let within = format!("{}{name}/", env::var(own::WITHIN).unwrap_or_default());
        let mut common = vec![
            (own::SIZE.to_owned(), plan.size.to_string()),
            (own::JOB.to_owned(), name),
            (own::ROOT.to_owned(), root),
            (own::SECRET.to_owned(), secret::hex(&secret::random()?)),
            // Otherwise libraries that libfabric brings along take over the signals that stop ranks while
            // they load.
            ("IPATH_NO_BACKTRACE".to_owned(), "1".to_owned()),
        ];
        // Empty without a record: this launcher may itself have been started by a rank that is recorded.
        let record = plan.record.as_ref().map_or("", |path| path.to_str().unwrap_or_default());
        common.push((own::RECORD.to_owned(), record.to_owned()));
        common.extend(plan.fabric.iter().map(|fabric| (FABRIC.to_owned(), fabric.clone())));
        Ok((Self { size: plan.size, common, within, hosts }, listener))
    }

    /// Returns the host of that rank, or `None` for this host.
    pub(super) fn host(&self, rank: Rank) -> Option<&Host> {
        self.hosts.get(rank as usize)
    }

    /// Returns how many ranks are on the host of that rank.
    fn on_host_of(&self, rank: Rank) -> usize {
        let name = self.host(rank).map(|host| &host.name);
        (0..self.size).filter(|&other| self.host(other).map(|host| &host.name) == name).count()
    }

    /// Returns the variables of that rank.
    pub(super) fn of(&self, rank: Rank) -> Vec<(String, String)> {
        let mut all = self.common.clone();
        all.push((own::RANK.to_owned(), rank.to_string()));
        all.push((own::LOCAL_SIZE.to_owned(), self.on_host_of(rank).to_string()));
        let address = self.host(rank).and_then(|host| host.address);
        all.extend(address.map(|address| (HOST_ADDRESS.to_owned(), address.to_string())));
        all
    }

    /// Returns the variable by which every process of the job can be found.
    pub(super) fn within(&self) -> (&str, &str) {
        (own::WITHIN, &self.within)
    }

    /// Returns the key with which ranks prove that they belong to the job.
    pub(super) fn key(&self) -> JobKey {
        let said = |name| self.common.iter().find(|(of, _)| of == name).map_or("", |(_, value)| value).as_bytes();
        JobKey::new(said(own::SECRET), said(own::JOB))
    }
}

/// Returns one host for each rank, filling the slots of the first host first.
fn host_of_ranks(hosts: &[Host], size: u32) -> Result<Vec<Host>, Error> {
    let all = hosts.iter().flat_map(|host| std::iter::repeat_n(host, host.slots as usize));
    let host_of_ranks: Vec<Host> = all.take(size as usize).cloned().collect();
    if !hosts.is_empty() && host_of_ranks.len() < size as usize {
        return Err(setting("the number of slots of all hosts", "one for each rank at least: raise slots=N"));
    }
    Ok(host_of_ranks)
}

/// Returns the host of rank 0, and its socket if that is this host. It is reachable from outside only if
/// there are ranks on other hosts.
fn root(hosts: &[Host]) -> Result<(String, Option<TcpListener>), Error> {
    let all_here = hosts.iter().all(Host::is_here);
    let (host, bound_to) = match hosts.first() {
        Some(first) if !first.is_here() => {
            let host = first.address.map_or_else(|| first.name.clone(), |address| address.to_string());
            // A user name before an `@` is only for the shell.
            return Ok((host.rsplit('@').next().unwrap_or_default().to_owned(), None));
        }
        Some(Host { address: Some(address), .. }) => (address.to_string(), *address),
        _ if all_here => (Ipv4Addr::LOCALHOST.to_string(), IpAddr::V4(Ipv4Addr::LOCALHOST)),
        _ => (rustix::system::uname().nodename().to_string_lossy().into_owned(), IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
    };
    let listener = TcpListener::bind((bound_to, 0)).and_then(|listener| Ok((listener.local_addr()?.port(), listener)));
    let (port, listener) =
        listener.map_err(|error| os("binding the job's socket", &error, "is the address of the first host one of this host?"))?;
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    Ok((format!("{host}:{port}"), Some(listener)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(size: u32, hosts: &str) -> SpawnPlan {
        let hosts = if hosts.is_empty() { vec![] } else { Host::parse(hosts).unwrap() };
        SpawnPlan { size, program: vec!["true".into()], hosts, ..SpawnPlan::default() }
    }

    fn said(variables: &Variables, rank: Rank, name: &str) -> Option<String> {
        variables.of(rank).into_iter().find(|(of, _)| of == name).map(|(_, value)| value)
    }

    #[test]
    fn only_this_host_reaches_the_socket_and_each_job_has_its_own_secret() {
        let (variables, socket) = Variables::new(&plan(2, "")).unwrap();
        assert!(socket.is_some());
        assert!(said(&variables, 1, own::ROOT).unwrap().starts_with("127.0.0.1:"));
        assert_eq!(said(&variables, 1, own::RANK).as_deref(), Some("1"));
        let (other, _) = Variables::new(&plan(2, "")).unwrap();
        assert_ne!(said(&variables, 0, own::SECRET), said(&other, 0, own::SECRET));
        assert_ne!(said(&variables, 0, own::JOB), said(&other, 0, own::JOB));
    }

    #[test]
    fn hosts_are_filled_in_order() {
        let (variables, socket) = Variables::new(&plan(3, "me@n1 slots=2\nn2 address=10.0.0.2")).unwrap();
        assert_eq!(variables.host(1).unwrap().name, "me@n1");
        assert_eq!(said(&variables, 2, HOST_ADDRESS).as_deref(), Some("10.0.0.2"));
        assert_eq!(said(&variables, 2, own::ROOT).as_deref(), Some("n1"));
        let local = [0, 1, 2].map(|rank| said(&variables, rank, own::LOCAL_SIZE).unwrap());
        assert_eq!(local, ["2", "2", "1"]);
        assert!(socket.is_none());
        assert!(Variables::new(&plan(4, "n1 slots=2\nn2")).is_err());
    }

    #[test]
    fn impossible_plans_are_refused() {
        assert!(Variables::new(&plan(0, "")).is_err() && Variables::new(&plan(99_999, "")).is_err());
        assert!(Variables::new(&SpawnPlan { size: 1, ..SpawnPlan::default() }).is_err());
    }
}
