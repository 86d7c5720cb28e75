//! Shapes: element type, dimensions, layout with tiling and memory space.

use std::fmt;

use crate::{element::ElementType, proto};

/// `K` of a tile dimension that XLA prints as `*`: the dimension is merged into the next one.
const COMBINE_DIMENSION: i64 = i64::MIN;

/// Shape of a value: an array, a tuple of shapes, or a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Type of the elements; [`ElementType::Tuple`] for a tuple.
    pub element_type: ElementType,
    /// Extent of each dimension in elements, major order of declaration. `i64::MIN` is XLA's unbounded extent.
    pub dimensions: Vec<i64>,
    /// Whether each dimension's extent is only an upper bound. Empty where all are static.
    pub dynamic_dimensions: Vec<bool>,
    /// Shapes of a tuple's elements, empty for arrays.
    pub tuple_shapes: Vec<Shape>,
    /// How the array lies in memory, where the compiler has decided it.
    pub layout: Option<Box<Layout>>,
}

/// How an array lies in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Dimension numbers from the fastest varying to the slowest.
    pub minor_to_major: Vec<i64>,
    /// Tile extents, from the outermost tiling to the innermost; `i64::MIN` is printed as `*`.
    pub tiles: Vec<Vec<i64>>,
    /// Bits that one element takes where it is packed; 0 where the element type decides.
    pub element_size_in_bits: i64,
    /// Memory space: 0 is the device's main memory; on TPU 1 is vector memory, 2 sync flags, 5 host, 6 scalar memory.
    pub memory_space: i64,
    /// The buffer's end is padded to a multiple of this many elements; 0 and 1 mean no padding.
    pub tail_padding_alignment_in_elements: i64,
    /// Bytes in front of a dynamic array that hold its real extents.
    pub dynamic_shape_metadata_prefix_bytes: i64,
    /// How a dimension is split over memories: dimension number and split positions.
    pub split_configs: Vec<(i64, Vec<i64>)>,
}

impl Shape {
    /// An array without a layout.
    #[must_use]
    pub fn array(element_type: ElementType, dimensions: &[i64]) -> Self {
        Self {
            element_type,
            dimensions: dimensions.to_vec(),
            dynamic_dimensions: Vec::new(),
            tuple_shapes: Vec::new(),
            layout: None,
        }
    }

    /// Whether this is a tuple.
    #[must_use]
    pub fn is_tuple(&self) -> bool {
        self.element_type == ElementType::Tuple
    }

    /// Whether this is an array.
    #[must_use]
    pub fn is_array(&self) -> bool {
        self.element_type.is_array()
    }

    /// Number of elements of an array (the bound where dimensions are dynamic). `None` for what is not an array, for
    /// an unbounded dimension and for a product past 64 bits.
    #[must_use]
    pub fn element_count(&self) -> Option<u64> {
        if !self.is_array() {
            return None;
        }
        self.dimensions.iter().try_fold(1u64, |count, &dim| count.checked_mul(u64::try_from(dim).ok()?))
    }

    /// Number of elements of all arrays in the shape, tuples followed.
    #[must_use]
    pub fn element_count_recursive(&self) -> Option<u64> {
        self.sum_leaves(&Self::element_count)
    }

    /// Bytes of the values without tile padding; a tuple counts its elements, tokens and opaque values count 0.
    ///
    /// As in XLA, elements narrower than a byte are packed only where the layout sets `element_size_in_bits`
    /// (`ceil(elements * bits / 8)`), and take a byte each otherwise. `None` where the size cannot be known.
    #[must_use]
    pub fn bytes(&self) -> Option<u64> {
        self.sum_leaves(&Self::array_bytes)
    }

    /// Bytes that the layout's outermost tiling makes of an array: each tiled dimension is rounded up to a whole tile.
    /// Equal to [`Shape::bytes`] where there is no tiling; `None` where the size cannot be known.
    #[must_use]
    pub fn padded_bytes(&self) -> Option<u64> {
        self.sum_leaves(&Self::padded_array_bytes)
    }

    /// The element of a tuple, or `None` past its end.
    #[must_use]
    pub fn tuple_element(&self, index: i64) -> Option<&Shape> {
        usize::try_from(index).ok().and_then(|i| self.tuple_shapes.get(i))
    }

    /// Memory space of an array, 0 (main memory) where no layout says otherwise.
    #[must_use]
    pub fn memory_space(&self) -> i64 {
        self.layout.as_ref().map_or(0, |layout| layout.memory_space)
    }

    /// The arrays, tokens and opaque values inside, in order, tuples followed.
    #[must_use]
    pub fn leaves(&self) -> Vec<&Shape> {
        let mut leaves = Vec::new();
        let mut todo = vec![self];
        while let Some(shape) = todo.pop() {
            if shape.is_tuple() {
                todo.extend(shape.tuple_shapes.iter().rev());
            } else {
                leaves.push(shape);
            }
        }
        leaves
    }

    fn sum_leaves(&self, of: &dyn Fn(&Self) -> Option<u64>) -> Option<u64> {
        self.leaves().into_iter().try_fold(0u64, |sum, leaf| {
            let own = match leaf.element_type {
                ElementType::Token | ElementType::Opaque => 0,
                _ => of(leaf)?,
            };
            sum.checked_add(own)
        })
    }

    fn array_bytes(&self) -> Option<u64> {
        self.bytes_of_elements(self.element_count()?)
    }

    fn bytes_of_elements(&self, elements: u64) -> Option<u64> {
        let packed = self.layout.as_ref().map_or(0, |layout| layout.element_size_in_bits);
        match u64::try_from(packed).ok()? {
            0 => elements.checked_mul(u64::from(self.element_type.bits()?.div_ceil(8))),
            bits => Some(elements.checked_mul(bits)?.div_ceil(8)),
        }
    }

    fn padded_array_bytes(&self) -> Option<u64> {
        let layout = self.layout.as_deref();
        let Some((layout, tile)) = layout.and_then(|l| Some((l, l.tiles.first()?))) else {
            return self.array_bytes();
        };
        // Extents from minor to major, so that tile dimensions (given major to minor) pair up from their ends.
        let mut extents = Vec::with_capacity(layout.minor_to_major.len());
        for &dim in &layout.minor_to_major {
            extents.push(u64::try_from(*self.dimensions.get(usize::try_from(dim).ok()?)?).ok()?);
        }
        if tile.contains(&COMBINE_DIMENSION) {
            return None;
        }
        for (position, &extent) in tile.iter().rev().enumerate() {
            let extent = u64::try_from(extent).ok().filter(|e| *e > 0)?;
            match extents.get_mut(position) {
                Some(value) => *value = value.checked_next_multiple_of(extent)?,
                None => extents.push(extent),
            }
        }
        let elements = extents.iter().try_fold(1u64, |count, dim| count.checked_mul(*dim))?;
        self.bytes_of_elements(elements)
    }
}

impl From<proto::Shape> for Shape {
    fn from(shape: proto::Shape) -> Self {
        let dynamic = shape.is_dynamic_dimension.iter().any(|d| *d);
        Self {
            element_type: ElementType::from_proto(shape.element_type),
            dimensions: shape.dimensions,
            dynamic_dimensions: if dynamic { shape.is_dynamic_dimension } else { Vec::new() },
            tuple_shapes: shape.tuple_shapes.into_iter().map(Self::from).collect(),
            layout: shape.layout.map(|layout| Box::new(Layout::from(layout))),
        }
    }
}

impl From<proto::Layout> for Layout {
    fn from(layout: proto::Layout) -> Self {
        Self {
            minor_to_major: layout.minor_to_major,
            tiles: layout.tiles.into_iter().map(|tile| tile.dimensions).collect(),
            element_size_in_bits: layout.element_size_in_bits,
            memory_space: layout.memory_space,
            tail_padding_alignment_in_elements: layout.tail_padding_alignment_in_elements,
            dynamic_shape_metadata_prefix_bytes: layout.dynamic_shape_metadata_prefix_bytes,
            split_configs: layout.split_configs.into_iter().map(|s| (s.dimension, s.split_indices)).collect(),
        }
    }
}

/// As XLA prints a shape with its layout, for instance `bf16[8,128]{1,0:T(8,128)(2,1)S(1)}`, and in the alternate form
/// without it; tuples carry a `/*index=5*/` comment before every fifth element.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_tuple() {
            f.write_str("(")?;
            for (index, shape) in self.tuple_shapes.iter().enumerate() {
                if index > 0 {
                    f.write_str(", ")?;
                    if index % 5 == 0 {
                        write!(f, "/*index={index}*/")?;
                    }
                }
                shape.fmt(f)?;
            }
            return f.write_str(")");
        }
        write!(f, "{}[", self.element_type.name())?;
        for (index, dim) in self.dimensions.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            if *dim == COMBINE_DIMENSION {
                f.write_str("?")?;
                continue;
            }
            if self.dynamic_dimensions.get(index).copied().unwrap_or(false) {
                f.write_str("<=")?;
            }
            write!(f, "{dim}")?;
        }
        f.write_str("]")?;
        match &self.layout {
            Some(layout)
                if self.is_array() && !(f.alternate() || self.dimensions.is_empty() && layout.is_plain()) =>
            {
                layout.fmt(f)
            }
            _ => Ok(()),
        }
    }
}

impl Layout {
    /// Whether nothing but the order of dimensions would be printed.
    fn is_plain(&self) -> bool {
        self.minor_to_major.is_empty()
            && self.tiles.is_empty()
            && self.tail_padding_alignment_in_elements <= 1
            && self.element_size_in_bits == 0
            && self.memory_space == 0
            && self.split_configs.is_empty()
            && self.dynamic_shape_metadata_prefix_bytes == 0
    }
}

/// The part of a shape between braces, for instance `{1,0:T(8,128)(2,1)S(1)}`.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        write_list(f, &self.minor_to_major)?;
        let rest = Self { minor_to_major: Vec::new(), ..self.clone() };
        if !rest.is_plain() {
            f.write_str(":")?;
        }
        for (index, tile) in self.tiles.iter().enumerate() {
            f.write_str(if index == 0 { "T(" } else { "(" })?;
            write_list(f, tile)?;
            f.write_str(")")?;
        }
        if self.tail_padding_alignment_in_elements > 1 {
            write!(f, "L({})", self.tail_padding_alignment_in_elements)?;
        }
        if self.element_size_in_bits != 0 {
            write!(f, "E({})", self.element_size_in_bits)?;
        }
        if self.memory_space != 0 {
            write!(f, "S({})", self.memory_space)?;
        }
        for (dimension, indices) in &self.split_configs {
            write!(f, "SC({dimension}:")?;
            write_list(f, indices)?;
            f.write_str(")")?;
        }
        if self.dynamic_shape_metadata_prefix_bytes > 0 {
            write!(f, "M({})", self.dynamic_shape_metadata_prefix_bytes)?;
        }
        f.write_str("}")
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, values: &[i64]) -> fmt::Result {
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            f.write_str(",")?;
        }
        if *value == COMBINE_DIMENSION {
            f.write_str("*")?;
        } else {
            write!(f, "{value}")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid_out(element_type: ElementType, dims: &[i64], layout: Layout) -> Shape {
        Shape { layout: Some(Box::new(layout)), ..Shape::array(element_type, dims) }
    }

    fn tuple(shapes: Vec<Shape>) -> Shape {
        Shape { tuple_shapes: shapes, ..Shape::array(ElementType::Tuple, &[]) }
    }

    #[test]
    fn prints_tiles_and_memory_space() {
        let layout = Layout {
            minor_to_major: vec![1, 0],
            tiles: vec![vec![8, 128], vec![2, 1]],
            memory_space: 1,
            ..Layout::default()
        };
        let shape = laid_out(ElementType::Bf16, &[8, 128], layout);
        assert_eq!(shape.to_string(), "bf16[8,128]{1,0:T(8,128)(2,1)S(1)}");
        assert_eq!(shape.bytes(), Some(2048));
    }

    #[test]
    fn prints_scalars_dynamic_dimensions_and_tuples() {
        assert_eq!(laid_out(ElementType::F32, &[], Layout::default()).to_string(), "f32[]");
        let tiled = Layout { tiles: vec![vec![128]], ..Layout::default() };
        assert_eq!(laid_out(ElementType::F32, &[], tiled).to_string(), "f32[]{:T(128)}");
        let mut dynamic = Shape::array(ElementType::S32, &[i64::MIN, 4]);
        dynamic.dynamic_dimensions = vec![true, true];
        assert_eq!(dynamic.to_string(), "s32[?,<=4]");
        assert_eq!((dynamic.element_count(), dynamic.bytes()), (None, None));
        let shapes = tuple(vec![Shape::array(ElementType::U32, &[]); 7]);
        assert_eq!(shapes.to_string(), "(u32[], u32[], u32[], u32[], u32[], /*index=5*/u32[], u32[])");
        assert_eq!((shapes.bytes(), shapes.element_count_recursive()), (Some(28), Some(7)));
        assert_eq!(tuple(vec![]).to_string(), "()");
        assert_eq!(Shape::array(ElementType::Token, &[]).to_string(), "token[]");
    }

    #[test]
    fn packs_narrow_types_only_where_the_layout_says_so() {
        assert_eq!(Shape::array(ElementType::S4, &[5]).bytes(), Some(5));
        let packed = Layout { minor_to_major: vec![0], element_size_in_bits: 4, ..Layout::default() };
        let shape = laid_out(ElementType::S4, &[5], packed);
        assert_eq!(shape.bytes(), Some(3));
        assert_eq!(shape.to_string(), "s4[5]{0:E(4)}");
    }

    #[test]
    fn pads_to_whole_tiles() {
        let layout = Layout { minor_to_major: vec![1, 0], tiles: vec![vec![8, 128]], ..Layout::default() };
        let shape = laid_out(ElementType::F32, &[3, 130], layout);
        assert_eq!(shape.padded_bytes(), Some(8 * 256 * 4));
        let scalar = Layout { tiles: vec![vec![128]], ..Layout::default() };
        assert_eq!(laid_out(ElementType::F32, &[], scalar).padded_bytes(), Some(512));
    }

    #[test]
    fn refuses_sizes_past_64_bits() {
        assert_eq!(Shape::array(ElementType::F32, &[i64::MAX, 2]).bytes(), None);
        assert_eq!(Shape::array(ElementType::F32, &[-1]).bytes(), None);
        assert_eq!(Shape::array(ElementType::Unknown(99), &[1]).bytes(), None);
    }
}
