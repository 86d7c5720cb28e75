//! In which form bytes hold a module, told from their start.

use crate::{error::Error, module::Module, weight::Room};

/// A form in which a module is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// HLO text.
    Text,
    /// An `HloProto`: a module and perhaps its buffer assignment.
    HloProto,
    /// A bare `HloModuleProto`.
    ModuleProto,
}

/// Tag of field 1 where it has a length: the module of an `HloProto`, the name of an `HloModuleProto`.
const FIRST: u8 = 1 << 3 | 2;

impl Form {
    /// The form of a whole file, or of its first kilobytes; `None` for what is no HLO. Nothing is decoded: what looks like
    /// a module may still be damaged.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if Module::is_text(bytes) {
            return Some(Self::Text);
        }
        let (name, rest) = field(bytes)?;
        if name.first() == Some(&FIRST) {
            let (name, rest) = field(name)?;
            // Behind the module's name comes that of its entry, or the first computation.
            return (is_name(name) && matches!(rest.first(), Some(0x12 | 0x1a))).then_some(Self::HloProto);
        }
        (is_name(name) && matches!(rest.first(), Some(0x12 | 0x1a))).then_some(Self::ModuleProto)
    }
}

/// The bytes of field 1 at the start of a message, as far as they are there, and what follows them.
fn field(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut rest = bytes.strip_prefix(&[FIRST])?;
    let mut length = 0usize;
    for shift in (0..35).step_by(7) {
        let byte = *rest.split_off_first()?;
        length |= usize::from(byte & 127).checked_shl(shift)?;
        if byte < 128 {
            break;
        }
    }
    Some(rest.split_at(length.min(rest.len())))
}

fn is_name(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_ok_and(|name| !name.contains(char::is_control))
}

impl Module {
    /// Reads a module in whatever form it is kept.
    ///
    /// # Errors
    /// As [`Module::parse`] for what starts as HLO text, else as [`Module::decode`].
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        Self::read_within(bytes, Room::of(bytes.len()))
    }

    /// As [`Module::read`], in so much memory.
    ///
    /// # Errors
    /// As [`Module::read`]; [`Error::TooLarge`] where it takes more.
    pub fn read_within(bytes: &[u8], room: Room) -> Result<Self, Error> {
        if !Self::is_text(bytes) {
            return Self::decode_within(bytes, room);
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse_within(text, room),
            Err(_) => Self::parse_within(&String::from_utf8_lossy(bytes), room),
        }
    }

    /// The name of the module that bytes hold, without reading the rest.
    #[must_use]
    pub fn name_in(bytes: &[u8]) -> Option<String> {
        let name = match Form::of(bytes)? {
            Form::Text => return Self::name_in_text(bytes),
            Form::HloProto => field(field(bytes)?.0)?.0,
            Form::ModuleProto => field(bytes)?.0,
        };
        Some(String::from_utf8_lossy(name).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_told_apart() {
        let module = b"\x0a\x03jit\x12\x04main\x1a\x00".as_slice();
        let hlo = [b"\x0a\x0d".as_slice(), module].concat();
        let text = b"\n// x\nHloModule jit_f.1, is_scheduled=true".as_slice();
        // A plane starts with its id or its name, which is field 2.
        let space = b"\x0a\x0a\x08\x01\x12\x06/a:b:0".as_slice();
        let forms =
            [module, &hlo, text, space, b"", b"\x0a", b"\x0a\xff\xff\xff\xff\xff\xff", b"{}"].map(Form::of);
        let known = [Form::ModuleProto, Form::HloProto, Form::Text].map(Some);
        assert_eq!(forms, [&known[..], &[None; 5]].concat()[..]);
        let names = [module, &hlo, text, space].map(Module::name_in);
        assert_eq!(names.map(|name| name.unwrap_or_default()), ["jit", "jit", "jit_f.1", ""]);
    }
}
