//! What is read of a kernel that was made by hand.

use haloscope_llo::{
    Chip, IndexSpace, Kind, Liveness, Module, Operand, Part, RegisterType, Space, SpillKind, UnitIdx,
};

use crate::made;

#[test]
fn a_kernel_is_read() {
    let bytes = made::kernel();
    let module = Module::read(&bytes).unwrap();
    assert_eq!((&*module.op, &*module.module_name, module.module_id), ("product.1", "jit_f", 3));
    assert_eq!((module.bundles(), module.instructions.len(), module.notes.len()), (6, 4, 1));
    let ids: Vec<_> = module.instructions.iter().map(|i| i.id).collect();
    assert_eq!(ids, [1, 2, 4, 3], "in the order of the program");
    let first = &module.instructions[0];
    assert_eq!(
        (first.opcode.name().as_ref(), first.bundle, first.register),
        ("UNKNOWN_699", Some(0), Some(64))
    );
    assert_eq!(module.operands(&module.instructions[3]), [Operand::Result(2), Operand::Constant(1)]);
    let target = module.target.as_ref().unwrap();
    assert_eq!(
        (target.chip(), target.chips_per_host, target.enhanced_barrier),
        (Some(Chip::V5e), [2, 2, 1], true)
    );
    assert_eq!(module.utilization.used(UnitIdx::Mxu, 3), 2);
    assert!(module.utilization.is_empty(5) && !module.utilization.is_empty(3));
}

#[test]
fn regions_stand_in_a_tree() {
    let bytes = made::kernel();
    let module = Module::read(&bytes).unwrap();
    let shape: Vec<_> =
        module.groups.iter().map(|g| (g.part, g.depth, g.own_instructions, g.ordinal)).collect();
    assert_eq!(
        shape,
        [
            (Part::Top, 0, 1, 0),
            (Part::Inner, 1, 1, 2),
            (Part::Member, 2, 0, 0),
            (Part::PreHeader, 3, 0, 5),
            (Part::Body, 3, 1, 6),
            (Part::Member, 4, 0, 0),
            (Part::Check, 5, 0, 7),
            (Part::Then, 5, 1, 9),
        ]
    );
    assert_eq!(module.groups[2].kind, Kind::Loop(IndexSpace { start: 0, limit: 10, step: 1 }));
    assert_eq!(module.groups[2].instructions, 2..4);
    assert_eq!(module.children(0).collect::<Vec<_>>(), [1]);
    assert_eq!(module.children(2).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(module.children(7).count(), 0);
    assert_eq!(module.path(7), "region/PrimaryCoreRegion/loop/region/predicated/region");
}

#[test]
fn a_bundle_is_in_the_last_region_that_has_it() {
    let bytes = made::kernel();
    let module = Module::read(&bytes).unwrap();
    let one_by_one: Vec<_> = (0..6).map(|bundle| module.region_of(bundle)).collect();
    assert_eq!(one_by_one, [Some(0), Some(3), Some(6), Some(7), Some(4), Some(1)]);
    assert_eq!(module.regions(), one_by_one);
    assert_eq!([module.region_of(-1), module.region_of(6)], [None, None]);
}

#[test]
fn an_allocation_counts_once_however_many_places_in_it_are_named() {
    let bytes = made::kernel();
    let module = Module::read(&bytes).unwrap();
    assert_eq!(module.constants.len(), 3);
    assert_eq!(module.allocations().len(), 2);
    assert_eq!((module.allocated_bytes(Space::Vmem), module.allocated_bytes(Space::Smem)), (5120, 0));
    let kinds: Vec<_> = module.instructions.iter().map(|i| module.spill(i)).collect();
    assert_eq!(kinds, [None, None, None, Some(SpillKind::VectorSpill)]);
}

#[test]
fn an_instruction_has_its_source() {
    let bytes = made::kernel();
    let module = Module::read(&bytes).unwrap();
    let map = module.source_map.as_ref().unwrap();
    assert_eq!(module.infos(), [None, Some(0), Some(0), None]);
    let info = &map.infos[0];
    assert_eq!(map.line_of(info).as_deref(), Some("model.py:12"));
    assert_eq!(info.primitive.and_then(|p| map.text(p)), Some("dot_general"));
    assert_eq!(info.scopes.iter().filter_map(|s| map.text(*s)).collect::<Vec<_>>(), ["attention"]);
}

#[test]
fn values_live_from_where_they_are_made_to_their_last_use() {
    let bytes = made::kernel();
    let module = Module::read(&bytes).unwrap();
    let live = Liveness::new(&module);
    let ranges: Vec<_> =
        live.ranges.iter().map(|r| (module.instructions[r.instruction].id, r.first, r.last)).collect();
    assert_eq!(ranges, [(1, 0, 1), (2, 1, 4), (4, 3, 3), (3, 4, 4)]);
    let totals: Vec<_> = live.values().iter().map(|p| (p.first, p.last, p.total())).collect();
    assert_eq!(totals, [(0, 0, 1), (1, 1, 2), (2, 2, 1), (3, 3, 2), (4, 4, 2)]);
    assert_eq!(live.value_peaks()[&RegisterType::Vector], 2);
}

#[test]
fn two_values_in_one_register_are_one_register() {
    // Ids 1 and 65 share a register; both are kept in bundle 2.
    let top = [
        made::member(1, &made::instruction(1, 50, 0, &[])),
        made::member(1, &made::instruction(65, 50, 2, &[])),
        made::member(1, &made::instruction(2, 77, 2, &[1])),
        made::member(1, &made::instruction(3, 77, 4, &[65])),
        // Never scheduled: it keeps nothing alive.
        made::member(1, &made::instruction(4, 77, -1, &[1])),
    ]
    .concat();
    let bytes = made::message(2, &top);
    let module = Module::read(&bytes).unwrap();
    assert_eq!(module.instructions[4].bundle, None);
    let live = Liveness::new(&module);
    let at_two = |pressure: Vec<haloscope_llo::Pressure>| {
        pressure.iter().find(|p| p.first <= 2 && 2 <= p.last).map(haloscope_llo::Pressure::total)
    };
    assert_eq!((at_two(live.values()), at_two(live.registers())), (Some(3), Some(2)));
}
