//! Shapes, layouts, and the values of constants.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Shape {
    #[prost(int32, tag = "2")]
    pub(crate) element_type: i32,
    #[prost(int64, repeated, tag = "3")]
    pub(crate) dimensions: Vec<i64>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) tuple_shapes: Vec<Shape>,
    #[prost(message, optional, tag = "5")]
    pub(crate) layout: Option<Layout>,
    #[prost(bool, repeated, tag = "6")]
    pub(crate) is_dynamic_dimension: Vec<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Layout {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) minor_to_major: Vec<i64>,
    #[prost(message, repeated, tag = "6")]
    pub(crate) tiles: Vec<Tile>,
    #[prost(int64, tag = "7")]
    pub(crate) element_size_in_bits: i64,
    #[prost(int64, tag = "8")]
    pub(crate) memory_space: i64,
    #[prost(int64, tag = "15")]
    pub(crate) dynamic_shape_metadata_prefix_bytes: i64,
    #[prost(int64, tag = "16")]
    pub(crate) tail_padding_alignment_in_elements: i64,
    #[prost(message, repeated, tag = "17")]
    pub(crate) split_configs: Vec<SplitConfig>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Tile {
    #[prost(int64, repeated, tag = "1")]
    pub(crate) dimensions: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SplitConfig {
    #[prost(int64, tag = "1")]
    pub(crate) dimension: i64,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) split_indices: Vec<i64>,
}

/// Values of a literal, each type in a field of its own. Types narrower than a byte take one.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Literal {
    #[prost(message, optional, tag = "1")]
    pub(crate) shape: Option<Shape>,
    #[prost(bool, repeated, tag = "2")]
    pub(crate) preds: Vec<bool>,
    #[prost(bytes = "vec", tag = "3")]
    pub(crate) u8s: Vec<u8>,
    #[prost(int32, repeated, tag = "4")]
    pub(crate) s32s: Vec<i32>,
    #[prost(int64, repeated, tag = "5")]
    pub(crate) s64s: Vec<i64>,
    #[prost(uint32, repeated, tag = "6")]
    pub(crate) u32s: Vec<u32>,
    #[prost(uint64, repeated, tag = "7")]
    pub(crate) u64s: Vec<u64>,
    #[prost(float, repeated, tag = "8")]
    pub(crate) f32s: Vec<f32>,
    #[prost(double, repeated, tag = "9")]
    pub(crate) f64s: Vec<f64>,
    #[prost(message, repeated, tag = "10")]
    pub(crate) tuple_literals: Vec<Literal>,
    #[prost(bytes = "vec", tag = "11")]
    pub(crate) f16s: Vec<u8>,
    #[prost(float, repeated, tag = "12")]
    pub(crate) c64s: Vec<f32>,
    #[prost(bytes = "vec", tag = "13")]
    pub(crate) bf16s: Vec<u8>,
    #[prost(bytes = "vec", tag = "15")]
    pub(crate) s8s: Vec<u8>,
    #[prost(bytes = "vec", tag = "16")]
    pub(crate) u16s: Vec<u8>,
    #[prost(bytes = "vec", tag = "17")]
    pub(crate) s16s: Vec<u8>,
    #[prost(double, repeated, tag = "18")]
    pub(crate) c128s: Vec<f64>,
    #[prost(bytes = "vec", tag = "19")]
    pub(crate) f8e5m2s: Vec<u8>,
    #[prost(bytes = "vec", tag = "20")]
    pub(crate) f8e4m3fns: Vec<u8>,
    #[prost(bytes = "vec", tag = "21")]
    pub(crate) s4s: Vec<u8>,
    #[prost(bytes = "vec", tag = "22")]
    pub(crate) u4s: Vec<u8>,
    #[prost(bytes = "vec", tag = "23")]
    pub(crate) f8e4m3b11fnuzs: Vec<u8>,
    #[prost(bytes = "vec", tag = "24")]
    pub(crate) f8e5m2fnuzs: Vec<u8>,
    #[prost(bytes = "vec", tag = "25")]
    pub(crate) f8e4m3fnuzs: Vec<u8>,
    #[prost(bytes = "vec", tag = "26")]
    pub(crate) s2s: Vec<u8>,
    #[prost(bytes = "vec", tag = "27")]
    pub(crate) u2s: Vec<u8>,
    #[prost(bytes = "vec", tag = "28")]
    pub(crate) f8e4m3s: Vec<u8>,
    #[prost(bytes = "vec", tag = "29")]
    pub(crate) f8e3m4s: Vec<u8>,
    #[prost(bytes = "vec", tag = "30")]
    pub(crate) s1s: Vec<u8>,
    #[prost(bytes = "vec", tag = "31")]
    pub(crate) u1s: Vec<u8>,
    #[prost(bytes = "vec", tag = "32")]
    pub(crate) f4e2m1fns: Vec<u8>,
    #[prost(bytes = "vec", tag = "33")]
    pub(crate) f8e8m0fnus: Vec<u8>,
    #[prost(int32, repeated, tag = "34")]
    pub(crate) dynamic_sizes: Vec<i32>,
    #[prost(bytes = "vec", tag = "35")]
    pub(crate) f6e3m2fns: Vec<u8>,
    #[prost(bytes = "vec", tag = "36")]
    pub(crate) f6e2m3fns: Vec<u8>,
}
