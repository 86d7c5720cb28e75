#!/usr/bin/env bash
# Builds the programs as they are released: packaging/build.sh TARGET [FOLDER]
#
# The same commit gives the same bytes, wherever the checkout and Cargo's folder lie: paths of this machine are replaced, symbols
# are taken out, the compiler is that of packaging/toolchain. Prints the folder that holds them, haloscope and haloscope-query.
# RUSTUP_TOOLCHAIN names another compiler, and then the bytes differ.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${1:?which target: x86_64-unknown-linux-gnu, aarch64-apple-darwin, ...}
folder=${2:-target/released}
RUSTUP_TOOLCHAIN=${RUSTUP_TOOLCHAIN:-$(cat packaging/toolchain)}
export RUSTUP_TOOLCHAIN

here=$PWD
cargo_home=${CARGO_HOME:-$HOME/.cargo}
sysroot=$(rustc --print sysroot)
if [[ $target == *windows* ]] && command -v cygpath >/dev/null; then
  here=$(cygpath -w "$here") cargo_home=$(cygpath -w "$cargo_home")
fi
flags=(
  "--remap-path-prefix=$sysroot=/rust"
  "--remap-path-prefix=$cargo_home=/cargo"
  "--remap-path-prefix=$here=/haloscope"
)
case $target in
  # The linker writes no time, and no path of its own, into the program.
  *-windows-msvc) flags+=(-Clink-arg=/Brepro -Clink-arg=/PDBALTPATH:%_PDB%) ;;
  # ring's C and assembly.
  *) export CFLAGS="${CFLAGS:-} -ffile-prefix-map=$cargo_home=/cargo -ffile-prefix-map=$here=/haloscope" ;;
esac
# Separated by what no path has.
CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && printf '%s' "${flags[*]}")
export CARGO_ENCODED_RUSTFLAGS CARGO_PROFILE_DIST_STRIP=symbols CARGO_INCREMENTAL=0
unset RUSTFLAGS

how=(--locked --profile dist --target "$target" --target-dir "$folder")
cargo build "${how[@]}" --package haloscope --bin haloscope >&2
cargo build "${how[@]}" --manifest-path query/Cargo.toml >&2

programs=$folder/programs/$target
rm -rf "$programs"
mkdir -p "$programs"
for name in haloscope haloscope-query; do
  [[ $target == *windows* ]] && name+=.exe
  cp "$folder/$target/dist/$name" "$programs/"
  for path in "$here" "$cargo_home" "$HOME"; do
    # A home of one letter, such as /, is in everything.
    if [ "${#path}" -gt 3 ] && LC_ALL=C grep -aFq -- "$path" "$programs/$name"; then
      printf 'error: %s holds the path %s\n' "$name" "$path" >&2
      exit 1
    fi
  done
done
printf '%s\n' "$programs"
