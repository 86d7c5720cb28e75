# The server, the command line and SQL, without a shell: docs/README.md#the-image says how to build and run it.
FROM rust:1.95.0-slim-bookworm AS build
# The image has the compiler of packaging/toolchain and, as a build needs it, a C compiler.
WORKDIR /haloscope
COPY . .
# What `haloscope --version` says; the context has no Git.
ARG HALOSCOPE_COMMIT=""
RUN cp -r "$(RUSTUP_TOOLCHAIN=$(cat packaging/toolchain) bash packaging/build.sh "$(rustc -vV | sed -n 's/^host: //p')")" /programs

# For a release, release.yml names a folder in place of this stage: the programs of the archives, by architecture.
FROM scratch AS programs
ARG TARGETARCH
COPY --from=build /programs/ /$TARGETARCH/

FROM gcr.io/distroless/cc-debian12:nonroot
ARG TARGETARCH
COPY --from=programs /$TARGETARCH/ /usr/local/bin/
COPY LICENSE /usr/share/doc/haloscope/LICENSE
COPY crates/cli/src/commands/licenses.txt /usr/share/doc/haloscope/LICENSES.txt
COPY query/src/licenses.txt /usr/share/doc/haloscope/LICENSES-haloscope-query.txt
# Nothing is kept unless a volume is mounted and HALOSCOPE_CACHE names it.
ENV HALOSCOPE_CACHE=off
EXPOSE 8791
USER nonroot
ENTRYPOINT ["/usr/local/bin/haloscope"]
CMD ["--help"]
