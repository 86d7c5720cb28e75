//! Transposed chunks: the fields of all records, each kind in a buffer of its own, and a machine that puts them together again.
//!
//! The machine's nodes say which field comes next; it runs from the last byte of the last record to the first of the first,
//! so that the length of a message is known when its begin is written.

use haloscope_xspace::wire;

use super::chunk::Chunk;
use super::compression::{Compression, Cursor, Most};
use super::{Records, Why};

/// A step of the machine.
#[derive(Debug, Clone, Copy)]
struct Node {
    act: Act,
    tag: u32,
    next: usize,
    /// Whether the next node follows without a transition.
    is_implicit: bool,
}

#[derive(Debug, Clone, Copy)]
enum Act {
    Nothing,
    /// A record that is no message, from this buffer.
    Other(usize),
    RecordStart,
    MessageStart,
    MessageEnd,
    /// A tag alone.
    Tag,
    /// A tag and a number of one byte.
    Inline(u8),
    /// A number of so many bytes.
    Varint(usize, u8),
    /// So many bytes as they are.
    Fixed(usize, u8),
    /// A length and as many bytes.
    Text(usize),
}

/// What the machine runs on.
struct Parts<'a> {
    nodes: Vec<Node>,
    first: usize,
    buffers: Vec<Cursor<'a>>,
}

/// What the bytes of a chunk may unpack to for each byte of its records: fields take no more, nodes and transitions little.
const SLACK: u64 = 16;

/// Nodes, and buffers with their buckets, that a chunk may have: as many as messages have fields, in each place where they stand.
const MOST_PARTS: usize = 1 << 16;
/// Messages within messages.
const DEEPEST: usize = 256;

pub(super) fn read(chunk: &Chunk, left: u64) -> Result<Records, Why> {
    let needed = chunk.decoded.saturating_add(chunk.records).saturating_mul(SLACK).saturating_add(1 << 20);
    // What is unpacked and put together stands beside what becomes of it.
    let most = Most::of(needed).within(left);
    let mut data = Cursor::new(&chunk.data);
    let compression = Compression::from_byte(data.byte().ok_or("an empty chunk")?)?;
    let length = data.number()?;
    let header = compression.unpack(data.take(length)?, most)?;
    let mut header = Cursor::new(&header);
    let buckets = buckets(compression, &mut header, &mut data, most)?;
    let buffers = buffers(&buckets.1, buckets.0, &mut header)?;
    let parts = machine(&mut header, buffers)?;
    let transitions = compression.unpack(data.rest(), most)?;
    Run { parts, out: Vec::new(), ends: Vec::new(), open: Vec::new(), chunk }.run(&transitions)
}

/// How many buffers there are, and the buckets that they lie in.
fn buckets(
    compression: Compression,
    header: &mut Cursor<'_>,
    data: &mut Cursor<'_>,
    most: Most,
) -> Result<(usize, Vec<Vec<u8>>), Why> {
    let (buckets, buffers) = (header.small()? as usize, header.small()? as usize);
    // Each takes a byte of the header at least.
    let both = buckets.saturating_add(buffers);
    if both > header.left().min(MOST_PARTS) || (buckets == 0 && buffers > 0) {
        return Err(format!("{buckets} buckets and {buffers} buffers").into());
    }
    let mut left = most;
    let mut unpacked = Vec::new();
    for _ in 0..buckets {
        let length = header.number()?;
        let bytes = compression.unpack(data.take(length)?, left)?;
        left.bytes -= bytes.len() as u64;
        unpacked.push(bytes);
    }
    Ok((buffers, unpacked))
}

/// The buffers, one behind another in the buckets.
fn buffers<'a>(
    buckets: &'a [Vec<u8>],
    count: usize,
    header: &mut Cursor<'_>,
) -> Result<Vec<Cursor<'a>>, Why> {
    let mut rest = buckets.iter().map(|bucket| Cursor::new(bucket));
    let mut bucket = rest.next();
    let mut buffers = Vec::new();
    for _ in 0..count {
        let own = bucket.as_mut().ok_or("too few buckets")?;
        buffers.push(Cursor::new(own.take(header.number()?)?));
        while bucket.is_some_and(|own| own.left() == 0) {
            let Some(next) = rest.next() else { break };
            bucket = Some(next);
        }
    }
    if bucket.is_some_and(|own| own.left() > 0) || rest.next().is_some() {
        return Err("buffers do not fill the buckets".into());
    }
    Ok(buffers)
}

fn machine<'a>(header: &mut Cursor<'_>, buffers: Vec<Cursor<'a>>) -> Result<Parts<'a>, Why> {
    let count = header.small()? as usize;
    // A node has a tag and a successor.
    if count.saturating_mul(2) > header.left() || count > MOST_PARTS {
        return Err(format!("a machine of {count} nodes").into());
    }
    let tags = (0..count).map(|_| header.small()).collect::<Result<Vec<u32>, Why>>()?;
    let nexts = (0..count).map(|_| header.small()).collect::<Result<Vec<u32>, Why>>()?;
    let varints = tags.iter().filter(|tag| **tag >= 8 && **tag & 7 == 0).count();
    let mut subtypes = header.take(varints as u64)?.iter();
    let mut nodes = Vec::with_capacity(count);
    let mut has_others = false;
    for (tag, next) in tags.into_iter().zip(nexts) {
        let mut buffer = || -> Result<usize, Why> {
            let index = header.small()? as usize;
            if index < buffers.len() {
                Ok(index)
            } else {
                Err(format!("buffer {index} of {}", buffers.len()).into())
            }
        };
        let mut own = tag;
        let act = match (tag, tag & 7) {
            (0, _) => Act::Nothing,
            (1, _) => {
                has_others = true;
                Act::Other(buffer()?)
            }
            (2, _) => Act::MessageStart,
            (3, _) => Act::RecordStart,
            (4..8, _) => return Err(format!("a node with the tag {tag}").into()),
            (_, 0) => match *subtypes.next().ok_or("too few subtypes")? {
                bytes @ 0..10 => Act::Varint(buffer()?, bytes + 1),
                value @ 10..=0x89 => Act::Inline(value - 10),
                other => return Err(format!("a number of the subtype {other}").into()),
            },
            (_, 1) => Act::Fixed(buffer()?, 8),
            (_, 5) => Act::Fixed(buffer()?, 4),
            (_, 2) => Act::Text(buffer()?),
            (_, 3 | 4) => Act::Tag,
            (_, 6) => {
                own = tag - 4;
                Act::MessageEnd
            }
            _ => return Err(format!("a node with the tag {tag}").into()),
        };
        let is_implicit = next as usize >= count;
        let next = if is_implicit { next as usize - count } else { next as usize };
        if next >= count {
            return Err(format!("node {next} of {count}").into());
        }
        nodes.push(Node { act, tag: own, next, is_implicit });
    }
    if has_others && buffers.is_empty() {
        return Err("no lengths of records".into());
    }
    let first = header.small()? as usize;
    if first >= count || header.left() > 0 {
        return Err(format!("node {first} of {count} to begin with").into());
    }
    Ok(Parts { nodes, first, buffers })
}

/// The machine while it runs.
struct Run<'a> {
    parts: Parts<'a>,
    /// What was put together, the last byte first.
    out: Vec<u8>,
    /// How long `out` was at the begin of each record, the last record first.
    ends: Vec<usize>,
    /// Messages whose begin has not come yet: their tags, and how long `out` was at their end.
    open: Vec<(u32, usize)>,
    chunk: &'a Chunk,
}

impl Run<'_> {
    fn run(mut self, transitions: &[u8]) -> Result<Records, Why> {
        // A node that moves nothing is followed by one that does, but where somebody wants it to run for ever.
        let most =
            self.chunk.decoded.saturating_add(self.chunk.records).saturating_add(transitions.len() as u64);
        let mut left = most.saturating_mul(SLACK).saturating_add(1 << 10);
        let mut bytes = transitions.iter();
        let mut at = self.parts.first;
        let mut node = self.node(at)?;
        let mut repeats = u32::from(node.is_implicit);
        loop {
            self.act(node)?;
            left = left.checked_sub(1).ok_or("a machine that goes in circles")?;
            at = node.next;
            if repeats == 0 {
                let Some(byte) = bytes.next() else { break };
                at += usize::from(byte >> 2);
                node = self.node(at)?;
                repeats = u32::from(byte & 3) + u32::from(node.is_implicit);
            } else {
                node = self.node(at)?;
                repeats -= u32::from(!node.is_implicit);
            }
        }
        self.finish()
    }

    fn node(&self, at: usize) -> Result<Node, Why> {
        let node = self.parts.nodes.get(at).copied();
        node.ok_or_else(|| format!("node {at} of {}", self.parts.nodes.len()).into())
    }

    fn buffer(&mut self, index: usize, length: u64) -> Result<Vec<u8>, Why> {
        let buffer = self.parts.buffers.get_mut(index).ok_or("no such buffer")?;
        buffer.take(length).map(<[u8]>::to_vec)
    }

    fn act(&mut self, node: Node) -> Result<(), Why> {
        match node.act {
            Act::Nothing => Ok(()),
            Act::MessageEnd => {
                if self.open.len() >= DEEPEST {
                    return Err(format!("messages of more than {DEEPEST} levels").into());
                }
                self.open.push((node.tag, self.out.len()));
                Ok(())
            }
            Act::MessageStart => {
                let (tag, end) = self.open.pop().ok_or("a message begins that does not end")?;
                self.put_number((self.out.len() - end) as u64)?;
                self.put_number(u64::from(tag))
            }
            Act::RecordStart => self.record(),
            Act::Tag => self.put_number(u64::from(node.tag)),
            Act::Inline(value) => {
                self.put(&[value])?;
                self.put_number(u64::from(node.tag))
            }
            Act::Varint(buffer, length) => {
                let mut value = self.buffer(buffer, u64::from(length))?;
                let last = value.len().saturating_sub(1);
                value.iter_mut().take(last).for_each(|byte| *byte |= 0x80);
                self.put(&value)?;
                self.put_number(u64::from(node.tag))
            }
            Act::Fixed(buffer, length) => {
                let value = self.buffer(buffer, u64::from(length))?;
                self.put(&value)?;
                self.put_number(u64::from(node.tag))
            }
            Act::Text(index) => {
                let buffer = self.parts.buffers.get_mut(index).ok_or("no such buffer")?;
                // The length is given back as it was written, be it longer than needed.
                let (length, width) =
                    wire::varint(buffer.rest(), 0).map_err(|_| "a length is cut".to_owned())?;
                let value = buffer.take(length.saturating_add(width as u64))?;
                put(&mut self.out, value, self.chunk.decoded)?;
                self.put_number(u64::from(node.tag))
            }
            Act::Other(index) => {
                let length = self.parts.buffers.last_mut().ok_or("no lengths of records")?.small()?;
                let value = self.buffer(index, u64::from(length))?;
                self.put(&value)?;
                self.record()
            }
        }
    }

    fn record(&mut self) -> Result<(), Why> {
        if !self.open.is_empty() {
            return Err("a record begins within a message".into());
        }
        if self.ends.len() as u64 >= self.chunk.records {
            return Err("more records than were said".into());
        }
        self.ends.push(self.out.len());
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Why> {
        put(&mut self.out, bytes, self.chunk.decoded)
    }

    fn put_number(&mut self, mut value: u64) -> Result<(), Why> {
        let (mut bytes, mut length) = ([0_u8; 10], 0);
        for byte in &mut bytes {
            length += 1;
            *byte = value as u8 & 0x7f;
            value >>= 7;
            if value == 0 {
                break;
            }
            *byte |= 0x80;
        }
        put(&mut self.out, bytes.get(..length).unwrap_or_default(), self.chunk.decoded)
    }

    fn finish(mut self) -> Result<Records, Why> {
        let all = self.out.len();
        let is_whole = self.open.is_empty()
            && self.ends.len() as u64 == self.chunk.records
            && self.ends.last().is_none_or(|last| *last == all)
            && all as u64 == self.chunk.decoded;
        if !is_whole {
            return Err("records do not fill the chunk".into());
        }
        self.out.reverse();
        // The begins of the records from the last on were counted from the end: the begin of one is the end of the one before.
        let begins = self.ends.iter().rev().map(|from_end| all - from_end);
        let ends = begins.skip(1).chain([all]).collect();
        Ok(Records { bytes: self.out, ends })
    }
}

fn put(out: &mut Vec<u8>, bytes: &[u8], largest: u64) -> Result<(), Why> {
    if (out.len() + bytes.len()) as u64 > largest {
        return Err("records longer than was said".into());
    }
    out.extend(bytes.iter().rev());
    Ok(())
}
