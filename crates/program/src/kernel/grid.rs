//! `kernel grid`: how a kernel is cut up, and what it computes and moves.

use haloscope_hlo::mosaic::{Account, Argument, Kernel, Range, Role, Traffic};
use haloscope_report::Error;
use haloscope_report::{Cell, Columns, Notes, Report, Row, Severity, Status, Table, Unit, Value, row};
use haloscope_time::analysis::{Analysis, Input, MODULE, MenuGroup, Params, Run};
use haloscope_time::select::Scoped;

use super::find::{OP, all, find};

/// The analysis, as the registry holds it.
pub static ANALYSIS: Analysis = Analysis {
    id: "kernel grid",
    label: "Grid",
    group: MenuGroup::Programs,
    question: "How is a TPU kernel cut into blocks, and what does it compute and move?",
    params: &[OP, MODULE],
    needs: &["HLO modules in the profile, or a compiled program, with a Pallas kernel for TPUs"],
    reads: &[Input::Profile, Input::Program],
    example: "kernel grid logs --op flash_attention.1",
    also: &[],
    run: Run::Of(run),
};

fn run(asked: &Scoped<'_>, params: &Params, notes: &mut Notes) -> Result<Report, Error> {
    let found = find(asked, params)?;
    let kernel = found.mosaic.kernel().map_err(|error| Error::Nothing(error.to_string()))?;
    let account = found.module().kernel_account(found.index, &kernel);
    for reason in &account.reasons {
        notes.add(
            "kernel_bound",
            Severity::Info,
            reason.to_string(),
            "what the kernel computes and moves is between two numbers, or has no upper bound",
            "",
        );
    }
    let mut values = found.values();
    values.extend(numbers(&account));
    let in_program = all(found.module()).len();
    values.push(Value::new(
        "pallas_kernels",
        "Pallas kernels in the program",
        Some(in_program),
        Unit::Count,
        Status::Measured,
        "Instructions of the program with a kernel's module; --op names one.",
    ));
    let tables = vec![
        dimensions(&kernel),
        Table::of("arguments", "Arguments", arguments(&kernel, &account)),
        allocations(&kernel),
        loops(&kernel),
        products(&kernel),
    ];
    Ok(Report { values, tables, ..Report::default() })
}

/// The sums, each with both ends where it is no single number.
fn numbers(account: &Account) -> Vec<Value> {
    let mut values = vec![Value::new(
        "grid_steps",
        "Grid steps",
        account.steps,
        Unit::Count,
        Status::Derived,
        "The product of the grid's sizes; unknown if one is known only at run time.",
    )];
    let mut range = |ids: [&'static str; 2], labels: [&'static str; 2], range: Range, unit, doc| {
        let is_exact = range.value().is_some();
        let status = if is_exact { Status::Derived } else { Status::Estimated };
        values.push(Value::new(ids[0], labels[0], range.at_most.map(|v| v as f64), unit, status, doc));
        if !is_exact {
            let least = Some(range.at_least as f64);
            values.push(Value::new(ids[1], labels[1], least, unit, status, "The lower end of the same."));
        }
    };
    range(
        ["products_flops", "products_flops_least"],
        ["FLOPs of products", "FLOPs of products, at least"],
        account.work.products,
        Unit::Flop,
        "FLOPs of its matrix products in one execution, over grid, loops and branches: twice the elements of the result times the size of the summed dimension. An upper bound if what runs depends on data.",
    );
    range(
        ["vector_flops", "vector_flops_least"],
        ["Vector arithmetic", "Vector arithmetic, at least"],
        account.work.vectors,
        Unit::Flop,
        "Arithmetic, comparisons and selections of its vectors in one execution, one for each element; conversions and moves do not count.",
    );
    range(
        ["transcendentals", "transcendentals_least"],
        ["Transcendentals", "Transcendentals, at least"],
        account.work.transcendentals,
        Unit::Count,
        "Evaluations of exp, log, tanh, rsqrt and the like in one execution.",
    );
    range(
        ["block_bytes", "block_bytes_least"],
        ["Bytes copied", "Bytes copied, at least"],
        account.bytes(),
        Unit::Bytes,
        "Bytes that the pipeline around it and its own copies move between arrays and the chip in one execution.",
    );
    values
}

fn dimensions(kernel: &Kernel<'_>) -> Table {
    let rows = kernel.grid.iter().enumerate().map(|(index, dimension)| {
        row![
            count(
                "dimension",
                "Dimension",
                "From the outermost; the last one runs fastest.",
                Cell::Int(index as i64)
            ),
            count(
                "extent",
                "Steps",
                "Steps along it; unknown if they are known only at run time.",
                dimension.extent
            ),
            text(
                "semantics",
                "Semantics",
                "parallel: steps may run in any order, and on two cores; arbitrary: one after the other.",
                Cell::words(dimension.semantics)
            ),
        ]
    });
    Table::of("grid", "Grid", rows)
}

fn arguments(kernel: &Kernel<'_>, account: &Account) -> Vec<Row<impl Columns + use<>>> {
    let arguments = kernel.arguments.iter().enumerate();
    let shown = arguments.filter(|(_, argument)| argument.role != Role::Place);
    shown
        .map(|(index, argument)| {
            argument_row(index, argument, account.windows.iter().find(|window| window.argument == index))
        })
        .collect()
}

fn argument_row(
    index: usize,
    argument: &Argument<'_>,
    traffic: Option<&Traffic>,
) -> Row<impl Columns + use<>> {
    let role = match (argument.role, argument.is_written) {
        (Role::Prefetch, _) => "prefetched scalars",
        (Role::Scratch, _) => "scratch",
        (_, true) => "operand, written",
        (_, false) => "operand",
    };
    let window = argument.window.as_ref();
    let mode = window.map(|w| if w.mode.is_empty() { "pipelined" } else { w.mode });
    let exact = |range: fn(&Traffic) -> Range| traffic.and_then(|t| range(t).at_most);
    row![
        count("argument", "Argument", "Its position in the kernel's function.", Cell::Int(index as i64)),
        text(
            "role",
            "Role",
            "Operand or result, prefetched scalars, or memory that lasts from step to step.",
            role
        ),
        text("type", "Block", "Type of the block as the kernel sees it.", argument.ty.as_str()),
        text(
            "space",
            "Memory",
            "Where the block is: vmem, smem, hbm, any (left where it is), semaphore_mem.",
            Cell::words(argument.space)
        ),
        bytes("block_bytes", "Block bytes", "Bytes of one block, without padding.", argument.bytes),
        text(
            "transform",
            "Index map",
            "The function from grid positions to blocks.",
            window.map_or(Cell::Unknown, |w| Cell::words(w.transform_name))
        ),
        text(
            "mode",
            "Copies are",
            "pipelined: fetched while the step before runs; synchronous: not.",
            mode.map_or(Cell::Unknown, Cell::words)
        ),
        count(
            "copies",
            "Copies",
            "How often a block is copied in one execution, which is whenever it differs from the step before. An upper bound if that depends on data.",
            exact(|t| t.copies)
        ),
        count(
            "blocks",
            "Blocks",
            "Different blocks among them; unknown if positions depend on data.",
            traffic.and_then(|t| t.blocks)
        ),
        bytes("copied_bytes", "Copied", "Bytes of all copies.", exact(|t| t.bytes)),
    ]
}

fn allocations(kernel: &Kernel<'_>) -> Table {
    let rows = kernel.allocations().into_iter().map(|(space, ty, size)| {
        row![
            text("space", "Memory", "vmem, smem, semaphore_mem.", Cell::words(space)),
            text("type", "Type", "As MLIR writes it.", ty.as_str()),
            bytes("bytes", "Bytes", "Without padding; unknown for semaphores.", size),
        ]
    });
    Table::of("allocations", "Memory that it takes inside", rows)
}

fn loops(kernel: &Kernel<'_>) -> Table {
    let rows = kernel.loops().into_iter().map(|one| {
        row![
            count("depth", "Depth", "Loops around it.", Cell::Int(one.depth as i64)),
            count(
                "trips",
                "Trips",
                "How often it runs each time; unknown if its bounds are not constants.",
                one.trips
            ),
            count(
                "products",
                "Products",
                "Matrix products inside, as written in the code.",
                Cell::Int(one.products as i64)
            ),
        ]
    });
    Table::of("loops", "Loops", rows)
}

fn products(kernel: &Kernel<'_>) -> Table {
    let rows = kernel.products().into_iter().map(|product| {
        let [left, right, result] = &product.types;
        row![
            text("left", "Left", "Type of the left factor.", left.as_str()),
            text("right", "Right", "Type of the right factor.", right.as_str()),
            text("result", "Result", "Type of the result.", result.as_str()),
            count("contracted", "Summed over", "The size of the summed dimension.", product.contracted),
            float(
                "flops",
                "FLOPs",
                Unit::Flop,
                "FLOPs of one execution of the product.",
                product.flops.map(|v| v as f64)
            ),
            flag(
                "gated",
                "In a branch",
                "Whether it is in a branch, so that not every step runs it.",
                Some(product.is_gated)
            ),
            count("loops", "Loops", "Loops around it.", Cell::Int(product.loops as i64)),
        ]
    });
    Table::of("products", "Matrix products", rows)
}
