//! From bytes to a module: one pass, each field once.

use std::borrow::Cow;
use std::cell::Cell;

use haloscope_xspace::Fault;
use haloscope_xspace::wire::{Field, Fields, Value, varint};

use crate::group::{Group, GroupIdx, IndexSpace, Kind, Part};
use crate::instruction::{Instruction, Operand, RegisterType};
use crate::source_map::{Frame, Info, SourceMap};
use crate::utilization::{UnitUse, Utilization};
use crate::{Allocation, Constant, Error, Module, Opcode, Space, Target};

/// Regions may be nested this deep. Kernels of the corpus nest 12.
const DEEPEST: usize = 200;
/// Rows are numbered by 32 bits.
const MOST: usize = u32::MAX as usize;
/// Memory in bytes for each byte of a module. Those of compilers take half of their size to twice it.
const FOR_EACH_BYTE: u64 = 6;
/// And beside, for one that is alone.
const BESIDE: u64 = 24 << 20;

/// A message: its bytes, and where they stand.
#[derive(Clone, Copy)]
struct Message<'a, 'r> {
    body: &'a [u8],
    at: u64,
    name: &'static str,
    room: &'r Room,
}

/// The memory that a module may take, and what is left of it.
struct Room {
    allowed: u64,
    left: Cell<u64>,
}

impl Room {
    /// Takes so many bytes of it, before they are allocated.
    fn take(&self, bytes: usize) -> Result<(), Error> {
        match self.left.get().checked_sub(bytes as u64) {
            Some(left) => self.left.set(left),
            None => return Err(Error::TooLarge { allowed: self.allowed }),
        }
        Ok(())
    }
}

impl<'a, 'r> Message<'a, 'r> {
    /// Gives each field to `take`.
    #[inline]
    fn each(self, mut take: impl FnMut(&Field<'a>) -> Result<(), Error>) -> Result<(), Error> {
        let mut fields = Fields::new(self.body, self.at);
        for field in fields.by_ref() {
            if field.whole {
                take(&field)?;
            }
        }
        fields.fault(self.name).map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// The message in a field, of which a `T` will be made.
    fn of<T>(self, field: &Field<'a>, name: &'static str) -> Result<Self, Error> {
        self.room.take(size_of::<T>())?;
        self.inner(field, name)
    }

    /// The message in a field.
    fn inner(self, field: &Field<'a>, name: &'static str) -> Result<Self, Error> {
        Ok(Self { body: field.bytes(self.name)?, at: field.content, name, room: self.room })
    }

    fn text(self, field: &Field<'a>) -> Result<Cow<'a, str>, Error> {
        let text = String::from_utf8_lossy(field.bytes(self.name)?);
        let copied = if matches!(text, Cow::Owned(_)) { text.len() } else { 0 };
        self.room.take(size_of::<Cow<'_, str>>() + copied)?;
        Ok(text)
    }

    /// An int32, int64 or bool.
    #[inline]
    fn int(self, field: &Field<'a>) -> Result<i64, Fault> {
        field.int(self.name)
    }

    /// Whole numbers, packed or not, one behind the other.
    fn ints(self, field: &Field<'a>, out: &mut Vec<u32>) -> Result<(), Error> {
        match field.value {
            Value::Varint(value) => {
                self.room.take(size_of::<u32>())?;
                out.push(narrow(value));
            }
            _ => {
                let packed = field.bytes(self.name)?;
                // As many as there are last bytes of them.
                let count = packed.iter().filter(|byte| **byte < 128).count();
                self.room.take(count.saturating_mul(size_of::<u32>()))?;
                let mut pos = 0;
                while pos < packed.len() {
                    let (value, next) = varint(packed, pos).map_err(|kind| Fault {
                        offset: field.content + pos as u64,
                        message: self.name,
                        kind,
                    })?;
                    out.push(narrow(value));
                    pos = next;
                }
            }
        }
        Ok(())
    }
}

/// A count of something: none are negative, or larger than 32 bits.
fn narrow(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

fn zigzag(value: i64) -> i64 {
    ((value as u64 >> 1) as i64) ^ -(value & 1)
}

impl<'a> Module<'a> {
    /// Reads an `LloModule`. Names and notes are borrowed from the bytes.
    ///
    /// # Errors
    /// [`Error::Malformed`] with the place of the first field that is no protobuf or of another type, [`Error::TooDeep`],
    /// [`Error::TooMany`] and [`Error::TooLarge`] for what no compiler writes.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Error> {
        Self::read_within(bytes, bytes.len() as u64, BESIDE, u64::MAX)
    }

    /// As [`Module::read`], in the memory that so many bytes may take, and some `beside` (bytes): of a file that was unpacked fewer
    /// count than there are. It takes no more than `most` (bytes), which the system gives the process.
    ///
    /// # Errors
    /// As [`Module::read`]; [`Error::TooLarge`] where it takes more.
    pub fn read_within(bytes: &'a [u8], counted: u64, beside: u64, most: u64) -> Result<Self, Error> {
        let allowed =
            counted.min(bytes.len() as u64).saturating_mul(FOR_EACH_BYTE).saturating_add(beside).min(most);
        let room = Room { allowed, left: Cell::new(allowed) };
        let mut module = Self::default();
        let whole = Message { body: bytes, at: 0, name: "LloModule", room: &room };
        whole.each(|field| {
            match field.number {
                1 => module.op = whole.text(field)?,
                2 => module.region(whole.of::<Group<'_>>(field, "LloRegion")?, Part::Top, None)?,
                6 => module.utilization = utilization(whole.inner(field, "LloUtilization")?)?,
                7 => module.target = Some(target(whole.inner(field, "LloTargetArguments")?)?),
                8 => module.constants.push(constant(whole.of::<Constant>(field, "LloConstant")?)?),
                9 => module.notes.push(whole.text(field)?),
                10 => module.module_name = whole.text(field)?,
                11 => module.module_id = whole.int(field)?,
                12 => module.source_map = Some(source_map(whole.inner(field, "LloSourceMap")?)?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(module)
    }

    /// Opens a group.
    fn open(&mut self, kind: Kind, part: Part, parent: Option<GroupIdx>, at: u64) -> Result<GroupIdx, Error> {
        let depth = parent.and_then(|row| self.groups.get(row)).map_or(0, |group| group.depth + 1);
        if depth > DEEPEST {
            return Err(Error::TooDeep { offset: at, limit: DEEPEST });
        }
        let row = self.groups.len();
        self.groups.push(Group {
            kind,
            part,
            name: Cow::Borrowed(""),
            parent,
            first_bundle: 0,
            limit_bundle: 0,
            ordinal: 0,
            own_instructions: 0,
            instructions: self.instructions.len()..self.instructions.len(),
            end: row + 1,
            depth,
        });
        Ok(row)
    }

    /// Changes a group that was opened.
    fn with(&mut self, row: GroupIdx, change: impl FnOnce(&mut Group<'a>)) {
        if let Some(group) = self.groups.get_mut(row) {
            change(group);
        }
    }

    fn close(&mut self, row: GroupIdx) {
        let (instructions, end) = (self.instructions.len(), self.groups.len());
        self.with(row, |group| {
            group.instructions.end = instructions;
            group.end = end;
        });
    }

    fn region(
        &mut self,
        message: Message<'a, '_>,
        part: Part,
        parent: Option<GroupIdx>,
    ) -> Result<(), Error> {
        let row = self.open(Kind::Region, part, parent, message.at)?;
        message.each(|field| {
            match field.number {
                1 => self.member(message.inner(field, "LloRegionMember")?, row)?,
                2 => {
                    let name = message.text(field)?;
                    self.with(row, |group| group.name = name);
                }
                5 => {
                    let bundle = message.int(field)? as i32;
                    self.with(row, |group| group.first_bundle = bundle);
                }
                6 => {
                    let bundle = message.int(field)? as i32;
                    self.with(row, |group| group.limit_bundle = bundle);
                }
                7 => {
                    let ordinal = message.int(field)? as i32;
                    self.with(row, |group| group.ordinal = ordinal);
                }
                _ => {}
            }
            Ok(())
        })?;
        self.close(row);
        Ok(())
    }

    fn member(&mut self, message: Message<'a, '_>, around: GroupIdx) -> Result<(), Error> {
        message.each(|field| match field.number {
            1 => self.instruction(message.of::<Instruction>(field, "LloInstruction")?, around),
            2 => self.lloop(message.of::<Group<'_>>(field, "LloLoop")?, around),
            3 => self.branch(message.of::<Group<'_>>(field, "LloPredicated")?, around),
            4 => self.region(message.of::<Group<'_>>(field, "LloRegion")?, Part::Inner, Some(around)),
            _ => Ok(()),
        })
    }

    fn lloop(&mut self, message: Message<'a, '_>, around: GroupIdx) -> Result<(), Error> {
        let row = self.open(Kind::Loop(IndexSpace::default()), Part::Member, Some(around), message.at)?;
        message.each(|field| {
            if field.number == 8 {
                let space = index_space(message.inner(field, "LloIndexSpace")?)?;
                self.with(row, |group| group.kind = Kind::Loop(space));
            } else if let Some(part) = part_of(&Part::OF_LOOP, field) {
                self.region(message.of::<Group<'_>>(field, "LloRegion")?, part, Some(row))?;
            }
            Ok(())
        })?;
        self.close(row);
        Ok(())
    }

    fn branch(&mut self, message: Message<'a, '_>, around: GroupIdx) -> Result<(), Error> {
        let row = self.open(Kind::Predicated, Part::Member, Some(around), message.at)?;
        message.each(|field| {
            if let Some(part) = part_of(&Part::OF_BRANCH, field) {
                self.region(message.of::<Group<'_>>(field, "LloRegion")?, part, Some(row))?;
            }
            Ok(())
        })?;
        self.close(row);
        Ok(())
    }

    fn instruction(&mut self, message: Message<'a, '_>, group: GroupIdx) -> Result<(), Error> {
        let start = self.operands.len();
        let mut bundle = 0;
        let mut register = 0;
        let mut it = Instruction { group, ..Instruction::default() };
        message.each(|field| {
            match field.number {
                1 => it.id = message.int(field)? as i32,
                2 => it.opcode = Opcode(narrow(message.int(field)? as u64)),
                3 => self.operands.push(operand(message.of::<Operand>(field, "LloOperand")?)?),
                4 => bundle = zigzag(message.int(field)?),
                7 => register = zigzag(message.int(field)?) as i32,
                8 => it.register_type = RegisterType::of(message.int(field)?),
                9 => it.note = u32::try_from(message.int(field)?).ok(),
                11 => it.unit_number = u8::try_from(message.int(field)?).ok(),
                14 => it.is_predicated = message.int(field)? != 0,
                _ => {}
            }
            Ok(())
        })?;
        it.bundle = u32::try_from(bundle).ok();
        it.register = (it.register_type != RegisterType::None && register != -1).then_some(register);
        it.operands = (start as u32, (self.operands.len() - start) as u32);
        if self.operands.len() > MOST || self.instructions.len() >= MOST {
            return Err(Error::TooMany { what: "operands and instructions", limit: MOST });
        }
        self.instructions.push(it);
        self.with(group, |group| group.own_instructions += 1);
        Ok(())
    }
}

/// Which part of a loop or a branch a field is.
fn part_of(parts: &[Part], field: &Field<'_>) -> Option<Part> {
    parts.get((field.number as usize).checked_sub(1)?).copied()
}

fn operand(message: Message<'_, '_>) -> Result<Operand, Error> {
    let mut operand = Operand::Unknown;
    message.each(|field| {
        match field.number {
            1 => operand = Operand::Constant(narrow(message.int(field)? as u64)),
            2 => operand = Operand::Result(message.int(field)? as i32),
            _ => {}
        }
        Ok(())
    })?;
    Ok(operand)
}

fn index_space(message: Message<'_, '_>) -> Result<IndexSpace, Error> {
    let mut space = IndexSpace::default();
    message.each(|field| {
        match field.number {
            1 => space.start = message.int(field)?,
            2 => space.limit = message.int(field)?,
            3 => space.step = message.int(field)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(space)
}

fn utilization(message: Message<'_, '_>) -> Result<Utilization, Error> {
    let mut all = Utilization::default();
    message.each(|field| {
        match field.number {
            number @ 1..=7 => {
                let of_unit = unit_use(message.inner(field, "LloUnitUtilization")?)?;
                if let Some(slot) = all.units.get_mut(number as usize - 1) {
                    *slot = of_unit;
                }
            }
            8 => message.ints(field, &mut all.spills)?,
            9 => message.ints(field, &mut all.fills)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(all)
}

fn unit_use(message: Message<'_, '_>) -> Result<UnitUse, Error> {
    let mut unit = UnitUse::default();
    message.each(|field| {
        match field.number {
            1 => message.ints(field, &mut unit.used)?,
            2 => unit.capacity = narrow(message.int(field)? as u64),
            _ => {}
        }
        Ok(())
    })?;
    Ok(unit)
}

fn constant(message: Message<'_, '_>) -> Result<Constant, Error> {
    let mut constant = Constant::default();
    message.each(|field| {
        match (field.number, field.value) {
            (1, _) => constant.kind = narrow(message.int(field)? as u64),
            (3, Value::Varint(scalar)) => constant.scalar = scalar as u32,
            (5, _) => constant.allocation = Some(allocation(message.inner(field, "LloAllocation")?)?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(constant)
}

fn allocation(message: Message<'_, '_>) -> Result<Allocation, Error> {
    let mut it = Allocation {
        space: Space::Other(0),
        bytes: 0,
        ordinal: 0,
        offset: 0,
        is_remote: false,
        is_spill: false,
        is_scoped: false,
        is_virtual: false,
    };
    message.each(|field| {
        let int = || message.int(field);
        match field.number {
            1 => it.space = Space::of(int()? as i32),
            4 => it.bytes = int()?,
            5 => it.ordinal = int()? as i32,
            8 => it.offset = int()?,
            9 => it.is_remote = int()? != 0,
            10 => it.is_spill = int()? != 0,
            11 => it.is_scoped = int()? != 0,
            12 => it.is_virtual = int()? != 0,
            _ => {}
        }
        Ok(())
    })?;
    Ok(it)
}

fn source_map<'a>(message: Message<'a, '_>) -> Result<SourceMap<'a>, Error> {
    let mut map = SourceMap::default();
    message.each(|field| {
        match field.number {
            1 => map.infos.push(info(message.of::<Info>(field, "LloSourceInfo")?)?),
            2 => map.strings.push(message.text(field)?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(map)
}

fn info(message: Message<'_, '_>) -> Result<Info, Error> {
    let mut info = Info::default();
    let mut ids = Vec::new();
    message.each(|field| {
        match field.number {
            1 => info.frames.push(frame(message.of::<Frame>(field, "LloFrame")?)?),
            2 => info.primitive = Some(narrow(message.int(field)? as u64)),
            3 => message.ints(field, &mut info.scopes)?,
            4 => message.ints(field, &mut ids)?,
            _ => {}
        }
        Ok(())
    })?;
    info.ids = ids.into_iter().filter_map(|id| i32::try_from(id).ok()).collect();
    Ok(info)
}

fn frame(message: Message<'_, '_>) -> Result<Frame, Error> {
    let mut frame = Frame::default();
    message.each(|field| {
        let int = || message.int(field).map(|value| narrow(value as u64));
        match field.number {
            1 => frame.file = int()?,
            2 => frame.line = int()?,
            3 => frame.last_line = int()?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(frame)
}

fn target<'a>(message: Message<'a, '_>) -> Result<Target<'a>, Error> {
    let mut target = Target::default();
    message.each(|field| {
        match field.number {
            3 => target.replica_count = message.int(field)?,
            4 => target.reserved_hbm_bytes = message.int(field)?,
            6 => topology(message.inner(field, "LloTopology")?, &mut target)?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(target)
}

fn topology<'a>(message: Message<'a, '_>, target: &mut Target<'a>) -> Result<(), Error> {
    message.each(|field| {
        match field.number {
            1 => target.chip_number = message.int(field)?,
            2 => target.variant = message.text(field)?,
            3 => target.platform_type = message.int(field)?,
            4 => target.chip_config_name = message.text(field)?,
            5 => target.chips_per_host = bounds(message.inner(field, "LloBounds")?)?,
            6 => target.hosts = bounds(message.inner(field, "LloBounds")?)?,
            9 => target.enhanced_barrier = message.int(field)? != 0,
            _ => {}
        }
        Ok(())
    })
}

fn bounds(message: Message<'_, '_>) -> Result<[i64; 3], Error> {
    let mut bounds = [0; 3];
    message.each(|field| {
        if let Some(slot) = bounds.get_mut((field.number as usize).wrapping_sub(1)) {
            *slot = message.int(field)?;
        }
        Ok(())
    })?;
    Ok(bounds)
}
