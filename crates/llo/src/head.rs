//! Which op a message is of, without reading it.

use std::borrow::Cow;

use haloscope_xspace::wire::{Fields, Value};

/// The names in an `LloModule`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head<'a> {
    /// Name of the HLO instruction; of what frames a program `TLP` or a word in angle brackets.
    pub op: Cow<'a, str>,
    /// Name of the HLO module.
    pub module_name: Cow<'a, str>,
    /// The compiler's number of it; 0 in dumps.
    pub module_id: i64,
}

impl<'a> Head<'a> {
    /// The names in a file that is an `LloModule`; `None` for what is something else. Damage behind the names is found by
    /// [`crate::Module::read`].
    #[must_use]
    pub fn of(bytes: &'a [u8]) -> Option<Self> {
        /// Fields of the message in which an op's name and its region stand.
        const OP: u32 = 1;
        const TOP: u32 = 2;
        // What frames a program has no name, and begins with its region.
        let is_nameless = bytes.first() == Some(&(2 << 3 | 2));
        if !is_nameless && bytes.first() != Some(&(1 << 3 | 2)) {
            return None;
        }
        let mut head = Self::default();
        let (mut has_op, mut has_region) = (is_nameless, false);
        let mut fields = Fields::new(bytes, 0);
        for field in fields.by_ref() {
            match (field.number, field.value) {
                // A file that was cut in its region is damaged, and still such a message.
                (TOP, Value::Bytes(region)) => has_region = is_region(region),
                _ if !field.whole => {}
                (OP, Value::Bytes(op)) => {
                    // An XSpace begins with a plane, an HloProto with a module: neither is a name.
                    has_op = is_name(op);
                    head.op = String::from_utf8_lossy(op);
                }
                (10, Value::Bytes(name)) => head.module_name = String::from_utf8_lossy(name),
                (11, Value::Varint(number)) => head.module_id = number as i64,
                _ => {}
            }
            if !has_op || field.number > OP && !has_region {
                return None;
            }
        }
        (has_op && has_region).then_some(head)
    }

    /// Whether it is what frames a program, and no op of it.
    #[must_use]
    pub fn is_frame(&self) -> bool {
        self.op.is_empty() || self.op == "TLP" || self.op.starts_with('<')
    }
}

fn is_name(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_ok_and(|name| !name.contains(char::is_control))
}

/// Whether bytes begin a message, and are no text: an `HloModuleProto` has the name of its entry there.
fn is_region(bytes: &[u8]) -> bool {
    !is_name(bytes) && Fields::new(bytes, 0).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(field: u8, body: &[u8]) -> Vec<u8> {
        let mut out = vec![field << 3 | 2, u8::try_from(body.len()).unwrap()];
        out.extend_from_slice(body);
        out
    }

    fn region() -> Vec<u8> {
        // Bundles 0 to 3, number 2.
        vec![5 << 3, 0, 6 << 3, 3, 7 << 3, 2]
    }

    #[test]
    fn names_are_told_without_reading_the_rest() {
        let bytes = [message(1, b"mm.1"), message(2, &region()), message(10, b"jit_mm"), vec![11 << 3, 4]];
        let bytes = bytes.concat();
        let head = Head::of(&bytes).unwrap();
        assert_eq!((head.op.as_ref(), head.module_name.as_ref(), head.module_id), ("mm.1", "jit_mm", 4));
        assert!(!head.is_frame());
        let frame = [message(1, b"<late-finalization>"), message(2, &region())].concat();
        assert!(Head::of(&frame).unwrap().is_frame());
        // The frame of a program has no name.
        assert!(Head::of(&message(2, &region())).unwrap().is_frame());
        assert_eq!(Head::of(&message(2, b"an error of a profiler")), None);
    }

    #[test]
    fn other_messages_and_text_are_none() {
        let module = [message(1, b"jit_f"), message(2, b"main.5"), message(3, &[])].concat();
        let proto = message(1, &module);
        let space = message(1, &[message(2, b"/host:metadata"), message(4, &[8, 1])].concat());
        for bytes in [&module[..], &proto, &space, b"HloModule x", b"", b"\n", &message(1, b"mm.1")] {
            assert_eq!(Head::of(bytes), None, "{bytes:?}");
        }
        // What is cut in its region is damaged, but nobody else's.
        let whole = [message(1, b"mm.1"), message(2, &region())].concat();
        let is_told = |at: usize| Head::of(&whole[..at]).is_some();
        assert_eq!([2, 6, 8, 10, whole.len()].map(is_told), [false, false, false, true, true]);
    }
}
