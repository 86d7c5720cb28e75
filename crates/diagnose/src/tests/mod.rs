//! Small made profiles for the tests of rules and of what they rest on.

mod made;

pub(super) use made::{MS, Made, US};

use super::evidence::Evidence;
use super::rule::{Outcome, Rule};
use haloscope_report::scope::Scope;
use haloscope_time::select::Scoped;

/// What a rule says of one host with these planes.
pub(super) fn check(rule: &'static Rule, planes: Vec<Made>) -> Outcome {
    let profile = made::profile(vec![("host", planes)]);
    let asked = Scoped::new(&profile, &Scope::default());
    let evidence = Evidence::new(&asked, None).unwrap();
    rule.apply(&evidence).outcome
}

/// The profile of one host with these planes.
pub(super) fn profile_of(planes: Vec<Made>) -> haloscope_profile::Profile {
    made::profile(vec![("host", planes)])
}

/// What a rule says of several hosts.
pub(super) fn check_hosts(rule: &'static Rule, hosts: Vec<(&str, Vec<Made>)>) -> Outcome {
    let profile = made::profile(hosts);
    let asked = Scoped::new(&profile, &Scope::default());
    let evidence = Evidence::new(&asked, None).unwrap();
    rule.apply(&evidence).outcome
}

/// The evidence of one host with these planes, for the tests of what rules rest on.
pub(crate) fn with_evidence(planes: Vec<Made>, look: impl FnOnce(&Evidence<'_>)) {
    let profile = made::profile(vec![("host", planes)]);
    let asked = Scoped::new(&profile, &Scope::default());
    look(&Evidence::new(&asked, None).unwrap());
}
