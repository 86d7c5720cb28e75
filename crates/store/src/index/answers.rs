//! Finished answers, by question: the files as they are, the analysis, the scope, the parameters, and the very program that
//! asks. Whoever asks the same again gets the same bytes, and no profile is opened.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haloscope_profile::load;
use haloscope_report::scope::Scope;
use haloscope_report::{Report, codec as kept};
use haloscope_time::analysis::{Analysis, Params};
use xxhash_rust::xxh3::xxh3_128;

use super::container::{self, SectionKind, SectionName};
use super::identity::{self, Stamp};
use super::{Cache, ENDING, atomic_write};

/// A larger report is computed each time.
const LARGEST: usize = 256 << 20;

/// Files whose bytes are all that a report on them depends on, by the endings of their names. A compiled program is not one:
/// other files may stand beside it.
const ENDINGS: [&str; 5] =
    [".xplane.pb", ".xplane.pb.gz", ".xplane.riegeli", ".trace.json", ".trace.json.gz"];

/// What was asked, of files as they were when it was asked.
#[derive(Debug, Clone)]
pub struct Question {
    /// The question in full.
    key: String,
    /// The analysis or the tool that is asked.
    asked: String,
    files: Vec<(PathBuf, Stamp)>,
}

impl Question {
    /// A question about `runs`, the first of which is held against the others; `None` where the answer depends on more than
    /// can be told again.
    #[must_use]
    pub fn new(analysis: &Analysis, runs: &[&load::Run], scope: &Scope, params: &Params) -> Option<Self> {
        Self::of(analysis.id, &format!("{scope:?}\n{params:?}"), runs)
    }

    /// A question to `tool` about a run, in `words` that tell it from all others to that tool; `None` where the answer depends on
    /// more than can be told again. No tool may be called as an analysis is.
    #[must_use]
    pub fn of_words(tool: &str, words: &str, run: &load::Run) -> Option<Self> {
        Self::of(tool, words, &[run])
    }

    fn of(asked: &str, words: &str, runs: &[&load::Run]) -> Option<Self> {
        let mut key = String::new();
        // With another bound other files of a run may be left out, and other modules.
        let bounds = (load::memory_limit(), load::unpacked_limit());
        let _ = writeln!(key, "{bounds:?}");
        let _ = writeln!(key, "{}\n{asked}\n{words}", identity::program()?);
        let mut files = Vec::new();
        for run in runs {
            let _ = writeln!(key, "run of {} files", run.files.len());
            for path in &run.files {
                let name = path.file_name()?.to_string_lossy();
                if !ENDINGS.iter().any(|ending| name.ends_with(ending)) {
                    return None;
                }
                let stamp = Stamp::read(path)?;
                // Reports name files as they were asked for.
                let _ = writeln!(key, "{path:?} {stamp:?}");
                files.push((path.clone(), stamp));
            }
        }
        Some(Self { key, asked: asked.to_owned(), files })
    }

    fn digests(&self) -> Option<Vec<u8>> {
        let sums = self.files.iter().map(|(_, stamp)| stamp.digest().ok());
        Some(sums.collect::<Option<Vec<u64>>>()?.into_iter().flat_map(u64::to_le_bytes).collect())
    }
}

/// An answer as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// What kind of thing it is: the value of the header `Content-Type`.
    pub content_type: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Cache {
    /// The answer to a question that was answered before.
    #[must_use]
    pub fn answer(&self, question: &Question) -> Option<Report> {
        self.read(question, |sections| {
            let report = kept::from_bytes(&section(sections, SectionKind::Report)?)?;
            (report.analysis == question.asked).then_some(report)
        })
    }

    /// The same, of a question whose answer is kept as it was sent.
    #[must_use]
    pub fn body(&self, question: &Question) -> Option<Body> {
        self.read(question, |sections| {
            let content_type = section(sections, SectionKind::ContentType)?.to_vec();
            let bytes = section(sections, SectionKind::Body)?.to_vec();
            Some(Body { content_type: String::from_utf8(content_type).ok()?, bytes })
        })
    }

    /// What `take` makes of the kept answer to a question; what it cannot use is removed.
    fn read<T>(&self, question: &Question, take: impl FnOnce(&container::File) -> Option<T>) -> Option<T> {
        let path = self.answer_path(question);
        let file = File::open(&path).ok()?;
        let taken =
            Self::checked(question, &file).and_then(|sections| take(&sections).ok_or(Unusable::Damaged));
        match taken {
            Ok(answer) => {
                atomic_write::touch(&file);
                Some(answer)
            }
            Err(Unusable::Differs) => None,
            Err(Unusable::Damaged) => {
                let _ = fs::remove_file(path);
                None
            }
        }
    }

    /// The sections of a file, which is about this question and about files as they are.
    fn checked(question: &Question, file: &File) -> Result<container::File, Unusable> {
        let length = file.metadata().map_or(u64::MAX, |meta| meta.len());
        if length > 2 * LARGEST as u64 {
            return Err(Unusable::Damaged);
        }
        let mut bytes = Vec::with_capacity(length as usize);
        let mut reader = file;
        std::io::Read::read_to_end(&mut reader, &mut bytes).map_err(|_| Unusable::Damaged)?;
        let sections = container::File::open(Arc::new(bytes)).ok_or(Unusable::Damaged)?;
        if *section(&sections, SectionKind::Key).ok_or(Unusable::Damaged)? != *question.key.as_bytes() {
            return Err(Unusable::Differs);
        }
        if !question.files.iter().all(|(_, stamp)| stamp.is_enough()) {
            let digests = question.digests().ok_or(Unusable::Differs)?;
            if *section(&sections, SectionKind::Digests).ok_or(Unusable::Damaged)? != *digests {
                return Err(Unusable::Differs);
            }
        }
        Ok(sections)
    }

    /// Keeps an answer, if the files are still those that were asked about and have been left alone for a while.
    pub fn keep(&self, question: &Question, report: &Report) {
        if self.may_keep(question)
            && let Some(bytes) = kept::to_bytes(report)
        {
            self.write(question, &[(SectionKind::Report, &bytes)]);
        }
    }

    /// The same for an answer as it is sent.
    pub fn keep_body(&self, question: &Question, body: &Body) {
        if self.may_keep(question) {
            let content_type = body.content_type.as_bytes();
            self.write(
                question,
                &[(SectionKind::ContentType, content_type), (SectionKind::Body, &body.bytes)],
            );
        }
    }

    fn may_keep(&self, question: &Question) -> bool {
        let same = |(path, stamp): &(PathBuf, Stamp)| {
            stamp.is_settled(self.quiet) && Stamp::read(path).as_ref() == Some(stamp)
        };
        question.files.iter().all(same)
    }

    fn write(&self, question: &Question, answer: &[(SectionKind, &[u8])]) {
        let length: usize = answer.iter().map(|(_, bytes)| bytes.len()).sum();
        let Some(digests) = question.digests().filter(|_| length <= LARGEST) else { return };
        let total = length + question.key.len() + digests.len() + 512;
        if total as u64 > self.max_bytes {
            return;
        }
        let path = self.answer_path(question);
        let written = self.make(&self.answers_folder()).and_then(|()| {
            atomic_write::write(&path, |out| {
                let mut writer = container::Writer::new(out)?;
                writer.section(SectionName::new(SectionKind::Key), question.key.as_bytes())?;
                writer.section(SectionName::new(SectionKind::Digests), &digests)?;
                for (kind, bytes) in answer {
                    writer.section(SectionName::new(*kind), bytes)?;
                }
                writer.finish().map(drop)
            })
        });
        match written {
            Ok(bytes) => self.wrote(bytes),
            Err(error) => self.failed(&error),
        }
    }

    fn answer_path(&self, question: &Question) -> PathBuf {
        let name = format!("{:032x}.{ENDING}", xxh3_128(question.key.as_bytes()));
        self.answers_folder().join(Path::new(&name))
    }
}

/// Why a kept answer is none.
enum Unusable {
    /// It is another question's, or the files changed.
    Differs,
    /// It is not whole, or was written by something else.
    Damaged,
}

fn section(sections: &container::File, kind: SectionKind) -> Option<haloscope_profile::Segment> {
    sections.section(SectionName::new(kind))
}
