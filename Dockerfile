# The server and the command line, without a shell: docs/releasing.md says how to build and run it.
FROM rust:1.95.0-slim-bookworm AS build
# The image has the compiler of packaging/toolchain and, as a build needs it, a C compiler.
WORKDIR /haloscope
COPY . .
# What `haloscope --version` says; the context has no Git.
ARG HALOSCOPE_COMMIT=""
RUN cp "$(RUSTUP_TOOLCHAIN=$(cat packaging/toolchain) bash packaging/build.sh "$(rustc -vV | sed -n 's/^host: //p')")" /haloscope-program

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /haloscope-program /usr/local/bin/haloscope
COPY LICENSE /usr/share/doc/haloscope/LICENSE
COPY crates/cli/src/commands/licenses.txt /usr/share/doc/haloscope/LICENSES.txt
# Nothing is kept unless a volume is mounted and HALOSCOPE_CACHE names it.
ENV HALOSCOPE_CACHE=off
EXPOSE 8791
USER nonroot
ENTRYPOINT ["/usr/local/bin/haloscope"]
CMD ["--help"]
