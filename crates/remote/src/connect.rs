//! Connections: one runtime for all, one store for each bucket, and what its errors mean.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use tokio::runtime::{Builder, Runtime};

use crate::address::StoreKind;
use crate::error::{NetworkErrorKind, innermost, network_error_kind};
use crate::one_server::OnOneServer;
use crate::per_process::PerProcess;
use crate::{Address, Error, credentials};

/// Names the seconds that are waited for a connection, or for the next bytes.
const TIMEOUT_VARIABLE: &str = "HALOSCOPE_REMOTE_TIMEOUT";
/// How long that is if nobody says so.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long at most for a connection to be made.
const CONNECT: Duration = Duration::from_secs(10);
/// How often a request that failed for no reason of its own is sent again.
pub(crate) const RETRIES: usize = 4;

/// How long is waited for the next bytes.
pub(crate) fn timeout() -> Duration {
    let told = std::env::var(TIMEOUT_VARIABLE).ok().and_then(|text| text.trim().parse::<f64>().ok());
    told.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .filter(|time| !time.is_zero())
        .unwrap_or(TIMEOUT)
}

/// How long a connection may take to be made.
pub(crate) fn connect_timeout() -> Duration {
    timeout().min(CONNECT)
}

fn runtime() -> Result<&'static Runtime, Error> {
    static RUNTIME: PerProcess<Runtime> = PerProcess::new();
    let start = || {
        // Another part of the program may have chosen one already: then that one serves.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(2).thread_name("remote").enable_all();
        builder.build().map_err(|error| Error::Network {
            at: "this machine".to_owned(),
            found: format!("could not start a thread to read: {error}"),
        })
    };
    RUNTIME.get(start)
}

/// Starts something in the background.
pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Result<(), Error> {
    runtime()?.spawn(work);
    Ok(())
}

/// Does something and waits for it. On a thread of another runtime too: it waits as for any other thread.
pub(crate) fn wait<T: Send + 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> Result<T, Error> {
    let (tell, told) = mpsc::channel();
    spawn(async move {
        // Who does not wait any more does not want to know.
        let _ = tell.send(work.await);
    })?;
    told.recv().unwrap_or_else(|_| {
        Err(Error::Network { at: "this machine".to_owned(), found: "the reading thread ended".to_owned() })
    })
}

/// The store that an address is in. Not for the web.
pub(crate) fn store(at: &Address) -> Result<Arc<dyn ObjectStore>, Error> {
    static STORES: PerProcess<Mutex<BTreeMap<String, Arc<dyn ObjectStore>>>> = PerProcess::new();
    let key = at.store();
    let mut stores =
        STORES.get(|| Ok::<_, Error>(Mutex::default()))?.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = stores.get(&key) {
        return Ok(Arc::clone(known));
    }
    runtime()?;
    let made = build(at).map_err(|error| store_error(at, &error))?;
    stores.insert(key, Arc::clone(&made));
    Ok(made)
}

fn build(at: &Address) -> Result<Arc<dyn ObjectStore>, object_store::Error> {
    let retry = RetryConfig {
        backoff: BackoffConfig { max_backoff: Duration::from_secs(4), ..BackoffConfig::default() },
        max_retries: RETRIES,
        retry_timeout: timeout(),
    };
    let on_one = OnOneServer { connect: connect_timeout(), read: timeout() };
    let client = ClientOptions::new()
        .with_timeout_disabled()
        .with_read_timeout(timeout())
        .with_connect_timeout(connect_timeout())
        // A place that the user named by `http://` is meant; the stores' own are all `https://`.
        .with_allow_http(true);
    Ok(match at.kind() {
        StoreKind::Amazon => {
            let builder = with_profile(AmazonS3Builder::from_env().with_bucket_name(at.bucket()));
            Arc::new(
                builder.with_client_options(client).with_http_connector(on_one).with_retry(retry).build()?,
            )
        }
        StoreKind::Google => {
            let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(at.bucket());
            Arc::new(
                builder.with_client_options(client).with_http_connector(on_one).with_retry(retry).build()?,
            )
        }
        StoreKind::Azure | StoreKind::Web => {
            let mut builder = MicrosoftAzureBuilder::from_env().with_container_name(at.bucket());
            if let Some(account) = at.account() {
                builder = builder.with_account(account);
            }
            Arc::new(
                builder.with_client_options(client).with_http_connector(on_one).with_retry(retry).build()?,
            )
        }
    })
}

/// Fills from the user's profile what the environment leaves open.
fn with_profile(mut builder: AmazonS3Builder) -> AmazonS3Builder {
    use object_store::aws::AmazonS3ConfigKey as Key;
    let profile = credentials::of_user();
    let is_open = |builder: &AmazonS3Builder, keys: &[Key]| {
        keys.iter().all(|key| builder.get_config_value(key).is_none())
    };
    let identities = [
        Key::AccessKeyId,
        Key::SecretAccessKey,
        Key::WebIdentityTokenFile,
        Key::ContainerCredentialsRelativeUri,
        Key::ContainerCredentialsFullUri,
    ];
    // A profile that is named goes before what a cluster offers, keys in the environment go before both.
    let is_named = std::env::var_os("AWS_PROFILE").is_some_and(|name| !name.is_empty());
    let asked = if is_named { &identities[..2] } else { &identities[..] };
    if let (true, Some(key), Some(secret)) = (is_open(&builder, asked), profile.key, profile.secret) {
        builder = builder.with_access_key_id(key).with_secret_access_key(secret);
        if let Some(token) = profile.token {
            builder = builder.with_token(token);
        }
    }
    if let (true, Some(region)) = (is_open(&builder, &[Key::Region, Key::DefaultRegion]), profile.region) {
        builder = builder.with_region(region);
    }
    if let (true, Some(endpoint)) = (is_open(&builder, &[Key::Endpoint, Key::S3Endpoint]), profile.endpoint) {
        builder = builder.with_endpoint(endpoint);
    }
    builder
}

/// What an error of a store means to who asked for `at`.
pub(crate) fn store_error(at: &Address, error: &object_store::Error) -> Error {
    use object_store::Error as Found;
    let place = at.to_string();
    let text = error.to_string();
    let found = || error_text(&text).unwrap_or_else(|| innermost(error));
    let denied = || Error::Denied { at: place.clone(), found: found(), advice: advice(at).to_owned() };
    match error {
        Found::NotFound { .. } => Error::Missing { at: place, found: found() },
        Found::PermissionDenied { .. } | Found::Unauthenticated { .. } => denied(),
        Found::Precondition { .. } | Found::NotModified { .. } => {
            Error::Changed { at: place, found: found() }
        }
        Found::AlreadyExists { .. } => Error::There { at: place },
        _ if is_of_credentials(&text) => {
            let by_others = credentials::of_user().by_others.filter(|_| at.kind() == StoreKind::Amazon);
            let more = by_others.map_or_else(String::new, |how| {
                format!(
                    "The profile of ~/.aws has `{how}`, which only Amazon's tools support: run `eval \"$(aws configure \
                     export-credentials --format env)\"` first. "
                )
            });
            Error::Credentials { at: place, found: innermost(error), advice: format!("{more}{}", advice(at)) }
        }
        _ if text.contains("status code: 404") => Error::Missing { at: place, found: found() },
        _ if text.contains("status code: 403") || text.contains("status code: 401") => denied(),
        _ => match network_error_kind(error) {
            NetworkErrorKind::Timeout => Error::Timeout { at: place, after: timeout() },
            NetworkErrorKind::Connect => {
                Error::Network { at: place, found: format!("cannot be reached: {}", innermost(error)) }
            }
            NetworkErrorKind::Other => Error::Network { at: place, found: found() },
        },
    }
}

/// What a store says in the XML (or JSON) of an error.
fn error_text(text: &str) -> Option<String> {
    let between = |open: &str, close: &str| {
        let (_, rest) = text.split_once(open)?;
        Some(rest.split_once(close)?.0.trim().to_owned()).filter(|found| !found.is_empty())
    };
    let code = between("<Code>", "</Code>")?;
    Some(
        between("<Message>", "</Message>")
            .map_or_else(|| code.clone(), |message| format!("{code}: {message}")),
    )
}

/// Whether an error came about when credentials were looked for: where a cloud's machines ask for theirs, the tokens of the
/// others, and files that hold none.
fn is_of_credentials(text: &str) -> bool {
    const SIGNS: [&str; 12] = [
        "169.254.169.254",
        "169.254.170.2",
        "metadata.google.internal",
        "metadata/computeMetadata",
        "oauth2/token",
        "oauth2.googleapis.com",
        "sts.amazonaws",
        "redential",
        "Account must be specified",
        "az login",
        "Missing access key",
        "application default",
    ];
    SIGNS.iter().any(|sign| text.contains(sign)) && !text.contains("<Code>")
}

/// What to set so that a store knows who asks.
fn advice(at: &Address) -> &'static str {
    match at.kind() {
        StoreKind::Amazon => {
            "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN), or AWS_PROFILE with a profile of \
             ~/.aws; AWS_REGION and, for a store other than Amazon's, AWS_ENDPOINT_URL; a public bucket is read with \
             AWS_SKIP_SIGNATURE=true"
        }
        StoreKind::Google => {
            "Run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to the key file of a \
             service account that may read the bucket; a public bucket is read with GOOGLE_SKIP_SIGNATURE=true"
        }
        StoreKind::Azure => {
            "Set AZURE_STORAGE_ACCOUNT_NAME with AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN, or run `az login` \
             and set AZURE_USE_AZURE_CLI=true; a public container is read with AZURE_SKIP_SIGNATURE=true"
        }
        StoreKind::Web => {
            "Pass an address with its credentials: https://USER:PASSWORD@HOST/PATH, or a signed one"
        }
    }
}
