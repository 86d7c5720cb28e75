//! The XSpace wire format: a reader that borrows everything from the bytes it is given, and a writer.
//!
//! A profiler run leaves one `<host>.xplane.pb` per host, a serialised `XSpace`: planes (a device or a host), lines
//! (a stream, a thread), events (what ran when) and stats (typed facts about any of them). This crate knows the
//! message layout and nothing else: no file access, no names with a meaning, no opinion.
//!
//! # How it reads
//! * [`SpaceView::parse`] walks the planes once. It allocates per plane, per line and per metadata entry, never per event.
//! * [`LineView::events`] decodes three integers per event and keeps the event's bytes; [`EventView::stats`] decodes
//!   those when they are asked for.
//! * Damage is local. A malformed field ends the message it stands in; what came before it has been read, the
//!   neighbours are still read, and a [`Fault`] with the byte offset in the file is kept.
//!
//! ```
//! use haloscope_xspace::{SpaceView, write};
//!
//! let mut line = write::Line::new(1, "XLA Ops");
//! line.events.push(write::Event::at(7, 1_000, 250));
//! let plane = write::Plane { name: "/device:TPU:0".into(), lines: vec![line], ..Default::default() };
//! let bytes = write::Space { planes: vec![plane], ..Default::default() }.to_bytes();
//!
//! let space = SpaceView::parse(&bytes);
//! assert!(space.faults.is_empty());
//! let event = space.planes[0].lines[0].events().next().unwrap();
//! assert_eq!((event.metadata_id, event.duration_ps), (7, 250));
//! ```

mod census;
mod event;
mod fault;
mod fault_words;
mod merge;
mod metadata;
pub mod part;
mod plane;
mod space;
mod stat;
pub mod wire;
pub mod write;

pub use census::Census;
pub use event::{EventTime, EventView, Events};
pub use fault::{Fault, FaultKind, Faults};
pub use merge::merge;
pub use metadata::{EventMetadataView, StatMetadataView};
pub use plane::{LineView, PlaneView, RawLine};
pub use space::SpaceView;
pub use stat::{RawStat, StatValue, StatView, Stats};
