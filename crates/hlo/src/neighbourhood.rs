//! What lies around an instruction, and how one instruction reaches another.
//!
//! A step goes from an instruction to one whose value it reads, or to one that reads its value. Where calls are followed, a
//! step also goes into and out of computations:
//!
//! | from | to |
//! |---|---|
//! | operand of a `fusion`, `call`, `async-start` | the parameter of the body that takes it |
//! | operand of a `while` | the parameters of its condition and body |
//! | operand 1, 2, … of a `conditional` | the parameter of the branch that takes it |
//! | root of such a computation (of a `while`, the body's) | the instruction that calls it |
//!
//! The functions of `reduce`, `sort`, `scatter` and the like say what is done with an element, and are no places to go to.
//! Control dependencies are steps like others.

use std::collections::VecDeque;

use crate::{
    index::{ComputationIdx, InstructionIdx},
    module::Module,
    opcode::Opcode,
};

/// Which way steps go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To what an instruction reads.
    Operands,
    /// To what reads its value.
    Users,
    /// Either way.
    Both,
}

impl Direction {
    fn goes_to_operands(self) -> bool {
        self != Self::Users
    }

    fn goes_to_users(self) -> bool {
        self != Self::Operands
    }
}

/// What a line between two instructions means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkKind {
    /// A value flows, as the operand of this number.
    Data(u32),
    /// A value flows into or out of a called computation; into it, as the parameter of this number.
    Call(Option<u32>),
    /// The one must finish before the other begins.
    Control,
}

/// A line between two instructions, in the direction in which values flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// Whose value it is.
    pub from: InstructionIdx,
    /// Who reads it.
    pub to: InstructionIdx,
    /// How.
    pub kind: LinkKind,
}

/// How to walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkOptions {
    /// Which way.
    pub direction: Direction,
    /// Whether to step into and out of called computations.
    pub through_calls: bool,
    /// At most so many steps from the centre.
    pub radius: usize,
    /// At most so many instructions, the nearest first.
    pub limit: usize,
}

/// An instruction that a walk met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The instruction.
    pub instruction: InstructionIdx,
    /// Steps from the centre; on a path, from its start.
    pub distance: usize,
}

/// Instructions and the lines between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbourhood {
    /// The instructions: the centre, then those at one step, and so on.
    pub places: Vec<Place>,
    /// The lines between them.
    pub links: Vec<Link>,
    /// Whether the limit left instructions out that lie within the radius.
    pub is_cut: bool,
}

/// Where values flow between a caller and a computation.
impl Module {
    /// The computations of an instruction that its values flow through: bodies of fusions and loops, branches, callees. Those
    /// that only say what is done with an element are not among them.
    #[must_use]
    pub fn bodies(&self, instruction: InstructionIdx) -> &[ComputationIdx] {
        let instruction = self.instruction(instruction);
        match instruction.opcode {
            Opcode::Fusion | Opcode::Call | Opcode::While | Opcode::Conditional | Opcode::AsyncStart => {
                &instruction.called_computations
            }
            _ => &[],
        }
    }

    /// The number of the operand that a computation's parameter stands for in a call of it.
    fn operand_of_parameter(
        &self,
        caller: InstructionIdx,
        computation: ComputationIdx,
        number: usize,
    ) -> Vec<usize> {
        match self.instruction(caller).opcode {
            Opcode::While => vec![0],
            // One computation may be several branches.
            Opcode::Conditional => {
                let called = self.instruction(caller).called_computations.iter().enumerate();
                called.filter(|(_, c)| **c == computation).map(|(branch, _)| branch + 1).collect()
            }
            _ => vec![number],
        }
    }

    /// Whether the value of a computation is that of its caller: of a loop's condition it is not.
    fn root_is_result(&self, caller: InstructionIdx, computation: ComputationIdx) -> bool {
        let caller = self.instruction(caller);
        caller.opcode != Opcode::While || caller.called_computations.first() == Some(&computation)
    }

    /// The instructions that call a computation so that values flow through it.
    fn flowing_callers(&self, computation: ComputationIdx) -> impl Iterator<Item = InstructionIdx> {
        let callers = self.callers.row(computation.index()).iter().copied();
        callers.filter(move |caller| self.bodies(*caller).contains(&computation))
    }

    fn links_to_operands(&self, at: InstructionIdx, through_calls: bool, mut each: impl FnMut(Link)) {
        let instruction = self.instruction(at);
        for (number, operand) in instruction.operands.iter().enumerate() {
            each(Link { from: *operand, to: at, kind: LinkKind::Data(number as u32) });
        }
        for before in &instruction.control_predecessors {
            each(Link { from: *before, to: at, kind: LinkKind::Control });
        }
        if !through_calls {
            return;
        }
        for &body in self.bodies(at) {
            if self.root_is_result(at, body) {
                each(Link { from: self.computation(body).root, to: at, kind: LinkKind::Call(None) });
            }
        }
        if instruction.opcode == Opcode::Parameter {
            let Some(number) = self.parameter_number(at) else { return };
            for caller in self.flowing_callers(instruction.computation) {
                for operand in self.operand_of_parameter(caller, instruction.computation, number) {
                    if let Some(&from) = self.instruction(caller).operands.get(operand) {
                        each(Link { from, to: at, kind: LinkKind::Call(Some(number as u32)) });
                    }
                }
            }
        }
    }

    /// Those that read an instruction's value, directly or as a parameter, and those that wait for it.
    fn steps_to_users(&self, at: InstructionIdx, through_calls: bool, mut each: impl FnMut(InstructionIdx)) {
        for &user in self.users(at) {
            each(user);
            if !through_calls || self.bodies(user).is_empty() {
                continue;
            }
            let operands = self.instruction(user).operands.iter().enumerate();
            for (number, _) in operands.filter(|(_, operand)| **operand == at) {
                self.parameters_of_operand(user, number, &mut each);
            }
        }
        for after in self.control_successors(at) {
            each(*after);
        }
        let computation = self.instruction(at).computation;
        if through_calls && self.computation(computation).root == at {
            let callers = self.flowing_callers(computation);
            callers.filter(|caller| self.root_is_result(*caller, computation)).for_each(each);
        }
    }

    fn parameters_of_operand(
        &self,
        caller: InstructionIdx,
        operand: usize,
        each: &mut impl FnMut(InstructionIdx),
    ) {
        let called = self.bodies(caller);
        let mut give = |computation: Option<&ComputationIdx>, number: usize| {
            let parameters = computation.map(|c| self.computation(*c).parameters());
            if let Some(parameter) = parameters.and_then(|p| p.get(number)) {
                each(*parameter);
            }
        };
        match self.instruction(caller).opcode {
            Opcode::While if operand == 0 => {
                for computation in called {
                    give(Some(computation), 0);
                }
            }
            Opcode::Conditional => give(operand.checked_sub(1).and_then(|branch| called.get(branch)), 0),
            _ => give(called.first(), operand),
        }
    }

    fn parameter_number(&self, at: InstructionIdx) -> Option<usize> {
        let computation = self.computation(self.instruction(at).computation);
        let written = usize::try_from(self.instruction(at).attributes().parameter_number?).ok()?;
        // A number that the proto leaves out has no place in the list.
        let is_there = |number: &usize| computation.parameters().get(*number) == Some(&at);
        Some(written)
            .filter(is_there)
            .or_else(|| computation.parameters().iter().position(|parameter| *parameter == at))
    }

    /// Steps from an instruction, in a fixed order, with the instruction at the other end.
    fn steps(
        &self,
        at: InstructionIdx,
        direction: Direction,
        through_calls: bool,
        mut each: impl FnMut(InstructionIdx),
    ) {
        if direction.goes_to_operands() {
            self.links_to_operands(at, through_calls, |link| each(link.from));
        }
        if direction.goes_to_users() {
            self.steps_to_users(at, through_calls, each);
        }
    }

    /// What is at most so many steps from an instruction, nearest first. The users of a constant other than the centre are not
    /// followed: they have nothing to do with one another.
    #[must_use]
    pub fn neighbourhood(&self, centre: InstructionIdx, options: &WalkOptions) -> Neighbourhood {
        let mut found = Neighbourhood::default();
        let mut is_met = vec![false; self.instructions().len()];
        is_met[centre.index()] = true;
        found.places.push(Place { instruction: centre, distance: 0 });
        let mut next = 0;
        while let Some(&Place { instruction: at, distance }) = found.places.get(next) {
            next += 1;
            if distance == options.radius {
                break;
            }
            let is_hub = at != centre && self.instruction(at).opcode == Opcode::Constant;
            let direction = match options.direction {
                Direction::Users if is_hub => continue,
                Direction::Both if is_hub => Direction::Operands,
                direction => direction,
            };
            self.steps(at, direction, options.through_calls, |to| {
                if is_met[to.index()] {
                    return;
                }
                if found.places.len() >= options.limit.max(1) {
                    found.is_cut = true;
                    return;
                }
                is_met[to.index()] = true;
                found.places.push(Place { instruction: to, distance: distance + 1 });
            });
        }
        found.links = self.links_among(&found.places, options.through_calls);
        found
    }

    /// All lines between instructions, by the reader's place.
    fn links_among(&self, places: &[Place], through_calls: bool) -> Vec<Link> {
        let mut is_shown = vec![false; self.instructions().len()];
        for place in places {
            is_shown[place.instruction.index()] = true;
        }
        let mut links = Vec::new();
        for place in places {
            self.links_to_operands(place.instruction, through_calls, |link| {
                if is_shown[link.from.index()] {
                    links.push(link);
                }
            });
        }
        links
    }

    /// A shortest way from one instruction to another; `None` where there is none. Its links are those of its steps.
    #[must_use]
    pub fn shortest_path(
        &self,
        from: InstructionIdx,
        to: InstructionIdx,
        direction: Direction,
        through_calls: bool,
    ) -> Option<Neighbourhood> {
        let mut came_from: Vec<Option<InstructionIdx>> = vec![None; self.instructions().len()];
        came_from[from.index()] = Some(from);
        let mut todo = VecDeque::from([from]);
        while let Some(at) = todo.pop_front() {
            if at == to {
                break;
            }
            self.steps(at, direction, through_calls, |next| {
                let former = &mut came_from[next.index()];
                if former.is_none() {
                    *former = Some(at);
                    todo.push_back(next);
                }
            });
        }
        came_from[to.index()]?;
        let mut way = vec![to];
        let mut at = to;
        while at != from {
            at = came_from[at.index()]?;
            way.push(at);
        }
        way.reverse();
        let places = way.iter().enumerate();
        let places = places.map(|(distance, at)| Place { instruction: *at, distance }).collect();
        let mut links = Vec::new();
        for pair in way.windows(2) {
            let is_step =
                |link: &Link| [(link.from, link.to), (link.to, link.from)].contains(&(pair[0], pair[1]));
            let mut step = None;
            for end in pair {
                self.links_to_operands(*end, through_calls, |link| {
                    if is_step(&link) {
                        step = step.or(Some(link));
                    }
                });
            }
            links.extend(step);
        }
        Some(Neighbourhood { places, links, is_cut: false })
    }

    /// How many lines lead to an instruction, and how many instructions read its value or wait for it.
    #[must_use]
    pub fn degree(&self, at: InstructionIdx, through_calls: bool) -> (usize, usize) {
        let (mut operands, mut users) = (0, 0);
        self.links_to_operands(at, through_calls, |_| operands += 1);
        self.steps_to_users(at, through_calls, |_| users += 1);
        (operands, users)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "HloModule m

body {
  p = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  n = s32[] add(i, one)
  x = f32[8] get-tuple-element(p), index=1
  y = f32[8] negate(x)
  ROOT t = (s32[], f32[8]) tuple(n, y)
}

cond {
  q = (s32[], f32[8]) parameter(0)
  j = s32[] get-tuple-element(q), index=0
  ten = s32[] constant(10)
  ROOT lt = pred[] compare(j, ten), direction=LT
}

fused {
  a = f32[8] parameter(0)
  b = f32[8] parameter(1)
  ROOT s = f32[8] add(a, b)
}

ENTRY e {
  zero = s32[] constant(0)
  in = f32[8] parameter(0)
  other = f32[8] parameter(1)
  init = (s32[], f32[8]) tuple(zero, in)
  loop = (s32[], f32[8]) while(init), condition=cond, body=body
  out = f32[8] get-tuple-element(loop), index=1
  late = f32[8] exponential(other), control-predecessors={out}
  ROOT sum = f32[8] fusion(out, late), kind=kLoop, calls=fused
}
";

    fn around(centre: &str, direction: Direction, through_calls: bool, radius: usize) -> Vec<String> {
        let module = Module::parse(TEXT).unwrap();
        let centre = module.instruction_by_name(centre).unwrap();
        let options = WalkOptions { direction, through_calls, radius, limit: 100 };
        let found = module.neighbourhood(centre, &options);
        let name =
            |place: &Place| format!("{}{}", module.instruction(place.instruction).name, place.distance);
        found.places.iter().map(name).collect()
    }

    #[test]
    fn steps_go_through_calls() {
        assert_eq!(around("sum", Direction::Operands, false, 1), ["sum0", "out1", "late1"]);
        assert_eq!(around("sum", Direction::Operands, true, 1), ["sum0", "out1", "late1", "s1"]);
        // Into the fusion: the parameter takes the value that the fusion reads.
        assert_eq!(around("out", Direction::Users, true, 1), ["out0", "sum1", "a1", "late1"]);
        assert_eq!(around("b", Direction::Operands, true, 1), ["b0", "late1"]);
        // Into the loop and out of it: the condition takes the state and gives none.
        assert_eq!(around("init", Direction::Users, true, 1), ["init0", "loop1", "p1", "q1"]);
        assert_eq!(around("loop", Direction::Operands, true, 1), ["loop0", "init1", "t1"]);
        assert_eq!(around("lt", Direction::Users, true, 1), ["lt0"]);
        assert_eq!(around("t", Direction::Users, true, 1), ["t0", "loop1"]);
        // A control dependency is a step.
        assert_eq!(around("late", Direction::Operands, false, 1), ["late0", "other1", "out1"]);
        assert_eq!(around("late", Direction::Both, false, 0), ["late0"]);
    }

    #[test]
    fn a_limit_is_told() {
        let module = Module::parse(TEXT).unwrap();
        let centre = module.instruction_by_name("sum").unwrap();
        let options = WalkOptions { direction: Direction::Both, through_calls: true, radius: 9, limit: 4 };
        let found = module.neighbourhood(centre, &options);
        assert!(found.is_cut && found.places.len() == 4);
        let kinds: Vec<LinkKind> = found.links.iter().map(|link| link.kind).collect();
        assert_eq!(kinds, [LinkKind::Data(0), LinkKind::Data(1), LinkKind::Call(None), LinkKind::Control]);
        let whole = module.neighbourhood(centre, &WalkOptions { limit: 1000, radius: 99, ..options });
        assert_eq!((whole.places.len(), whole.is_cut), (module.instructions().len(), false));
    }

    #[test]
    fn shortest_paths() {
        let module = Module::parse(TEXT).unwrap();
        let path = |from: &str, to: &str, direction, through_calls| {
            let at = |name| module.instruction_by_name(name).unwrap();
            let path = module.shortest_path(at(from), at(to), direction, through_calls)?;
            assert_eq!(path.links.len() + 1, path.places.len());
            let names = path.places.iter().map(|p| module.instruction(p.instruction).name.as_str());
            Some(names.collect::<Vec<_>>().join(" "))
        };
        let (users, operands) = (Direction::Users, Direction::Operands);
        assert_eq!(path("in", "sum", users, false).unwrap(), "in init loop out sum");
        assert_eq!(path("in", "s", users, true).unwrap(), "in init loop out a s");
        assert_eq!(path("in", "y", users, true).unwrap(), "in init p x y");
        assert_eq!(path("y", "in", operands, true).unwrap(), "y x p init in");
        assert_eq!(path("in", "sum", operands, true), None);
        assert_eq!(path("in", "s", users, false), None);
        assert_eq!(path("in", "zero", Direction::Both, false).unwrap(), "in init zero");
        assert_eq!(path("in", "in", users, true).unwrap(), "in");
    }
}
