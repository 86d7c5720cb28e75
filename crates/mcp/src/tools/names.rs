//! Which tool gives the report of an analysis.
use haloscope_analyses::FAMILIES;

/// The analyses that have a tool of their own.
pub(super) const OWN: [&str; 5] = ["diagnose", "compare", "check", "roofline", "comm"];

/// The tool that gives the report of an analysis, with the arguments that choose it.
#[must_use]
pub fn tool_of(id: &str) -> String {
    let family = id.split_once(' ').filter(|(first, _)| FAMILIES.iter().any(|family| family.id == *first));
    match (family, analyses::find(id)) {
        (Some((first, member)), _) => format!("{first} what={member}"),
        (None, Some(analysis)) if !OWN.contains(&id) => format!("report analysis={}", analysis.slug()),
        _ => id.to_owned(),
    }
}
