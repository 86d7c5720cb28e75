//! Columns of plain numbers: on the heap, or in a mapped file.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::sync::Arc;

use bytemuck::Pod;

/// The bytes of a mapped file, shared by the columns that lie in it.
pub type Shared = Arc<dyn Deref<Target = [u8]> + Send + Sync>;

/// A part of a mapped file.
#[derive(Clone)]
pub struct Segment {
    bytes: Shared,
    range: Range<usize>,
}

impl Segment {
    /// The bytes at `range`; `None` if they reach past the end of the file.
    #[must_use]
    pub fn new(bytes: Shared, range: Range<usize>) -> Option<Self> {
        bytes.get(range.clone())?;
        Some(Self { bytes, range })
    }
}

impl Deref for Segment {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.get(self.range.clone()).unwrap_or_default()
    }
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Segment").field(&self.range).finish()
    }
}

/// A column: a slice that somebody keeps. Take the slice once before a loop; where the column lies in a file, each look at
/// it checks alignment.
#[derive(Debug)]
pub struct Column<T>(Place<T>);

#[derive(Debug)]
enum Place<T> {
    Heap(Vec<T>),
    Mapped(Segment, PhantomData<T>),
}

impl<T: Pod> Column<T> {
    /// A column in a mapped file; `None` unless the bytes are whole numbers of this type, aligned.
    #[must_use]
    pub fn mapped(segment: Segment) -> Option<Self> {
        bytemuck::try_cast_slice::<u8, T>(&segment).ok()?;
        Some(Self(Place::Mapped(segment, PhantomData)))
    }

    /// Its bytes, in this machine's order.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self(Place::Heap(Vec::new()))
    }
}

impl<T> From<Vec<T>> for Column<T> {
    fn from(numbers: Vec<T>) -> Self {
        Self(Place::Heap(numbers))
    }
}

impl<T: Pod> Deref for Column<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Place::Heap(numbers) => numbers,
            Place::Mapped(segment, _) => bytemuck::try_cast_slice(segment).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_the_same_on_the_heap_and_in_a_file() {
        let heap = Column::from(vec![1_i64, -2, i64::MAX]);
        // Words, so that the bytes are aligned as a file's page is.
        let words: Vec<u64> = heap.iter().map(|number| *number as u64).collect();
        struct Words(Vec<u64>);
        impl Deref for Words {
            type Target = [u8];
            fn deref(&self) -> &[u8] {
                bytemuck::cast_slice(&self.0)
            }
        }
        let file: Shared = Arc::new(Words(words));
        let all = Segment::new(Arc::clone(&file), 0..24).unwrap();
        assert_eq!(Column::<i64>::mapped(all).unwrap()[..], heap[..]);
        let last = Segment::new(Arc::clone(&file), 16..24).unwrap();
        assert_eq!(Column::<i64>::mapped(last).unwrap()[..], [i64::MAX]);
        let uneven = Segment::new(Arc::clone(&file), 0..12).unwrap();
        assert!(Column::<i64>::mapped(uneven).is_none());
        let unaligned = Segment::new(Arc::clone(&file), 4..12).unwrap();
        assert!(Column::<i64>::mapped(unaligned).is_none());
        assert!(Segment::new(file, 20..28).is_none());
    }
}
