//! Which workers there are, and which of them live.

use std::time::Duration;

use datafusion::error::DataFusionError;
use datafusion_distributed::{ChannelResolver, GetWorkerInfoRequest};
use futures::future::join_all;
use tokio::time::timeout;
use url::Url;

use super::aside;
use super::channel::Channels;
use super::gate::REFUSED;
use crate::failure::Failure;

/// A worker that does not answer within this time is left out.
const WITHIN: Duration = Duration::from_secs(1);

/// A worker that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) url: Url,
    /// Which process it is: another one after a restart.
    instance: String,
    /// How many threads it works with.
    pub(super) cores: usize,
}

/// A worker that does not, and why.
#[derive(Debug, Clone)]
pub(super) struct Dead {
    pub(super) url: Url,
    pub(super) why: String,
}

impl std::fmt::Display for Dead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.url.as_str().trim_end_matches('/'), self.why)
    }
}

/// What a worker says of itself, read by [`ask`].
pub(super) fn introduction(instance: &str, cores: usize) -> String {
    format!("{}; {instance}; {cores}", super::version())
}

fn usage(message: String) -> Failure {
    let hint = "as in --cluster http://10.0.0.1:8795,http://10.0.0.2:8795 or --cluster dns://workers:8795";
    Failure::Usage(message, hint.into())
}

/// The addresses that `--cluster` names, in their order, each once. A name behind `dns://` stands for all that it resolves to.
///
/// # Errors
/// [`Failure::Usage`] for what is no address, [`Failure::Unread`] for a name that is not known.
pub(super) async fn named(list: &str) -> Result<Vec<Url>, Failure> {
    let mut all: Vec<Url> = Vec::new();
    for word in list.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        if let Some(name) = word.strip_prefix("dns://") {
            let name = name.trim_end_matches('/');
            if name
                .rsplit_once(':')
                .is_none_or(|(host, port)| host.is_empty() || port.parse::<u16>().is_err())
            {
                return Err(usage(format!("--cluster: expected dns://NAME:PORT, found {word}")));
            }
            let unknown = |why: String| {
                Failure::Unread(
                    format!("--cluster {word}: {why}"),
                    "workers must have this name in the DNS".into(),
                )
            };
            let found = timeout(WITHIN, tokio::net::lookup_host(name)).await;
            let found = found.map_err(|_| unknown(format!("no answer within {} s", WITHIN.as_secs())))?;
            let mut found: Vec<_> = found.map_err(|error| unknown(error.to_string()))?.collect();
            found.sort_unstable();
            all.extend(found.into_iter().filter_map(|at| Url::parse(&format!("http://{at}")).ok()));
            continue;
        }
        let url = Url::parse(word).ok().filter(|url| {
            url.scheme() == "http"
                && url.has_host()
                && matches!(url.path(), "" | "/")
                && url.query().is_none()
        });
        all.push(url.ok_or_else(|| usage(format!("--cluster: expected http://HOST:PORT, found {word}")))?);
    }
    let mut seen = Vec::new();
    all.retain(|url| {
        let is_new = !seen.contains(url);
        seen.push(url.clone());
        is_new
    });
    if all.is_empty() {
        return Err(usage("--cluster: expected addresses of workers".into()));
    }
    Ok(all)
}

/// Asks all workers at once: those that live, and those that do not.
///
/// # Errors
/// [`Failure::Unread`] where one refuses: its version or its token is another.
pub(super) async fn ask(urls: &[Url], channels: &Channels) -> Result<(Vec<Member>, Vec<Dead>), Failure> {
    let (all, asked) = (urls.to_vec(), channels.clone());
    // Where a join that was given up cannot be in the way.
    let answers =
        aside::connections()?.spawn(async move { join_all(all.iter().map(|url| one(url, &asked))).await });
    let answers = answers.await.map_err(|error| Failure::Bug(error.to_string()))?;
    let (mut live, mut dead) = (Vec::new(), Vec::new());
    for (url, answer) in urls.iter().zip(answers) {
        match answer {
            Ok(member) => live.push(member),
            Err(why) => match why.split_once(REFUSED) {
                Some((_, why)) => {
                    let why = why.split(['"', '\n']).next().unwrap_or(why);
                    let at = url.as_str().trim_end_matches('/');
                    return Err(Failure::Unread(
                        format!("{at} refuses to work on this: {why}"),
                        String::new(),
                    ));
                }
                None => dead.push(Dead { url: url.clone(), why }),
            },
        }
    }
    Ok((live, dead))
}

async fn one(url: &Url, channels: &Channels) -> Result<Member, String> {
    let asked = async {
        let mut client = channels.get_worker_client_for_url(url).await?;
        client.get_worker_info(GetWorkerInfoRequest {}).await
    };
    let answer =
        timeout(WITHIN, asked).await.map_err(|_| format!("no answer within {} s", WITHIN.as_secs()))?;
    let said = answer.map_err(|error| reason(&error))?.version;
    let mut parts = said.split("; ");
    let (version, instance, cores) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    let own = super::version();
    let (true, Some(instance), Some(Ok(cores))) = (version == own, instance, cores.map(str::parse)) else {
        let other = if version.is_empty() { "something else" } else { version };
        return Err(format!(
            "{REFUSED}it is {other}, but this is {own}: install the same version on all machines"
        ));
    };
    Ok(Member { url: url.clone(), instance: instance.to_owned(), cores })
}

/// Why a worker did not answer, in the words of who knows most.
fn reason(error: &DataFusionError) -> String {
    let mut said = error.to_string();
    if said.contains(REFUSED) {
        return said;
    }
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        said = inner.to_string();
        cause = inner.source();
    }
    said
}
