//! Which devices, hosts and links make the others wait.

use std::collections::BTreeSet;

use super::Evidence;
use crate::thresholds::{Grade, HOST_CAUSE};
use haloscope_comm::analysis;
use haloscope_comm::hosts::late::{JITTER_PS, Late};
use haloscope_comm::hosts::measure::{Measured, OfDevice};
use haloscope_comm::last::Last;
use haloscope_comm::peers::{Change, Gain, Peers, SlowLinks, Uncaptured, of_one};
use haloscope_profile::{DeviceId, HostId};
use haloscope_report::units;
use haloscope_time::account::{Class, Group};
use haloscope_time::input::feeds;
use haloscope_time::intervals::Intervals;

use super::host::innermost;
use super::host_events::{Doing, HostEvents, Named, doing};

/// What devices, hosts and links cost the others.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waits {
    /// Devices that work longer than the others.
    pub slow: Option<Cost>,
    /// Hosts that begin late.
    pub late: Option<Cost>,
    /// Links that are slower than others, and what they cost.
    pub links: Option<(SlowLinks, Cost)>,
    /// Waits for members that were not captured, and their share of the active window.
    pub uncaptured: Option<(Uncaptured, f64)>,
    /// Whether collectives of several groups could be compared.
    pub links_known: bool,
    /// What waits are left without all of these, where nobody is to blame: members come at different times, now one, now
    /// another.
    pub others: Option<Cost>,
    /// All waits for members that come late, in exposed communication: a share of the active window.
    pub waiting: Option<f64>,
}

/// Shares of the active window.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Cost {
    /// What would go.
    pub saved: f64,
    /// The part of exposed communication that would go.
    pub communication: f64,
    /// Whether the step was run again without it; else it is by how much it exceeds the others.
    pub is_projected: bool,
}

/// What a host does that launches.
const LAUNCH_ITSELF: &str = "the launch itself";

/// What the late host did where it was late.
#[derive(Debug, Clone)]
pub(crate) struct Instead {
    /// The event on the thread that launches, with its time in the late stretches.
    pub event: Named,
    /// Its time on the other hosts in as many steps: a mean over them, picoseconds; `None` where there is no other.
    pub others_ps: Option<f64>,
    /// What that is.
    pub word: &'static str,
}

impl<'p> Evidence<'p> {
    /// The steps by device and the test for stragglers, or why there is none.
    pub(crate) fn measured(&self) -> Result<&Measured<'p>, &str> {
        let measure = || {
            let steps = self.steps().clone();
            Measured::of(self.profile, &self.selection, self.scope, steps, self.accounts())
                .map_err(|error| error.to_string())
        };
        self.measured.get_or_init(measure).as_ref().map_err(String::as_str)
    }

    /// The share of the active window that is lost to a straggler; `None` where there is none or nobody can tell.
    pub(crate) fn straggler_share(&self) -> Option<f64> {
        self.waits().slow.map(|cost| cost.saved)
    }

    /// Who comes last to collectives and how long the others wait, in the numbers of `comm`; `None` where nobody can tell.
    pub(crate) fn last(&self) -> Option<&Last> {
        let find = || {
            let communicates = self.share(Class::Communication) > 0.0 && self.selection.devices.len() > 1;
            communicates
                .then(|| analysis::last(self.profile, &self.selection, self.steps(), self.scope))
                .flatten()
        };
        self.last.get_or_init(find).as_ref()
    }

    /// The same as the end of a sentence; empty where nobody can tell.
    pub(crate) fn last_words(&self) -> String {
        self.last().map_or_else(String::new, |last| {
            format!(
                "; devices wait {} a step for late members, {}",
                units::duration_ps(last.waiting_ps),
                last.words()
            )
        })
    }

    /// What waiting for others costs, by cause.
    pub(crate) fn waits(&self) -> &Waits {
        self.waits.get_or_init(|| self.find_waits())
    }

    fn find_waits(&self) -> Waits {
        let Ok(measured) = self.measured() else {
            return Waits { uncaptured: self.uncaptured_of_one(), ..Waits::default() };
        };
        let whole = self.share_of_steps();
        let devices: Vec<_> = measured.devices.iter().map(|d| d.device).collect();
        let executions = self.ops().iter().map(|op| op.occurrences).sum();
        let communicates = self.share(Class::Communication) > 0.0;
        let peers = if communicates && measured.obstacle.is_none() {
            Peers::of(self.profile, &devices, &measured.steps, executions)
        } else {
            None
        };
        let cost = |gain: Gain| Cost {
            saved: gain.saved_share * whole,
            communication: gain.communication_share * whole,
            is_projected: true,
        };
        let slow: Vec<DeviceId> = measured
            .slow()
            .map(|slow| slow.members.iter().map(|at| measured.devices[*at].device.id).collect())
            .unwrap_or_default();
        let by_excess = |share: f64| Cost {
            saved: share * whole,
            communication: self.waiting_for(measured, &slow),
            is_projected: false,
        };
        let Some(peers) = peers.as_ref().filter(|peers| peers.is_sound) else {
            // Links are known by the collectives alone; what they cost by their own excess.
            let links = peers.as_ref().map(|peers| peers.slow_links(self.profile));
            return Waits {
                uncaptured: links
                    .as_ref()
                    .and_then(|links| uncaptured(links, whole))
                    .or_else(|| self.uncaptured_of_one()),
                links: links.filter(|links| !links.is_empty()).map(|links| {
                    let saved = links.excess_share * whole;
                    (links, Cost { saved, communication: saved, is_projected: false })
                }),
                links_known: peers.is_some(),
                slow: measured.slow().map(|slow| by_excess(slow.cost_share)),
                late: measured.late.as_ref().map(|late| {
                    let saved = late.cost_share * whole;
                    let waits = saved * (1.0 - late.members(measured.devices.len()));
                    let communication = waits.min(self.share(Class::Communication));
                    Cost { saved, communication, is_projected: false }
                }),
                ..Waits::default()
            };
        };
        let mut changes: Vec<Change<'_>> = Vec::new();
        let mut found = Waits { links_known: true, ..Waits::default() };
        let unexplained = peers.unexplained_share();
        let at_most = |gain: Gain, excess: f64, members: f64, unexplained: f64| {
            let (gain, is_more) = gain.with_unexplained(unexplained, excess, members);
            Cost { is_projected: !is_more, ..cost(gain) }
        };
        if let Some(one) = measured.slow().filter(|_| !slow.is_empty()) {
            let members = slow.len() as f64 / measured.devices.len().max(1) as f64;
            let gain = peers.gain(&[Change::Work(&slow)]);
            let by_those = unexplained.max(peers.unexplained_by(&slow));
            found.slow = Some(at_most(gain, one.cost_share, members, by_those));
            changes.push(Change::Work(&slow));
        }
        if let Some(late) = &measured.late {
            let gain = peers.gain(&[Change::Starts]);
            let members = late.members(measured.devices.len());
            found.late = Some(at_most(gain, late.cost_share, members, unexplained));
            changes.push(Change::Starts);
        }
        let links = peers.slow_links(self.profile);
        found.uncaptured = uncaptured(&links, whole);
        if !links.is_empty() {
            found.links = Some((links.clone(), cost(peers.gain(&[Change::Links(&links)]))));
            changes.push(Change::Links(&links));
        }
        let explained = peers.gain(&changes);
        changes.push(Change::Even);
        let all = peers.gain(&changes);
        found.others = Some(cost(Gain {
            saved_share: (all.saved_share - explained.saved_share).max(0.0),
            communication_share: (all.communication_share - explained.communication_share).max(0.0),
        }));
        found.waiting = Some(cost(peers.gain(&[Change::Even])).communication);
        found
    }

    /// Where one device only was captured: its waits for members of its groups that were not, with their share of the active window.
    fn uncaptured_of_one(&self) -> Option<(Uncaptured, f64)> {
        let [device] = self.selection.devices[..] else { return None };
        // Others that were captured and not asked about may be the ones that it waits for.
        if self.profile.devices.iter().filter(|other| other.active).count() > 1 {
            return None;
        }
        let found = of_one(self.profile, device.id, self.ops(), self.active_ps())?;
        let share = found.excess_share;
        Some((found, share))
    }

    /// What devices communicate longer than these do, a share of the active window: without groups, the wait for them.
    fn waiting_for(&self, measured: &Measured<'_>, slow: &[DeviceId]) -> f64 {
        let communication =
            |device: &OfDevice<'_>| units::sum(device.counted().map(|step| step.communication_ps()));
        let own = measured.devices.iter().filter(|d| slow.contains(&d.device.id)).map(communication);
        let Some(least) = own.min() else { return 0.0 };
        let waits = measured.devices.iter().map(|device| (communication(device) - least).max(0));
        self.of_active(units::sum(waits) as f64).min(self.share(Class::Communication))
    }

    /// The share of the active window that lies in steps that count: a share of the steps' time times this is one of the
    /// window's.
    pub(crate) fn share_of_steps(&self) -> f64 {
        let Ok(measured) = self.measured() else { return 0.0 };
        let all = measured.devices.iter().flat_map(|d| d.counted());
        let inside: f64 = all.map(|step| step.duration_ps as f64).sum();
        self.of_active(inside).min(1.0)
    }

    /// What the thread that launches does on hosts where they are late, against what it does on the others at the same place.
    /// `None` where it recorded nothing that fills half of the time.
    pub(crate) fn instead(&self, measured: &Measured<'_>, late: &Late) -> Option<Instead> {
        let mut own: Vec<Named> = Vec::new();
        let mut others: Vec<Named> = Vec::new();
        let hosts: BTreeSet<HostId> = measured.devices.iter().map(|d| d.device.host).collect();
        for host in hosts.iter().copied() {
            let steps = |takes: &dyn Fn(HostId) -> bool| -> Intervals {
                let mut parts = Vec::new();
                for one in late.steps.iter().filter(|one| takes(one.host)) {
                    parts.extend(self.idle_of(measured, host, one.step));
                }
                Intervals::union_of(parts)
            };
            let events = HostEvents::of(self.profile, host);
            let is_own = |of: HostId| of == host;
            own.extend(innermost(self.profile, &events, host, &steps(&is_own)));
            others.extend(innermost(self.profile, &events, host, &steps(&|of| !is_own(of))));
        }
        let others_of = |name: &str| -> f64 {
            let sum: i64 = others.iter().filter(|e| e.name == name).map(|e| e.ps).sum();
            sum as f64 / hosts.len().saturating_sub(1).max(1) as f64
        };
        let mut sums: Vec<Named> = Vec::new();
        for event in own {
            match sums.iter_mut().find(|known| known.name == event.name) {
                Some(known) => {
                    known.ps = known.ps.saturating_add(event.ps);
                    known.count += event.count;
                }
                None => sums.push(event),
            }
        }
        let more = |event: &Named| event.ps as f64 - others_of(&event.name);
        let event = sums.into_iter().filter(|e| more(e) > 0.0).max_by(|a, b| more(a).total_cmp(&more(b)))?;
        // What fills less than half of the time is not what held it up.
        let late_ps: f64 = late.steps.iter().map(|one| one.late_ps).sum();
        if more(&event) < 0.5 * late_ps {
            return None;
        }
        let others_ps = (hosts.len() > 1).then(|| others_of(&event.name));
        let word = word(&event.name);
        Some(Instead { event, others_ps, word })
    }

    /// Where hosts launch no faster than devices work, now one and now another is last, in its launch, and the others wait for it in
    /// collectives: for this share of the active window. `None` where it is always the same one, or does something else.
    pub(crate) fn late_in_launches(&self) -> Option<f64> {
        let measured = self.measured().ok()?;
        let is_drift = self.is_late_at_pace();
        let is_in_turn = |late: &&Late| late.host.is_none() && late.device.is_none();
        let late = measured.late.as_ref().filter(|late| is_drift || is_in_turn(late))?;
        let of_launches = self.share_of(&self.host().part(Doing::Launch));
        if measured.obstacle.is_some() || HOST_CAUSE.grade(of_launches) == Grade::Good {
            return None;
        }
        let is_launch = is_drift || self.instead(measured, late)?.word == LAUNCH_ITSELF;
        is_launch.then_some(self.waits().late?.communication)
    }

    /// Whether devices wait for launches of hosts that launch without a rest.
    pub(crate) fn is_bound_by_launches(&self) -> bool {
        let of_launches = self.share_of(&self.host().part(Doing::Launch));
        HOST_CAUSE.grade(of_launches) != Grade::Good && self.is_at_pace()
    }

    /// Whether hosts launch one step after another without a rest ([`Evidence::is_at_pace`]), those that begin late as fast as the others:
    /// nobody waits for anybody, and who is last is by how much their launches have drifted apart.
    pub(crate) fn is_late_at_pace(&self) -> bool {
        let Ok(measured) = self.measured() else { return false };
        let late = measured.late.as_ref().filter(|late| !late.is_one_always());
        late.is_some_and(|late| {
            self.is_bound_by_launches() && late.host.is_none_or(|host| !self.is_slower_to_launch(host))
        })
    }

    /// Whether hosts that begin late wait for their input meanwhile, as all do: one that is late in every step, by more than what all
    /// wait, has a loader of its own that is slow.
    pub(crate) fn is_late_for_input(&self) -> bool {
        let Ok(measured) = self.measured() else { return false };
        let late = measured.late.as_ref().filter(|late| !late.is_one_always());
        late.and_then(|late| self.instead(measured, late)).is_some_and(|instead| instead.word == "input")
    }

    /// Whether all hosts wait before their work, and who begins last is how much these waits differ.
    pub(crate) fn is_late_by_spread(&self) -> bool {
        self.measured().ok().and_then(|measured| measured.late.as_ref()).is_some_and(Late::is_spread)
    }

    /// Whether what a step has more is no more than launches on several hosts differ by, now on one and now on another.
    pub(crate) fn is_launch_jitter(&self, extra_ps: f64) -> bool {
        let late = self.measured().ok().and_then(|measured| measured.late.as_ref());
        // Who is late holds up the step, and the next launch of the others as well.
        late.is_some_and(Late::is_jitter) && extra_ps <= 2.0 * JITTER_PS
    }

    /// When the devices of a host stood without an op in a step.
    fn idle_of(&self, measured: &Measured<'_>, host: HostId, step: i64) -> Vec<(i64, i64)> {
        let mut parts = Vec::new();
        for account in self.accounts().iter().flatten() {
            let own =
                measured.devices.iter().find(|d| d.device.id == account.device && d.device.host == host);
            let Some(at) = own.and_then(|d| d.steps.iter().find(|s| s.number == step)) else { continue };
            let span = Intervals::one(at.start_ps, at.end_ps);
            for class in Class::ALL.into_iter().filter(|c| c.group() == Group::Idle) {
                parts.extend_from_slice(account.part(class).intersect(&span).as_slice());
            }
        }
        parts
    }
}

/// The waits for members that were not captured, with their share of the active window; `whole` is that of the steps.
fn uncaptured(links: &SlowLinks, whole: f64) -> Option<(Uncaptured, f64)> {
    links.uncaptured.as_ref().map(|one| (one.clone(), one.excess_share * whole))
}

/// What an event of this name is, in a word.
fn word(name: &str) -> &'static str {
    let lower = name.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    if has(&["gc.py", "collectgarbage", "garbage"]) {
        return "garbage collection";
    }
    if has(&["checkpoint", "save_", "orbax"]) {
        return "a checkpoint";
    }
    if feeds(name) || has(&["dataloader", "iterator", "__next__", "get_next", "next_batch"]) {
        return "input";
    }
    match doing(name).map(|(doing, _)| doing) {
        Some(Doing::Compile) => "compilation",
        Some(Doing::Callback) => "a callback",
        Some(Doing::Check) => "a check for values that are no numbers",
        Some(Doing::Read) => "a read of a result",
        Some(Doing::Transfer) => "a transfer",
        Some(Doing::Launch) => LAUNCH_ITSELF,
        Some(Doing::Input) => "input",
        _ => "other work",
    }
}
