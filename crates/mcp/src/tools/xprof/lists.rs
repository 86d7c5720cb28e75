//! Which runs there are, and which hosts a run has.

use haloscope_profile::Profile;
use serde_json::{Value, json};

use super::shaped::Shaped;
use super::{count, list_of, run_argument, text, tool};
use crate::Tool;

pub(super) fn runs() -> Tool {
    let fields = json!({"count": count(), "runs": {"type": "array", "items": {"type": "string"}}});
    let description = "All runs, newest first. Their names are the `run` of all other tools.";
    tool("xprof_list_runs", "runs", description, Vec::new(), &[], fields, |context, _, _| {
        let runs = context.store.list()?;
        let about = |run: &haloscope_store::RunInfo| json!({"run": run.id, "hosts": run.hosts.len(), "size_bytes": run.size_bytes});
        let shaped = Shaped::default().with("count", json!(runs.len()));
        let shaped = shaped.list("runs", runs.iter().map(|run| json!(run.id)).collect());
        let shaped = match context.store.stale() {
            Some(stale) => shaped.with("stale", json!(format!("the list is an older one: {}", stale.why))),
            None => shaped,
        };
        Ok(shaped.list("about", runs.iter().map(about).collect()))
    })
}

pub(super) fn hosts() -> Tool {
    let fields = json!({"run": text(), "hosts": list_of(&["hostname"])});
    let description = "The hosts of a run, with the devices that were profiled on each.";
    tool(
        "xprof_hosts",
        "hosts",
        description,
        vec![run_argument()],
        &["run"],
        fields,
        |context, arguments, _| {
            let run = context.run(arguments, "run")?;
            Ok(Shaped::of_run(&run.info.id).list("hosts", host_entries(&run.profile)))
        },
    )
}

fn host_entries(profile: &Profile) -> Vec<Value> {
    let devices = |host: &str| -> Vec<&str> {
        let on_host = |device: &&haloscope_profile::Device| profile.host(device.host).name == host;
        profile.devices.iter().filter(on_host).map(|device| device.name.as_str()).collect()
    };
    let names = haloscope_compat::host_names(profile);
    names.into_iter().map(|host| json!({"hostname": host, "devices": devices(host)})).collect()
}
