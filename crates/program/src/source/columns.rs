//! The columns of files, lines and calls.

use haloscope_report::Column;

pub(super) const OPS: Column = Column::count("ops", "Ops", "Distinct ops that come from here.");
pub(super) const CALLS: &[Column] = &[
    Column::duration("total_ps", "With callees", "Self time of the ops whose stack leads here."),
    Column::share("total_share", "Share", "The same as a share of the self time of all ops in the scope."),
    Column::duration("self_ps", "Own time", "Self time of the ops whose innermost frame is here."),
    OPS,
    Column::text("file", "File", "The file's path as the profile has it."),
    Column::count("line", "Number", "The line in the file, from 1."),
    Column::text("function", "Function", "The function around the line, if the compiler recorded it."),
];
