//! Finished reports, by question: the files as they are, the analysis, the scope, the parameters, and the very program that
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
    analysis: &'static str,
    files: Vec<(PathBuf, Stamp)>,
}

impl Question {
    /// A question about `runs`, the first of which is held against the others; `None` where the answer depends on more than
    /// can be told again.
    #[must_use]
    pub fn new(analysis: &Analysis, runs: &[&load::Run], scope: &Scope, params: &Params) -> Option<Self> {
        let mut key = String::new();
        // With another bound other files of a run may be left out, and other modules.
        let bounds = (load::memory_limit(), load::unpacked_limit());
        let _ = writeln!(key, "{bounds:?}");
        let _ = writeln!(key, "{}\n{}\n{scope:?}\n{params:?}", identity::program()?, analysis.id);
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
        Some(Self { key, analysis: analysis.id, files })
    }

    fn digests(&self) -> Option<Vec<u8>> {
        let sums = self.files.iter().map(|(_, stamp)| stamp.digest().ok());
        Some(sums.collect::<Option<Vec<u64>>>()?.into_iter().flat_map(u64::to_le_bytes).collect())
    }
}

impl Cache {
    /// The answer to a question that was answered before.
    #[must_use]
    pub fn answer(&self, question: &Question) -> Option<Report> {
        let path = self.answer_path(question);
        let file = File::open(&path).ok()?;
        match self.read_answer(question, &file) {
            Ok(report) => {
                atomic_write::touch(&file);
                Some(report)
            }
            Err(Unusable::Differs) => None,
            Err(Unusable::Damaged) => {
                let _ = fs::remove_file(path);
                None
            }
        }
    }

    fn read_answer(&self, question: &Question, file: &File) -> Result<Report, Unusable> {
        let length = file.metadata().map_or(u64::MAX, |meta| meta.len());
        if length > 2 * LARGEST as u64 {
            return Err(Unusable::Damaged);
        }
        let mut bytes = Vec::with_capacity(length as usize);
        let mut reader = file;
        std::io::Read::read_to_end(&mut reader, &mut bytes).map_err(|_| Unusable::Damaged)?;
        let sections = container::File::open(Arc::new(bytes)).ok_or(Unusable::Damaged)?;
        let section = |kind| sections.section(SectionName::new(kind)).ok_or(Unusable::Damaged);
        if *section(SectionKind::Key)? != *question.key.as_bytes() {
            return Err(Unusable::Differs);
        }
        if !question.files.iter().all(|(_, stamp)| stamp.is_enough()) {
            let digests = question.digests().ok_or(Unusable::Differs)?;
            if *section(SectionKind::Digests)? != *digests {
                return Err(Unusable::Differs);
            }
        }
        let report = kept::from_bytes(&section(SectionKind::Report)?).ok_or(Unusable::Damaged)?;
        (report.analysis == question.analysis).then_some(report).ok_or(Unusable::Damaged)
    }

    /// Keeps an answer, if the files are still those that were asked about and have been left alone for a while.
    pub fn keep(&self, question: &Question, report: &Report) {
        let same = |(path, stamp): &(PathBuf, Stamp)| {
            stamp.is_settled(self.quiet) && Stamp::read(path).as_ref() == Some(stamp)
        };
        if !question.files.iter().all(same) {
            return;
        }
        let Some(bytes) = kept::to_bytes(report).filter(|bytes| bytes.len() <= LARGEST) else { return };
        let Some(digests) = question.digests() else { return };
        let total = bytes.len() + question.key.len() + digests.len() + 512;
        if total as u64 > self.max_bytes {
            return;
        }
        let path = self.answer_path(question);
        let written = self.make(&self.answers_folder()).and_then(|()| {
            atomic_write::write(&path, |out| {
                let mut writer = container::Writer::new(out)?;
                writer.section(SectionName::new(SectionKind::Key), question.key.as_bytes())?;
                writer.section(SectionName::new(SectionKind::Digests), &digests)?;
                writer.section(SectionName::new(SectionKind::Report), &bytes)?;
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
