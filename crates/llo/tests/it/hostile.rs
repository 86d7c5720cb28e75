//! Damage is an error, whatever it is, and costs no more than the bytes that are there.

use haloscope_llo::{Error, Liveness, Module};

use crate::made::{bundles, instruction, int, kernel, member, message};

/// Asks everything that can be asked.
fn ask(module: &Module<'_>) {
    let regions = module.regions();
    assert_eq!(regions.len(), module.bundles());
    for (bundle, region) in regions.iter().enumerate().take(50) {
        assert_eq!(*region, module.region_of(bundle as i64));
    }
    for row in 0..module.groups.len().min(50) {
        let _ = (module.path(row), module.children(row).count());
    }
    for instruction in &module.instructions {
        let _ = (module.operands(instruction), module.spill(instruction), instruction.opcode.name());
    }
    let live = Liveness::new(module);
    assert!(live.registers().iter().all(|stretch| stretch.total() > 0));
    let _ = (live.values(), module.infos(), module.allocations());
}

#[test]
fn every_prefix_is_an_error_or_a_module() {
    let whole = kernel();
    let mut errors = 0;
    for end in 0..=whole.len() {
        match Module::read(&whole[..end]) {
            Ok(module) => ask(&module),
            Err(error) => {
                errors += 1;
                assert!(error.to_string().contains("at byte"), "{error}");
            }
        }
    }
    assert!(errors > whole.len() / 2, "{errors}");
}

#[test]
fn flipped_bytes_do_no_harm() {
    let whole = kernel();
    for at in 0..whole.len() {
        for flip in [1, 0x80, 0xff, 0x40, 7] {
            let mut damaged = whole.clone();
            damaged[at] ^= flip;
            if let Ok(module) = Module::read(&damaged) {
                ask(&module);
            }
        }
    }
}

#[test]
fn regions_nested_too_deep_are_refused() {
    let nested = |depth: usize| (0..depth).fold(Vec::new(), |inner, _| member(4, &inner));
    let module = |depth| message(2, &nested(depth));
    assert_eq!(Module::read(&module(150)).unwrap().groups.len(), 151);
    assert!(matches!(Module::read(&module(20_000)), Err(Error::TooDeep { limit: 200, .. })));
}

#[test]
fn numbers_of_any_size_are_taken() {
    let odd = [
        int(1, i64::MIN),
        int(2, -1),
        int(4, -1),
        int(7, i64::MAX),
        int(8, 1 << 40),
        message(3, &int(1, -7)),
        message(3, b""),
    ]
    .concat();
    let regions = [bundles(i64::MIN, i64::MAX, -1), member(4, &bundles(5, 2, 0))].concat();
    let top = [member(1, &odd), member(1, &instruction(0, 50, i64::from(u32::MAX), &[0])), regions].concat();
    let bytes = [message(2, &top), message(6, &message(1, &[int(1, 3), int(1, -3)].concat()))].concat();
    let module = Module::read(&bytes).unwrap();
    assert_eq!(module.bundles(), 2, "lists may be written one by one");
    ask(&module);
}

#[test]
fn regions_that_overlap_cost_no_more_than_those_that_do_not() {
    let each = member(4, &bundles(0, 100_000, 0));
    let used = crate::made::packed(1, &[0; 100_000]);
    let bytes = [message(2, &each.repeat(20_000)), message(6, &message(1, &used))].concat();
    let module = Module::read(&bytes).unwrap();
    assert!(module.regions().iter().all(|region| *region == Some(20_000)));
}

#[test]
fn a_field_of_another_type_is_named_with_its_place() {
    let error = Module::read(&[int(11, 3), int(1, 5)].concat()).unwrap_err();
    assert!(error.to_string().contains("at byte 2, in LloModule"), "{error}");
}

/// Run with `--release -- --ignored --nocapture` to see how long it takes.
#[test]
#[ignore = "a measurement"]
fn a_million_instructions() {
    let each: Vec<u8> =
        (0..1_000_000).flat_map(|id| member(1, &instruction(id, 50, id / 4, &[id - 1, id / 2]))).collect();
    let bytes = message(2, &each);
    let begun = std::time::Instant::now();
    let module = Module::read(&bytes).unwrap();
    let read = begun.elapsed();
    assert_eq!(module.instructions.len(), 1_000_000);
    let live = Liveness::new(&module);
    println!(
        "{} bytes: read in {read:?}; {} ranges in {:?}",
        bytes.len(),
        live.ranges.len(),
        begun.elapsed() - read
    );
}

#[test]
fn what_takes_many_times_its_size_is_refused() {
    const MANY: usize = 2_000_000;
    let empty = |number: u32| message(number, &[]);
    let op = |rest: Vec<u8>| [kernel(), rest].concat();
    let bombs = [
        ("instructions", op(message(2, &message(1, &empty(1)).repeat(MANY)))),
        ("regions", op(message(2, &message(1, &empty(4).repeat(MANY))))),
        ("notes", op(empty(9).repeat(MANY))),
        ("constants", op(empty(8).repeat(MANY))),
        ("lines of source", op(message(12, &empty(1).repeat(MANY)))),
        ("texts", op(message(12, &empty(2).repeat(MANY)))),
    ];
    for (what, bytes) in bombs {
        match Module::read_within(&bytes, bytes.len() as u64, 4 << 20, u64::MAX) {
            Err(Error::TooLarge { allowed }) => assert_eq!(allowed, 6 * bytes.len() as u64 + (4 << 20)),
            other => panic!("{what}: {:?}", other.map(|module| module.instructions.len())),
        }
        // Who gives it the memory has it.
        assert!(Module::read_within(&bytes, bytes.len() as u64, 1 << 30, u64::MAX).is_ok(), "{what}");
    }
    // Of a module that was unpacked from little, as much counts as of its file.
    let whole = [kernel(), empty(9).repeat(1000)].concat();
    assert!(Module::read_within(&whole, 1000, 0, u64::MAX).is_err());
    // Nor where the system has less than its size allows.
    assert!(Module::read_within(&whole, whole.len() as u64, 1 << 30, 1000).is_err());
    assert!(Module::read_within(&whole, u64::MAX, 16 << 10, u64::MAX).is_ok());
}
