//! A scope, resolved against a profile: which devices, and on each which time.

use std::borrow::Cow;

use super::intervals::Intervals;
use super::steps::{StepClass, Steps};
use haloscope_profile::{Device, DeviceId, HostId, Peaks, Profile};
use haloscope_report::Error;
use haloscope_report::scope::Scope;

/// Why a compiled program has no answer to a question about time.
pub(crate) const NO_EVENTS: &str = "this is a compiled program, not a profile: it does not say when or for how long it ran; capture a profile while it runs";

/// A run as a question is about it: with the scope that was asked for, and what it selects, resolved once.
#[derive(Debug)]
pub struct Scoped<'p> {
    /// The run.
    pub profile: &'p Profile,
    /// The scope as it was asked for.
    pub scope: Scope,
    selection: Result<Selection<'p>, Error>,
}

impl<'p> Scoped<'p> {
    /// Resolves the scope of a question.
    #[must_use]
    pub fn new(profile: &'p Profile, scope: &Scope) -> Self {
        Self { profile, scope: scope.clone(), selection: Selection::resolve(profile, scope) }
    }

    /// What the scope selects.
    ///
    /// # Errors
    /// As [`Selection::resolve`].
    pub fn selection(&self) -> Result<&Selection<'p>, Error> {
        self.selection.as_ref().map_err(|error| match error {
            Error::Usage(message) => Error::Usage(message.clone()),
            other => Error::Nothing(other.to_string()),
        })
    }
}

/// The part of a run that a question is about.
#[derive(Debug, Clone)]
pub struct Selection<'p> {
    /// The devices, in the profile's order. Devices without any event are left out.
    pub devices: Vec<&'p Device>,
    /// For each device the time that counts; `None` means all of it.
    windows: Option<Vec<Intervals>>,
    modules: Vec<String>,
    /// What the scope left out, in words.
    pub left_out: Vec<String>,
}

impl<'p> Selection<'p> {
    /// No device and no time: what a run without events has.
    #[must_use]
    pub fn of_nothing() -> Self {
        Self { devices: Vec::new(), windows: None, modules: Vec::new(), left_out: Vec::new() }
    }

    /// Resolves a scope.
    ///
    /// # Errors
    /// [`Error::Usage`] for a host or device that the run does not have, [`Error::Nothing`] if no device is left or the
    /// run has no steps to choose from.
    pub fn resolve(profile: &'p Profile, scope: &Scope) -> Result<Self, Error> {
        let hosts = chosen_hosts(profile, scope)?;
        let mut devices: Vec<&Device> = profile.devices.iter().filter(|d| hosts.contains(&d.host)).collect();
        for wanted in &scope.devices {
            if !profile.devices.iter().any(|d| names(d, wanted)) {
                let known: Vec<_> = profile.devices.iter().map(|d| d.name.as_str()).collect();
                return Err(Error::Usage(format!("no device `{wanted}`; the run has: {}", known.join(", "))));
            }
        }
        if !scope.devices.is_empty() {
            devices.retain(|d| scope.devices.iter().any(|wanted| names(d, wanted)));
        }
        let all = devices.len();
        devices.retain(|d| d.active);
        let mut left_out = Vec::new();
        if devices.len() < all {
            left_out.push(format!("{} of {all} devices, which have no events", all - devices.len()));
        }
        if profile.is_program() {
            return Err(Error::Nothing(NO_EVENTS.into()));
        }
        if devices.is_empty() {
            return Err(Error::Nothing(
                "no device of this run has any event; was the program idle while it was captured?".into(),
            ));
        }
        let mut selection = Self { devices, windows: None, modules: scope.modules.clone(), left_out };
        selection.cut_time(profile, scope)?;
        Ok(selection)
    }

    fn cut_time(&mut self, profile: &'p Profile, scope: &Scope) -> Result<(), Error> {
        if !scope.cuts_time() {
            return Ok(());
        }
        let window = scope.window_ps.unwrap_or((i64::MIN, i64::MAX));
        let mut windows = vec![Intervals::one(window.0, window.1); self.devices.len()];
        if scope.steps.is_some() || scope.steady {
            let steps = Steps::find(profile, &self.devices);
            if steps.rows.is_empty() {
                return Err(Error::Nothing(format!(
                    "the run has no steps to choose from: {}",
                    steps.source.explain()
                )));
            }
            let keep = |step: &super::steps::Step| {
                scope.steps.as_ref().is_none_or(|range| range.contains(step.number))
                    && (!scope.steady || step.class == StepClass::Steady)
            };
            let kept: Vec<_> = steps.rows.iter().filter(|s| keep(s)).collect();
            if kept.is_empty() {
                let first = steps.rows.first().map_or(0, |s| s.number);
                let last = steps.rows.last().map_or(0, |s| s.number);
                return Err(Error::Nothing(format!(
                    "no step is in the scope; the run has steps {first} to {last}"
                )));
            }
            if kept.len() < steps.rows.len() {
                let out = steps.rows.iter().filter(|s| !keep(s));
                let words: Vec<_> =
                    out.map(|s| format!("{} ({})", s.number, s.class.word())).take(12).collect();
                let count = steps.rows.len() - kept.len();
                self.left_out.push(format!("{count} of {} steps: {}", steps.rows.len(), words.join(", ")));
            }
            for (device, window) in self.devices.iter().zip(&mut windows) {
                let parts = kept.iter().filter_map(|s| s.on(device.id)).map(|i| (i.start_ps, i.end_ps));
                *window = window.intersect(&Intervals::union_of(parts.collect()));
            }
        }
        self.windows = Some(windows);
        Ok(())
    }

    /// The time that counts on the device at this position of [`Selection::devices`]; `None` means all of it.
    #[must_use]
    pub fn window(&self, position: usize) -> Option<&Intervals> {
        self.windows.as_ref().map(|w| &w[position])
    }

    /// True if the scope restricts time.
    #[must_use]
    pub fn cuts_time(&self) -> bool {
        self.windows.is_some()
    }

    /// True if ops of this module count.
    #[must_use]
    pub fn takes_module(&self, name: &str) -> bool {
        self.modules.is_empty() || self.modules.iter().any(|part| name.contains(part.as_str()))
    }

    /// True if the scope names modules.
    #[must_use]
    pub fn names_modules(&self) -> bool {
        !self.modules.is_empty()
    }

    /// The hosts of the devices.
    #[must_use]
    pub fn hosts(&self, profile: &Profile) -> Vec<String> {
        let mut hosts: Vec<HostId> = self.devices.iter().map(|d| d.host).collect();
        hosts.dedup();
        hosts.iter().map(|h| profile.host(*h).name.clone()).collect()
    }

    /// The common type of the devices, or all types with a comma.
    #[must_use]
    pub fn device_type(&self) -> Cow<'p, str> {
        let mut types: Vec<&str> = self.devices.iter().map(|d| d.type_name.as_str()).collect();
        types.sort_unstable();
        types.dedup();
        match types[..] {
            [one] => Cow::Borrowed(one),
            _ => Cow::Owned(types.join(", ")),
        }
    }

    /// The peak rates that all selected devices share; without any where they differ.
    #[must_use]
    pub fn peaks(&self) -> Peaks {
        let first = self.devices.first().map(|d| d.peaks).unwrap_or_default();
        if self.devices.iter().all(|d| d.peaks == first) { first } else { Peaks::default() }
    }

    /// Position of a device in [`Selection::devices`].
    #[must_use]
    pub fn position(&self, device: DeviceId) -> Option<usize> {
        self.devices.iter().position(|d| d.id == device)
    }
}

fn names(device: &Device, wanted: &str) -> bool {
    device.name == wanted || device.name.rsplit('/').next() == Some(wanted)
}

fn chosen_hosts(profile: &Profile, scope: &Scope) -> Result<Vec<HostId>, Error> {
    for wanted in &scope.hosts {
        if !profile.hosts.iter().any(|h| h.name == *wanted) {
            let known: Vec<_> = profile.hosts.iter().map(|h| h.name.as_str()).collect();
            return Err(Error::Usage(format!("no host `{wanted}`; the run has: {}", known.join(", "))));
        }
    }
    let wanted = |name: &String| scope.hosts.is_empty() || scope.hosts.contains(name);
    let ids = (0_u32..).map(HostId).zip(&profile.hosts).filter(|(_, h)| wanted(&h.name));
    Ok(ids.map(|(id, _)| id).collect())
}
