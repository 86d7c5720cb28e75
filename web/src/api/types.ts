/** The server's answers. Their types are generated; here stands what the page sends, and what the standalone report leaves out. */

export type * from "./generated";

/** What `/api/capture` is asked for. */
export interface CaptureAsked {
  /** `host:port` each. */
  readonly servers: readonly string[];
  readonly duration_ms: number;
  readonly delay_ms: number;
  readonly retries: number;
  /** `name=value` each: tracer levels and any other option of the profiler. */
  readonly options: readonly string[];
}

/** What `/api/query` is asked. */
export interface SqlAsked {
  /** One statement, or `@` and the name of a canned question. */
  readonly sql: string;
  /** Ids of runs. */
  readonly runs: readonly string[];
  /** Most rows; a thousand where it is left out. */
  readonly limit?: number;
}
