/** What the server answers. Written by `cargo xtask docs --write` from the Rust types that it writes; not edited by hand. */

import type { Cell } from "../base/format";

/** The answer of one analysis. */
export interface Report {
  /** The analysis that gave it. */
  readonly analysis: string;
  /** The version of this shape. */
  readonly version: number;
  /** What part of the run it covers. */
  readonly scope: ScopeSummary;
  /** Where it comes from. */
  readonly provenance: Provenance;
  /** What was missing, truncated, unpaired or guessed. */
  readonly quality: readonly Quality[];
  /** Headline numbers by id, in reading order. */
  readonly values: Readonly<Record<string, Value>>;
  /** Tables, the most important first. */
  readonly tables: readonly Table[];
  /** Trees, likewise. */
  readonly trees: readonly Tree[];
  /** Curves for charts. */
  readonly series: readonly Series[];
  /** What follows from the numbers, worst first. */
  readonly findings: readonly Finding[];
  /** Texts that stand for themselves, such as a program as its compiler prints it. */
  readonly texts: readonly ReportText[];
  /** Whether what was asked for holds; null where nothing was, or nobody can tell. */
  readonly passed: boolean | null;
  /** The same with a third outcome. */
  readonly gate: Gate | null;
}

/** The part of the run that a report covers. */
export interface ScopeSummary {
  /** Hosts covered. */
  readonly hosts: readonly string[];
  /** Devices covered, by their names in the tables. */
  readonly devices: readonly string[];
  /** Module filter as asked; empty means all. */
  readonly modules: readonly string[];
  /** Steps asked for, such as `2-5`. */
  readonly steps: string | null;
  /** Time window asked for, in picoseconds from the start of the run. */
  readonly window_ps: readonly [number, number] | null;
  /** True where only the steady state was asked for. */
  readonly steady: boolean;
  /** What the scope left out, in words. */
  readonly left_out: readonly string[];
}

/** Where a report comes from. */
export interface Provenance {
  /** The files read. */
  readonly files: readonly FileRead[];
  /** All hosts of the run. */
  readonly hosts: readonly string[];
  /** Devices covered out of the devices that the run's profiles hold. */
  readonly coverage: Coverage;
  /** Peak rates used, and where each came from. */
  readonly peaks: readonly PeakUsed[];
}

/** One file of the run. */
export interface FileRead {
  /** Its path as given or found. */
  readonly path: string;
  /** Its size in bytes. */
  readonly bytes: number;
}

/** How much of the run a report covers. */
export interface Coverage {
  /** Devices that the report covers. */
  readonly devices: number;
  /** Devices in the profiles read. */
  readonly devices_in_profile: number;
}

/** A peak rate that shares were computed against. */
export interface PeakUsed {
  /** The device type, such as `TPU v6 Lite`. */
  readonly device_type: string;
  /** What is peak: `flops` or `hbm`. */
  readonly resource: string;
  /** FLOP/s or B/s of one device (one core of a chip with several). */
  readonly rate: number;
  /** `FLOP/s` or `B/s`. */
  readonly unit: string;
  /** Where it came from: `trace` (the profile's own stats), `derived` (from clock and core count) or `table`. */
  readonly source: string;
}

/** A remark on the data: what is missing, cut, unpaired or guessed, what that costs, and what would cure it. */
export interface Quality {
  /** Stable id, such as `no_step_markers`. */
  readonly id: string;
  /** How bad it is. */
  readonly severity: Severity;
  /** What was seen, with numbers. */
  readonly message: string;
  /** Which answers suffer, and how. */
  readonly cost: string;
  /** What to change at the next capture; empty where nothing can be. */
  readonly cure: string;
}

/** How much a finding or a remark on the data matters. */
export type Severity = "info" | "warning" | "error";

/** One headline number. Its `id` is part of the contract. */
export interface Value {
  /** The number or text; `Unknown` where the profile cannot tell. */
  readonly value: Cell;
  /** Its unit. */
  readonly unit: string;
  /** How it is known. */
  readonly status: Status;
  /** As a column's. */
  readonly kind: Kind;
  /** What a person reads beside it. */
  readonly label: string;
  /** What it is and how it was computed. */
  readonly doc: string;
}

/** How a number is known. */
export type Status = "measured" | "derived" | "estimated" | "unknown";

/** A table: columns defined once, rows of as many cells. */
export interface Table {
  /** Stable id. */
  readonly id: string;
  /** What a person reads above it. */
  readonly title: string;
  /** The columns. */
  readonly columns: readonly Column[];
  /** Rows, in the order in which they are best read. */
  readonly rows: readonly (readonly Cell[])[];
}

/** A column's definition: one place for id, label, unit and explanation. */
export interface Column {
  /** Stable id. */
  readonly id: string;
  /** Header for people, without the unit. */
  readonly label: string;
  /** Unit of every cell. */
  readonly unit: string;
  /** What the cells are. */
  readonly kind: Kind;
  /** What the number is and how it was computed. */
  readonly doc: string;
}

/** What kind of thing a column holds; presenters choose alignment and format by it. */
export type Kind = "text" | "int" | "float" | "bytes" | "duration_ps" | "rate" | "share" | "flag" | "quantity" | "change";

/** A tree: columns defined once, nodes with a label and as many values. */
export interface Tree {
  /** Stable id; no table of the same report has it. */
  readonly id: string;
  /** What a person reads above it. */
  readonly title: string;
  /** The columns of the nodes' values; the label has none. */
  readonly columns: readonly Column[];
  /** The nodes at the top, in the order in which they are best read. */
  readonly nodes: readonly TreeNode[];
}

/** A node of a tree. */
export interface TreeNode {
  /** What it is called among its siblings. */
  readonly label: string;
  /** A cell for each column. */
  readonly values: readonly Cell[];
  /** Its parts, in the order in which they are best read. */
  readonly children: readonly TreeNode[];
}

/** A curve or a set of points for a chart. */
export interface Series {
  /** Stable id. */
  readonly id: string;
  /** What a person reads beside it. */
  readonly title: string;
  /** Label and unit of x. */
  readonly x: Axis;
  /** Label and unit of y. */
  readonly y: Axis;
  /** Points in order of x; null where y is not known. */
  readonly points: readonly (readonly [number, number | null])[];
}

/**  */
export interface Axis {
  /**  */
  readonly label: string;
  /**  */
  readonly unit: string;
}

/** A claim with its evidence, what fixing it could give at most, what to try, and what would disprove it. */
export interface Finding {
  /** Stable id, such as `diluted_averages`. */
  readonly id: string;
  /** Which sort of finding it is, where its id has several, as a stable id such as `at_pace`; else JSON leaves it out. */
  readonly variant?: string;
  /** How much it matters. */
  readonly severity: Severity;
  /** One sentence. */
  readonly claim: string;
  /** The numbers it rests on. */
  readonly evidence: string;
  /** What removing the cause could give at most, in words with a number. */
  readonly ceiling: string;
  /** The same as a number: the time now over the time without the cause. null where nothing would be faster or nobody can tell. */
  readonly speedup: number | null;
  /** What to try. */
  readonly lever: string;
  /** The observation that would refute it. */
  readonly falsifier: string;
  /** How it is known. */
  readonly status: Status;
  /** Where to look at the evidence. */
  readonly links: readonly Link[];
  /** The finding of the same report, by its id, whose symptom this one is, in part or whole; its time counts there. */
  readonly explained_by: string | null;
}

/** A place where evidence can be looked at: a question with a scope, a table of its answer, a row of that table. */
export interface Link {
  /** The analysis, or `timeline`. */
  readonly analysis: string;
  /** Parameters of the analysis, by name. */
  readonly params: readonly (readonly [string, string])[];
  /** The table of its report; empty for the report as a whole. */
  readonly table: string;
  /** The text of the row's first cell; null for all rows. */
  readonly row: string | null;
  /** Devices to keep to, by their names in the tables; none means all. */
  readonly devices: readonly string[];
  /** Steps to keep to, such as `2-5`. */
  readonly steps: string | null;
  /** The time to keep to, picoseconds on the run's clock. */
  readonly window_ps: readonly [number, number] | null;
}

/** A text that stands for itself. */
export interface ReportText {
  /** Stable id. */
  readonly id: string;
  /** What it is. */
  readonly title: string;
  /** The text, with a newline at the end of each line. */
  readonly text: string;
}

/** Whether what was asked for holds. */
export type Gate = "passed" | "failed" | "not_comparable";

/** `/api/analyses`: the registry, and what the server has beside it: what a menu is made of. */
export interface Analyses {
  /** In the order of the registry. */
  readonly analyses: readonly AnalysisInfo[];
  /** What the first words of ids of two stand for, where they are no analyses themselves. */
  readonly families: readonly FamilyInfo[];
  /** The parts of a menu, in order. */
  readonly groups: readonly MenuGroup[];
  /** Whether `/api/ledger` has a history of runs. */
  readonly ledger: boolean;
  /** Whether `/api/capture` captures. */
  readonly capture: boolean;
  /** Whether `/api/query` answers SQL. */
  readonly sql: boolean;
}

/** An analysis. */
export interface AnalysisInfo {
  /** As in addresses: `memory-peak`. */
  readonly id: string;
  /** As on the command line: `memory peak`. */
  readonly name: string;
  /** Its name in menus and headings. */
  readonly label: string;
  /** The part of a menu that it stands in. */
  readonly group: MenuGroup;
  /** What the first of two words of its name stands for: a family, or the analysis that leads it. */
  readonly family: string | null;
  /** The parameter that names the run to hold against the first, where it takes one: `other` or `baseline`. */
  readonly others: string | null;
  /** It may name several, with commas between. */
  readonly takes_many: boolean;
  /** The question it answers. */
  readonly question: string;
  /** What a profile must hold for a full answer. */
  readonly needs: readonly string[];
  /** Its parameters beside the scope. */
  readonly params: readonly ParamInfo[];
}

/** Analyses of one subject. */
export interface FamilyInfo {
  /** The first word of its members' names. */
  readonly id: string;
  /** Its name in menus and headings. */
  readonly label: string;
  /** What its members are about. */
  readonly about: string;
}

/** A parameter of an analysis. */
export interface ParamInfo {
  /** Its name: `?by=`. */
  readonly id: string;
  /** What it does. */
  readonly doc: string;
  /** `choice`, `count`, `quantity`, `text` or `document` (the text of a file). */
  readonly kind: string;
  /** The words of a choice. */
  readonly choices: readonly string[];
  /** The value where none is given. */
  readonly default: string;
}

/** The part of a menu that an analysis stands in, in the order of the menu. */
export type MenuGroup = "start" | "time" | "work" | "memory" | "programs" | "change" | "file";

/** `/api/runs`. */
export interface Runs {
  /** The newest first; behind them those that were dropped on the page. */
  readonly runs: readonly RunInfo[];
  /** The newest that is complete and was not dropped on the page; null where there is none. */
  readonly default: string | null;
  /** Stands for this listing, to ask for another one with. */
  readonly listing: string;
  /** The program's version. */
  readonly version: string;
  /** Where the place lies elsewhere and cannot be listed now. */
  readonly stale: Stale | null;
  /** What is served. */
  readonly logdir: string;
}

/** A run in the listing. */
export interface RunInfo {
  /** Names it in every request. */
  readonly id: string;
  /** For people. */
  readonly name: string;
  /** Where it lies. */
  readonly path: string;
  /** Its hosts. */
  readonly hosts: readonly string[];
  /** Of its files together. */
  readonly size_bytes: number;
  /** When its files changed last, milliseconds since 1970. */
  readonly modified_ms: number;
  /** A file of it is still being written. */
  readonly writing: boolean;
  /** Somebody dropped it on the page: it stands behind the others, and is never the default. */
  readonly dropped: boolean;
}

/** Since when a listing is old. */
export interface Stale {
  /** When it could last be made, milliseconds since 1970. */
  readonly since_ms: number;
  /** Why it cannot be. */
  readonly why: string;
}

/** `/api/progress`: how far the reading of a run has come. */
export interface Progress {
  /** The run. */
  readonly run: string;
  /** `idle`, `opening`, `reading` or `read`. */
  readonly state: string;
  /** Hosts that have been read. */
  readonly hosts_done: number;
  /** All. */
  readonly hosts: number;
  /** Bytes that have been read. */
  readonly bytes_done: number;
  /** All. */
  readonly bytes: number;
}

/** `/api/source` without a path: whether there is a folder of sources. */
export interface SourceState {
  /** There is one. */
  readonly available: boolean;
}

/** `/api/source`: the text of a source file. */
export interface SourceText {
  /** Below the folder that the server was given. */
  readonly path: string;
  /** All of it. */
  readonly text: string;
}

/** `/api/capture`: whether something can be captured, of which servers, and the captures so far. */
export interface Captures {
  /** Something can be. */
  readonly available: boolean;
  /** Why nothing can be. */
  readonly why: string | null;
  /** The log folder that sessions are written to. */
  readonly folder: string | null;
  /** Whether any server may be asked; else those that `servers` name. */
  readonly any_server: boolean;
  /** Rules that name servers. */
  readonly servers: readonly string[];
  /** The newest first. */
  readonly captures: readonly Capture[];
}

/** A capture under way, or what came of it. */
export interface Capture {
  /** Names it in requests. */
  readonly id: string;
  /** What its slowest server does, or `writing`, `ending`, `done`, `failed` or `cancelled`. */
  readonly state: string;
  /** When it was asked for, milliseconds since 1970. */
  readonly begun_ms: number;
  /** For how long it runs or ran. */
  readonly elapsed_ms: number;
  /** Until the common start; null where it is not known yet. */
  readonly starts_in_ms: number | null;
  /** The length of the profile. */
  readonly duration_ms: number;
  /** The wait before it. */
  readonly delay_ms: number;
  /** The servers that are asked. */
  readonly servers: readonly CaptureServer[];
  /** The session that was written. */
  readonly session: string | null;
  /** Where it lies. */
  readonly path: string | null;
  /** The id in the listing of runs. */
  readonly run: string | null;
  /** The files that were written. */
  readonly files: readonly CaptureFile[];
  /** What is to be known of them. */
  readonly remarks: readonly string[];
  /** Why there is no session. */
  readonly error: string | null;
  /** What sort of failure it is. */
  readonly kind: string | null;
  /** What to do about it. */
  readonly hint: string | null;
}

/** A server that is asked for a profile. */
export interface CaptureServer {
  /** `host:port`. */
  readonly server: string;
  /** `connecting`, `retrying`, `waiting`, `profiling`, `receiving` or `received`. */
  readonly state: string;
  /** For how long it has been asked. */
  readonly elapsed_ms: number;
  /** What came; null until some did. */
  readonly bytes: number | null;
  /** 1 for the first. */
  readonly attempt: number;
  /** Why it is asked again. */
  readonly why: string | null;
}

/** A file that was captured. */
export interface CaptureFile {
  /** Its name in the session. */
  readonly name: string;
  /** The host that it is of. */
  readonly host: string;
  /** The server that it came from. */
  readonly server: string;
  /** Its size. */
  readonly bytes: number;
}

/** What can be asked. */
export interface SqlAbout {
  /** The program's version. */
  readonly version: string;
  /** The tables. */
  readonly tables: readonly SqlTable[];
  /** What SQL has beside its own functions. */
  readonly functions: readonly SqlFunction[];
  /** Questions that are asked often. */
  readonly questions: readonly SqlQuestion[];
}

/** A table. */
export interface SqlTable {
  /** Its name. */
  readonly name: string;
  /** What a row is. */
  readonly doc: string;
  /** Its columns. */
  readonly columns: readonly SqlTableColumn[];
}

/** A column of a table. */
export interface SqlTableColumn {
  /** Its name. */
  readonly name: string;
  /** Unit of its numbers, empty for words. */
  readonly unit: string;
  /** What it means. */
  readonly doc: string;
}

/** A function. */
export interface SqlFunction {
  /** How it is called. */
  readonly usage: string;
  /** What it gives. */
  readonly doc: string;
}

/** A question that is asked often. */
export interface SqlQuestion {
  /** Its name, without `@`. */
  readonly name: string;
  /** What it answers. */
  readonly question: string;
  /** Its SQL. */
  readonly sql: string;
}

/** The rows of an answer. */
export interface SqlAnswer {
  /** The columns. */
  readonly columns: readonly SqlColumn[];
  /** Whether there are more rows than were asked for. */
  readonly is_cut: boolean;
  /** The rows, as many cells each as there are columns: numbers, texts, yes or no; null for unknown. */
  readonly rows: readonly (readonly Cell[])[];
  /** What is to be known of the runs: files that were left out. */
  readonly notes: readonly string[];
}

/** A column of an answer. */
export interface SqlColumn {
  /** Its name. */
  readonly name: string;
  /** What its cells are: `integer`, `real`, `text`, `flag`. */
  readonly kind: string;
  /** Unit of its numbers; unknown where they were computed of several. */
  readonly unit: string | null;
  /** What a person reads above it, where it is a table's own. */
  readonly label: string | null;
  /** What it means, likewise. */
  readonly doc: string | null;
}

/** All tracks of a run. */
export interface Tracks {
  /** The first start of an event or capture, picoseconds on the run's clock; 0 where there is neither. */
  readonly start_ps: number;
  /** The last end, likewise. */
  readonly end_ps: number;
  /** From the first start to the last end of what ran on accelerators; null where none has events. A capture goes on before and after, often for long. */
  readonly active_ps: readonly [number, number] | null;
  /** One group a plane that has events: by host, devices first. */
  readonly groups: readonly TrackGroup[];
  /** The names of all hosts. */
  readonly hosts: readonly string[];
}

/** The tracks of one plane. */
export interface TrackGroup {
  /** Stable within a run. */
  readonly id: string;
  /** The device or host plane; with the host in front where the run has several. */
  readonly name: string;
  /** `device` or `host`. */
  readonly kind: string;
  /** The name of the host that it belongs to. */
  readonly host: string;
  /** The device that the plane shows, as a scope names it; null where it shows none. */
  readonly device: string | null;
  /** The plane's lines that have events, in reading order. */
  readonly tracks: readonly TrackInfo[];
}

/** One track: a line with events. */
export interface TrackInfo {
  /** The line: a row of `lines`. */
  readonly id: number;
  /** The line's name; with its id behind where several lines of the plane share it. */
  readonly name: string;
  /** Number of events with a place in time. */
  readonly events: number;
  /** Number of rows that the events take: the deepest nesting, or the most events at once. */
  readonly depth: number;
  /** What it shows: `steps`, `modules`, `ops`, `async`, `derived`, `stream`, `thread`, `counters`, `framework` or `other`. */
  readonly kind: string;
  /** Whether an event that lies within another is part of it. */
  readonly nests: boolean;
  /** Whether the events are samples of counters, which are drawn as curves. */
  readonly counter: boolean;
}

/** The counters of some tracks in a window of time. */
export interface Counters {
  /** The tracks asked for, in the order asked. */
  readonly tracks: readonly TrackCounters[];
}

/** The counters of one track. */
export interface TrackCounters {
  /** The line. */
  readonly id: number;
  /** Its counters, in the order of their first samples. */
  readonly counters: readonly Counter[];
}

/** One counter. */
export interface Counter {
  /** Its name. */
  readonly name: string;
  /** `B`, `ps`, ... or empty where nobody says. */
  readonly unit: string;
  /** The smallest value of the whole track, so that a curve keeps its scale when the window moves; null where no sample has one. */
  readonly min: number | null;
  /** The largest. */
  readonly max: number | null;
  /** By time, at most one a pixel: the time of its last sample, and the smallest, largest and last value. Before them the last sample before the window, from which the curve comes in. A value is null where a sample has none. */
  readonly points: readonly (readonly [number, number | null, number | null, number | null])[];
}

/** One event with everything that is known about it. */
export interface EventDetails {
  /** Its label, as in the window. */
  readonly name: string;
  /** Start on the run's clock, picoseconds. */
  readonly start_ps: number;
  /** Picoseconds. */
  readonly duration_ps: number;
  /** The part of its duration in which no event that it encloses ran, picoseconds; null on lines whose events overlap without belonging to each other. */
  readonly self_ps: number | null;
  /** HLO category, as `ops` names it. */
  readonly category: string | null;
  /** Name of the HLO module. */
  readonly module: string | null;
  /** Name of the HLO instruction. */
  readonly instruction: string | null;
  /** The framework's scope path. */
  readonly op_name: string | null;
  /** FLOPs of one execution as counted for the device. */
  readonly flops: number | null;
  /** Bytes of one execution to and from the device's main memory; all bytes where nobody said what goes where. */
  readonly bytes: number | null;
  /** FLOP/s of this event. Without for the start and done of asynchronous ops, as for all below. */
  readonly flop_rate: number | null;
  /** B/s of this event. */
  readonly byte_rate: number | null;
  /** `flop_rate` over the device's peak. */
  readonly flop_share: number | null;
  /** `byte_rate` over the device's peak. */
  readonly byte_share: number | null;
  /** The nearer limit as `ops` names it: `compute` or `memory`, for collectives and copies `communication`, `memory` or `transfer`. */
  readonly bound_by: string | null;
  /** The peaks of which the shares are. */
  readonly peaks: EventPeaks | null;
  /** Where it stands in the program's source: the innermost frame, then its callers. */
  readonly source: readonly SourceFrame[] | null;
  /** The number of the step in which it begins, on its device. */
  readonly step: number | null;
  /** Its stats, then those of its metadata that it does not override, in file order. */
  readonly stats: readonly EventStat[];
}

/** An event's op. Everything is null where it is not known, and for events that are no ops. */
export interface OpDetails {
  /** HLO category, as `ops` names it. */
  readonly category: string | null;
  /** Name of the HLO module. */
  readonly module: string | null;
  /** Name of the HLO instruction. */
  readonly instruction: string | null;
  /** The framework's scope path. */
  readonly op_name: string | null;
  /** FLOPs of one execution as counted for the device. */
  readonly flops: number | null;
  /** Bytes of one execution to and from the device's main memory; all bytes where nobody said what goes where. */
  readonly bytes: number | null;
  /** FLOP/s of this event. Without for the start and done of asynchronous ops, as for all below. */
  readonly flop_rate: number | null;
  /** B/s of this event. */
  readonly byte_rate: number | null;
  /** `flop_rate` over the device's peak. */
  readonly flop_share: number | null;
  /** `byte_rate` over the device's peak. */
  readonly byte_share: number | null;
  /** The nearer limit as `ops` names it: `compute` or `memory`, for collectives and copies `communication`, `memory` or `transfer`. */
  readonly bound_by: string | null;
  /** The peaks of which the shares are. */
  readonly peaks: EventPeaks | null;
  /** Where it stands in the program's source: the innermost frame, then its callers. */
  readonly source: readonly SourceFrame[] | null;
}

/** The peaks of an event's device. */
export interface EventPeaks {
  /** FLOP/s. */
  readonly flops: number | null;
  /** B/s to and from its main memory. */
  readonly hbm: number | null;
  /** Where they come from: `trace`, `derived` or `table`; both words where they differ. */
  readonly source: string;
}

/** A place in a program's source. */
export interface SourceFrame {
  /** File. */
  readonly file: string;
  /** Line, from 1. */
  readonly line: number | null;
  /** Function around it. */
  readonly function: string | null;
}

/** A fact about an event. */
export interface EventStat {
  /** As the profiler names it. */
  readonly name: string;
  /** References resolved, compressed text unpacked; of other messages the size, in words. */
  readonly value: Cell;
  /** `ps`, `ns`, `us`, `B`, `FLOP`, or empty where the name does not tell. */
  readonly unit: string;
}

/** What was found. */
export interface SearchAnswer {
  /** Number of events that match, wherever the listing begins. */
  readonly count: number;
  /** How many of them stand before the first of `hits`. */
  readonly position: number;
  /** Their durations added up, picoseconds; not busy time, because events may overlap. */
  readonly total_ps: number;
  /** The one that took longest, the first among equals. */
  readonly longest: Hit | null;
  /** Some of them in time order: the first, or those next to the place that was named. */
  readonly hits: readonly Hit[];
  /** True if there are more in the direction that was asked for. */
  readonly more: boolean;
  /** Number of names that the events have. */
  readonly names: number;
  /** The names with most time, at most 50. */
  readonly by_name: readonly NameCount[];
}

/** An event that matches. */
export interface Hit {
  /** The line. */
  readonly track: number;
  /** The row in the line. */
  readonly event: number;
  /** Start on the run's clock, picoseconds. */
  readonly start_ps: number;
  /** Picoseconds. */
  readonly duration_ps: number;
  /** The row on the screen, 0 at the top of the track. */
  readonly depth: number;
  /** The label. */
  readonly name: string;
}

/** The matching events of one name. */
export interface NameCount {
  /** The label. */
  readonly name: string;
  /** Number of events. */
  readonly count: number;
  /** Their durations added up, picoseconds. */
  readonly total_ps: number;
}

/** What ran in an area of the timeline. */
export interface Totals {
  /** Events with a part in the window, of all chosen tracks. */
  readonly events: number;
  /** The length of the window, picoseconds. */
  readonly span_ps: number;
  /** Time in which an event of at least one chosen track was going on, picoseconds, as drawn. At most `span_ps`. */
  readonly union_ps: number;
  /** Number of rows that there are; `by_op` may hold fewer. */
  readonly rows: number;
  /** By op and by name, largest self time first, those without one by total time behind. */
  readonly by_op: readonly OpTotal[];
  /** Ops by category, largest self time first. Events of other lines are not here: they are views of the same time. */
  readonly by_category: readonly CategoryTotal[];
  /** The chosen tracks, in the order asked, each once. */
  readonly tracks: readonly TrackTotal[];
}

/** The executions of an op, or the events of one name. */
export interface OpTotal {
  /** The op, or the events' label. */
  readonly name: string;
  /** `op`, or what sort of track the events are on. */
  readonly kind: string;
  /** The HLO category; null where the profile states none. */
  readonly category: string | null;
  /** The HLO module; null where it is not known, and for events that are no ops. */
  readonly module: string | null;
  /** The program's id in digits, which a double could not hold; null likewise. */
  readonly program: string | null;
  /** Those that start in the window. */
  readonly count: number;
  /** Time in the window, picoseconds. */
  readonly total_ps: number;
  /** Time in the window less that of what ran inside, picoseconds; null on lines whose events do not nest. */
  readonly self_ps: number | null;
  /** FLOPs; an execution that is partly in the window counts by its share of time. null where nobody counted them. */
  readonly flops: number | null;
  /** Bytes accessed in all memories, likewise. */
  readonly bytes: number | null;
}

/** The ops of one category. */
export interface CategoryTotal {
  /** As the profiler names it; `(not recorded)` where it does not. */
  readonly name: string;
  /** Executions that start in the window. */
  readonly count: number;
  /** Self time in the window, picoseconds. */
  readonly self_ps: number;
  /** FLOPs, without those of `while`, `call` and `conditional`, whose FLOPs are those of the ops inside. */
  readonly flops: number | null;
  /** Bytes accessed, likewise. */
  readonly bytes: number | null;
}

/** A chosen track. */
export interface TrackTotal {
  /** The line. */
  readonly id: number;
  /** Its events with a part in the window. */
  readonly events: number;
  /** Time in which any of them was going on, picoseconds. */
  readonly union_ps: number;
}

/** What lay in what, in an area of the timeline. */
export interface NameStacks {
  /** The time of all tracks, each by itself, in which an event was going on, picoseconds; of one name, the time of its events. */
  readonly total_ps: number;
  /** Number of stacks that there are; the lists may hold fewer. */
  readonly rows: number;
  /** Chosen tracks that are left out, because their events overlap without belonging to each other. */
  readonly left_out: number;
  /** From the outside in, parents before what lies in them; of one name, that name and what lay in it. */
  readonly inside: readonly StackNode[];
  /** Of one name: that name and what it lay in, from the inside out. Empty else. */
  readonly around: readonly StackNode[];
}

/** The events of one name at one place in a stack. */
export interface StackNode {
  /** The events' label. */
  readonly name: string;
  /** Index of the node that it hangs on; null for those at the top. */
  readonly parent: number | null;
  /** Time in the window in which one of the events, or of those inside, was the innermost, picoseconds. */
  readonly total_ps: number;
  /** Of that, the time of the events themselves. */
  readonly self_ps: number;
  /** Events that start in the window. */
  readonly count: number;
}

/** The arrows of a window, or of one event. */
export interface Flows {
  /** Number of arrows that there are. */
  readonly total: number;
  /** As many of them as were asked for, evenly spread, by the time of the cause. */
  readonly flows: readonly Flow[];
}

/** An arrow. */
export interface Flow {
  /** What sort of arrow it is. */
  readonly kind: FlowKind;
  /** What is passed, as the profiler names it; empty where it does not. */
  readonly via: string;
  /** The cause. */
  readonly from: FlowEnd;
  /** The event that is caused. */
  readonly to: FlowEnd;
}

/** What sort of arrow it is. */
export type FlowKind = "launch" | "send" | "async";

/** An end of an arrow. */
export interface FlowEnd {
  /** The line. */
  readonly track: number;
  /** The row in the line. */
  readonly event: number;
  /** The row on the screen, 0 at the top of the track. */
  readonly depth: number;
  /** Where to draw it, picoseconds on the run's clock: for a cause its end, but not after the start of what it caused. */
  readonly time_ps: number;
}

/** The steps of a run, for a ruler. */
export interface Steps {
  /** How steps were found or why there are none, in words. */
  readonly source: string;
  /** True if no marker says where they begin. */
  readonly inferred: boolean;
  /** By start. */
  readonly steps: readonly StepSpan[];
}

/** A step over all devices. */
export interface StepSpan {
  /** The marker's number, else counted from 0. */
  readonly number: number;
  /** The marker's name; empty where there is none. */
  readonly name: string;
  /** When the first device began it, picoseconds on the run's clock. */
  readonly start_ps: number;
  /** When the last device ended it. */
  readonly end_ps: number;
  /** `steady`, `warm-up`, `cut` (at the edge of the capture) or `outlier`. */
  readonly class: string;
  /** Number of devices that ran it. */
  readonly devices: number;
}

/** Overlap and gaps of some devices. */
export interface Overlap {
  /** In the profile's order. */
  readonly devices: readonly DeviceOverlap[];
}

/** Overlap and gaps of one device. */
export interface DeviceOverlap {
  /** The device. */
  readonly device: string;
  /** Its group of tracks. */
  readonly group: string;
  /** Time in the window in which any asynchronous work was going on, picoseconds; null where the profile shows none of this device. */
  readonly async_ps: number | null;
  /** The part of it in which the device computed. */
  readonly hidden_ps: number | null;
  /** The rest of it. */
  readonly exposed_ps: number | null;
  /** For drawing: start, duration and 1 for hidden or 0 for exposed. What is shorter than a pixel is merged with its neighbours in that pixel, and is what most of it is. */
  readonly spans: readonly (readonly [number, number, number])[];
  /** The steps with a part in the window, each as a whole. */
  readonly steps: readonly StepGaps[];
  /** Gaps inside steps with a part in the window, of a pixel or more: start, duration, number of the step. Where the run has no steps, those between the device's first and last op. */
  readonly gaps: readonly (readonly [number, number, number | null])[];
}

/** Busy time and gaps of a step on one device. */
export interface StepGaps {
  /** The step's number; null stands for the whole where the run has no steps. */
  readonly number: number | null;
  /** From its start to its end on this device, picoseconds. */
  readonly span_ps: number;
  /** The part of it in which the device was busy. */
  readonly busy_ps: number;
  /** The rest of it. */
  readonly gap_ps: number;
  /** Number of gaps. */
  readonly gaps: number;
  /** The longest one, picoseconds; 0 where there is none. */
  readonly largest_ps: number;
}

/** The share of busy time in equal parts of the run. */
export interface Utilisation {
  /** Where the first part starts, picoseconds on the run's clock: as in `Tracks`. */
  readonly start_ps: number;
  /** Where the last one ends. */
  readonly end_ps: number;
  /** The devices that it is the mean of: all that have events. */
  readonly devices: number;
  /** For each part the time in which devices were busy, over the part's length times the number of devices, 0 to 1. Empty where no device has events. */
  readonly busy: readonly number[];
}

/** What the hosts' clocks say of each other. */
export interface Clock {
  /** All hosts; the first is what the others are held against. */
  readonly hosts: readonly HostClock[];
  /** What the numbers mean and what would make them wrong. */
  readonly note: string;
}

/** One host's clock. */
export interface HostClock {
  /** The host. */
  readonly host: string;
  /** How far its events stand behind those of the first host that ended at the same moment, picoseconds; null where nothing ties the two. */
  readonly offset_ps: number | null;
  /** The spread of the samples: their median absolute deviation times 1.4826, 1 ns at least; null likewise, and 0 for the first host. */
  readonly uncertainty_ps: number | null;
  /** Number of pairs of events. */
  readonly samples: number;
  /** How it was found. */
  readonly method: string;
}

/** The classes of an account of time in the order in which bars stack them: the column that holds each, its name, whether an op
 * works, waits or none runs, and whether it lies outside of the active window. */
export const TIME_CLASSES = [
  { id: "compute_ps", name: "compute", group: "working", outside: false },
  { id: "copy_ps", name: "copies and layout changes", group: "working", outside: false },
  { id: "overhead_ps", name: "programs' own overhead", group: "working", outside: false },
  { id: "communication_ps", name: "exposed communication", group: "waiting", outside: false },
  { id: "async_wait_ps", name: "waits for asynchronous copies", group: "waiting", outside: false },
  { id: "host_transfer_ps", name: "transfers to and from the host", group: "waiting", outside: false },
  { id: "infeed_ps", name: "infeed and outfeed", group: "waiting", outside: false },
  { id: "inside_ps", name: "idle inside programs", group: "idle", outside: false },
  { id: "input_ps", name: "idle while the host prepares input", group: "idle", outside: false },
  { id: "between_ps", name: "between programs", group: "idle", outside: false },
  { id: "after_ps", name: "after the last op", group: "idle", outside: true },
  { id: "before_ps", name: "before the first op", group: "idle", outside: true },
] as const;
