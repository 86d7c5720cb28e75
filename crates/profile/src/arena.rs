//! Memory for the columns of a line, taken at once.

use std::ops::{Deref, Range};
use std::sync::Arc;

use bytemuck::Pod;

use super::{Column, Segment, Shared};

/// From here on columns are worth pages of their own: large ones, of which the system hands out a few where it would hand out
/// thousands of small ones.
#[cfg(unix)]
const LARGE: usize = 4 << 20;

/// Zeroed memory, aligned to 8 bytes, that becomes columns once it is filled.
pub(super) enum Arena {
    Heap(Vec<u64>),
    #[cfg(unix)]
    Pages(memmap2::MmapMut),
}

impl Arena {
    /// Memory for so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        #[cfg(unix)]
        if bytes >= LARGE
            && let Ok(pages) = memmap2::MmapMut::map_anon(bytes)
        {
            // Where the system has no large pages, small ones do.
            #[cfg(target_os = "linux")]
            let _ = pages.advise(memmap2::Advice::HugePage);
            return Self::Pages(pages);
        }
        Self::Heap(vec![0; bytes.div_ceil(8)])
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Heap(words) => bytemuck::cast_slice_mut(words),
            #[cfg(unix)]
            Self::Pages(pages) => pages,
        }
    }

    /// The memory as it is shared by columns.
    pub(super) fn share(self) -> Shared {
        Arc::new(self)
    }
}

impl Deref for Arena {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Heap(words) => bytemuck::cast_slice(words),
            #[cfg(unix)]
            Self::Pages(pages) => pages,
        }
    }
}

/// Where columns lie, one behind the other.
#[derive(Default)]
pub(super) struct Plan(usize);

impl Plan {
    /// The place of a column of so many numbers.
    pub(super) fn column<T>(&mut self, rows: usize) -> Range<usize> {
        let from = self.0;
        self.0 = from + (rows * size_of::<T>()).next_multiple_of(8);
        from..from + rows * size_of::<T>()
    }

    pub(super) fn bytes(&self) -> usize {
        self.0
    }
}

/// The first `rows` numbers of a column that lies in shared memory.
pub(super) fn column<T: Pod>(memory: &Shared, place: &Range<usize>, rows: usize) -> Column<T> {
    let end = place.start + rows * size_of::<T>();
    let segment = Segment::new(Arc::clone(memory), place.start..end.min(place.end));
    segment.and_then(Column::mapped).unwrap_or_default()
}
