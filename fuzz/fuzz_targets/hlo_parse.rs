//! Arbitrary bytes decode into a module or are refused; what decodes can be asked everything.
#![no_main]

use haloscope_hlo::Module;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(module) = Module::decode(bytes) else { return };
    let costs = module.cost_analysis();
    assert_eq!(costs.total(), costs.computation(module.entry()));
    for (index, computation) in module.computations() {
        assert!(module.reachable_computations(index).len() <= module.computations().len());
        let _ =
            (module.callers(index), module.schedule(index), module.computation_by_name(&computation.name));
    }
    for (index, instruction) in module.instructions() {
        let _ = (costs.instruction(index), module.users(index), module.category(instruction));
        let _ = (instruction.shape.to_string(), instruction.opcode_name(), instruction.op_name());
        let _ = instruction.known_trip_count();
        assert!(module.instruction_by_name(&instruction.name).is_some());
    }
});
