//! A writer of protobuf messages: fields behind each other, nested messages with their length in front.

/// A message under construction.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const BYTES: u32 = 2;

impl Message {
    /// A whole number.
    pub(super) fn uint(&mut self, field: u32, value: u64) -> &mut Self {
        self.tag(field, VARINT).varint(value)
    }

    /// A whole number of the types `int32` and `int64`.
    pub(super) fn int(&mut self, field: u32, value: i64) -> &mut Self {
        self.uint(field, value as u64)
    }

    pub(super) fn double(&mut self, field: u32, value: f64) -> &mut Self {
        self.tag(field, FIXED64).0.extend_from_slice(&value.to_bits().to_le_bytes());
        self
    }

    pub(super) fn text(&mut self, field: u32, value: &str) -> &mut Self {
        self.bytes(field, value.as_bytes())
    }

    pub(super) fn message(&mut self, field: u32, body: &Self) -> &mut Self {
        self.bytes(field, &body.0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn bytes(&mut self, field: u32, value: &[u8]) -> &mut Self {
        self.tag(field, BYTES).varint(value.len() as u64).0.extend_from_slice(value);
        self
    }

    fn tag(&mut self, field: u32, wire_type: u32) -> &mut Self {
        self.varint(u64::from(field << 3 | wire_type))
    }

    fn varint(&mut self, mut value: u64) -> &mut Self {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }
}
