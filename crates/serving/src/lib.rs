//! Requests and batches of model servers, and where each one's time went. What belongs together on a host is found in
//! `haloscope_event_groups`.

pub mod inference;
