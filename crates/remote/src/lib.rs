//! Runs in object stores: lists them, brings their files here, writes captured ones.
