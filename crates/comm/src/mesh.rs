//! Along which axes of a device mesh a collective goes.
//!
//! A mesh is given by the person who asks, else it is the one that the compiler names in its replica groups, else there is
//! none, and groups are described by what their members' ids show: `stride 4 x 4` is four members, each 4 after the last.
//! A group goes along the axes on which its members' coordinates differ.

use std::collections::BTreeMap;

use haloscope_hlo::{MeshAxes, Module};
use haloscope_xspace::wire;

use super::group_lists::{Groups, Source};
use haloscope_profile::{Device, Profile, Stat};
use haloscope_report::Error;

/// A device mesh over logical ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mesh {
    /// Name and extent of each axis, the last one fastest.
    pub axes: Vec<(String, u64)>,
    /// Whether somebody gave it; else the compiler named it.
    pub is_given: bool,
    /// Position in the mesh by logical id; `None` where ids are positions.
    position_of: Option<BTreeMap<i64, u64>>,
}

/// More devices than this no mesh has.
const MOST: u64 = 1 << 20;

impl Mesh {
    /// Reads `data=4,model=4`: axes, major first, separated by commas, white space or line ends. `None` for no text.
    ///
    /// # Errors
    /// [`Error::Usage`] where the text is not that.
    pub fn parse(text: &str) -> Result<Option<Self>, Error> {
        let words = text.split([',', ' ', '\n', '\r', '\t', ';']).filter(|word| !word.is_empty());
        let mut axes: Vec<(String, u64)> = Vec::new();
        for word in words {
            let axis = word.split_once('=').and_then(|(name, size)| {
                let size = size.trim().parse::<u64>().ok().filter(|size| (1..=MOST).contains(size))?;
                let name = name.trim().trim_matches(['\'', '"']);
                (!name.is_empty() && axes.iter().all(|a| a.0 != name)).then(|| (name.to_owned(), size))
            });
            axes.push(axis.ok_or_else(|| {
                Error::Usage(format!(
                    "`{word}` is not an axis of a mesh; expected a unique name and a size, such as `data=4,model=4`"
                ))
            })?);
        }
        if axes.is_empty() {
            return Ok(None);
        }
        let mesh = Self { axes, is_given: true, position_of: None };
        match mesh.size() {
            Some(_) => Ok(Some(mesh)),
            None => Err(Error::Usage(format!("the mesh `{text}` has more than {MOST} devices"))),
        }
    }

    /// The mesh that the compiler names in its groups: of several the one with most axes, of those the largest, then the
    /// first.
    #[must_use]
    pub fn of_groups<'a>(all: impl IntoIterator<Item = &'a Groups>) -> Option<Self> {
        let mut best: Option<(usize, u64, &MeshAxes)> = None;
        for mesh in all.into_iter().filter_map(|groups| groups.mesh.as_ref()) {
            let size =
                mesh.mesh.iter().try_fold(1_u64, |all, axis| all.checked_mul(u64::try_from(axis.1).ok()?));
            let Some(size) = size.filter(|size| (1..=MOST).contains(size)) else { continue };
            if best.is_none_or(|known| (mesh.mesh.len(), size) > (known.0, known.1)) {
                best = Some((mesh.mesh.len(), size, mesh));
            }
        }
        let (_, _, mesh) = best?;
        let devices = mesh.devices()?;
        let positions = devices.iter().copied().zip(0_u64..);
        let is_plain = positions.clone().all(|(id, at)| u64::try_from(id).is_ok_and(|id| id == at));
        let axes = mesh.mesh.iter().map(|(name, size)| Some((name.clone(), u64::try_from(*size).ok()?)));
        Some(Self {
            axes: axes.collect::<Option<_>>()?,
            is_given: false,
            position_of: (!is_plain).then(|| positions.collect()),
        })
    }

    /// Number of devices.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        let product = self.axes.iter().try_fold(1_u64, |all, axis| all.checked_mul(axis.1));
        product.filter(|size| *size <= MOST)
    }

    /// Where a logical id stands on each axis; `None` for one that is not in the mesh.
    #[must_use]
    pub fn coordinates(&self, id: i64) -> Option<Vec<u64>> {
        let mut rest = match &self.position_of {
            Some(positions) => *positions.get(&id)?,
            None => u64::try_from(id).ok()?,
        };
        let mut at = vec![0; self.axes.len()];
        for (slot, (_, size)) in at.iter_mut().zip(&self.axes).rev() {
            *slot = rest % (*size).max(1);
            rest /= (*size).max(1);
        }
        (rest == 0).then_some(at)
    }

    /// The groups along these axes; `None` for a name that is none of them.
    #[must_use]
    pub fn groups_along(&self, names: &[String]) -> Option<Groups> {
        if names.is_empty() || !names.iter().all(|name| self.axes.iter().any(|axis| axis.0 == *name)) {
            return None;
        }
        let mut lists: BTreeMap<Vec<u64>, Vec<i64>> = BTreeMap::new();
        for id in 0..i64::try_from(self.size()?).ok()? {
            let mut key = self.coordinates(id)?;
            for (slot, (name, _)) in key.iter_mut().zip(&self.axes) {
                if names.contains(name) {
                    *slot = 0;
                }
            }
            lists.entry(key).or_default().push(id);
        }
        let lists: Vec<Vec<i64>> = lists.into_values().collect();
        let size = lists.iter().map(|group| group.len() as u64).max();
        Some(Groups { lists, size, source: Source::Text, ..Groups::default() })
    }

    /// The axes that groups go along, as positions in [`Mesh::axes`], and whether groups hold all of those; `None` where a
    /// member is not in the mesh or nobody talks to another.
    fn spanned(&self, groups: &Groups) -> Option<(Vec<usize>, bool)> {
        let mut varies = vec![false; self.axes.len()];
        let mut compare = |a: i64, b: i64| -> Option<()> {
            let both = self.coordinates(a)?.into_iter().zip(self.coordinates(b)?);
            varies.iter_mut().zip(both).for_each(|(varies, (a, b))| *varies |= a != b);
            Some(())
        };
        if groups.pairs.is_empty() {
            for group in &groups.lists {
                let first = *group.first()?;
                group.iter().try_for_each(|member| compare(first, *member))?;
            }
        } else {
            groups.pairs.iter().try_for_each(|(from, to)| compare(*from, *to))?;
        }
        let axes: Vec<usize> = (0..varies.len()).filter(|axis| varies[*axis]).collect();
        let extent: u64 = axes.iter().map(|axis| self.axes[*axis].1).product();
        let is_whole = !groups.pairs.is_empty() || groups.lists.iter().all(|g| g.len() as u64 == extent);
        (!axes.is_empty()).then_some((axes, is_whole))
    }

    fn label(&self, groups: &Groups) -> Option<String> {
        let (axes, is_whole) = self.spanned(groups)?;
        let names: Vec<&str> = axes.iter().map(|axis| self.axes[*axis].0.as_str()).collect();
        let names = names.join(" + ");
        Some(if is_whole { names } else { format!("part of {names}") })
    }
}

/// What groups go along, in words: axes of the mesh, else the pattern of their members' ids.
#[must_use]
pub fn axes_of(groups: &Groups, mesh: Option<&Mesh>) -> String {
    if let Some(label) = mesh.and_then(|mesh| mesh.label(groups)) {
        return label;
    }
    let size = || groups.size.map_or_else(|| "unknown".to_owned(), |size| format!("groups of {size}"));
    if groups.lists.iter().all(|group| group.len() < 2) {
        return if groups.lists.is_empty() { size() } else { "each by itself".to_owned() };
    }
    let mut patterns = groups.lists.iter().filter(|group| group.len() > 1).map(|group| pattern(group));
    let first = patterns.next().flatten();
    match first {
        Some(first) if patterns.all(|other| other.as_ref() == Some(&first)) => {
            let words: Vec<_> =
                first.iter().map(|(stride, count)| format!("stride {stride} x {count}")).collect();
            words.join(" + ")
        }
        _ => format!("irregular {}", size()),
    }
}

/// Strides and counts of which the members' ids are made, widest first; `None` where they are irregular.
fn pattern(members: &[i64]) -> Option<Vec<(i64, usize)>> {
    let mut ids = members.to_vec();
    ids.sort_unstable();
    let mut found = Vec::new();
    while ids.len() > 1 {
        let stride = ids[1].checked_sub(ids[0]).filter(|stride| *stride > 0)?;
        let is_next = |pair: &[i64]| pair[1].checked_sub(pair[0]) == Some(stride);
        let count = 1 + ids.windows(2).take_while(|pair| is_next(pair)).count();
        if !ids.len().is_multiple_of(count) {
            return None;
        }
        let is_run = |run: &[i64]| run.windows(2).all(is_next);
        if !ids.chunks(count).all(is_run) {
            return None;
        }
        ids = ids.chunks(count).map(|run| run[0]).collect();
        found.push((stride, count));
    }
    found.reverse();
    Some(found)
}

/// Where chips stand in a slice: its shape, and that of the part that one host has. Chips are numbered host by host, x first,
/// and within a host likewise, as TPU runtimes do: on a 4x4 slice of hosts with 2x2 chips, 0, 1, 4, 5 are a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topology {
    slice: [u64; 3],
    host: [u64; 3],
}

impl Topology {
    /// Names of the axes.
    pub const AXES: [&'static str; 3] = ["x", "y", "z"];

    /// Reads `4x4`, `2x2x4`, or with the shape of a host `4x8/2x4`; without it, 2x2x1. `None` for no text.
    ///
    /// # Errors
    /// [`Error::Usage`] where the text is not that, or hosts do not fill the slice.
    pub fn parse(text: &str) -> Result<Option<Self>, Error> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let shape = |word: &str| -> Option<[u64; 3]> {
            let mut shape = [1; 3];
            let sizes: Option<Vec<u64>> = word.split('x').map(|size| size.trim().parse().ok()).collect();
            let sizes = sizes.filter(|s| s.len() <= 3 && s.iter().all(|size| (1..=MOST).contains(size)))?;
            shape.iter_mut().zip(sizes).for_each(|(slot, size)| *slot = size);
            shape.iter().try_fold(1_u64, |all, size| all.checked_mul(*size)).filter(|all| *all <= MOST)?;
            Some(shape)
        };
        let (slice, host) = text.split_once('/').map_or((text, None), |(slice, host)| (slice, Some(host)));
        let slice = shape(slice);
        let host = match host {
            Some(host) => shape(host),
            None => slice.map(|s| [s[0].min(2), s[1].min(2), 1]),
        };
        let fits = |(slice, host): &([u64; 3], [u64; 3])| slice.iter().zip(host).all(|(s, h)| s % h == 0);
        let Some((slice, host)) = slice.zip(host).filter(fits) else {
            return Err(Error::Usage(format!(
                "`{text}` is not a topology; expected the shape of the slice, such as `4x4` or `2x2x4`, and if a host does not have 2x2 chips, its shape after a slash: `4x8/2x4`"
            )));
        };
        Ok(Some(Self { slice, host }))
    }

    /// Where a chip stands; `None` for one that is not in the slice.
    #[must_use]
    pub fn coordinates(&self, chip: i64) -> Option<[u64; 3]> {
        let chip = u64::try_from(chip).ok()?;
        let in_host: u64 = self.host.iter().product();
        let hosts = [0, 1, 2].map(|axis| self.slice[axis] / self.host[axis]);
        let place =
            |at: u64, shape: [u64; 3]| [at % shape[0], at / shape[0] % shape[1], at / shape[0] / shape[1]];
        let (host, own) = (place(chip / in_host, hosts), place(chip % in_host, self.host));
        let at = [0, 1, 2].map(|axis| host[axis] * self.host[axis] + own[axis]);
        (at[2] < self.slice[2]).then_some(at)
    }

    /// The physical axes along which groups of chips go; `None` where a chip is not in the slice.
    #[must_use]
    pub fn axes_of(&self, groups: &Groups, assignment: &Assignment) -> Option<Vec<&'static str>> {
        let at = |logical: i64| self.coordinates(assignment.device_of(logical)?);
        let mut varies = [false; 3];
        for group in &groups.lists {
            let first = at(*group.first()?)?;
            for member in group {
                let own = at(*member)?;
                (0..3).for_each(|axis| varies[axis] |= own[axis] != first[axis]);
            }
        }
        let axes: Vec<_> = (0..3).filter(|axis| varies[*axis]).map(|axis| Self::AXES[axis]).collect();
        (!axes.is_empty()).then_some(axes)
    }
}

/// Which device runs which logical id of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assignment {
    /// Device by logical id; empty where the program does not say, and devices are logical ids.
    devices: Vec<i64>,
}

impl Assignment {
    /// Of a program.
    #[must_use]
    pub fn of(module: Option<&Module>) -> Self {
        let by_partition = module.map(|m| m.device_assignment.as_slice()).unwrap_or_default();
        let replicas = by_partition.first().map_or(0, Vec::len);
        if by_partition.iter().any(|own| own.len() != replicas) {
            return Self::default();
        }
        Self { devices: (0..replicas).flat_map(|r| by_partition.iter().map(move |own| own[r])).collect() }
    }

    /// Number of devices, where the program says so.
    #[must_use]
    pub fn count(&self) -> Option<usize> {
        Some(self.devices.len()).filter(|count| *count > 0)
    }

    /// The device that runs a logical id.
    #[must_use]
    pub fn device_of(&self, logical: i64) -> Option<i64> {
        if self.devices.is_empty() {
            return Some(logical);
        }
        usize::try_from(logical).ok().and_then(|at| self.devices.get(at).copied())
    }

    /// The logical id that a device runs.
    #[must_use]
    pub fn logical_of(&self, device: i64) -> Option<i64> {
        if self.devices.is_empty() {
            return Some(device);
        }
        self.devices.iter().position(|own| *own == device).and_then(|at| i64::try_from(at).ok())
    }
}

/// The id of a device among all of the run: of a TPU its `core_details`' `global_core_id`, of a chip whose cores are one
/// device (megacore) its `global_chip_id`; of other devices its number where one host was captured. `None` where nobody
/// knows.
#[must_use]
pub fn device_id(profile: &Profile, device: &Device) -> Option<i64> {
    let plane = profile.plane(device.plane);
    if let Some(Stat::Bytes(span)) = plane.stat("core_details") {
        let is_megacore = plane.stat("has_megacore").and_then(Stat::as_i64) == Some(1);
        return number(profile.source_of(plane).slice(*span), if is_megacore { 5 } else { 6 });
    }
    (profile.hosts.len() == 1).then(|| device.name.rsplit(':').next()?.parse().ok())?
}

/// A number of a message; absent is 0.
fn number(message: &[u8], field: u32) -> Option<i64> {
    let own = wire::Fields::new(message, 0).filter(|f| f.number == field);
    let last =
        own.filter_map(|f| if let wire::Value::Varint(value) = f.value { Some(value) } else { None }).last();
    i64::try_from(last.unwrap_or(0)).ok()
}

#[cfg(test)]
mod tests;
