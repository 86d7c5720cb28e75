//! Packed files, unpacked as far as their size allows. What unpacks to much more than profiles do lies in a scratch file, so that
//! it does not take the memory of what it claims to be.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::GzDecoder;

use super::limit::memory_limit;
use super::memory::NotUnpacked;
use super::{allowance, memory};
use crate::Bytes;
use crate::bytes::{End, Packed};
use haloscope_report::Error;

/// Unpacked bytes that lie in memory for each byte of a packed file, and always.
const IN_MEMORY: u64 = 16;
const FEW: u64 = 4 << 20;

/// The content of a gzip file.
///
/// # Errors
/// [`Error::Io`] where it cannot be read, [`Error::Input`] for what is no gzip file, or unpacks to more than its size allows.
pub(super) fn gzip(path: &Path) -> Result<Bytes, Error> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let file = File::open(path).map_err(io)?;
    let size = file.metadata().map_err(io)?.len();
    let most = allowance::most_unpacked(size);
    let mut members = Members::new(BufReader::new(file));
    let damaged = |error: io::Error| match error.raw_os_error() {
        Some(_) => io(error),
        None => cut(path, &error.to_string()),
    };
    let too_much = || allowance::unpacks_to_too_much(path, size, most);
    let quarter = memory_limit().map_or(u64::MAX, |limit| limit / 4);
    let in_memory = size.saturating_mul(IN_MEMORY).max(FEW).min(quarter).min(most);
    let mut bytes = Vec::new();
    members.by_ref().take(in_memory.saturating_add(1)).read_to_end(&mut bytes).map_err(damaged)?;
    if bytes.len() as u64 <= in_memory {
        return Ok(Box::new(Packed { bytes: Box::new(bytes), end: members.end }));
    }
    if in_memory >= most {
        return Err(too_much());
    }
    // One byte more than may be shows that there are more.
    let rest = most.saturating_add(1).saturating_sub(bytes.len() as u64);
    match memory::unpacked_from(bytes, &mut members.by_ref().take(rest)) {
        Err(NotUnpacked::Read(error)) => Err(damaged(error)),
        Err(NotUnpacked::NoRoom { place, error }) => Err(no_room(path, &place, &error)),
        Ok(unpacked) if unpacked.len() as u64 > most => Err(too_much()),
        Ok(unpacked) => Ok(Box::new(Packed { bytes: unpacked, end: members.end })),
    }
}

/// Of a file that may well be whole, where there is no room for what it unpacks to.
fn no_room(path: &Path, place: &str, error: &io::Error) -> Error {
    let message = format!(
        "there is no room in {place} for the unpacked file: {error}. Free some space there, set HALOSCOPE_CACHE to a folder on another disk, or unpack the file first"
    );
    Error::Input { path: path.to_owned(), message }
}

/// Of a packed file that is of no use as far as it goes.
pub(super) fn cut(path: &Path, found: &str) -> Error {
    let message =
        format!("expected gzip data, found: {found}. The file may have been cut off while it was copied");
    Error::Input { path: path.to_owned(), message }
}

/// What all members of a gzip file hold, one after another: a profile that was written in pieces has several. What follows the last
/// and begins none is passed over, and counted. A file that ends in the middle gives what stands before.
pub(super) struct Members<R> {
    member: Option<GzDecoder<R>>,
    /// Whether anything was unpacked.
    has_given: bool,
    /// How the file ends, as far as it has been read to its end.
    end: End,
}

impl<R: BufRead> Members<R> {
    pub(super) fn new(file: R) -> Self {
        Self { member: Some(GzDecoder::new(file)), has_given: false, end: End::default() }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(mut member) = self.member.take() {
            match member.read(into) {
                // What the data say. What the system says is no word on the file's end.
                Err(error) if self.has_given && error.raw_os_error().is_none() => {
                    self.end.cut = Some(error.to_string());
                    return Ok(0);
                }
                Ok(0) if !into.is_empty() => {}
                read => {
                    self.has_given |= matches!(read, Ok(1..));
                    self.member = Some(member);
                    return read;
                }
            }
            let mut file = member.into_inner();
            let next = file.fill_buf()?;
            // The second byte of the magic may be behind the end of what has been read so far.
            if next.first() == Some(&0x1f) && next.get(1).is_none_or(|byte| *byte == 0x8b) {
                self.member = Some(GzDecoder::new(file));
            } else {
                self.end.trailing = io::copy(&mut file, &mut io::sink())?;
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn member(bytes: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn what_the_system_cannot_read_is_no_end_of_the_file() {
        struct Broken<'a>(&'a [u8]);
        impl Read for Broken<'_> {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                match self.0.read(into)? {
                    0 => Err(io::Error::from_raw_os_error(5)),
                    read => Ok(read),
                }
            }
        }
        let whole: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        let packed = member(&whole);
        let mut members = Members::new(BufReader::with_capacity(1000, Broken(&packed[..packed.len() / 2])));
        let mut bytes = Vec::new();
        let error = members.read_to_end(&mut bytes).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(5));
        assert!(!bytes.is_empty() && members.end.cut.is_none());
        // The same bytes of a file that ends there give what they hold.
        let mut members = Members::new(&packed[..packed.len() / 2]);
        let mut bytes = Vec::new();
        members.read_to_end(&mut bytes).unwrap();
        assert!(!bytes.is_empty() && members.end.cut.is_some());
    }

    #[test]
    fn all_members_of_a_gzip_file_are_read() {
        let read = |bytes: Vec<u8>| {
            // A buffer of three bytes cuts the magic of members in every way.
            let mut members = Members::new(BufReader::with_capacity(3, &bytes[..]));
            let mut text = String::new();
            members.read_to_string(&mut text).map(|_| (text, members.end))
        };
        let (one, two) = (member(b"one"), member(b"two"));
        assert_eq!(read(one.clone()).unwrap(), ("one".into(), End::default()));
        let three = [&one[..], &member(b" and"), &member(b" two")].concat();
        assert_eq!(read(three).unwrap(), ("one and two".into(), End::default()));
        let behind = End { trailing: 8, cut: None };
        assert_eq!(read([member(b"one"), b"trailing".to_vec()].concat()).unwrap(), ("one".into(), behind));
        let whole = [one, two].concat();
        for length in [whole.len() - 4, whole.len() - 9] {
            let (text, end) = read(whole[..length].to_vec()).unwrap();
            assert!("onetwo".starts_with(&text) && text.len() >= 3, "{text}");
            assert!(end.cut.is_some() && end.trailing == 0, "{end:?}");
        }
        assert!(read(whole[..8].to_vec()).is_err(), "nothing can be unpacked");
    }

    #[test]
    fn a_full_disk_is_no_damage() {
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let message = no_room("x.xplane.pb.gz".as_ref(), "/scratch", &full).to_string();
        assert!(message.contains("room in /scratch") && message.contains("HALOSCOPE_CACHE"), "{message}");
        assert!(!message.contains("gzip data") && !message.contains("copied"), "{message}");
    }

    #[test]
    fn a_bomb_is_refused_and_what_packs_well_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.xplane.pb.gz");
        let unpacked = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            gzip(&path)
        };
        // 1000 times as large.
        let message = unpacked(&member(&vec![0; 64 << 20])).err().unwrap().to_string();
        assert!(message.contains("--max-unpacked") && message.contains("more than"), "{message}");
        // In many members it is no less.
        let members = member(&vec![0; 1 << 20]).repeat(64);
        assert!(unpacked(&members).is_err());
        // A hundred times as large: it lies in a scratch file.
        let noise: Vec<u8> =
            (0_u64..100_000).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
        let well: Vec<u8> = [&noise[..], &vec![7; 8 << 20]].concat();
        let packed = member(&well);
        assert!(packed.len() * 16 < well.len() && packed.len() * 200 > well.len(), "{}", packed.len());
        assert!(**unpacked(&packed).unwrap() == well[..]);
        // And so do a few bytes, whatever they pack to.
        assert!(**unpacked(&member(&[0; 1 << 20])).unwrap() == [0; 1 << 20]);
    }
}
