//! The server: lists and calls tools, whichever door a request came through.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool as Described, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use tokio::sync::Semaphore;

use crate::{Answer, Arguments, Context, Refusal, Tool, tools};

/// What an agent reads before anything else.
const INSTRUCTIONS: &str = "Haloscope";

/// Answers for one context. Clones share everything.
#[derive(Debug, Clone)]
pub struct Server {
    context: Arc<Context>,
    tools: Arc<Vec<Tool>>,
    /// As many calls are computed at once as there are cores; the others wait.
    workers: Arc<Semaphore>,
}

impl Server {
    /// A server of these runs.
    #[must_use]
    pub fn new(context: Context) -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            context: Arc::new(context),
            tools: Arc::new(tools::all()),
            workers: Arc::new(Semaphore::new(cores)),
        }
    }

    /// Shares the limit on calls that are computed at once with somebody else who computes.
    #[must_use]
    pub fn with_workers(self, workers: Arc<Semaphore>) -> Self {
        Self { workers, ..self }
    }

    /// Calls a tool on this thread.
    ///
    /// # Errors
    /// [`Refusal`] where there is no answer.
    pub fn call(&self, name: &str, arguments: &Arguments) -> Result<Answer, Refusal> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == name) else {
            let known: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_str()).collect();
            return Err(Refusal::unknown("tool", name, &known, "call one that exists"));
        };
        arguments.check(&tool.name, &tool.input)?;
        (tool.call)(&self.context, arguments)
    }

    /// Does something on a thread that may block, as soon as a core is free. A panic in it is a refusal.
    async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let permit =
            Arc::clone(&self.workers).acquire_owned().await.map_err(|e| Refusal::bug(&e.to_string()))?;
        let server = self.clone();
        let task = tokio::task::spawn_blocking(move || {
            // The permit goes with the work: who asked may have left, the core is busy all the same.
            let _permit = permit;
            work(&server)
        });
        task.await.unwrap_or_else(|error| Err(Refusal::bug(&error.to_string())))
    }
}

fn described(tool: &Tool) -> Described {
    Described::new(tool.name.clone(), tool.description.clone(), Arc::new(tool.input.clone()))
        .with_title(tool.title.clone())
        .with_raw_output_schema(Arc::new(tool.output.clone()))
        .with_annotations(ToolAnnotations::new().read_only(true).open_world(false))
}

fn result(answer: Result<Answer, Refusal>) -> CallToolResult {
    match answer {
        Ok(answer) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(answer.text)]);
            result.structured_content = Some(answer.structured);
            result
        }
        Err(refusal) => CallToolResult::error(vec![ContentBlock::text(refusal.text())]),
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("haloscope", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.iter().map(described).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Arguments::from(request.arguments.unwrap_or_default());
        let name = request.name.into_owned();
        let answer = self.compute(move |server| server.call(&name, &arguments)).await;
        Ok(result(answer).into())
    }
}
