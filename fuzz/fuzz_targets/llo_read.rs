//! Arbitrary bytes are an LLO module or are refused; what is read can be asked everything.
#![no_main]

use haloscope_llo::{Liveness, Module};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(module) = Module::read(bytes) else { return };
    let regions = module.regions();
    assert_eq!(regions.len(), module.bundles());
    for (bundle, region) in regions.iter().enumerate().take(100) {
        assert_eq!(*region, module.region_of(bundle as i64));
    }
    for (row, group) in module.groups.iter().enumerate() {
        assert!(group.end > row && group.end <= module.groups.len());
        assert!(group.parent.is_none_or(|parent| parent < row));
        assert!(group.instructions.end <= module.instructions.len());
    }
    for row in 0..module.groups.len().min(100) {
        let _ = (module.path(row), module.children(row).count());
    }
    for instruction in &module.instructions {
        let _ = (module.operands(instruction), module.spill(instruction), instruction.opcode.name());
    }
    let live = Liveness::new(&module);
    let (values, registers) = (live.values(), live.registers());
    assert!(
        values.iter().chain(&registers).all(|stretch| stretch.first <= stretch.last && stretch.total() > 0)
    );
    let _ = (live.register_peaks(), module.infos(), module.allocations());
    #[cfg(feature = "whole")]
    {
        let model = haloscope_kernel::model::Model::new(&module);
        let _ = (model.most(), model.least(), model.hot().map(|hot| hot.once.busiest()));
    }
});
