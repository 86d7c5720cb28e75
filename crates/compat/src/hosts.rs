//! Which hosts a question is about.

use haloscope_profile::{HostId, Profile};

use crate::{Error, Params};

/// The name that stands for all hosts of a run together.
pub const ALL_HOSTS: &str = "ALL_HOSTS";

/// Which hosts a tool can answer for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hosts {
    /// One at a time; the first where none is named.
    One,
    /// One at a time, or all together.
    OneOrAll,
    /// All together, whatever is named.
    All,
    /// Any number, with commas between them.
    Several,
}

/// The names of a run's hosts, as `/hosts` lists them: sorted, without `ALL_HOSTS`.
#[must_use]
pub fn host_names(profile: &Profile) -> Vec<&str> {
    let mut names: Vec<_> = profile.hosts.iter().map(|h| h.name.as_str()).collect();
    names.sort_unstable();
    names
}

impl Hosts {
    /// The hosts that `host=` or `hosts=a,b` names.
    ///
    /// # Errors
    /// [`Error::Usage`] for a host that the run does not have; lists those it has.
    pub fn chosen(self, profile: &Profile, params: &Params) -> Result<Vec<HostId>, Error> {
        let all = || (0..profile.hosts.len()).map(|i| HostId(i as u32)).collect::<Vec<_>>();
        let find = |name: &str| {
            let at = profile.hosts.iter().position(|h| h.name == name);
            at.map(|i| HostId(i as u32)).ok_or_else(|| {
                let known = host_names(profile).join(", ");
                Error::Usage(format!("there is no host `{name}` in this run; there are: {known}"))
            })
        };
        let named = params.get("hosts").or_else(|| params.get("host"));
        match (self, named) {
            (Self::All, None | Some(ALL_HOSTS)) => Ok(all()),
            (Self::All, Some(names)) => {
                names.split(',').try_for_each(|name| find(name).map(drop))?;
                Ok(all())
            }
            (Self::One, None | Some(ALL_HOSTS)) => Ok(all().into_iter().take(1).collect()),
            (_, None | Some(ALL_HOSTS)) => Ok(all()),
            (Self::Several | Self::OneOrAll, Some(names)) => names.split(',').map(find).collect(),
            (Self::One, Some(name)) => Ok(vec![find(name)?]),
        }
    }
}
