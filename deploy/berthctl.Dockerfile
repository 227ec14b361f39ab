# The operator's terminal: one static binary and nothing else, for runs inside a cluster. `make images` builds it.
FROM scratch
ARG VERSION=devel
ARG REVISION=unknown
LABEL org.opencontainers.image.title="berthctl" \
      org.opencontainers.image.description="Berth's command line for operators" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY berthctl /berthctl
USER 65532:65532
ENTRYPOINT ["/berthctl"]
