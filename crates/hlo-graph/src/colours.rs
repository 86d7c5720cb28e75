//! What XLA's drawings paint an instruction.

use haloscope_hlo::{Instruction, Module, Opcode};

/// The look of a node: style, colour of words, of its border, and of its ground.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Colours {
    pub(crate) style: &'static str,
    pub(crate) font: &'static str,
    pub(crate) stroke: &'static str,
    pub(crate) fill: &'static str,
}

const fn filled(fill: &'static str, stroke: &'static str, font: &'static str) -> Colours {
    Colours { style: "filled", font, stroke, fill }
}

pub(crate) const BROWN: Colours = filled("#bcaaa4", "#8c7b75", "black");
const DARK_BLUE: Colours = filled("#1565c0", "#003c8f", "white");
const DARK_GREEN: Colours = filled("#2e7d32", "#005005", "white");
const DARK_ORANGE: Colours = filled("#ffb74d", "#c88719", "black");
pub(crate) const DARK_RED: Colours = filled("#b71c1c", "#7f0000", "white");
const GRAY: Colours = filled("#cfd8dc", "#9ea7aa", "black");
const GREEN: Colours = filled("#c8e6c9", "#97b498", "black");
const ORANGE: Colours = filled("#ffe0b2", "#cbae82", "black");
const PURPLE: Colours = filled("#e1bee7", "#af8eb5", "black");
const WHITE: Colours = filled("white", "#9e9e9e", "black");
const YELLOW: Colours = filled("#fff9c4", "#cbc693", "black");
/// Of a node whose surroundings are not all shown.
pub(crate) const DASHED: Colours =
    Colours { style: "filled,dashed", font: "#757575", stroke: "#757575", fill: "white" };

/// The colours of a parameter, or of what has one merged into it.
pub(crate) fn parameter(is_small: bool) -> Colours {
    if is_small { ORANGE } else { DARK_ORANGE }
}

/// Whether an array has one element, whatever its rank.
pub(crate) fn is_effective_scalar(shape: &haloscope_hlo::Shape) -> bool {
    shape.is_array() && shape.dimensions.iter().all(|dim| *dim == 1)
}

/// The ground of what has a statistic, in percent: the more, the redder.
pub(crate) fn heat(percent: f64) -> &'static str {
    const STEPS: [&str; 10] = [
        "#f7d4cc", "#f8b2a3", "#f9a28f", "#fa917b", "#fb8066", "#fc7052", "#fd5f3d", "#fd4e29", "#fe3e14",
        "#ff2d00",
    ];
    match percent {
        0.0 => "#f5f5f5",
        // Below 0 is as little as below 10.
        percent => STEPS[((percent / 10.0) as usize).min(STEPS.len() - 1)],
    }
}

/// The colours of a node that has a statistic.
pub(crate) fn with_heat(colours: Colours, percent: f64) -> Colours {
    let font = if percent < 60.0 { "black" } else { "white" };
    Colours { font, stroke: "#c2c2c2", fill: heat(percent), ..colours }
}

/// The colours of an instruction that stands in a fusion or not.
pub(crate) fn node_colours(
    module: &Module,
    instruction: &Instruction,
    is_fused: bool,
    is_small: bool,
) -> Colours {
    use Opcode as O;
    match instruction.opcode {
        // An asynchronous instruction looks like what it runs.
        O::AsyncStart | O::AsyncUpdate | O::AsyncDone => match module.async_root(instruction) {
            Some(root) if !root.opcode.is_async() => node_colours(module, root, false, is_small),
            _ => WHITE,
        },
        O::Bitcast if is_fused => GREEN,
        O::Concatenate
        | O::DynamicSlice
        | O::Reshape
        | O::DynamicReshape
        | O::Reverse
        | O::Transpose
        | O::Copy
        | O::CopyStart
        | O::CopyDone => GREEN,
        O::Broadcast | O::DynamicUpdateSlice => YELLOW,
        O::Convolution | O::Dot | O::Fft | O::TriangularSolve | O::Cholesky => DARK_BLUE,
        O::Parameter => parameter(is_small),
        O::BatchNormGrad
        | O::BatchNormInference
        | O::BatchNormTraining
        | O::Gather
        | O::Reduce
        | O::ReduceWindow
        | O::Scatter
        | O::SelectAndScatter => PURPLE,
        O::Domain | O::Fusion | O::Map | O::GetDimensionSize | O::SetDimensionSize => GRAY,
        O::Call | O::Conditional | O::CustomCall | O::While => DARK_GREEN,
        O::Infeed
        | O::Outfeed
        | O::PartitionId
        | O::Recv
        | O::RecvDone
        | O::Send
        | O::SendDone
        | O::ReplicaId => BROWN,
        opcode if opcode.is_collective() => BROWN,
        _ => WHITE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_painted() {
        let grounds = [-1.0, 0.0, 0.3, 9.99, 10.0, 89.9, 90.0, 1e10].map(heat);
        let expected =
            ["#f7d4cc", "#f5f5f5", "#f7d4cc", "#f7d4cc", "#f8b2a3", "#fe3e14", "#ff2d00", "#ff2d00"];
        assert_eq!(grounds, expected);
        assert_eq!(with_heat(DARK_RED, 60.0), filled("#fd5f3d", "#c2c2c2", "white"));
        assert_eq!(with_heat(DASHED, 59.0).style, "filled,dashed");
    }
}
