//! Words that nobody guesses.

use std::fmt::Write;

/// Random bytes of one: 256 bits.
const BYTES: usize = 32;

/// 256 random bits of the system's, in 64 hexadecimal digits: a token for a server, or what stands for it in a browser.
///
/// # Errors
/// Where the system has no random numbers.
pub fn secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)?;
    let mut word = String::with_capacity(2 * BYTES);
    for byte in bytes {
        // Writing to a text does not fail.
        let _ = write!(word, "{byte:02x}");
    }
    Ok(word)
}
