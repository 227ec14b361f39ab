# A relay node: one static binary and nothing else, run by a user that owns nothing but the volume at /data. `make images`
# builds it. The join token is mounted where BERTH_RELAY_JOIN_TOKEN_FILE says.
FROM scratch
ARG VERSION=devel
ARG REVISION=unknown
LABEL org.opencontainers.image.title="berth-relay" \
      org.opencontainers.image.description="A relay node of Berth" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY berth-relay /berth-relay
USER 65532:65532
ENV BERTH_RELAY_DATA_DIR=/data/node
ENTRYPOINT ["/berth-relay"]
CMD ["run"]
