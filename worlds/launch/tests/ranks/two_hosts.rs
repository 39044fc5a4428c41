//! Ranks on two hosts: two network namespaces of this one, connected by a virtual link. They join over it and
//! communicate with libfabric.
use crate::own::{fabrics, launcher};
use crate::{count, end, installed, program, text};
use std::process::Command;

/// Both namespaces, which are removed with their link when this is dropped.
struct Hosts([String; 2]);

impl Hosts {
    /// Returns `None`, and prints the reason, if this user may not create any.
    fn join() -> Option<Self> {
        if !installed("ip", "iproute2") {
            return None;
        }
        let names = ["a", "b"].map(|end| format!("fg{}{end}", std::process::id()));
        let hosts = Self(names.clone());
        let [a, b] = &names;
        let mut commands = names.iter().map(|name| format!("netns add {name}")).collect::<Vec<_>>();
        commands.push(format!("link add {a} netns {a} type veth peer name {b} netns {b}"));
        for (name, address) in names.iter().zip(ADDRESSES) {
            commands.push(format!("-n {name} addr add {address}/24 dev {name}"));
            commands.extend(["lo", name].map(|link| format!("-n {name} link set {link} up")));
        }
        for command in commands {
            let output = Command::new("ip").args(command.split(' ')).output().unwrap();
            if !output.status.success() {
                let required = std::env::var("FOREGATHER_REQUIRE_PARTS").is_ok_and(|value| value == "1");
                assert!(!required, "ip {command}: {}", text(&output));
                eprintln!("skipped: network namespaces need root: ip {command}: {}", text(&output));
                return None;
            }
        }
        Some(hosts)
    }

    fn file(&self) -> String {
        let lines = self.0.iter().zip(ADDRESSES).map(|(name, address)| format!("{name} slots=2 address={address}\n"));
        lines.collect()
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.0 {
            let _ = Command::new("ip").args(["netns", "delete", name]).output();
        }
    }
}

const ADDRESSES: [&str; 2] = ["10.77.31.1", "10.77.31.2"];

#[test]
fn ranks_of_two_hosts_send_by_libfabric_and_learn_of_a_loss() {
    if !fabrics().iter().any(|(_, used)| *used == "ofi") {
        return;
    }
    let Some(hosts) = Hosts::join() else { return };
    let file = hosts.file();
    let variables = [("TEST_HOSTS", &file[..]), ("FOREGATHER_FABRIC", "ofi:tcp"), ("FOREGATHER_PEER_TIMEOUT", "3s")];
    let output = end(launcher(4, &program("sends"), &variables));
    assert_eq!((output.status.code(), count(&text(&output), "sent by ofi")), (Some(0), 4), "{}", text(&output));
    let words = [&["env".to_owned(), "TEST_END=stop".to_owned()][..], &program("sends")].concat();
    let output = end(launcher(4, &words, &variables));
    assert_eq!((output.status.code(), count(&text(&output), "no ring: lost Some(1)")), (Some(137), 3), "{}", text(&output));
}
