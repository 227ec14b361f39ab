# The control plane: one static binary and nothing else, run by a user that owns nothing. `make images` builds it.
FROM scratch
ARG VERSION=devel
ARG REVISION=unknown
LABEL org.opencontainers.image.title="berthd" \
      org.opencontainers.image.description="Berth's control plane" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY berthd /berthd
USER 65532:65532
ENTRYPOINT ["/berthd"]
CMD ["serve"]
