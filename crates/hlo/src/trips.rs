//! How often a loop runs: what the compiler wrote down, or a counter that can be followed.

use prost::Message;

use crate::{
    index::{ComputationIdx, InstructionIdx},
    instruction::Instruction,
    module::Module,
    opcode::Opcode,
    proto,
};

/// At most this many instructions are followed from a value to where it comes from.
const STEPS: usize = 64;
/// Literals longer than this are no single number.
const SCALAR_BYTES: usize = 256;

impl Module {
    /// How often the body of a `while` runs in one execution of the loop. `known_trip_count` of the backend's configuration
    /// counts first; else a loop whose condition compares a counter with a constant, whose counter starts at a constant and
    /// to which the body adds a constant. `None` for other loops and for what is no `while`.
    #[must_use]
    pub fn trip_count(&self, index: InstructionIdx) -> Option<u64> {
        let hlo = self.instruction(index);
        if hlo.opcode != Opcode::While {
            return None;
        }
        hlo.known_trip_count().or_else(|| self.counted_trips(hlo))
    }

    fn counted_trips(&self, hlo: &Instruction) -> Option<u64> {
        let &[body, condition] = hlo.called_computations.as_slice() else { return None };
        let test = self.instruction(self.origin(self.computation(condition).root));
        if test.opcode != Opcode::Compare {
            return None;
        }
        let &[left, right] = test.operands.as_slice() else { return None };
        let direction = test.attributes().comparison_direction.as_deref()?;
        let (left, right) = (self.origin(left), self.origin(right));
        // The counter stands on either side.
        let (counter, limit, direction) = match (self.state_of(left, condition), direction) {
            (Some(counter), _) if self.is_constant_in(hlo, right, condition) => (counter, right, direction),
            _ => (self.state_of(right, condition)?, left, mirrored(direction)?),
        };
        let limit = self.constant_in(hlo, limit, condition)?;
        let start = self.scalar(self.origin(self.initial(hlo, counter)?))?;
        let step = self.step(body, counter)?;
        trips(start, step, limit, direction)
    }

    fn is_constant_in(&self, hlo: &Instruction, value: InstructionIdx, inside: ComputationIdx) -> bool {
        self.constant_in(hlo, value, inside).is_some()
    }

    /// The number that a value in a loop's computation always is: a constant there, or an element of the loop's state that
    /// the body hands on as it is and that starts as a constant.
    fn constant_in(&self, hlo: &Instruction, value: InstructionIdx, inside: ComputationIdx) -> Option<i128> {
        if let Some(number) = self.scalar(value) {
            return Some(number);
        }
        let element = self.state_of(value, inside)?;
        let body = *hlo.called_computations.first()?;
        let next = self.next_state(body, element)?;
        if self.state_of(self.origin(next), body) != Some(element) {
            return None;
        }
        self.scalar(self.origin(self.initial(hlo, element)?))
    }

    /// Which element of the loop's state a value is.
    fn state_of(&self, value: InstructionIdx, inside: ComputationIdx) -> Option<i64> {
        let hlo = self.instruction(value);
        let from = self.instruction(*hlo.operands.first()?);
        let is_state = hlo.opcode == Opcode::GetTupleElement
            && from.opcode == Opcode::Parameter
            && from.computation == inside;
        if is_state { hlo.attributes().tuple_index } else { None }
    }

    /// What an element of a loop's state is before the first iteration.
    fn initial(&self, hlo: &Instruction, element: i64) -> Option<InstructionIdx> {
        let tuple = self.instruction(*hlo.operands.first()?);
        let at = usize::try_from(element).ok()?;
        if tuple.opcode == Opcode::Tuple { tuple.operands.get(at).copied() } else { None }
    }

    fn next_state(&self, body: ComputationIdx, element: i64) -> Option<InstructionIdx> {
        let root = self.instruction(self.computation(body).root);
        let at = usize::try_from(element).ok()?;
        if root.opcode == Opcode::Tuple { root.operands.get(at).copied() } else { None }
    }

    /// What one iteration adds to an element of the loop's state.
    fn step(&self, body: ComputationIdx, element: i64) -> Option<i128> {
        let sum = self.instruction(self.origin(self.next_state(body, element)?));
        let &[left, right] = sum.operands.as_slice() else { return None };
        let (left, right) = (self.origin(left), self.origin(right));
        let is_counter = |value| self.state_of(value, body) == Some(element);
        match sum.opcode {
            Opcode::Add if is_counter(left) => self.scalar(right),
            Opcode::Add if is_counter(right) => self.scalar(left),
            Opcode::Subtract if is_counter(left) => self.scalar(right).map(|step| -step),
            _ => None,
        }
    }

    /// Where a value comes from, through copies, bitcasts, tuples and the borders of fusions.
    fn origin(&self, value: InstructionIdx) -> InstructionIdx {
        let mut at = value;
        // The fusions that the walk is inside of.
        let mut fusions: Vec<&Instruction> = Vec::new();
        for _ in 0..STEPS {
            let hlo = self.instruction(at);
            let first = hlo.operands.first().copied();
            let next = match hlo.opcode {
                Opcode::Copy | Opcode::Bitcast | Opcode::CopyStart | Opcode::CopyDone => first,
                Opcode::Fusion => {
                    fusions.push(hlo);
                    hlo.called_computations.first().map(|body| self.computation(*body).root)
                }
                Opcode::Parameter => fusions.pop().and_then(|fusion| {
                    let number = usize::try_from(hlo.attributes().parameter_number?).ok()?;
                    fusion.operands.get(number).copied()
                }),
                Opcode::GetTupleElement => first.and_then(|from| self.element(hlo, from, &mut fusions)),
                _ => None,
            };
            match next {
                Some(next) => at = next,
                None => return at,
            }
        }
        at
    }

    /// The element that a get-tuple-element takes, where what makes the tuple is in sight.
    fn element<'m>(
        &'m self,
        hlo: &Instruction,
        from: InstructionIdx,
        fusions: &mut Vec<&'m Instruction>,
    ) -> Option<InstructionIdx> {
        let at = usize::try_from(hlo.attributes().tuple_index?).ok()?;
        let tuple = self.instruction(from);
        match tuple.opcode {
            Opcode::Tuple => tuple.operands.get(at).copied(),
            Opcode::Fusion => {
                let root = self.instruction(self.computation(*tuple.called_computations.first()?).root);
                let part = (root.opcode == Opcode::Tuple).then(|| root.operands.get(at).copied())??;
                fusions.push(tuple);
                Some(part)
            }
            _ => None,
        }
    }

    /// The whole number that a constant holds.
    fn scalar(&self, value: InstructionIdx) -> Option<i128> {
        let hlo = self.instruction(value);
        let bytes = hlo.attributes().literal.as_deref().filter(|bytes| bytes.len() <= SCALAR_BYTES)?;
        if hlo.opcode != Opcode::Constant || hlo.shape.element_count() != Some(1) {
            return None;
        }
        let literal = proto::Literal::decode(bytes).ok()?;
        let signed = literal.s32s.first().map(|v| i128::from(*v));
        let signed = signed.or_else(|| literal.s64s.first().map(|v| i128::from(*v)));
        let unsigned = literal.u32s.first().map(|v| i128::from(*v));
        signed.or(unsigned).or_else(|| literal.u64s.first().map(|v| i128::from(*v)))
    }
}

/// The comparison with its sides exchanged.
fn mirrored(direction: &str) -> Option<&'static str> {
    Some(match direction {
        "LT" => "GT",
        "LE" => "GE",
        "GT" => "LT",
        "GE" => "LE",
        "NE" => "NE",
        _ => return None,
    })
}

/// How often a counter passes the test.
fn trips(start: i128, step: i128, limit: i128, direction: &str) -> Option<u64> {
    let span = match direction {
        "LT" if step > 0 => limit - start,
        "LE" if step > 0 => limit - start + 1,
        "GT" if step < 0 => start - limit,
        "GE" if step < 0 => start - limit + 1,
        "NE" if step != 0 && (limit - start) % step == 0 && (limit - start) / step >= 0 => {
            (limit - start).abs()
        }
        _ => return None,
    };
    let size = step.abs();
    u64::try_from(if span <= 0 { 0 } else { (span - 1) / size + 1 }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loop_of(condition: &str, body: &str, start: &str) -> Option<u64> {
        let text = format!(
            "HloModule m

condition {{
  state = (s32[], f32[8], s32[]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  n = s32[] get-tuple-element(state), index=2
  five = s32[] constant(5)
  ROOT test = pred[] {condition}
}}

body {{
  state.1 = (s32[], f32[8], s32[]) parameter(0)
  i.1 = s32[] get-tuple-element(state.1), index=0
  x = f32[8] get-tuple-element(state.1), index=1
  n.1 = s32[] get-tuple-element(state.1), index=2
  two = s32[] constant(2)
  next = s32[] {body}
  ROOT r = (s32[], f32[8], s32[]) tuple(next, x, n.1)
}}

ENTRY e {{
  p = f32[8] parameter(0)
  start = s32[] {start}
  limit = s32[] constant(9)
  held = s32[] copy(limit)
  first = (s32[], f32[8], s32[]) tuple(start, p, held)
  ROOT w = (s32[], f32[8], s32[]) while(first), condition=condition, body=body
}}
"
        );
        let module = Module::parse(&text).unwrap();
        module.trip_count(module.instruction_by_name("w").unwrap())
    }

    #[test]
    fn counters_are_followed() {
        assert_eq!(loop_of("compare(i, five), direction=LT", "add(i.1, two)", "constant(0)"), Some(3));
        assert_eq!(loop_of("compare(i, five), direction=LE", "add(two, i.1)", "constant(1)"), Some(3));
        assert_eq!(loop_of("compare(i, five), direction=GT", "subtract(i.1, two)", "constant(10)"), Some(3));
        assert_eq!(loop_of("compare(five, i), direction=GT", "add(i.1, two)", "constant(0)"), Some(3));
        // The limit is part of the state and never changes.
        assert_eq!(loop_of("compare(i, n), direction=LT", "add(i.1, two)", "constant(0)"), Some(5));
        assert_eq!(loop_of("compare(i, five), direction=LT", "add(i.1, two)", "constant(7)"), Some(0));
    }

    #[test]
    fn what_cannot_be_counted_is_unknown() {
        for (condition, body) in [
            ("compare(i, five), direction=LT", "multiply(i.1, two)"),
            ("compare(i, five), direction=GT", "add(i.1, two)"),
            ("compare(i, n), direction=LT", "add(i.1, n.1)"),
            ("compare(i, five), direction=EQ", "add(i.1, two)"),
        ] {
            assert_eq!(loop_of(condition, body, "constant(0)"), None, "{condition} {body}");
        }
    }
}
