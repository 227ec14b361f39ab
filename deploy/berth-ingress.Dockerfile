# The ingress: one static binary and nothing else, run by a user that owns nothing. `make images` builds it.
FROM scratch
ARG VERSION=devel
ARG REVISION=unknown
LABEL org.opencontainers.image.title="berth-ingress" \
      org.opencontainers.image.description="Berth's mutual TLS terminator for relay nodes" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY berth-ingress /berth-ingress
USER 65532:65532
ENTRYPOINT ["/berth-ingress"]
CMD ["serve"]
