//! The query engine: tables, functions, limits, and a statement's rows one batch after the other.

use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::{Diagnostic, Span, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::prelude::{SQLOptions, SessionConfig, SessionContext};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use futures::StreamExt;

use crate::functions;
use crate::runs::Run;
use crate::stats::Stats;
use crate::tables;

/// Stack of the threads that plan and evaluate: conditions of many parts are trees as deep as they are long.
pub(crate) const STACK: usize = 256 << 20;

/// What the tables belong to, in `information_schema`.
pub(crate) const CATALOG: &str = "haloscope";
/// Likewise.
pub(crate) const SCHEMA: &str = "runs";

/// An engine over some runs.
pub(crate) struct Engine {
    context: SessionContext,
}

impl Engine {
    /// An engine that keeps to this memory, in bytes, and puts what is more into files below `scratch`.
    ///
    /// # Errors
    /// Never in practice: settings that are not known.
    pub(crate) fn new(
        runs: &Arc<[Run]>,
        memory: Option<usize>,
        scratch: &Path,
        stats: &Arc<Stats>,
    ) -> Result<Self> {
        let context = SessionContext::new_with_state(state(memory, scratch)?.build());
        tables::register(&context, runs, stats)?;
        functions::register(&context);
        Ok(Self { context })
    }

    /// One whose tables and functions are known to a session.
    pub(crate) fn over(context: SessionContext) -> Self {
        Self { context }
    }

    /// Runs one statement, which reads and changes nothing: `begin` gets its columns, `batch` its rows. Either ends it with `false`.
    ///
    /// # Errors
    /// What is wrong with the statement, or went wrong.
    pub(crate) async fn run(
        &self,
        sql: &str,
        begin: impl FnOnce(SchemaRef) -> bool,
        mut batch: impl FnMut(RecordBatch) -> bool,
    ) -> Result<()> {
        check_length(sql)?;
        let only_reads =
            SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        let frame = self.context.sql_with_options(sql, only_reads).await;
        let frame = frame.map_err(|error| placed(sql, error))?;
        let mut rows = frame.execute_stream().await?;
        if !begin(rows.schema()) {
            return Ok(());
        }
        while let Some(part) = rows.next().await {
            if !batch(part?) {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// A session that keeps to this memory, in bytes, and puts what is more into files below `scratch`.
///
/// # Errors
/// Never in practice: settings that are not known.
pub(crate) fn state(memory: Option<usize>, scratch: &Path) -> Result<SessionStateBuilder> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let mut config = SessionConfig::new()
        .with_information_schema(true)
        .with_target_partitions(threads)
        .with_default_catalog_and_schema(CATALOG, SCHEMA);
    let options = config.options_mut();
    options.sql_parser.collect_spans = true;
    let mut runtime = RuntimeEnvBuilder::new().with_disk_manager_builder(
        DiskManagerBuilder::default().with_mode(DiskManagerMode::Directories(vec![scratch.to_owned()])),
    );
    if let Some(memory) = memory {
        runtime = runtime.with_memory_pool(Arc::new(FairSpillPool::new(memory)));
    }
    Ok(SessionStateBuilder::new()
        .with_default_features()
        .with_config(config)
        .with_runtime_env(runtime.build_arc()?))
}

/// An error that names something in quotes, such as a table that is not there, with the place at which the statement names it: the
/// engine says that of columns only.
fn placed(sql: &str, error: DataFusionError) -> DataFusionError {
    if error.diagnostic().is_some() {
        return error;
    }
    match quoted(&error).and_then(|name| place_of(sql, &name)) {
        Some(span) => error.with_diagnostic(Diagnostic::new_error("", Some(span))),
        None => error,
    }
}

/// The first name in quotes of a plan's error, without those of catalog and schema before it.
pub(crate) fn quoted(error: &DataFusionError) -> Option<String> {
    let DataFusionError::Plan(message) = error.find_root() else { return None };
    Some(message.split('\'').nth(1)?.rsplit('.').next()?.to_owned())
}

fn place_of(sql: &str, name: &str) -> Option<Span> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location().ok()?;
    let is_name = |token: &Token| matches!(token, Token::Word(word) if word.value.eq_ignore_ascii_case(name));
    tokens.into_iter().find(|one| is_name(&one.token)).and_then(|one| Span::try_from_sqlparser_span(one.span))
}

/// Words and signs of a statement, without those of lists: what they make are trees as deep as they are long, and whoever walks over
/// one takes as much of the stack.
const MOST_WORDS: usize = 2_000;

/// Refuses what is too long to be planned.
fn check_length(sql: &str) -> Result<()> {
    // What is no SQL at all is the parser's to refuse.
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, sql).tokenize() else { return Ok(()) };
    let counts = |token: &&Token| {
        !matches!(
            token,
            Token::Whitespace(_)
                | Token::Comma
                | Token::Number(..)
                | Token::SingleQuotedString(_)
                // Brackets have a limit of their own.
                | Token::LParen
                | Token::RParen
        )
    };
    let words = tokens.iter().filter(counts).count();
    if words > MOST_WORDS {
        return plan_err!(
            "the statement has {words} words and signs (commas, numbers and texts not counted), at most {MOST_WORDS} are allowed; IN (...) takes long lists"
        );
    }
    Ok(())
}
