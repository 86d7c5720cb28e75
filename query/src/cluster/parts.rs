//! Parts of files on their way: made by the worker that has the file, sent in pieces, and joined by whoever asks.

use std::sync::{Arc, Once};

use arrow::array::{ArrayRef, AsArray, Int64Array, LargeBinaryArray, StringArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::internal_err;
use datafusion::error::Result;
use haloscope_profile::load;
use haloscope_store::{Body, Question};
use prost::Message;

use super::shelf::{FileRef, Shelf, profile};
use crate::printer;
use crate::tables::part::{self, FilePart};

/// Bytes of a part that go over the network in one row.
const PIECE: usize = 1 << 20;

/// How parts come from workers.
pub(super) fn schema() -> SchemaRef {
    let field = |name: &str, kind| Field::new(name, kind, true);
    Arc::new(Schema::new(vec![
        field("at", DataType::Int64),
        field("host", DataType::Utf8),
        field("file_bytes", DataType::Int64),
        field("part_bytes", DataType::Int64),
        field("piece", DataType::Int64),
        field("bytes", DataType::LargeBinary),
    ]))
}

/// What the cache calls them. No analysis has this name.
const KEPT_AS: &str = "part";
/// What kind of thing is kept.
const KIND: &str = "application/x-protobuf";
/// A larger part is made each time: what is kept is copied when it is read and written, beside what a worker may have in memory.
const LARGEST: usize = 64 << 20;

/// A part as it is kept.
#[derive(Clone, PartialEq, Message)]
struct KeptPart {
    #[prost(string, tag = "1")]
    host: String,
    #[prost(uint64, tag = "2")]
    file_bytes: u64,
    #[prost(bytes = "vec", tag = "3")]
    bytes: Vec<u8>,
}

/// The parts of a file as they are kept.
#[derive(Clone, PartialEq, Message)]
struct KeptParts {
    #[prost(message, repeated, tag = "1")]
    parts: Vec<KeptPart>,
}

/// What these analyses need of a file: one part, of one host. It is made, unless this very program made it of the file as it is, for the
/// same analyses, and kept it.
///
/// # Errors
/// For a file that cannot be read, or was written to meanwhile.
pub(super) fn of(file: &FileRef, questions: &[&str], shelf: &Shelf) -> Result<Vec<FilePart>> {
    let made = shelf.alone(file, |path| {
        let (files, path) = (vec![path.to_owned()], path.to_owned());
        let run = load::Run { files, path, chosen_from: 1 };
        let words = questions.join(",");
        let place = shelf.cache.as_ref().and_then(|cache| {
            let question = Question::of_words(KEPT_AS, &words, &run)?;
            Some((cache, question))
        });
        let known = place.as_ref().and_then(|(cache, question)| cache.body(question));
        if let Some(kept) = known.and_then(|body| KeptParts::decode(body.bytes.as_slice()).ok()) {
            return Ok(kept.into_parts(&file.run));
        }
        let parts = part::of(&file.run, &profile(&run.path)?, questions)?;
        let bytes: usize = parts.iter().map(|part| part.bytes.len()).sum();
        let Some((cache, question)) = place.filter(|_| bytes <= LARGEST) else { return Ok(parts) };
        let kept = KeptParts::of(parts);
        cache.keep_body(&question, &Body { content_type: KIND.to_owned(), bytes: kept.encode_to_vec() });
        if let Some(trouble) = cache.trouble() {
            static SAID: Once = Once::new();
            SAID.call_once(|| printer::note(format_args!("parts are not kept: {trouble}")));
        }
        Ok(kept.into_parts(&file.run))
    });
    made.map_err(Into::into)
}

impl KeptParts {
    fn of(parts: Vec<FilePart>) -> Self {
        let part =
            |part: FilePart| KeptPart { host: part.host, file_bytes: part.file_bytes, bytes: part.bytes };
        Self { parts: parts.into_iter().map(part).collect() }
    }

    fn into_parts(self, run: &str) -> Vec<FilePart> {
        let part = |part: KeptPart| FilePart {
            run: run.to_owned(),
            host: part.host,
            file_bytes: part.file_bytes,
            bytes: part.bytes,
        };
        self.parts.into_iter().map(part).collect()
    }
}

/// A part in rows that are short enough for the network; one at least.
pub(super) fn pieces<'a>(
    file: &FileRef,
    part: &'a FilePart,
) -> impl Iterator<Item = Result<RecordBatch>> + 'a {
    let at = i64::from(file.at);
    let whole = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    (0..part.bytes.len().div_ceil(PIECE).max(1)).map(move |piece| {
        let from = piece * PIECE;
        let bytes = &part.bytes[from..part.bytes.len().min(from + PIECE)];
        let number = |number: i64| -> ArrayRef { Arc::new(Int64Array::from(vec![number])) };
        let columns: Vec<ArrayRef> = vec![
            number(at),
            Arc::new(StringArray::from(vec![part.host.as_str()])),
            number(whole(part.file_bytes)),
            number(whole(part.bytes.len() as u64)),
            number(whole(piece as u64)),
            Arc::new(LargeBinaryArray::from_vec(vec![bytes])),
        ];
        Ok(RecordBatch::try_new(schema(), columns)?)
    })
}

/// A piece of a part as it came.
struct Piece<'a> {
    /// The position of the file.
    at: i64,
    host: &'a str,
    file_bytes: i64,
    part_bytes: i64,
    number: i64,
    bytes: &'a [u8],
}

/// The parts that these pieces make, in the order of their files.
///
/// # Errors
/// Never in practice: columns that are not those of [`schema`], and pieces that are missing.
pub(super) fn joined(batches: &[RecordBatch], files: &[FileRef]) -> Result<Vec<FilePart>> {
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    for batch in batches {
        let [at, host, file_bytes, part_bytes, number, bytes] = batch.columns() else {
            return internal_err!("parts of other columns");
        };
        let numbers = |column: &ArrayRef| column.as_primitive::<Int64Type>().clone();
        let [at, file_bytes, part_bytes, number] = [at, file_bytes, part_bytes, number].map(numbers);
        let (host, bytes) = (host.as_string::<i32>(), bytes.as_binary::<i64>());
        pieces.extend((0..batch.num_rows()).map(|row| Piece {
            at: at.value(row),
            host: host.value(row),
            file_bytes: file_bytes.value(row),
            part_bytes: part_bytes.value(row),
            number: number.value(row),
            bytes: bytes.value(row),
        }));
    }
    pieces.sort_unstable_by_key(|piece| (piece.at, piece.number));
    let of_file = |file: &FileRef| {
        let own: Vec<&Piece<'_>> = pieces.iter().filter(|piece| piece.at == i64::from(file.at)).collect();
        let bytes = own.iter().map(|piece| piece.bytes).collect::<Vec<_>>().concat();
        let is_each_once = (0..).zip(&own).all(|(number, piece)| piece.number == number);
        let is_whole = |first: &&&Piece<'_>| i64::try_from(bytes.len()) == Ok(first.part_bytes);
        let Some(first) = own.first().filter(is_whole).filter(|_| is_each_once) else {
            return internal_err!("the part of {} came in pieces that do not make it", file.shown);
        };
        let (run, host) = (file.run.clone(), first.host.to_owned());
        Ok(FilePart { run, host, file_bytes: u64::try_from(first.file_bytes).unwrap_or_default(), bytes })
    };
    files.iter().map(of_file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::Place;

    fn file(at: u32) -> FileRef {
        let (run, path) = ("r".to_owned(), format!("/logs/h-{at}.xplane.pb"));
        FileRef { at, run, shown: path.clone(), path, bytes: 9, version: None, place: Place::default() }
    }

    fn part(host: &str, bytes: Vec<u8>) -> FilePart {
        FilePart { run: "r".to_owned(), host: host.to_owned(), file_bytes: 7, bytes }
    }

    #[test]
    fn pieces_make_the_part_again_in_whatever_order_they_come() {
        let long: Vec<u8> = (0..2 * PIECE + 5).map(|at| (at % 251) as u8).collect();
        let (files, parts) = ([file(0), file(1)], [part("a", long), part("b", Vec::new())]);
        let rows = files.iter().zip(&parts).flat_map(|(file, part)| pieces(file, part));
        let mut rows: Vec<RecordBatch> = rows.collect::<Result<_>>().unwrap();
        assert_eq!(rows.len(), 4);
        rows.reverse();
        let made = joined(&rows, &files).unwrap();
        assert!(
            made.iter().zip(&parts).all(|(made, part)| made.bytes == part.bytes && made.host == part.host)
        );
        assert_eq!(made.len(), 2);
        // None is missing unsaid, and none counts twice.
        for at in 0..rows.len() {
            let mut fewer = rows.clone();
            fewer.remove(at);
            assert!(joined(&fewer, &files).is_err(), "{at}");
        }
        rows.push(rows[0].clone());
        assert!(joined(&rows, &files).is_err());
    }
}
