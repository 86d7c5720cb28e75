//! Which lines are exported, and of each which time.

use haloscope_profile::{Device, DeviceKind, HostId, Line, LineKind, Plane, PlaneId, PlaneKind, Profile};
use haloscope_report::Error;
use haloscope_report::scope::Scope;
use haloscope_time::intervals::Intervals;
use haloscope_time::select::Selection;

use super::Ask;

/// Planes with their lines, in reading order.
#[derive(Debug)]
pub(super) struct Chosen<'p> {
    pub(super) planes: Vec<ChosenPlane<'p>>,
    /// Parts of module names; all modules where empty.
    pub(super) modules: Vec<String>,
}

#[derive(Debug)]
pub(super) struct ChosenPlane<'p> {
    pub(super) plane: &'p Plane,
    /// Of several hosts, the one that it is of.
    pub(super) host: Option<String>,
    /// As the timeline names it.
    pub(super) name: String,
    /// The device whose plane it is.
    pub(super) device: Option<&'p Device>,
    pub(super) lines: Vec<(&'p Line, String)>,
    /// The time that counts; all of it where there is none.
    pub(super) window: Option<Intervals>,
}

pub(super) fn choose<'p>(profile: &'p Profile, ask: &Ask) -> Result<Chosen<'p>, Error> {
    let scope = &ask.scope;
    // Only what needs devices asks for some: a run of threads alone can be exported too.
    let needs_devices = scope.steps.is_some() || scope.steady || !scope.devices.is_empty();
    let selection =
        if needs_devices || profile.is_program() { Some(Selection::resolve(profile, scope)?) } else { None };
    let hosts = hosts(profile, scope)?;
    let mut planes: Vec<&Plane> = profile.planes.iter().filter(|p| hosts.contains(&p.host)).collect();
    if let Some(selection) = selection.as_ref().filter(|_| !scope.devices.is_empty()) {
        planes.retain(|plane| selection.devices.iter().any(|d| is_part(profile, plane, d)));
    }
    planes.sort_by_key(|p| (p.host, !p.kind.is_device(), p.ordinal, p.name.len(), p.id));
    let mut chosen = Chosen { planes: Vec::new(), modules: scope.modules.clone() };
    for plane in planes {
        let device = profile.devices.iter().find(|d| d.plane == plane.id);
        let lines = lines(profile, plane, device, scope);
        if !lines.is_empty() {
            let window = window(profile, plane, scope, selection.as_ref());
            let host = (profile.hosts.len() > 1).then(|| profile.host(plane.host).name.clone());
            let name = name(plane, host.as_deref());
            chosen.planes.push(ChosenPlane { plane, host, name, device, lines, window });
        }
    }
    pick(&mut chosen, &ask.tracks)?;
    if chosen.planes.is_empty() {
        return Err(Error::Nothing("no line of this scope has any event to export".into()));
    }
    Ok(chosen)
}

fn hosts(profile: &Profile, scope: &Scope) -> Result<Vec<HostId>, Error> {
    for wanted in &scope.hosts {
        if !profile.hosts.iter().any(|h| h.name == *wanted) {
            let known: Vec<_> = profile.hosts.iter().map(|h| h.name.as_str()).collect();
            return Err(Error::Usage(format!("no host `{wanted}`; the run has: {}", known.join(", "))));
        }
    }
    let ids = (0_u32..).map(HostId).zip(&profile.hosts);
    Ok(ids
        .filter(|(_, h)| scope.hosts.is_empty() || scope.hosts.contains(&h.name))
        .map(|(id, _)| id)
        .collect())
}

/// True if a plane is the device's, or one of its SparseCores.
fn is_part(profile: &Profile, plane: &Plane, device: &Device) -> bool {
    let own = profile.plane(device.plane);
    plane.id == own.id
        || plane.host == own.host
            && plane.kind == PlaneKind::SparseCore
            && plane.name.strip_prefix(own.name.as_str()).is_some_and(|rest| rest.starts_with(' '))
}

/// The lines with events. Where modules are named, only those whose events belong to one.
fn lines<'p>(
    profile: &'p Profile,
    plane: &'p Plane,
    device: Option<&Device>,
    scope: &Scope,
) -> Vec<(&'p Line, String)> {
    let of_modules = |line: &Line| match device.map(|d| d.kind) {
        Some(DeviceKind::Tpu) => matches!(line.kind, LineKind::XlaOps | LineKind::XlaModules),
        Some(DeviceKind::Gpu) => line.kind == LineKind::Stream,
        Some(DeviceKind::Cpu) => line.kind == LineKind::Thread,
        None => false,
    };
    let mut lines: Vec<&Line> = profile.lines_of(plane.id).filter(|l| l.event_count > 0).collect();
    if !scope.modules.is_empty() {
        lines.retain(|line| of_modules(line));
    }
    lines.sort_by_key(|line| (rank(line.kind), line.id));
    let shared = |name: &str| lines.iter().filter(|l| l.name == name).count() > 1;
    let named = |line: &&'p Line| {
        let name = match line.name.as_str() {
            "" => format!("line {}", line.wire_id),
            name if shared(name) => format!("{name} ({})", line.wire_id),
            name => name.to_owned(),
        };
        (*line, name)
    };
    lines.iter().map(named).collect()
}

/// From the coarse to the fine, as the timeline shows them.
fn rank(kind: LineKind) -> u8 {
    match kind {
        LineKind::Steps => 0,
        LineKind::XlaModules => 1,
        LineKind::XlaOps => 2,
        LineKind::AsyncXlaOps => 3,
        LineKind::Derived => 4,
        LineKind::Other => 5,
        LineKind::Stream | LineKind::Thread => 6,
        LineKind::Counters => 7,
    }
}

/// The name that the timeline gives a plane.
fn name(plane: &Plane, host: Option<&str>) -> String {
    let short = plane.name.trim_start_matches("/device:").trim_start_matches('/');
    host.map_or_else(|| short.to_owned(), |host| format!("{host}/{short}"))
}

/// The time of a plane that counts: on a device its own steps, elsewhere those of all devices.
fn window(
    profile: &Profile,
    plane: &Plane,
    scope: &Scope,
    selection: Option<&Selection<'_>>,
) -> Option<Intervals> {
    if !scope.cuts_time() {
        return None;
    }
    let Some(selection) = selection.filter(|s| s.cuts_time()) else {
        return scope.window_ps.map(|(from, to)| Intervals::one(from, to));
    };
    let all = |_: &PlaneId| {
        (0..selection.devices.len())
            .filter_map(|i| selection.window(i))
            .fold(Intervals::default(), |all, one| all.union(one))
    };
    let own = selection.devices.iter().position(|d| is_part(profile, plane, d));
    own.filter(|_| plane.kind.is_device())
        .and_then(|i| selection.window(i).cloned())
        .or_else(|| Some(all(&plane.id)))
}

/// Keeps the tracks that were asked for.
fn pick(chosen: &mut Chosen<'_>, tracks: &[String]) -> Result<(), Error> {
    if tracks.is_empty() {
        return Ok(());
    }
    let is_meant = |wanted: &str, line: &Line, full: &str| match wanted.parse::<u32>() {
        Ok(id) => line.id.0 == id,
        Err(_) => full.to_lowercase().contains(&wanted.to_lowercase()),
    };
    let full = |plane: &str, line: &str| format!("{plane}/{line}");
    for wanted in tracks {
        let mut all = chosen.planes.iter().flat_map(|p| p.lines.iter().map(move |l| (p, l)));
        if !all.any(|(p, (line, name))| is_meant(wanted, line, &full(&p.name, name))) {
            let mut known: Vec<String> = chosen
                .planes
                .iter()
                .flat_map(|p| {
                    p.lines.iter().map(|(line, name)| format!("{} = {}", line.id.0, full(&p.name, name)))
                })
                .collect();
            let more = known.len().saturating_sub(20);
            known.truncate(20);
            let more = if more > 0 { format!(", and {more} more") } else { String::new() };
            return Err(Error::Usage(format!(
                "no track `{wanted}` in this scope; there are: {}{more}",
                known.join(", ")
            )));
        }
    }
    for plane in &mut chosen.planes {
        let plane_name = plane.name.clone();
        plane.lines.retain(|(line, name)| {
            tracks.iter().any(|wanted| is_meant(wanted, line, &full(&plane_name, name)))
        });
    }
    chosen.planes.retain(|plane| !plane.lines.is_empty());
    Ok(())
}
