//! Who asks: the profiles of `~/.aws`, which the stores' library does not read.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::PathBuf;

/// What a profile of `~/.aws/credentials` and `~/.aws/config` says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Profile {
    pub(crate) key: Option<String>,
    pub(crate) secret: Option<String>,
    pub(crate) token: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) endpoint: Option<String>,
    /// It gets its keys in a way that only Amazon's own tools know: a login in a browser, another role, a program.
    pub(crate) by_others: Option<&'static str>,
}

/// The profile that `AWS_PROFILE` names, else `default`.
pub(crate) fn of_user() -> Profile {
    let name = ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"].iter().find_map(|name| env::var(name).ok());
    let name = name.filter(|name| !name.is_empty()).unwrap_or_else(|| "default".to_owned());
    let file = |variable: &str, name: &str| {
        let home = || env::var_os("HOME").or_else(|| env::var_os("USERPROFILE")).map(PathBuf::from);
        let path = env::var_os(variable).map(PathBuf::from).or_else(|| Some(home()?.join(".aws").join(name)));
        path.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default()
    };
    read(&name, &file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), &file("AWS_CONFIG_FILE", "config"))
}

fn read(name: &str, credentials: &str, config: &str) -> Profile {
    let mut all = section(config, &format!("profile {name}"));
    if name == "default" {
        all.extend(section(config, name));
    }
    all.extend(section(credentials, name));
    let mut take = |key: &str| all.remove(key).filter(|value| !value.is_empty());
    let others = ["sso_session", "sso_start_url", "role_arn", "credential_process", "login_session"];
    let by_others = others.into_iter().find(|key| take(key).is_some());
    Profile {
        key: take("aws_access_key_id"),
        secret: take("aws_secret_access_key"),
        token: take("aws_session_token"),
        region: take("region"),
        endpoint: take("endpoint_url"),
        by_others,
    }
}

/// The settings of one section of a file; those that are indented belong to the setting above, and are passed over.
fn section(text: &str, name: &str) -> BTreeMap<String, String> {
    let mut is_inside = false;
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let bare = line.trim();
        if let Some(head) = bare.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            is_inside = head.split_whitespace().eq(name.split_whitespace());
        } else if is_inside
            && !line.starts_with(char::is_whitespace)
            && !bare.starts_with(['#', ';'])
            && let Some((key, value)) = bare.split_once('=')
        {
            found.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREDENTIALS: &str =
        "[default]\naws_access_key_id = A\naws_secret_access_key=S=\n# x\n\n[work]\naws_access_key_id=W\n";
    const CONFIG: &str = "[default]\nregion = eu-west-1\ns3 =\n  max_concurrent_requests = 20\n[profile work]\nregion=us-east-2\nendpoint_url = http://h:1\n[profile sso]\nsso_session = s\n";

    #[test]
    fn profiles_are_read() {
        let some = |text: &str| Some(text.to_owned());
        let default = read("default", CREDENTIALS, CONFIG);
        assert_eq!((default.key, default.secret, default.region), (some("A"), some("S="), some("eu-west-1")));
        let work = read("work", CREDENTIALS, CONFIG);
        assert_eq!((work.key, work.secret, work.endpoint), (some("W"), None, some("http://h:1")));
        assert_eq!(read("sso", CREDENTIALS, CONFIG).by_others, Some("sso_session"));
        assert_eq!(read("none", CREDENTIALS, CONFIG), Profile::default());
    }
}
