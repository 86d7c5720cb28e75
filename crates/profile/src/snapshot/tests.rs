use std::fs;
use std::path::Path;

use super::*;

/// A profile of the project, and its bytes.
fn sample() -> (PathBuf, Vec<u8>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/runs/tpu-train");
    let run = crate::load::find(&folder).unwrap();
    let packed = fs::read(&run.files[0]).unwrap();
    (run.files[0].clone(), haloscope_xspace::StatValue::unzip(&packed, 64 << 20).unwrap())
}

fn shown(profile: &Profile) -> String {
    let Profile { hosts, planes, lines, devices, modules, .. } = profile;
    let mut planes: Vec<String> = planes
        .iter()
        .map(|plane| {
            let mut names: Vec<_> = plane.stat_names.iter().collect();
            names.sort_by_key(|(id, _)| **id);
            let mut ids: Vec<_> = plane.stat_ids.iter().collect();
            ids.sort();
            let mut metas: Vec<_> = plane.meta_of.iter().collect();
            metas.sort();
            let Plane { id, wire_id, host, source, name, kind, ordinal, lines, .. } = plane;
            format!("{id:?} {wire_id} {host:?} {source} {name} {kind:?} {ordinal:?} {lines:?} {names:?} {ids:?} {metas:?} {:?} {:?}", plane.metas, plane.stats)
        })
        .collect();
    planes.push(format!("{hosts:?} {lines:?} {devices:?} {modules:?}"));
    planes.join("\n")
}

#[test]
fn a_file_of_known_structure_is_the_same_profile() {
    let (path, bytes) = sample();
    let plain = Profile::from_files(vec![(path.clone(), Box::new(bytes.clone()))]);
    let known = plain.structure(0).unwrap();
    // Alone, and behind another.
    let files = |known: Option<&'static [u8]>| {
        let other = path.with_file_name("other.xplane.pb");
        vec![
            (other, Box::new(bytes.clone()) as Bytes, None),
            (path.clone(), Box::new(bytes.clone()) as Bytes, known),
        ]
    };
    let again =
        Profile::from_known_files(vec![(path.clone(), Box::new(bytes.clone()), Some(&known))], |_| ());
    assert_eq!(shown(&plain), shown(&again));
    assert_eq!(again.structure(0).unwrap(), known);
    let known: &'static [u8] = Box::leak(known.into_boxed_slice());
    let (two, two_known) = (
        Profile::from_known_files(files(None), |_| ()),
        Profile::from_known_files(files(Some(known)), |_| ()),
    );
    assert_eq!(shown(&two), shown(&two_known));
    assert_eq!(two_known.structure(1).unwrap(), known);
    for line in &plain.lines {
        assert_eq!(plain.events(line).len(), again.events(&again.lines[line.id.index()]).len());
    }
}

#[test]
fn what_is_no_structure_of_the_file_is_passed_over() {
    let (path, bytes) = sample();
    let plain = Profile::from_files(vec![(path.clone(), Box::new(bytes.clone()))]);
    let known = plain.structure(0).unwrap();
    let open = |known: &[u8], bytes: &[u8]| {
        Profile::from_known_files(vec![(path.clone(), Box::new(bytes.to_vec()), Some(known))], |_| ())
    };
    // Of a file of another length.
    let longer = [&bytes[..], &[0x22, 0x00]].concat();
    assert_eq!(
        shown(&open(&known, &longer)),
        shown(&Profile::from_files(vec![(path.clone(), Box::new(longer.clone()))]))
    );
    for cut in (0..known.len()).step_by(known.len() / 50) {
        assert_eq!(shown(&open(&known[..cut], &bytes)), shown(&plain), "cut at {cut}");
    }
    // Damage that no checksum found, which does not happen: other names and places perhaps, but no panic.
    for at in (0..known.len()).step_by(known.len() / 200 + 1) {
        let mut damaged = known.clone();
        damaged[at] ^= 0xff;
        let profile = open(&damaged, &bytes);
        for line in &profile.lines {
            let _ = profile.events(line).len();
        }
    }
}

#[test]
fn a_damaged_file_has_no_structure_to_keep() {
    let (path, bytes) = sample();
    let cut = bytes[..bytes.len() * 2 / 3].to_vec();
    let profile = Profile::from_files(vec![(path, Box::new(cut))]);
    assert!(profile.structure(0).is_none());
}
