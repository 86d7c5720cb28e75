//! What the profiler recorded of the process and of itself.

use haloscope_xspace::wire::{Fields, Value};

use super::Fact;
use haloscope_profile::{PlaneKind, Profile, Stat};
use haloscope_program::flags::Given;

/// Facts that differ from process to process and say nothing.
const OF_NO_INTEREST: &[&str] = &["process_id"];

/// Versions and other words of the process, flags of XLA where a profile holds some, and how it was profiled.
pub(super) fn facts(a: &Profile, b: &Profile) -> Vec<Fact> {
    let runs = [a, b];
    let mut names: Vec<&str> = runs
        .iter()
        .flat_map(|run| &run.hosts)
        .flat_map(|h| h.environment.iter().map(|(n, _)| n.as_str()))
        .collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| !OF_NO_INTEREST.contains(name));
    let mut all: Vec<Fact> = names
        .into_iter()
        .map(|name| Fact::of(name, &name.replace('_', " "), false, runs.map(|run| value(run, name))))
        .collect();
    all.extend(flags(runs));
    all.push(Fact::of("profiler_options", "How it was profiled", false, runs.map(options)));
    all
}

/// What the hosts of a run say, each different word once.
fn value(run: &Profile, name: &str) -> Option<String> {
    let own = run.hosts.iter().flat_map(|h| &h.environment).filter(|(n, _)| n == name);
    let mut words: Vec<String> = own.map(|(_, v)| v.lines().collect::<Vec<_>>().join(" ")).collect();
    words.sort_unstable();
    words.dedup();
    (!words.is_empty()).then(|| words.join("; "))
}

/// Flags, by name: those that differ where both runs tell theirs, else that nobody knows.
fn flags(runs: [&Profile; 2]) -> Vec<Fact> {
    let given = runs.map(Given::of_profile);
    let label = "Flags of XLA";
    let [Some(a), Some(b)] = &given else {
        let words = |one: &Option<Given>| one.as_ref().map(|one| format!("{} flags", one.uses.len()));
        return vec![Fact::of("xla_flags", label, false, [words(&given[0]), words(&given[1])])];
    };
    let mut names: Vec<&str> = a.uses.iter().chain(&b.uses).map(|u| u.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let of =
        |one: &Given, name: &str| one.effective(name).map_or("not given".to_owned(), |u| u.value.clone());
    let differ: Vec<&str> = names.iter().copied().filter(|name| of(a, name) != of(b, name)).collect();
    if differ.is_empty() {
        let same = Some(format!("{} flags", names.len()));
        return vec![Fact::of("xla_flags", label, false, [same.clone(), same])];
    }
    differ
        .into_iter()
        .map(|name| Fact::of(name, &format!("Flag {name}"), false, [Some(of(a, name)), Some(of(b, name))]))
        .collect()
}

/// Fields of the message `ProfileOptions` of TSL that say how much was recorded.
const OPTIONS: &[(u32, &str)] =
    &[(2, "host tracer level"), (3, "device tracer level"), (4, "Python tracer level"), (7, "HLO protos")];

/// The profiler's options, which cost time while it records; a number that is not written is 0.
fn options(run: &Profile) -> Option<String> {
    let planes = run.planes.iter().filter(|plane| plane.kind == PlaneKind::TaskEnvironment);
    let mut words: Vec<String> = planes
        .filter_map(|plane| match plane.stat("profile_options")? {
            Stat::Text(text) => decode(text.as_bytes()),
            Stat::Bytes(span) => decode(run.source_of(plane).slice(*span)),
            _ => None,
        })
        .collect();
    words.sort_unstable();
    words.dedup();
    (!words.is_empty()).then(|| words.join("; "))
}

fn decode(bytes: &[u8]) -> Option<String> {
    let mut values = [0_u64; OPTIONS.len()];
    let mut fields = Fields::new(bytes, 0);
    for field in fields.by_ref() {
        if let (Some(at), Value::Varint(value)) =
            (OPTIONS.iter().position(|(number, _)| *number == field.number), field.value)
        {
            values[at] = value;
        }
    }
    if fields.fault("ProfileOptions").is_some() {
        return None;
    }
    let words: Vec<String> =
        OPTIONS.iter().zip(values).map(|((_, name), value)| format!("{name} {value}")).collect();
    Some(words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_as_jax_writes_them() {
        let bytes = b"\x08\x01\x10\x02\x18\x01\x20\x01\x28\x01\x38\x01";
        assert_eq!(
            decode(bytes).as_deref(),
            Some("host tracer level 2, device tracer level 1, Python tracer level 1, HLO protos 1")
        );
        assert!(decode(b"").is_some_and(|words| words.ends_with("HLO protos 0")));
        assert_eq!(decode(b"\xff"), None);
    }
}
