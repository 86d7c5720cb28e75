//! Opening runs: their files as one profile or program.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haloscope_hlo::{BufferAssignment, Module, Room};
use haloscope_llo::Head;

use super::allowance::Allowance;
use super::import::{self, Imported};
use crate::load::limit::memory_limit;
use crate::load::memory::{self, Need, Refused};
use crate::load::progress::Opening;
use crate::load::system::within_system;
use crate::load::{Run, dump, is_passed_over, llo_dump};
use crate::{Bytes, ColumnStore, DumpedFile, Profile, ProgramFile, Segment, Stage};
use haloscope_report::Error;

/// What is known of a file from before.
#[derive(Debug, Clone)]
pub struct Known {
    /// Its [structure](Profile::structure).
    pub structure: Option<Segment>,
    /// Where columns of its lines are kept.
    pub column_store: Arc<dyn ColumnStore>,
}

/// Opens a run: all its files as one profile. Of several files, those that cannot be used are left out and named in
/// [`Profile::left_out`]. Files of HLO, of which there is no profile, make a [program](Profile::is_program).
///
/// # Errors
/// [`Error::Io`] for a file that cannot be read, [`Error::Input`] for one that is neither an XSpace nor HLO, if no other
/// can be used; [`Error::Changed`] for one that is written to meanwhile; [`Error::Usage`] for a run that cannot be read in
/// the memory that it may take ([`set_memory_limit`](super::set_memory_limit)).
pub fn open(run: &Run) -> Result<Profile, Error> {
    open_with(run, &|_| None)
}

/// As [`open`], with what is known of files from before: those are not walked over, and their events come from
/// where they are kept.
/// Who knows it sees to it that the file is still the same.
///
/// # Errors
/// As [`open`].
pub fn open_with(run: &Run, known: &dyn Fn(&Path) -> Option<Known>) -> Result<Profile, Error> {
    let opened = match open_but(run, Vec::new(), known) {
        // The others are read without those: once more and not again, so that a run of many ends.
        Err(Refused::Files(first, mut more)) if more.len() + 1 < run.files.len() => {
            more.insert(0, first);
            open_but(run, more, known)
        }
        opened => opened,
    };
    opened.map_err(Refused::into_error)
}

/// The same without the files that these errors are about.
fn open_but(
    run: &Run,
    left_out: Vec<Error>,
    known: &dyn Fn(&Path) -> Option<Known>,
) -> Result<Profile, Refused> {
    let is_left_out = |path: &&PathBuf| {
        left_out.iter().any(|error| matches!(error, Error::Input { path: own, .. } if own == *path))
    };
    let used: Vec<&PathBuf> = run.files.iter().filter(|path| !is_left_out(path)).collect();
    let sizes: Vec<u64> = used.iter().filter_map(|path| Some(path.metadata().ok()?.len())).collect();
    let need = Need::of(&sizes);
    let opening = Opening::begin(&run.path, &sizes);
    let (mut files, mut made, mut failed) = (Vec::new(), Vec::new(), left_out);
    let (mut programs, mut dumped) = (Vec::new(), Vec::new());
    let mut all_known: Vec<Option<Known>> = Vec::new();
    // What is free beside is so once a run, and not once a file.
    let (mut allowance, mut spent) = (Allowance::default(), 0_u64);
    for path in used {
        match import::file(path, run.files.len() == 1) {
            Ok(Imported::Space(bytes, how)) => {
                let known = known(path);
                let all = allowance.and(Allowance::of_file(path, bytes.len() as u64));
                // What is known was counted when it was read.
                if known.as_ref().is_none_or(|known| known.structure.is_none()) {
                    match all.check(path, &bytes, spent) {
                        Ok(takes) => spent = spent.saturating_add(takes),
                        Err(error) => {
                            failed.push(error);
                            continue;
                        }
                    }
                }
                allowance = all;
                files.push((path.clone(), bytes));
                made.push(how);
                all_known.push(known);
            }
            Ok(Imported::Program(bytes)) => programs.push((path.clone(), bytes)),
            Ok(Imported::Llo(bytes)) => dumped.push((path.clone(), bytes)),
            Ok(Imported::Flags(bytes)) => return Ok(Profile::from_flags(path.clone(), bytes)),
            // It may be whole the next time: to leave it out would be an answer that is wrong in a moment.
            Err(error @ Error::Changed { .. }) => return Err(error.into()),
            Err(error) => failed.push(error),
        }
    }
    let mut profile = match (files.is_empty(), programs.is_empty() && dumped.is_empty(), failed.pop()) {
        (true, true, Some(error)) => return Err(error.into()),
        (true, false, last) => {
            failed.extend(last);
            open_programs(&run.path, programs, dumped, true)?
        }
        (_, _, last) => {
            failed.extend(last);
            let structures = all_known.iter().map(|known| known.as_ref()?.structure.as_deref());
            let files = files.into_iter().zip(structures);
            let files = files.map(|((path, bytes), structure)| (path, bytes, structure)).collect();
            let mut profile = Profile::from_known_files(files, |bytes| opening.opened(bytes));
            for (source, known) in all_known.into_iter().enumerate() {
                if let Some(known) = known {
                    profile.set_column_store(source, known.column_store);
                }
            }
            profile
        }
    };
    for (source, made) in profile.sources.iter_mut().zip(made) {
        made.note(source);
    }
    give_room(&mut profile);
    profile.unchanged()?;
    profile.left_out = failed.iter().map(ToString::to_string).collect();
    profile.is_left_out_for_now =
        failed.iter().any(|error| matches!(error, Error::Io { source, .. } if !is_passed_over(source)));
    memory::bound(&mut profile, need, allowance)?;
    Ok(profile)
}

/// Memory for the decoding of one module beside that for its bytes, where so many files share it.
fn beside(files: usize) -> u64 {
    memory_limit().unwrap_or(0).max(Room::BESIDE) / (files as u64).max(1)
}

/// Gives modules the memory in which they may be decoded: as much as what counts of their files allows, and what is free beside
/// once for all.
fn give_room(profile: &mut Profile) {
    let beside = beside(profile.sources.len());
    for source in &mut profile.sources {
        let counted = Allowance::of_file(&source.path, source.bytes().len() as u64).counted();
        source.room = Room { counted, beside, most: u64::MAX };
    }
}

/// A profile, or a program, from bytes in memory; `name` stands for the file's name.
///
/// # Errors
/// [`Error::Input`] if the bytes are neither an XSpace nor HLO.
pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Profile, Error> {
    let path = PathBuf::from(name);
    let size = bytes.len() as u64;
    Ok(match import::bytes(&path, Box::new(bytes), true)? {
        Imported::Space(bytes, made) => of_spaces(vec![(path, size, bytes, made)])?,
        Imported::Program(bytes) => open_programs(&path, vec![(path.clone(), bytes)], Vec::new(), false)?,
        Imported::Llo(bytes) => open_programs(&path, Vec::new(), vec![(path.clone(), bytes)], false)?,
        Imported::Flags(bytes) => Profile::from_flags(path, bytes),
    })
}

/// A profile of several hosts from bytes in memory, each with what stands for its file's name: hosts in the order of those.
///
/// # Errors
/// [`Error::Input`] for bytes that are no XSpace.
pub fn from_bytes_of_hosts(mut hosts: Vec<(String, Vec<u8>)>) -> Result<Profile, Error> {
    hosts.sort_by(|a, b| a.0.cmp(&b.0));
    if let [_] = hosts.as_slice()
        && let Some((name, bytes)) = hosts.pop()
    {
        return from_bytes(&name, bytes);
    }
    let mut spaces = Vec::new();
    for (name, bytes) in hosts {
        let path = PathBuf::from(name);
        let size = bytes.len() as u64;
        let Imported::Space(bytes, made) = import::bytes(&path, Box::new(bytes), false)? else {
            let message = "expected the XSpace of one of several hosts, found a program".to_owned();
            return Err(Error::Input { path, message });
        };
        spaces.push((path, size, bytes, made));
    }
    of_spaces(spaces)
}

/// A profile from what its files unpacked to: path, size as it was given, bytes.
fn of_spaces(files: Vec<(PathBuf, u64, Bytes, import::Made)>) -> Result<Profile, Error> {
    let (mut allowance, mut spent) = (Allowance::default(), 0_u64);
    for (path, size, bytes, _) in &files {
        allowance = allowance.and(Allowance::of(*size, bytes.len() as u64));
        spent = spent.saturating_add(allowance.check(path, bytes, spent)?);
    }
    let (files, made): (Vec<_>, Vec<_>) =
        files.into_iter().map(|(path, _, bytes, made)| ((path, bytes), made)).unzip();
    let mut profile = Profile::from_files(files);
    for (source, made) in profile.sources.iter_mut().zip(made) {
        made.note(source);
    }
    Ok(profile)
}

/// A program from its files, HLO and what the last stage wrote, which lie in a folder where others may be beside them or not. The
/// only file of a program is read at once, so that damage is an error and not a remark.
fn open_programs(
    path: &Path,
    files: Vec<(PathBuf, Bytes)>,
    dumped: Vec<(PathBuf, Bytes)>,
    in_folder: bool,
) -> Result<Profile, Error> {
    let damaged = |path: &Path, message: String| Error::Input { path: path.to_owned(), message };
    match (files.as_slice(), dumped.as_slice()) {
        ([(path, bytes)], []) => {
            let counted = Allowance::of_file(path, bytes.len() as u64).counted();
            let room = within_system(Room { counted, beside: beside(1), most: u64::MAX });
            drop(Module::read_within(bytes, room).map_err(|why| damaged(path, why.to_string()))?);
        }
        ([], [(path, bytes)]) if is_message(path, bytes) => {
            let counted = Allowance::of_file(path, bytes.len() as u64).counted();
            let room = within_system(Room { counted, beside: beside(1), most: u64::MAX });
            let module = haloscope_llo::Module::read_within(bytes, counted, room.beside, room.most);
            drop(module.map_err(|why| damaged(path, why.to_string()))?);
        }
        _ => {}
    }
    let is_alone = files.len() + dumped.len() == 1;
    let name = path.file_name().map_or_else(|| "program".to_owned(), |n| n.to_string_lossy().into_owned());
    let file = |(stage, is_last, path, bytes): (dump::Stage, bool, PathBuf, Bytes)| ProgramFile {
        buffers: if in_folder { buffers_of(&path) } else { None },
        path,
        bytes,
        module: stage.module,
        stage: Stage { name: stage.stage, number: stage.number },
        is_last,
    };
    let mut profile = Profile::from_programs(&name, dump::stages(files).into_iter().map(file).collect());
    profile.add_dumped(dumped_files(dumped, is_alone));
    Ok(profile)
}

/// Whether a file of the last stage holds an op's LLO, and no text.
fn is_message(path: &Path, bytes: &[u8]) -> bool {
    Head::of(bytes).is_some() || llo_dump::Name::of(path).is_some_and(|name| name.stage == llo_dump::MODULE)
}

/// What the last stage wrote of each op, in the order of ops, compilations and files. What frames a program is no op of it.
fn dumped_files(files: Vec<(PathBuf, Bytes)>, is_alone: bool) -> Vec<DumpedFile> {
    let mut all = Vec::new();
    for (path, bytes) in files {
        let name = llo_dump::Name::of(&path);
        let (compilation, place) = name.as_ref().map_or((None, None), |name| (name.compilation, name.place));
        let (op, stage, is_frame) = match (Head::of(&bytes), name) {
            (Some(head), _) => (head.op.to_string(), llo_dump::MODULE.to_owned(), head.is_frame()),
            (None, Some(name)) => {
                let is_frame = name.op == "TLP" || name.op.starts_with('<');
                (name.op, name.stage, is_frame)
            }
            (None, None) => continue,
        };
        if !is_frame || is_alone {
            all.push((place, DumpedFile { path, bytes, op, compilation, stage }));
        }
    }
    all.sort_by(|(a, x), (b, y)| (&x.op, x.compilation, a, &x.path).cmp(&(&y.op, y.compilation, b, &y.path)));
    all.into_iter().map(|(_, file)| file).collect()
}

/// The buffer assignment that a dump has beside a module. One that cannot be read is none: the module can be used without.
fn buffers_of(path: &Path) -> Option<(PathBuf, Bytes)> {
    let found = dump::buffers_beside(path).into_iter().find(|beside| beside.is_file())?;
    let bytes = import::bytes_of(&found).ok().filter(|bytes| bytes.cut().is_none())?;
    BufferAssignment::is_text(&bytes).then_some((found, bytes))
}
