//! What sessions and their files are called.

use chrono::Local;
use haloscope_xspace::wire::Fields;

use crate::server::Server;

/// What a profile's file ends in.
pub(super) const SUFFIX: &str = ".xplane.pb";
/// So many sessions of one second have names.
pub(super) const SAME_SECOND: u32 = 1000;
/// `XSpace.hostnames`.
const HOSTNAMES: u32 = 4;

/// The name of a session that is taken now: `YYYY_MM_DD_HH_MM_SS` in local time, as JAX and XProf have it.
pub(crate) fn now_name() -> String {
    Local::now().format("%Y_%m_%d_%H_%M_%S").to_string()
}

/// Bytes of a file's name that stand for a host: with all that may stand behind it, it is a name that file systems take.
const LONGEST: usize = 180;
/// The same of the host and of the server, where both are named.
const LONGEST_OF_TWO: usize = 100;

/// The host that a serialised `XSpace` says it is from; `None` where it says none, or where it is damaged.
pub(crate) fn host_of(space: &[u8]) -> Option<String> {
    let names = Fields::new(space, 0).filter(|field| field.number == HOSTNAMES && field.whole);
    let name = names.filter_map(|field| field.bytes("XSpace").ok()).find(|name| !name.is_empty())?;
    Some(String::from_utf8_lossy(name).into_owned())
}

/// The names of the files of profiles, by the host and the server of each: the host alone where it is the only one of that
/// name, else with the server's port, else with the server's whole address. What is too long for a name is cut, and numbered where two
/// are the same then.
pub(super) fn file_names(profiles: &[(String, Server)]) -> Vec<String> {
    let plain = |host: &str| -> String {
        let name = host.chars().map(|c| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' });
        let name: String = name.collect();
        if name.starts_with('.') { format!("_{name}") } else { name }
    };
    // All signs are ASCII.
    let cut = |name: &str, most: usize| name.chars().take(most).collect::<String>();
    let hosts: Vec<_> = profiles.iter().map(|(host, _)| cut(&plain(host), LONGEST)).collect();
    let ported: Vec<_> =
        hosts.iter().zip(profiles).map(|(host, (_, server))| format!("{host}_{}", server.port)).collect();
    let is_shared = |names: &[String], name: &String| names.iter().filter(|other| *other == name).count() > 1;
    let stem = |i: usize| match (&hosts[i], &ported[i], &profiles[i].1) {
        (host, _, _) if !is_shared(&hosts, host) => host.clone(),
        (_, ported_name, _) if !is_shared(&ported, ported_name) => ported_name.clone(),
        (host, _, server) => {
            format!("{}_{}", cut(host, LONGEST_OF_TWO), cut(&plain(&server.to_string()), LONGEST_OF_TWO))
        }
    };
    let stems: Vec<String> = (0..profiles.len()).map(stem).collect();
    let numbered =
        |(i, stem): (usize, &String)| match stems.iter().take(i).filter(|other| *other == stem).count() {
            0 => format!("{stem}{SUFFIX}"),
            before => format!("{stem}_{}{SUFFIX}", before + 1),
        };
    stems.iter().enumerate().map(numbered).collect()
}

#[cfg(test)]
mod tests {
    use haloscope_xspace::write::Space;

    use super::*;

    fn names(profiles: &[(&str, &str)]) -> Vec<String> {
        let all: Vec<_> =
            profiles.iter().map(|(host, at)| ((*host).to_owned(), Server::parse(at).unwrap())).collect();
        file_names(&all)
    }

    #[test]
    fn a_port_is_named_only_where_a_host_has_several() {
        assert_eq!(names(&[("w-0", "a:9"), ("w-1", "b:9")]), ["w-0.xplane.pb", "w-1.xplane.pb"]);
        let shared = names(&[("w-0", "a:9"), ("w-0", "a:10"), ("w-1", "b:9")]);
        assert_eq!(shared, ["w-0_9.xplane.pb", "w-0_10.xplane.pb", "w-1.xplane.pb"]);
        let forwarded = names(&[("pod", "a:9"), ("pod", "b:9")]);
        assert_eq!(forwarded, ["pod_a_9.xplane.pb", "pod_b_9.xplane.pb"]);
    }

    #[test]
    fn a_host_cannot_lead_out_of_the_session() {
        assert_eq!(names(&[("../../etc/x", "a:9")]), ["_.._.._etc_x.xplane.pb"]);
    }

    #[test]
    fn a_long_host_is_cut_to_what_file_systems_take() {
        let folder = tempfile::tempdir().unwrap();
        let long = "a.very-long-label".repeat(20);
        let other = format!("{long}-and-another");
        let server = format!("{}:9", "b".repeat(200));
        let all =
            [(&*long, "a:9"), (&*other, "b:10"), (&*long, &*server), (&*other, &*server), ("w-0", "c:9")];
        let found = names(&all);
        assert_eq!(found[4], "w-0.xplane.pb");
        for (i, name) in found.iter().enumerate() {
            assert!(!found[..i].contains(name), "{name}");
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        // One of an usual length stays whole.
        let usual = "t1v-n-0123456789-w-15.europe-west4-b.c.project-of-somebody.internal";
        assert_eq!(names(&[(usual, "a:9")]), [format!("{usual}.xplane.pb")]);
    }

    #[test]
    fn the_host_is_what_the_profile_says() {
        let space = Space { hostnames: vec!["w-3".into()], ..Space::default() };
        assert_eq!(host_of(&space.to_bytes()).as_deref(), Some("w-3"));
        assert_eq!(host_of(&[]), None);
    }

    #[test]
    fn sessions_are_named_as_jax_names_them() {
        let name = now_name();
        assert_eq!(name.len(), "2026_01_01_00_00_00".len());
        assert!(name.chars().all(|c| c.is_ascii_digit() || c == '_'), "{name}");
    }
}
