//! Compiled programs without a profile: which files of a folder hold HLO, and which stage of which module each is.
//!
//! XLA's dumps (`--xla_dump_to`) are named `module_0007.jit_step.before_optimizations.txt`: a number, the module's name, on
//! some backends a build or architecture, then the stage. A stage is written as text, as a proto, or as both. What the last stage of a
//! TPU's compiler writes (`llo_dump`) may lie in the same folder, or in one of its own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use haloscope_hlo::Module;

use super::llo_dump;
use super::session::Session;
use haloscope_report::Error;

/// Bytes at the start of a file that tell HLO text from other text.
const HEAD: u64 = 4 << 10;

/// Endings of HLO protos and of text, without `.gz`. A proto is preferred: it may hold the buffer assignment.
const ENDINGS: [&str; 3] = [".hlo_proto.pb", ".hlo.pb", ".txt"];

/// Ending of a buffer assignment in words.
const BUFFERS: &str = "-buffer-assignment.txt";

/// A stage after which the compiler changes nothing that is measured; the one that comes with the buffer assignment.
const FINAL: &str = "after_optimizations";

/// What a file's name says of the HLO in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stage {
    /// Number of the module in the dump, where the name has one.
    pub(crate) number: Option<u64>,
    /// Name of the module, or of the file where it is not a dump's.
    pub(crate) module: String,
    /// Where in the compilation.
    order: (u8, u64),
    /// Stage as the file's name has it; empty where it has none.
    pub(crate) stage: String,
}

impl Stage {
    /// Reads a file's name.
    pub(crate) fn of(path: &Path) -> Self {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending));
        let stem = stem.or_else(|| name.strip_suffix(".pb")).unwrap_or(name);
        let numbered = stem.find("module_").and_then(|at| {
            let (number, rest) = stem[at + "module_".len()..].split_once('.')?;
            Some((number.parse().ok()?, rest))
        });
        // A copy may have lost the number; its stage it mostly keeps.
        let (number, rest) = numbered.map_or((None, stem), |(number, rest)| (Some(number), rest));
        let parts: Vec<&str> = rest.split('.').collect();
        let stage_at = parts.iter().position(|part| is_stage(part)).unwrap_or(parts.len());
        let is_build = |part: &&str| {
            ["cl_", "sm_", "gfx"].iter().any(|prefix| {
                part.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            })
        };
        // The module's name has points of its own, but no build stands inside of it.
        let name_end =
            parts[..stage_at].iter().position(is_build).unwrap_or(stage_at).max(1).min(parts.len());
        let stage = parts[stage_at.max(name_end).min(parts.len())..].join(".");
        // The second half of an architecture such as `sm_9.0` stands before the stage's own name.
        let stage = match stage.split_once('_') {
            Some((number, rest)) if number.len() < 3 && number.parse::<u8>().is_ok() => rest.to_owned(),
            _ => stage,
        };
        Self { number, module: parts[..name_end].join("."), order: order(&stage), stage }
    }

    /// Whether the module is taken from this stage where there are several.
    fn is_final(&self) -> bool {
        self.stage.ends_with(FINAL)
    }

    fn key(&self) -> (Option<u64>, &str) {
        (self.number, &self.module)
    }
}

fn is_stage(part: &str) -> bool {
    let is_pass = part.len() == 4 && part.bytes().all(|byte| byte.is_ascii_digit());
    is_pass || part == "before_optimizations" || part.contains(FINAL) || part == "after_codegen"
}

/// Where a stage is in the compilation: before it, by number of the pass, and after it.
fn order(stage: &str) -> (u8, u64) {
    let first = stage.split('.').next().unwrap_or_default();
    match stage {
        "before_optimizations" => (0, 0),
        _ if first.len() == 4 && first.parse::<u64>().is_ok() => (1, first.parse().unwrap_or_default()),
        _ if stage.contains("before_buffer_assignment") => (2, 0),
        _ if stage.contains("after_buffer_assignment") => (3, 0),
        _ if stage.ends_with(FINAL) => (4, 0),
        _ => (5, 0),
    }
}

/// Names of the file that has the buffer assignment of a module in words, beside the module's own file: that of the same
/// stage, also where the stage's name says that buffers are assigned.
pub(super) fn buffers_beside(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name().map(|n| n.to_string_lossy().into_owned()) else { return Vec::new() };
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let Some(stem) = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)) else { return Vec::new() };
    let stem = stem.strip_suffix("_after_buffer_assignment").unwrap_or(stem);
    let beside = |packed: &str| path.with_file_name(format!("{stem}{BUFFERS}{packed}"));
    vec![beside(""), beside(".gz")]
}

/// Files of one run in the order of modules and stages, each with what its name says; the one that stands for its module
/// is marked.
pub(crate) fn stages<T>(files: Vec<(PathBuf, T)>) -> Vec<(Stage, bool, PathBuf, T)> {
    let mut stages: Vec<(Stage, PathBuf, T)> =
        files.into_iter().map(|(path, file)| (Stage::of(&path), path, file)).collect();
    stages.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    // Of each module the last of the final stages, else the last of all.
    let mut chosen: BTreeMap<(Option<u64>, String), usize> = BTreeMap::new();
    for (position, (stage, ..)) in stages.iter().enumerate() {
        let (number, module) = stage.key();
        let of_module = chosen.entry((number, module.to_owned())).or_insert(position);
        let is_final = stages.get(*of_module).is_some_and(|(former, ..)| former.is_final());
        if stage.is_final() || !is_final {
            *of_module = position;
        }
    }
    let is_chosen: std::collections::BTreeSet<usize> = chosen.into_values().collect();
    stages
        .into_iter()
        .enumerate()
        .map(|(position, (stage, path, file))| (stage, is_chosen.contains(&position), path, file))
        .collect()
}

/// The programs in a folder, as one session: a dump, or files of HLO. `None` if there are none.
///
/// # Errors
/// [`Error::Io`] if the folder cannot be listed.
pub(super) fn programs(folder: &Path) -> Result<Option<Session>, Error> {
    let io = |source| Error::Io { path: folder.to_owned(), source };
    // By name without its ending, so that of a text and a proto one is taken.
    let mut by_stem: BTreeMap<String, (usize, PathBuf)> = BTreeMap::new();
    let mut of_llo: BTreeMap<String, PathBuf> = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let unpacked = name.strip_suffix(".gz").unwrap_or(&name);
        let packed = usize::from(unpacked.len() < name.len());
        if llo_dump::Name::of(&path).is_some() && path.is_file() {
            // Of a file and its packed copy one is taken.
            if packed == 0 || !of_llo.contains_key(unpacked) {
                of_llo.insert(unpacked.to_owned(), path);
            }
            continue;
        }
        let ending = ENDINGS.iter().position(|ending| unpacked.ends_with(ending));
        let Some(rank) = ending.filter(|_| path.is_file()) else { continue };
        if ENDINGS[rank] == ".txt" && !head(&path).is_some_and(|head| Module::is_text(&head)) {
            continue;
        }
        let stem = unpacked[..unpacked.len() - ENDINGS[rank].len()].to_owned();
        let rank = 2 * rank + packed;
        match by_stem.get(&stem) {
            Some((former, _)) if *former <= rank => {}
            _ => drop(by_stem.insert(stem, (rank, path))),
        }
    }
    let files: Vec<PathBuf> =
        by_stem.into_values().map(|(_, path)| path).chain(of_llo.into_values()).collect();
    if files.is_empty() {
        return Ok(None);
    }
    let metas: Vec<fs::Metadata> = files.iter().filter_map(|path| fs::metadata(path).ok()).collect();
    let name = folder.file_name().map_or_else(|| "dump".to_owned(), |n| n.to_string_lossy().into_owned());
    Ok(Some(Session {
        name,
        path: folder.to_owned(),
        bytes: metas.iter().map(fs::Metadata::len).sum(),
        modified: metas.iter().filter_map(|m| m.modified().ok()).max().unwrap_or(std::time::UNIX_EPOCH),
        files,
    }))
}

/// The start of a file, unpacked.
fn head(path: &Path) -> Option<Vec<u8>> {
    let file = File::open(path).ok()?;
    let mut head = Vec::new();
    let read = if path.extension().is_some_and(|e| e == "gz") {
        GzDecoder::new(file).take(HEAD).read_to_end(&mut head)
    } else {
        file.take(HEAD).read_to_end(&mut head)
    };
    read.ok().map(|_| head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_dumps() {
        for (name, module, stage) in [
            ("module_0000.jit_f.before_optimizations.txt", "jit_f", "before_optimizations"),
            ("module_0003.jit_g.cpu_after_optimizations.hlo.pb", "jit_g", "cpu_after_optimizations"),
            ("module_0046.jit_g.cl_1014260217.after_codegen.hlo.pb.gz", "jit_g", "after_codegen"),
            ("module_0002.a.b.sm_9.0_gpu_after_optimizations.txt", "a.b", "gpu_after_optimizations"),
            (
                "1700000000.module_0001.jit_f.0004.simplify.after_x.before_y.txt",
                "jit_f",
                "0004.simplify.after_x.before_y",
            ),
            ("train_step.v5e.hlo_proto.pb.gz", "train_step.v5e", ""),
            ("module_0007.jit_f.hlo_proto.pb", "jit_f", ""),
            ("train.h100.before_optimizations.hlo.pb.gz", "train.h100", "before_optimizations"),
            ("module_x.txt", "module_x", ""),
            ("module_1..txt", "", ""),
        ] {
            let found = Stage::of(Path::new(name));
            assert_eq!((found.module.as_str(), found.stage.as_str()), (module, stage), "{name}");
        }
    }

    #[test]
    fn the_optimised_stage_stands_for_its_module() {
        let names = [
            "module_0001.f.cl_1.after_codegen.txt",
            "module_0001.f.cl_1.before_optimizations.txt",
            "module_0001.f.cl_1.after_optimizations.txt",
            "module_0001.f.cl_1.after_optimizations_after_buffer_assignment.txt",
            "module_0002.g.0010.p.after_a.before_b.txt",
            "module_0002.g.0002.p.after_a.before_b.txt",
            "module_0002.g.before_optimizations.txt",
        ];
        let sorted = stages(names.iter().map(|name| (PathBuf::from(name), ())).collect());
        let chosen: Vec<_> =
            sorted.iter().map(|(stage, chosen, ..)| (stage.stage.as_str(), *chosen)).collect();
        assert_eq!(
            chosen,
            [
                ("before_optimizations", false),
                ("after_optimizations_after_buffer_assignment", false),
                ("after_optimizations", true),
                ("after_codegen", false),
                ("before_optimizations", false),
                ("0002.p.after_a.before_b", false),
                ("0010.p.after_a.before_b", true),
            ]
        );
    }
}
