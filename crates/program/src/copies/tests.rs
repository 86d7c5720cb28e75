use haloscope_hlo::Module;

use super::*;

/// Each copy with its reason, how that is known, and the bytes that it moves.
fn reasons(text: &str) -> Vec<(String, &'static str, &'static str, Option<u64>, String)> {
    let module = Module::parse(text).unwrap();
    let copies = find(&module, &Executions::new(&module));
    let mut rows: Vec<_> = copies
        .into_iter()
        .map(|copy| {
            let name = module.instruction(copy.instruction).name.clone();
            (name, copy.reason.why.word(), copy.reason.basis.word(), copy.moved_bytes, copy.reason.detail)
        })
        .collect();
    rows.sort();
    rows
}

fn short(text: &str) -> Vec<(String, &'static str, &'static str)> {
    reasons(text).into_iter().map(|row| (row.0, row.1, row.2)).collect()
}

fn row(name: &str, why: &'static str, basis: &'static str) -> (String, &'static str, &'static str) {
    (name.to_owned(), why, basis)
}

const KERNEL: &str = "HloModule m, is_scheduled=true

ENTRY e {
  p = f32[16,128]{1,0} parameter(0)
  q = f32[16,128]{1,0} parameter(1)
  held = f32[16,128]{1,0} copy(p)
  k = f32[16,128]{1,0} custom-call(q, held), custom_call_target=\"tpu_custom_call\", output_to_operand_aliasing={{}: (1, {})}
  again = f32[16,128]{1,0} copy(k)
  k2 = f32[16,128]{1,0} custom-call(q, again), custom_call_target=\"tpu_custom_call\", output_to_operand_aliasing={{}: (1, {})}
  ROOT s = f32[16,128]{1,0} add(k, k2)
}
";

#[test]
fn a_kernel_that_writes_over_its_operand() {
    let rows = reasons(KERNEL);
    let kernel = "writes its result over it (custom call tpu_custom_call, output_to_operand_aliasing)";
    let moved = Some(2 * 16 * 128 * 4);
    assert_eq!(
        rows,
        [
            (
                "again".to_owned(),
                "value read later",
                "derived",
                moved,
                format!("k2 {kernel}; s reads k as well, and later")
            ),
            (
                "held".to_owned(),
                "parameter not donated",
                "derived",
                moved,
                format!("k {kernel}; parameter 0 is not donated")
            ),
        ]
    );
    // Donated, nothing in the graph speaks for a copy.
    let donated = KERNEL.replace("is_scheduled=true", "is_scheduled=true, buffer_donor={ (0, {}) }");
    assert!(short(&donated).contains(&row("held", "written in place", "guess")));
}

#[test]
fn loops_keep_their_state_in_a_place_of_its_own() {
    let text = "HloModule m, is_scheduled=true

test {
  s = (s32[], f32[8]{0}, f32[8]{0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT t = pred[] compare(i, n), direction=LT
}

body {
  state = (s32[], f32[8]{0}, f32[8]{0}) parameter(0)
  j = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  next = s32[] add(j, one)
  a = f32[8]{0} get-tuple-element(state), index=1
  b = f32[8]{0} get-tuple-element(state), index=2
  c = f32[8]{0} add(a, b)
  moved = f32[8]{0} copy(a)
  ROOT r = (s32[], f32[8]{0}, f32[8]{0}) tuple(next, c, moved)
}

ENTRY e {
  p = f32[8]{0} parameter(0)
  zero = s32[] constant(0)
  first = s32[] copy(zero)
  mine = f32[8]{0} copy(p)
  twice = f32[8]{0} copy(p)
  init = (s32[], f32[8]{0}, f32[8]{0}) tuple(first, mine, twice)
  w = (s32[], f32[8]{0}, f32[8]{0}) while(init), condition=test, body=body
  last = f32[8]{0} get-tuple-element(w), index=1
  ROOT o = f32[8]{0} negate(last)
}
";
    assert_eq!(
        short(text),
        [
            row("first", "constant overwritten", "derived"),
            row("mine", "parameter not donated", "derived"),
            row("moved", "loop state", "derived"),
            row("twice", "parameter not donated", "derived"),
        ]
    );
    let module = Module::parse(text).unwrap();
    let copies = find(&module, &Executions::new(&module));
    let moved = copies.iter().find(|copy| module.instruction(copy.instruction).name == "moved").unwrap();
    assert_eq!((moved.executions, moved.moved_bytes), (Some(4), Some(64)));
}

#[test]
fn outputs_have_a_place_of_their_own() {
    let text = "HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }

ENTRY e {
  p = f32[8]{0} parameter(0)
  q = f32[8]{0} parameter(1)
  sum = f32[8]{0} add(p, q)
  into = f32[8]{0} copy(sum)
  through = f32[8]{0} copy(q)
  c = f32[8]{0} constant({1,2,3,4,5,6,7,8})
  fixed = f32[8]{0} copy(c)
  ROOT r = (f32[8]{0}, f32[8]{0}, f32[8]{0}) tuple(into, through, fixed)
}
";
    assert_eq!(
        short(text),
        [
            row("fixed", "constant overwritten", "derived"),
            row("into", "output aliases an input", "derived"),
            row("through", "parameter not donated", "derived"),
        ]
    );
}

#[test]
fn what_shapes_say() {
    let text = "HloModule m, is_scheduled=true

both {
  x = f32[8,8]{1,0} parameter(0)
  inner = f32[8,8]{0,1} copy(x)
  ROOT y = f32[8,8]{0,1} negate(inner)
}

ENTRY e {
  p = f32[8,8]{1,0} parameter(0)
  start = (f32[8,8]{1,0:S(1)}, f32[8,8]{1,0}, u32[]{:S(2)}) copy-start(p)
  done = f32[8,8]{1,0:S(1)} copy-done(start)
  out = f32[8,8]{1,0} copy(done)
  host = f32[8,8]{1,0:S(5)} copy(out)
  turned = f32[8,8]{0,1} copy(p)
  f = f32[8,8]{0,1} fusion(out), kind=kLoop, calls=both
  ROOT r = (f32[8,8]{1,0:S(5)}, f32[8,8]{0,1}, f32[8,8]{0,1}) tuple(host, turned, f)
}
";
    let rows = reasons(text);
    let expected = [
        ("host", "host offload", Some(512)),
        ("inner", "layout change", None),
        ("out", "write back", Some(512)),
        ("start", "prefetch", Some(512)),
        ("turned", "layout change", Some(512)),
    ];
    let found: Vec<_> = rows.iter().map(|row| (row.0.as_str(), row.1, row.3)).collect();
    assert_eq!(found, expected);
    assert!(rows.iter().all(|row| row.2 == "derived"));
}

#[test]
fn an_update_in_place_of_what_is_read_later() {
    let text = "HloModule m, is_scheduled=true

update {
  a = f32[64]{0} parameter(0)
  b = f32[1]{0} parameter(1)
  at = s32[] parameter(2)
  ROOT u = f32[64]{0} dynamic-update-slice(a, b, at)
}

ENTRY e {
  p = f32[64]{0} parameter(0)
  b = f32[1]{0} parameter(1)
  at = s32[] parameter(2)
  x = f32[64]{0} negate(p)
  held = f32[64]{0} copy(x)
  u = f32[64]{0} fusion(held, b, at), kind=kLoop, calls=update
  ROOT r = f32[64]{0} add(u, x)
}
";
    let rows = reasons(text);
    assert_eq!((rows[0].1, rows[0].2), ("value read later", "derived"));
    assert_eq!(
        rows[0].4,
        "u writes its result over it (fusion of a dynamic-update-slice); r reads x as well, and later"
    );
    // Without a schedule, later is a guess.
    assert_eq!(reasons(&text.replace(", is_scheduled=true", ""))[0].2, "guess");
}

#[test]
fn a_donated_value_that_is_read_beside_its_update_is_copied_twice() {
    let text = "HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }

ENTRY e {
  p = f32[64]{0} parameter(0)
  b = f32[1]{0} parameter(1)
  at = s32[] parameter(2)
  once = f32[64]{0} copy(p)
  again = f32[64]{0} copy(once)
  x = f32[64]{0} negate(once)
  u = f32[64]{0} dynamic-update-slice(again, b, at)
  ROOT r = (f32[64]{0}, f32[64]{0}) tuple(u, x)
}
";
    assert_eq!(
        short(text),
        [row("again", "value read later", "derived"), row("once", "value read later", "guess")]
    );
    let undonated = text.replace(", input_output_alias={ {0}: (0, {}, may-alias) }", "");
    let module =
        Module::parse(&undonated.replace("once = f32[64]{0} copy(p)", "once = f32[64]{0} bitcast(p)"))
            .unwrap();
    let copies = find(&module, &Executions::new(&module));
    let reason = &copies[0].reason;
    assert_eq!(reason.why, Why::NotDonated);
    assert_eq!(reason.late_reader.map(|late| module.instruction(late.instruction).name.as_ref()), Some("x"));
    assert!(reason.detail.ends_with("parameter 0 is not donated, and x reads it later"), "{reason:?}");
}

/// As compilers for GPUs write copies.
#[test]
fn a_fusion_that_does_nothing_else_is_the_copy() {
    let text = "HloModule m, is_scheduled=true

wrapped {
  x = f32[8]{0} parameter(0)
  ROOT inner = f32[8]{0} copy(x)
}

ENTRY e {
  p = f32[8]{0} parameter(0)
  q = f32[8]{0} parameter(1)
  held = f32[8]{0} fusion(p), kind=kLoop, calls=wrapped
  k = f32[8]{0} custom-call(q, held), custom_call_target=\"mine\", output_to_operand_aliasing={{}: (1, {})}
  ROOT r = f32[8]{0} negate(k)
}
";
    assert_eq!(short(text), [row("held", "parameter not donated", "derived")]);
    let module = Module::parse(text).unwrap();
    assert_eq!(find(&module, &Executions::new(&module))[0].kind, CopyKind::Copy);
}

#[test]
fn bitcasts_around_a_copy_do_not_hide_its_layouts() {
    let text = "HloModule m, is_scheduled=true

wrapped {
  x = f32[4,8]{1,0} parameter(0)
  seen = f32[8,4]{0,1} bitcast(x)
  inner = f32[8,4]{1,0} copy(seen)
  ROOT out = f32[32]{0} bitcast(inner)
}

ENTRY e {
  p = f32[4,8]{1,0} parameter(0)
  ROOT turned = f32[32]{0} fusion(p), kind=kLoop, calls=wrapped
}
";
    assert_eq!(short(text), [row("turned", "layout change", "derived")]);
}
