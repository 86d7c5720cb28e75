use super::*;

const BEFORE: &str = "HloModule m

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

fused {
  p0 = f32[8,16]{1,0} parameter(0)
  p1 = f32[8,16]{1,0} parameter(1)
  m = f32[8,16]{1,0} multiply(p0, p1)
  ROOT s = f32[8,16]{1,0} add(m, p1)
}

ENTRY e {
  x = f32[8,16]{1,0} parameter(0)
  w = f32[16,16]{1,0} parameter(1)
  y = f32[8,16]{1,0} dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name=\"jit(f)/layer0/dot\"}
  z = f32[8,16]{1,0} dot(y, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name=\"jit(f)/layer1/dot\"}
  f = f32[8,16]{1,0} fusion(y, z), kind=kLoop, calls=fused
  g = f32[8,16]{1,0} exponential(f)
  zero = f32[] constant(0)
  ROOT r = f32[8]{0} reduce(g, zero), dimensions={1}, to_apply=sum
}
";

/// The same program, recompiled: all names differ, lines stand in another order.
const RENAMED: &str = "HloModule n

region {
  q.1 = f32[] parameter(0)
  q.2 = f32[] parameter(1)
  ROOT q.3 = f32[] add(q.1, q.2)
}

body {
  t.1 = f32[8,16]{1,0} parameter(1)
  t.0 = f32[8,16]{1,0} parameter(0)
  f = f32[8,16]{1,0} multiply(t.0, t.1)
  ROOT t.3 = f32[8,16]{1,0} add(f, t.1)
}

ENTRY top {
  c.9 = f32[] constant(0)
  y = f32[16,16]{1,0} parameter(1)
  z = f32[8,16]{1,0} parameter(0)
  g = f32[8,16]{1,0} dot(z, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name=\"jit(f)/layer0/dot\"}
  w = f32[8,16]{1,0} dot(g, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name=\"jit(f)/layer1/dot\"}
  r = f32[8,16]{1,0} fusion(g, w), kind=kLoop, calls=body
  e.7 = f32[8,16]{1,0} exponential(r)
  ROOT x = f32[8]{0} reduce(e.7, c.9), dimensions={1}, to_apply=region
}
";

fn parse(text: &str) -> Module {
    Module::parse(text).unwrap()
}

/// What differs, in words: `name ~ name: aspect detail`, and names that only one side has.
fn report(a: &str, b: &str) -> Vec<String> {
    let (a, b) = (parse(a), parse(b));
    let alignment = Alignment::new(&a, &b);
    let mut lines = Vec::new();
    for (index, instruction) in a.instructions() {
        match alignment.in_b(index) {
            None => lines.push(format!("- {}", instruction.name)),
            Some(other) => {
                assert_eq!(alignment.in_a(other), Some(index));
                for difference in alignment.differences(index, other) {
                    let names = (&instruction.name, &b.instruction(other).name);
                    let aspect = difference.aspect.name();
                    lines.push(format!("{} ~ {}: {aspect} {}", names.0, names.1, difference.detail));
                }
            }
        }
    }
    let added = b.instructions().filter(|(index, _)| alignment.in_a(*index).is_none());
    lines.extend(added.map(|(_, instruction)| format!("+ {}", instruction.name)));
    lines
}

#[test]
fn names_do_not_matter() {
    assert_eq!(report(BEFORE, BEFORE), [""; 0]);
    assert_eq!(report(BEFORE, RENAMED), [""; 0]);
    let (a, b) = (parse(BEFORE), parse(RENAMED));
    let alignment = Alignment::new(&a, &b);
    assert_eq!(alignment.pairs().count(), a.instructions().len());
    assert_eq!(alignment.computations().len(), 3);
    let z = alignment.in_b(a.instruction_by_name("z").unwrap()).unwrap();
    assert_eq!(b.instruction(z).name, "w");
}

#[test]
fn an_inserted_copy_is_one_change_and_moves_nothing_else() {
    let with_copy = RENAMED
        .replace("  w = f32[8,16]", "  k = f32[8,16]{0,1} copy(g)\n  w = f32[8,16]")
        .replace("dot(g, y)", "dot(k, y)");
    assert_eq!(report(BEFORE, &with_copy), ["z ~ w: operands 0: y -> k", "+ k"]);
    assert_eq!(report(&with_copy, BEFORE), ["- k", "w ~ z: operands 0: k -> y"]);
}

#[test]
fn what_differs_in_place_is_named() {
    let other = RENAMED
        .replace("f = f32[8,16]{1,0} multiply(t.0, t.1)", "f = f32[8,16]{1,0} subtract(t.0, t.1)")
        .replace("e.7 = f32[8,16]{1,0}", "e.7 = f32[8,16]{0,1}")
        .replace("w = f32[8,16]{1,0} dot(g", "w = f32[8,16]{1,0:S(1)} dot(g");
    assert_eq!(
        report(BEFORE, &other),
        [
            "- m",
            "s ~ t.3: operands 0: m -> f",
            "z ~ w: memory space 0 -> 1",
            "f ~ r: body ",
            "g ~ e.7: layout f32[8,16]{1,0} -> f32[8,16]{0,1}",
            "+ f"
        ]
    );
    let wider = BEFORE.replace("8,16", "32,16").replace("f32[8]{0}", "f32[32]{0}");
    let changed = report(BEFORE, &wider);
    let is_expected = |line: &String| line.contains(": shape ") || line == "f ~ f: body ";
    assert!(changed.len() == 11 && changed.iter().all(is_expected), "{changed:#?}");
    let constant = BEFORE.replace("constant(0)", "constant(1)");
    assert_eq!(report(BEFORE, &constant), ["zero ~ zero: attributes value=0 -> value=1"]);
}

#[test]
fn nothing_in_common_is_nothing_matched() {
    let other = "HloModule o\n\nENTRY e {\n  ROOT a = s32[3] iota(), iota_dimension=0\n}\n";
    let lines = report(BEFORE, other);
    assert_eq!(lines.iter().filter(|line| line.starts_with("- ")).count(), 15);
    assert_eq!(lines.last().map(String::as_str), Some("+ a"));
}
