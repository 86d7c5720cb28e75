//! Which HLO module a question is about.

use haloscope_profile::{Decoded, HloModule, Profile};

use crate::{Error, Param, Params};

/// The parameters that choose a module.
pub(crate) const MODULE_NAME: Param = Param {
    id: "module_name",
    doc: "the module: `name(program id)` as /module_list has it, or the name alone where it is the only one",
};
pub(crate) const PROGRAM_ID: Param =
    Param { id: "program_id", doc: "the module by (part of) its program id, where no name is given" };

/// What a run without modules lacks.
fn missing(tool: &'static str) -> Error {
    Error::Missing {
        tool,
        missing: "no stat `Hlo Proto` in the plane `/host:metadata`, and so no HLO module".to_owned(),
        remedy:
            "capture a program that XLA compiled, with `enable_hlo_proto` left on in the profiler's options"
                .to_owned(),
    }
}

/// The module that `module_name` or `program_id` names; without either the only one of the run.
///
/// # Errors
/// [`Error::Missing`] for a run without modules, [`Error::Usage`] where none or several could be meant; lists them.
pub(crate) fn chosen<'p>(
    tool: &'static str,
    profile: &'p Profile,
    params: &Params,
) -> Result<&'p HloModule, Error> {
    let modules = &profile.modules;
    let first = modules.first().ok_or_else(|| missing(tool))?;
    let unknown = |key: &str, word: &str| {
        Err(Error::Usage(format!("`{key}`: no module `{word}` in this run; there are: {}", labels(profile))))
    };
    if let Some(name) = params.get(MODULE_NAME.id) {
        let exact = modules.iter().find(|m| m.label() == name);
        return match exact.or_else(|| modules.iter().find(|m| m.name == name)) {
            Some(module) => Ok(module),
            None => unknown(MODULE_NAME.id, name),
        };
    }
    if let Some(id) = params.get(PROGRAM_ID.id) {
        let exact = modules.iter().find(|m| m.program_id.is_some_and(|own| own.to_string() == id));
        return match exact.or_else(|| modules.iter().find(|m| m.label().contains(id))) {
            Some(module) => Ok(module),
            None => unknown(PROGRAM_ID.id, id),
        };
    }
    let label = first.label();
    if modules.iter().all(|m| m.label() == label) {
        return Ok(first);
    }
    Err(Error::Usage(format!(
        "{tool}: which module? Set `{}` to one of: {}",
        MODULE_NAME.id,
        labels(profile)
    )))
}

/// The module that holds an instruction of this name.
pub(crate) fn with_instruction<'p>(profile: &'p Profile, name: &str) -> Option<&'p HloModule> {
    let holds =
        |m: &&HloModule| decoded(profile, m).is_ok_and(|d| d.module.instruction_by_name(name).is_some());
    profile.modules.iter().find(holds)
}

/// A module, decoded.
///
/// # Errors
/// [`Error::Internal`] for a proto that cannot be read; says what is wrong with it.
pub(crate) fn decoded<'p>(profile: &'p Profile, module: &'p HloModule) -> Result<&'p Decoded, Error> {
    module.decode(profile).map_err(|why| Error::Internal(format!("module {}: {why}", module.label())))
}

/// The modules' names, each once, at most fifty.
fn labels(profile: &Profile) -> String {
    let mut labels: Vec<String> = profile.modules.iter().map(HloModule::label).collect();
    labels.sort_unstable();
    labels.dedup();
    let left = labels.len().saturating_sub(50);
    labels.truncate(50);
    if left > 0 {
        labels.push(format!("and {left} more"));
    }
    labels.join(", ")
}
