//! A window of time in pixels, and the pieces that are drawn in it.

use haloscope_profile::MetaIdx;
use haloscope_report::Error;

/// The most pixels that a window is drawn in.
pub const MAX_PX: u32 = 16_384;

/// A window of time in pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct View {
    pub(super) start_ps: i64,
    pub(super) end_ps: i64,
    /// One pixel, 1 or more.
    pub(super) width_ps: i64,
}

/// One box to draw: an event, or several of one row within one pixel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) start_ps: i64,
    pub(super) duration_ps: i64,
    pub(super) depth: u32,
    /// The first event.
    pub(super) first: u32,
    /// The longest one, the first among equals.
    pub(super) longest: u32,
    /// What that is.
    pub(super) meta: MetaIdx,
    /// Number of events.
    pub(super) count: u32,
}

impl Piece {
    /// The event, where it is one.
    pub(super) fn event(&self) -> Option<u32> {
        (self.count == 1).then_some(self.first)
    }
}

impl View {
    /// # Errors
    /// [`Error::Usage`] for an empty window, for 0 or more than [`MAX_PX`] pixels.
    pub(super) fn of(start_ps: i64, end_ps: i64, px: u32) -> Result<Self, Error> {
        if start_ps >= end_ps {
            return Err(Error::Usage(format!(
                "expected a window that ends after it starts, found {start_ps}..{end_ps} ps"
            )));
        }
        if !(1..=MAX_PX).contains(&px) {
            return Err(Error::Usage(format!("expected 1 to {MAX_PX} pixels, found {px}")));
        }
        let length = (i128::from(end_ps) - i128::from(start_ps)) as u128;
        let width_ps = i64::try_from(length.div_ceil(u128::from(px))).unwrap_or(i64::MAX);
        Ok(Self { start_ps, end_ps, width_ps })
    }

    /// The end of the pixel that holds `time_ps`; of the first pixel for times before the window.
    pub(super) fn pixel_end(self, time_ps: i64) -> i64 {
        let time_ps = time_ps.max(self.start_ps);
        let end = time_ps.checked_sub(self.start_ps).and_then(|into| {
            let pixels = into / self.width_ps + 1;
            self.start_ps.checked_add(pixels.checked_mul(self.width_ps)?)
        });
        end.unwrap_or_else(|| self.far_pixel_end(time_ps))
    }

    /// The same for windows that span more than an `i64` holds.
    #[cold]
    fn far_pixel_end(self, time_ps: i64) -> i64 {
        let [time_ps, start_ps, width_ps] = [time_ps, self.start_ps, self.width_ps].map(i128::from);
        i64::try_from(start_ps + ((time_ps - start_ps) / width_ps + 1) * width_ps).unwrap_or(i64::MAX)
    }
}
