//! What the linker of macOS must be told about a module whose symbols Python has.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
