//! Serving: the requests that a model server answered and the batches that it ran them in, with where their time went.
//!
//! A request is a group of events ([`haloscope_event_groups`]) with a root of a server's; a batch is the group of an event that
//! processes one, which the requests in it led to. Times are picoseconds on the profiler's own clock. The rules are XProf's.

pub mod analysis;
mod host;
mod phases;
mod server;

use haloscope_profile::{HostId, Profile};

/// What a request or a batch spent on laying out tensors for the device and back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensors {
    /// A row of [`Inference::patterns`].
    pub pattern: usize,
    /// Time of all of its events.
    pub duration_ps: u64,
}

/// Where the time of a request went. At each instant the phase that stands last here counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Phases {
    /// None of the others.
    pub idle_ps: u64,
    /// The host before the device.
    pub preprocess_ps: u64,
    /// The host after the device.
    pub postprocess_ps: u64,
    /// Between the request's arrival in the queue and the start of its batch.
    pub batch_formation_ps: u64,
    /// The host between the start of an execution and its launch.
    pub runtime_ps: u64,
    /// Transfers to the device.
    pub to_device_ps: u64,
    /// Transfers from the device.
    pub from_device_ps: u64,
    /// Programs on the device.
    pub device_ps: u64,
}

/// A request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// Its group.
    pub id: i64,
    /// A row of [`Inference::models`]; `None` where it names no model.
    pub model: Option<usize>,
    /// First start of its events.
    pub start_ps: u64,
    /// Last end of its events and of its batch.
    pub end_ps: u64,
    /// From its start to that of its first batch.
    pub batching_delay_ps: u64,
    /// Its size in a batch.
    pub batching_size: i32,
    /// Where its time went.
    pub phases: Phases,
    /// The batches that it was run in.
    pub batches: Vec<i64>,
    /// Tensors of its own, not of its batches.
    pub tensors: Option<Tensors>,
}

/// A batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// Its group.
    pub id: i64,
    /// A row of [`Inference::models`]; `None` where its requests name no model.
    pub model: Option<usize>,
    /// When it began to be processed.
    pub start_ps: u64,
    /// When it was done.
    pub end_ps: u64,
    /// From the start of its first request to its own.
    pub delay_ps: u64,
    /// The requests in it, ascending.
    pub requests: Vec<i64>,
    /// What was added to fill it up.
    pub padding: i32,
    /// Its size with padding.
    pub size: i32,
    /// Time of programs on the device.
    pub device_ps: u64,
    /// The programs that ran, by first launch.
    pub programs: Vec<u64>,
    /// Its tensors.
    pub tensors: Option<Tensors>,
}

/// How a server makes batches of a model's requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batching {
    /// Threads that process batches.
    pub threads: i64,
    /// How long a batch waits for more requests, in microseconds.
    pub timeout_us: i64,
    /// Its largest size.
    pub max_size: i64,
    /// How many batches may wait.
    pub max_waiting: i64,
    /// Sizes to which batches are filled up, with commas.
    pub allowed_sizes: String,
}

/// Requests and batches of one model, by duration and then by start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Model {
    /// Its name and version; empty where no request of the run names a model.
    pub name: String,
    /// Its requests.
    pub requests: Vec<Request>,
    /// Its batches.
    pub batches: Vec<Batch>,
    /// How its batches are made, where the server says.
    pub batching: Option<Batching>,
}

/// What the hosts of a run served.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inference {
    /// The models, in the order in which they were met; one without a name where no request names one.
    pub models: Vec<Model>,
    /// Shapes and layouts of tensors, one line a tensor with `<br>` between them.
    pub patterns: Vec<String>,
}

impl Request {
    /// How long it took.
    #[must_use]
    pub fn duration_ps(&self) -> u64 {
        self.end_ps.saturating_sub(self.start_ps)
    }
}

impl Batch {
    /// How long it took.
    #[must_use]
    pub fn duration_ps(&self) -> u64 {
        self.end_ps.saturating_sub(self.start_ps)
    }

    /// The share of it that is not padding; 0 for an empty batch.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        let filled = f64::from(self.size.wrapping_sub(self.padding));
        if self.size == 0 { 0.0 } else { filled / f64::from(self.size) }
    }
}

/// What these hosts served, together.
#[must_use]
pub fn of(profile: &Profile, hosts: &[HostId]) -> Inference {
    let mut all = Inference::default();
    let mut requests = Vec::new();
    let mut batches = Vec::new();
    for host in hosts {
        let mut found = host::read(profile, *host);
        let models: Vec<usize> = found.models.iter().map(|name| place(&mut all.models, name)).collect();
        let patterns: Vec<usize> = found.patterns.drain(..).map(|p| place_of(&mut all.patterns, p)).collect();
        for (name, batching) in server::batching(profile, *host, &found.models) {
            let at = place(&mut all.models, &name);
            all.models[at].batching.get_or_insert(batching);
        }
        let model = |model: Option<usize>| model.map(|m| models.get(m).copied().unwrap_or(0));
        let tensors = |tensors: Option<Tensors>| {
            tensors.and_then(|t| Some(Tensors { pattern: *patterns.get(t.pattern)?, ..t }))
        };
        requests.extend(found.requests.into_iter().map(|r| Request {
            model: model(r.model),
            tensors: tensors(r.tensors.clone()),
            ..r
        }));
        batches.extend(found.batches.into_iter().map(|b| Batch {
            model: model(b.model),
            tensors: tensors(b.tensors.clone()),
            ..b
        }));
    }
    // Without any name all belongs to one model; with one, what names none is left out.
    let unnamed = all.models.is_empty();
    if unnamed {
        all.models.push(Model::default());
    }
    let row = |model: Option<usize>| if unnamed { Some(0) } else { model };
    for request in requests {
        if let Some(model) = row(request.model).and_then(|m| all.models.get_mut(m)) {
            model.requests.push(request);
        }
    }
    for batch in batches {
        if let Some(model) = row(batch.model).and_then(|m| all.models.get_mut(m)) {
            model.batches.push(batch);
        }
    }
    for model in &mut all.models {
        model.requests.sort_by_key(|r| (r.duration_ps(), r.start_ps));
        model.batches.sort_by_key(|b| (b.duration_ps(), b.start_ps));
    }
    all
}

fn place(models: &mut Vec<Model>, name: &str) -> usize {
    models.iter().position(|m| m.name == name).unwrap_or_else(|| {
        models.push(Model { name: name.to_owned(), ..Model::default() });
        models.len() - 1
    })
}

fn place_of(texts: &mut Vec<String>, text: String) -> usize {
    texts.iter().position(|t| *t == text).unwrap_or_else(|| {
        texts.push(text);
        texts.len() - 1
    })
}
