//! The profile in a server's reply.

use haloscope_xspace::wire::Fields;
use prost::bytes::Bytes;

use super::names::SUFFIX;
use crate::Error;
use crate::proto::ProfileResponse;

/// The serialised `XSpace` that a server sent.
///
/// # Errors
/// [`Error::Empty`] where it recorded nothing, [`Error::Old`] where it did not send what it recorded, [`Error::Failed`] where what
/// it sent is damaged.
pub(crate) fn space_in_reply(server: &str, reply: ProfileResponse) -> Result<Bytes, Error> {
    let server = || server.to_owned();
    if reply.empty_trace {
        return Err(Error::Empty { server: server() });
    }
    let file = reply.tool_data.into_iter().find(|tool| tool.name.ends_with(SUFFIX));
    let space = if reply.xspace.is_empty() { file.map(|tool| tool.data) } else { Some(reply.xspace) };
    let Some(space) = space.filter(|space| !space.is_empty()) else {
        return Err(Error::Old { server: server() });
    };
    let mut fields = Fields::new(&space, 0);
    fields.by_ref().for_each(drop);
    if let Some(fault) = fields.fault("XSpace") {
        let message = format!(
            "expected a whole profile (XSpace), found one of {} bytes that is damaged: {fault:?}",
            space.len()
        );
        return Err(Error::Failed { server: server(), code: "a profile".into(), message });
    }
    Ok(space)
}
