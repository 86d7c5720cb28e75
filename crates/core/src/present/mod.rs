//! Presents reports.
