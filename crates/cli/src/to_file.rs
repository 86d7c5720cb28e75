//! Files that answers are written to.

use std::io::{self, Write};
use std::path::Path;

use crate::Failure;

/// Writes a file, which appears whole or stays as it was.
///
/// # Errors
/// [`Failure::File`] with the path that was asked for.
pub(crate) fn to_file<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<T>,
) -> Result<T, Failure> {
    let written = haloscope_to_file::to_file(path, write);
    written.map_err(|error| Failure::writing(error, |error| Failure::File(path.to_owned(), error)))
}
