//! Who talks to whom: the replica groups of the collectives, the axes that they go along, the links that they have.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::Measured;
use crate::Collective;
use crate::group_lists::Groups;
use crate::last::Last;
use crate::links::Links;
use crate::mesh::{Assignment, Mesh, Topology, axes_of, device_id};
use crate::skew::{self, Skew};
use haloscope_profile::{Device, DeviceId, Profile};
use haloscope_report::Error;
use haloscope_report::units;
use haloscope_report::{Cell, Notes, Severity, Table, row};
use haloscope_time::analysis::{Param, ParamKind, Params};
use haloscope_time::hlo_costs::Costs;

/// The parameters that say how devices are arranged.
pub(super) const MESH: Param = Param {
    id: "mesh",
    doc: "axes of the device mesh, major first, such as `data=4,model=4`; names the axes that collectives use",
    kind: ParamKind::Text,
    default: "",
};
/// The same from a file.
pub(super) const MESH_FILE: Param = Param {
    id: "mesh-file",
    doc: "a file with the axes of the device mesh, one per line or separated by commas: `data=4`",
    kind: ParamKind::Document,
    default: "",
};
/// The shape of the slice.
pub(super) const TOPOLOGY: Param = Param {
    id: "topology",
    doc: "chips of the slice by axis, such as `4x4` or `2x2x4`, then a slash and the chips of a host unless they are 2x2: gives the physical axes of collectives and the bandwidth of their links",
    kind: ParamKind::Text,
    default: "",
};

/// Who talks to whom in a run. Lists are in the order of the collectives.
pub(super) struct Talk {
    /// The groups of each collective; `None` where nothing tells.
    pub(super) groups: Vec<Option<Groups>>,
    /// What each goes along, in words.
    pub(super) axes: Vec<String>,
    /// The physical axes that each goes along, where the topology is given.
    pub(super) physical: Vec<Option<Vec<&'static str>>>,
    /// The links of the devices, where all are alike and known.
    pub(super) links: Option<Links>,
    /// Who comes late.
    pub(super) skew: Skew,
    /// Who comes last over all collectives.
    pub(super) last: Option<Last>,
}

/// What is known of a program's devices.
struct Program {
    assignment: Assignment,
    mesh: Option<Mesh>,
}

impl Talk {
    /// Finds it.
    pub(super) fn new(
        profile: &Profile,
        measured: &Measured<'_>,
        params: &Params,
        notes: &mut Notes,
    ) -> Result<Self, Error> {
        let given = match Mesh::parse(params.text(&MESH))? {
            Some(mesh) => Some(mesh),
            None => Mesh::parse(params.text(&MESH_FILE))?,
        };
        let topology = Topology::parse(params.text(&TOPOLOGY))?;
        let all = &measured.comm.collectives;
        let groups: Vec<Option<Groups>> =
            all.iter().map(|one| Groups::of(module(profile, one), &one.meta, given.as_ref())).collect();
        let mut programs: BTreeMap<Option<u64>, Program> = BTreeMap::new();
        for one in all {
            programs.entry(one.meta.program_id).or_insert_with(|| {
                let own = all.iter().zip(&groups).filter(|(o, _)| o.meta.program_id == one.meta.program_id);
                let mesh = given.clone().or_else(|| Mesh::of_groups(own.filter_map(|(_, g)| g.as_ref())));
                Program { assignment: Assignment::of(module(profile, one)), mesh }
            });
        }
        let axes = all.iter().zip(&groups).map(|(one, groups)| match groups {
            Some(groups) => axes_of(groups, programs.get(&one.meta.program_id).and_then(|p| p.mesh.as_ref())),
            None => "unknown".to_owned(),
        });
        let axes: Vec<String> = axes.collect();
        let physical = all.iter().zip(&groups).map(|(one, groups)| {
            let program = programs.get(&one.meta.program_id)?;
            topology?.axes_of(groups.as_ref()?, &program.assignment)
        });
        let physical = physical.collect();
        let count = programs.values().filter_map(|program| program.assignment.count()).max();
        let ids = ids(profile, measured, count, notes);
        let skew = skew::find(profile, &measured.comm, &measured.steps, &groups, |one, device| {
            programs.get(&one.meta.program_id)?.assignment.logical_of(*ids.get(&device)?)
        });
        let unknown = groups.iter().filter(|g| g.as_ref().is_none_or(|g| g.lists.is_empty())).count();
        if unknown > 0 {
            notes.add(
                "unknown_groups",
                Severity::Info,
                format!(
                    "for {unknown} of {} collectives the profile does not say which devices take part",
                    all.len()
                ),
                "their axes, their bus bandwidth and their late members are unknown",
                "keep `enable_hlo_proto` on when you capture, so that the profile has the program",
            );
        }
        if let Some(mesh) =
            given.filter(|mesh| all.iter().zip(&groups).any(|(_, g)| misses(mesh, g.as_ref())))
        {
            let size = mesh.size().unwrap_or(0);
            notes.add(
                "mesh_too_small",
                Severity::Warning,
                format!("collectives have members that are not in the mesh of {size} devices"),
                "their axes are described by strides instead",
                "give the sizes of all axes: their product is the number of devices",
            );
        }
        let last = Last::of(profile, &measured.comm, &skew);
        Ok(Self { groups, axes, physical, links: links(profile, measured), skew, last })
    }

    /// The number of members of a collective's groups.
    pub(super) fn members(&self, at: usize) -> Option<u64> {
        self.groups.get(at)?.as_ref()?.size
    }

    /// The most that the links of a collective's axes can carry, bytes a second, and what that counts.
    pub(super) fn peak(&self, at: usize) -> (Option<f64>, String) {
        let Some(links) = self.links else {
            return (
                None,
                "unknown: neither the profile nor the table of chips has the rate of the links".to_owned(),
            );
        };
        let source = links.source.word();
        match self.physical.get(at).and_then(Option::as_ref) {
            Some(axes) if links.count.is_some() => {
                (links.along(axes.len()), format!("2 links along each of {} ({source})", axes.join(", ")))
            }
            _ => (Some(links.all()), format!("all links of a device ({source})")),
        }
    }
}

fn misses(mesh: &Mesh, groups: Option<&Groups>) -> bool {
    groups.is_some_and(|g| g.lists.iter().flatten().any(|id| mesh.coordinates(*id).is_none()))
}

/// The program of a collective.
fn module<'p>(profile: &'p Profile, one: &Collective<'_>) -> Option<&'p haloscope_hlo::Module> {
    let device = profile.device(one.executions.first()?.device);
    Costs::new(profile, device).program(one.meta.program_id?)
}

/// The ids of the devices among all of the run; none where they are not known. Where the profile does not state them and
/// shows as many devices as the program runs on, they are taken to be numbered host by host.
fn ids(
    profile: &Profile,
    measured: &Measured<'_>,
    count: Option<usize>,
    notes: &mut Notes,
) -> FxHashMap<DeviceId, i64> {
    let devices = || measured.comm.devices.iter().map(|d| profile.device(d.device));
    let stated: Vec<(DeviceId, i64)> =
        devices().filter_map(|d| Some((d.id, device_id(profile, d)?))).collect();
    let mut sorted: Vec<i64> = stated.iter().map(|(_, id)| *id).collect();
    sorted.sort_unstable();
    if !stated.is_empty() && sorted.windows(2).all(|pair| pair[0] != pair[1]) {
        return stated.into_iter().collect();
    }
    let active = profile.devices.iter().filter(|d| d.active);
    if count.is_none_or(|count| count < 2 || active.clone().count() != count) {
        return FxHashMap::default();
    }
    notes.add(
        "assumed_device_ids",
        Severity::Info,
        "the profile does not say which device of the program each device is; they are taken to be numbered host by host",
        "if they are not, who waits for whom in collectives is wrong",
        "capture with a profiler that writes `core_details`",
    );
    active.map(|d| d.id).zip(0..).collect()
}

/// The links that all devices have alike.
fn links(profile: &Profile, measured: &Measured<'_>) -> Option<Links> {
    let of = |device: &Device| Links::of(profile, device);
    let mut all = measured.comm.devices.iter().map(|d| of(profile.device(d.device)));
    let first = all.next()??;
    all.all(|other| other == Some(first)).then_some(first)
}

/// What collectives over the same groups have in common: axes, members of each group, size.
type Same<'a> = (&'a str, Vec<&'a [i64]>, Option<u64>);

/// The distinct groups, those with most exposed time first.
pub(super) fn table(measured: &Measured<'_>, talk: &Talk) -> Table {
    let mut table = Vec::new();
    let all = &measured.comm.collectives;
    let mut rows: BTreeMap<Same<'_>, Vec<usize>> = BTreeMap::new();
    for (at, groups) in talk.groups.iter().enumerate() {
        let lists = groups.iter().flat_map(|g| &g.lists).map(Vec::as_slice).collect();
        rows.entry((&talk.axes[at], lists, talk.members(at))).or_default().push(at);
    }
    let exposed = |own: &[usize]| units::sum(own.iter().map(|at| all[*at].sum(|e| e.exposed_ps)));
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by_key(|(_, own)| std::cmp::Reverse(exposed(own)));
    for ((axes, lists, size), own) in rows {
        let mut kinds: Vec<&str> = own.iter().map(|at| &*all[*at].kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let first = own.first().and_then(|at| talk.groups[*at].as_ref());
        let physical = own.first().and_then(|at| talk.physical[*at].as_ref());
        let row = row![
            text(
                "axes",
                "Along",
                "The axes of the groups: axes of the given mesh or named by the compiler, else the strides of the members' ids.",
                axes
            ),
            count(
                "group_count",
                "Groups",
                "Number of groups; unknown if the profile does not say.",
                Some(lists.len()).filter(|n| *n > 0)
            ),
            count("size", "Members", "Devices in a group; if groups differ, in the largest.", size),
            text("kinds", "Kinds", "What the collectives over these groups do.", kinds.join(", ")),
            count("ops", "Ops", "Number of different ops.", own.len()),
            count(
                "count",
                "Count",
                "Executions in the counted steps, on all devices.",
                own.iter().map(|at| all[*at].executions.len()).sum::<usize>()
            ),
            duration(
                "exposed_ps",
                "Exposed",
                "Time of a step in which the core waits in them and nothing computes or copies, mean over counted steps and devices.",
                measured.per_step(exposed(&own))
            ),
            text(
                "groups",
                "Members",
                "Logical ids (replica times partitions plus partition), cut off after a few groups.",
                written(&lists)
            ),
            text(
                "physical",
                "Physical axes",
                "Axes of the slice that the groups' chips follow; known if the topology was given.",
                physical.map(|axes| axes.join(", "))
            ),
            text(
                "source",
                "Known from",
                "The program; the text of the op; or the shapes, which give only the size of a group.",
                first.map(|g| g.source.word())
            ),
        ];
        table.push(row);
    }
    Table::of("groups", "Groups of devices that talk to each other", table)
}

/// The first few groups, as HLO text writes them; unknown where there are none.
fn written(lists: &[&[i64]]) -> Cell {
    const GROUPS: usize = 4;
    const MEMBERS: usize = 8;
    if lists.is_empty() {
        return Cell::Unknown;
    }
    let group = |list: &&[i64]| {
        let ids: Vec<String> = list.iter().take(MEMBERS).map(i64::to_string).collect();
        format!("{{{}{}}}", ids.join(","), if list.len() > MEMBERS { ",..." } else { "" })
    };
    let words: Vec<String> = lists.iter().take(GROUPS).map(group).collect();
    format!("{}{}", words.join(" "), if lists.len() > GROUPS { " ..." } else { "" }).into()
}
