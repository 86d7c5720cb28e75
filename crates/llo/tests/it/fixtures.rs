//! The kernels that `fixtures/kernels.py` compiled.

use std::io::Read;
use std::path::{Path, PathBuf};

use haloscope_llo::{Chip, Liveness, Module, RegisterType, SpillKind};
use haloscope_xspace::{SpaceView, StatValue};

/// The LLO modules of an XSpace, by name.
pub(crate) fn each(path: &Path, mut look: impl FnMut(&str, &Module<'_>)) -> usize {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    let space = SpaceView::parse(&bytes);
    let mut count = 0;
    for plane in space.planes.iter().filter(|plane| plane.name == b"/host:metadata") {
        let Some((stat, _)) = plane.stat_metadata.iter().find(|(_, m)| m.name == b"llo_proto") else {
            continue;
        };
        for (_, meta) in &plane.event_metadata {
            let Some(found) = meta.stats().find(|s| s.metadata_id == *stat) else { continue };
            let Some(StatValue::Bytes(proto)) = found.value else { panic!("no bytes") };
            // Far from what is refused, with nothing beside.
            let counted = proto.len() as u64 * 2 / 3;
            look(
                &String::from_utf8_lossy(meta.name),
                &Module::read_within(proto, counted, 0, u64::MAX).unwrap(),
            );
            count += 1;
        }
    }
    count
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/kernels").join(format!("{name}.xplane.pb.gz"))
}

/// What holds of any module that a compiler wrote.
pub(crate) fn holds(name: &str, module: &Module<'_>) {
    let count = |kind| module.instructions.iter().filter(|i| module.spill(i) == Some(kind)).count() as u32;
    let utilization = &module.utilization;
    assert_eq!(count(SpillKind::VectorSpill), utilization.spills.iter().sum::<u32>(), "{name}: spills");
    assert_eq!(count(SpillKind::VectorFill), utilization.fills.iter().sum::<u32>(), "{name}: fills");
    let chip = module.target.as_ref().and_then(haloscope_llo::Target::chip).expect("a chip");
    let peaks = Liveness::new(module).register_peaks();
    let vectors = peaks.get(&RegisterType::Vector).copied().unwrap_or(0);
    assert!(vectors <= chip.vector_registers(), "{name}: {vectors} vector registers");
    assert!(
        module.instructions.iter().all(|i| i.opcode.known_name().is_some()),
        "{name}: an opcode without a name"
    );
    assert!(
        module.instructions.iter().all(|i| i.bundle.is_none_or(|b| (b as usize) < module.bundles())),
        "{name}"
    );
    let own: usize = module.groups.iter().map(|group| group.own_instructions).sum();
    assert_eq!(own, module.instructions.len(), "{name}");
}

#[test]
fn a_product_has_its_chip_its_loop_and_its_scopes() {
    let look = |name: &str, module: &Module<'_>| {
        holds(name, module);
        assert_eq!(name, "jit_product(0)::product.1");
        assert_eq!(module.target.as_ref().unwrap().chip(), Some(Chip::V6e));
        let trips: Vec<_> = module
            .groups
            .iter()
            .filter_map(|group| match group.kind {
                haloscope_llo::Kind::Loop(space) => space.trips(),
                _ => None,
            })
            .collect();
        // 4 x 4 x 2 steps, and two more: a block is fetched a step early and stored a step late.
        assert_eq!(trips, [34]);
        let map = module.source_map.as_ref().unwrap();
        let scopes: Vec<_> = map.infos.iter().flat_map(|i| &i.scopes).filter_map(|s| map.text(*s)).collect();
        assert!(scopes.contains(&"multiply") && scopes.contains(&"clear"), "{scopes:?}");
    };
    assert_eq!(each(&fixture("product.v6e"), look), 1);
}

#[test]
fn tracing_adds_instructions() {
    let traces = |name| {
        let mut found = 0;
        each(&fixture(name), |name, module| {
            holds(name, module);
            found = module.instructions.iter().filter(|i| i.opcode.is_trace()).count();
        });
        found
    };
    assert_eq!((traces("product.v6e"), traces("product.v6e.traced")), (0, 4));
}

#[test]
fn a_crowded_kernel_spills() {
    let look = |name: &str, module: &Module<'_>| {
        holds(name, module);
        assert_eq!(module.target.as_ref().unwrap().chip(), Some(Chip::V5e));
        assert!(module.utilization.spills.iter().sum::<u32>() > 0);
        assert!(module.allocations().values().any(|allocation| allocation.is_spill));
    };
    assert_eq!(each(&fixture("crowded.v5e"), look), 1);
}

#[test]
fn a_fusion_has_no_loop_over_a_grid_of_its_own() {
    assert_eq!(each(&fixture("bias.v5p"), holds), 1);
}
