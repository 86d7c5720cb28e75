//! The reader, on messages made by hand, on hostile ones, and on the fixtures' kernels.

mod corpus;
mod fixtures;
mod hostile;
mod made;
mod read;
