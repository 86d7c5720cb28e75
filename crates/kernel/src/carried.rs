//! Which ops of a run carry their LLO: those of a profile, and those of a compiler's dump.

use std::borrow::Cow;
use std::collections::BTreeMap;

use haloscope_hlo::Room;
use haloscope_llo::{Error, Head, Module};
use haloscope_profile::load::within_system;
use haloscope_profile::{Dumped, HostId, PlaneKind, Profile, Source};
use haloscope_xspace::StatValue;

/// The stat that holds an op's LLO.
pub const STAT: &str = "llo_proto";

/// An op that carries its LLO.
#[derive(Debug, Clone)]
pub struct Carried<'p> {
    /// As the profiler names it: `<HLO module>(<number>)::<HLO instruction>`. The number is the compiler's, not the program id.
    pub name: Cow<'p, str>,
    /// The host whose profile holds it.
    pub host: HostId,
    /// The serialised module.
    pub bytes: &'p [u8],
    /// The memory that may be taken for it: see [`Module::read_within`].
    pub room: Room,
    /// Number of its compilation, in a dump whose files have one.
    pub compilation: Option<u64>,
}

impl<'p> Carried<'p> {
    /// Name of the HLO instruction: what stands behind the last `::`.
    #[must_use]
    pub fn op(&self) -> &str {
        self.name.rsplit_once("::").map_or(&self.name, |(_, op)| op)
    }

    /// Name of the HLO module, with the compiler's number.
    #[must_use]
    pub fn module(&self) -> &str {
        self.name.rsplit_once("::").map_or("", |(module, _)| module)
    }

    /// Reads the module.
    ///
    /// # Errors
    /// What is wrong with the message, and where in it.
    pub fn read(&self) -> Result<Module<'p>, Error> {
        Module::read_within(self.bytes, self.room.counted, self.room.beside, self.room.most)
    }
}

/// What memory may be taken for a module that these bytes of a file are.
pub(crate) fn room(source: &Source, module: &[u8]) -> Room {
    within_system(source.room_for(module.len() as u64))
}

/// The ops of a run that carry their LLO, in the order of the files.
#[must_use]
pub fn all(profile: &Profile) -> Vec<Carried<'_>> {
    let mut found = Vec::new();
    for plane in profile.planes.iter().filter(|plane| plane.kind == PlaneKind::Metadata) {
        let Some(stat) = plane.stat_id(STAT) else { continue };
        let source = profile.source_of(plane);
        for (row, meta) in plane.metas.iter().enumerate() {
            let Ok(row) = u32::try_from(row) else { break };
            let value = plane.meta_stats(source, row).find(|s| s.metadata_id == stat).and_then(|s| s.value);
            if let Some(StatValue::Bytes(bytes) | StatValue::Str(bytes)) = value {
                found.push(Carried {
                    name: source.text(meta.name),
                    host: plane.host,
                    bytes,
                    room: room(source, bytes),
                    compilation: None,
                });
            }
        }
    }
    found.extend(of_dump(profile));
    found
}

/// The ops whose LLO a dump has, named as the profiler would; of one that was compiled several times the last.
fn of_dump(profile: &Profile) -> Vec<Carried<'_>> {
    let mut found: Vec<Carried<'_>> = Vec::new();
    let mut places = BTreeMap::new();
    for dumped in profile.dumped.iter().filter(|dumped| dumped.stage == Dumped::MODULE) {
        let Some(source) = profile.sources.get(dumped.source) else { continue };
        // One that cannot be read is named by its file, so that its damage is told.
        let name = Head::of(source.bytes()).map_or_else(
            || format!("::{}", dumped.op),
            |head| format!("{}({})::{}", head.module_name, head.module_id, head.op),
        );
        let carried = Carried {
            name: name.clone().into(),
            host: HostId(0),
            bytes: source.bytes(),
            room: room(source, source.bytes()),
            compilation: dumped.compilation,
        };
        match places.get(&name).and_then(|place: &usize| found.get_mut(*place)) {
            Some(former) if former.compilation <= carried.compilation => *former = carried,
            Some(_) => {}
            None => {
                places.insert(name, found.len());
                found.push(carried);
            }
        }
    }
    found
}

/// Whether an op of a run carries its LLO, without reading one.
#[must_use]
pub fn any(profile: &Profile) -> bool {
    profile.planes.iter().any(|plane| plane.kind == PlaneKind::Metadata && plane.stat_id(STAT).is_some())
        || profile.dumped.iter().any(|dumped| dumped.stage == Dumped::MODULE)
}

/// The ops that a text names, best first: those whose whole name it is, else whose op it is, else whose name it is a part of. An
/// empty text names all.
#[must_use]
pub fn named<'k, 'p>(all: &'k [Carried<'p>], text: &str) -> Vec<&'k Carried<'p>> {
    let by = |fits: &dyn Fn(&Carried<'p>) -> bool| all.iter().filter(|k| fits(k)).collect::<Vec<_>>();
    let ways: [&dyn Fn(&Carried<'p>) -> bool; 3] =
        [&|kernel| kernel.name == text, &|kernel| kernel.op() == text, &|kernel| kernel.name.contains(text)];
    ways.into_iter().map(by).find(|found| !found.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(name: &'static str) -> Carried<'static> {
        Carried { name: name.into(), host: HostId(0), bytes: &[], room: Room::of(0), compilation: None }
    }

    #[test]
    fn a_whole_name_is_meant_before_a_part_of_one() {
        let all = ["jit_f(0)::copy.1", "jit_f(0)::copy", "jit_g(1)::copy"].map(carried);
        let names = |text: &str| named(&all, text).iter().map(|k| k.name.as_ref()).collect::<Vec<_>>();
        assert_eq!(names("jit_f(0)::copy"), ["jit_f(0)::copy"]);
        assert_eq!(names("copy"), ["jit_f(0)::copy", "jit_g(1)::copy"]);
        assert_eq!(names("copy."), ["jit_f(0)::copy.1"]);
        assert_eq!(names("jit_f").len(), 2);
        assert_eq!((names("").len(), names("fusion").len()), (3, 0));
        assert_eq!((all[0].op(), all[0].module()), ("copy.1", "jit_f(0)"));
    }
}
