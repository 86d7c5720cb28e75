//! What `comm` needs of a device whatever the window: its transfers, and when their ops were the innermost ones. Kept for the
//! next question, where one is expected: see [`Profile::memo`].

use std::sync::OnceLock;

use super::exposure::OnCore;
use super::pairs::{self, NamedOp, Transfer};
use haloscope_profile::{Device, Profile, filled};
use haloscope_time::op_rows::DeviceOps;
use haloscope_time::window_index::WindowIndex;

/// The transfers of a device.
#[derive(Debug)]
pub(super) struct Found<'p> {
    /// By start.
    pub(super) transfers: Vec<Transfer>,
    /// The ops that only the asynchronous line shows.
    pub(super) more: Vec<NamedOp<'p>>,
    pub(super) on_core: OnCore,
}

/// Filled on first use, by device.
#[derive(Debug)]
struct Kept(Vec<OnceLock<Found<'static>>>);

impl<'p> Found<'p> {
    fn anew(profile: &'p Profile, device: &Device, ops: &DeviceOps<'p>) -> Self {
        let (transfers, more) = pairs::of_device(profile, device, ops);
        Self { transfers, more, on_core: OnCore::find(profile, ops) }
    }

    fn into_owned(self) -> Found<'static> {
        let owned = |(meta, module): NamedOp<'p>| (meta.into_owned(), module.into_owned().into());
        Found {
            transfers: self.transfers,
            more: self.more.into_iter().map(owned).collect(),
            on_core: self.on_core,
        }
    }
}

/// Hands the ops and the transfers of a device to `take`.
pub(super) fn of_device<'p, T>(
    profile: &'p Profile,
    device: &Device,
    take: impl FnOnce(&DeviceOps<'p>, &Found<'p>) -> T,
) -> T {
    let kept = profile.memo(|profile| Kept(profile.devices.iter().map(|_| OnceLock::new()).collect()));
    let of_device = kept.and_then(|Kept(all)| all.get(device.id.index()));
    let (Some(cell), Some(index)) = (of_device, WindowIndex::of(profile)) else {
        let ops = DeviceOps::find(profile, device);
        return take(&ops, &Found::anew(profile, device, &ops));
    };
    let ops: &DeviceOps<'p> = index.ops(profile, device);
    take(ops, filled(cell, || Found::anew(profile, device, ops).into_owned()))
}
