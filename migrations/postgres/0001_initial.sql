-- readable from version 1
-- Times are microseconds since 1970 in UTC, NULL for none. Statuses are kept by name.

CREATE TABLE relay_regions (
    id         TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    origin     TEXT COLLATE "C" NOT NULL,
    created_at BIGINT
);

CREATE TABLE relay_nodes (
    id                  TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    region              TEXT COLLATE "C" NOT NULL,
    status              TEXT COLLATE "C" NOT NULL,
    schedulable         BOOLEAN NOT NULL,
    capacity_tenants    BIGINT NOT NULL,
    capacity_bytes      BIGINT NOT NULL,
    tenants             BIGINT NOT NULL,
    inbound             BIGINT NOT NULL,
    assignments_version BIGINT NOT NULL,
    created_at          BIGINT,
    changed_at          BIGINT
);
CREATE INDEX relay_nodes_by_region ON relay_nodes (region, id);

-- The hot row of a node, apart from what changes seldom.
CREATE TABLE relay_node_leases (
    node                 TEXT COLLATE "C" PRIMARY KEY NOT NULL REFERENCES relay_nodes (id) DEFERRABLE INITIALLY DEFERRED,
    boot_id              TEXT COLLATE "C" NOT NULL,
    storage_id           TEXT COLLATE "C" NOT NULL,
    version              TEXT COLLATE "C" NOT NULL,
    advertise            TEXT COLLATE "C" NOT NULL,
    heartbeat_generation BIGINT NOT NULL,
    heartbeat_sequence   BIGINT NOT NULL,
    lease_epoch          BIGINT NOT NULL,
    lapsed               BOOLEAN NOT NULL,
    reported_tenants     BIGINT NOT NULL,
    reported_bytes       BIGINT NOT NULL,
    usage_tenants        BIGINT NOT NULL,
    usage_bytes          BIGINT NOT NULL,
    beat_at              BIGINT,
    registered_at        BIGINT,
    lease_granted        BIGINT NOT NULL DEFAULT 0 -- nanoseconds that the node may count its lease
) WITH (fillfactor = 50); -- room for a beat to write its row beside the old one, in no index anew

-- Raised for each node that a tenant's placement names, before or after, by each write of that tenant's place or head.
CREATE TABLE relay_node_pulses (
    node  TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    pulse BIGINT NOT NULL
);

CREATE TABLE tenant_placements (
    tenant        TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    home_region   TEXT COLLATE "C" NOT NULL,
    relay_node    TEXT COLLATE "C" NOT NULL,
    generation    BIGINT NOT NULL,
    version       BIGINT NOT NULL,
    state         TEXT COLLATE "C" NOT NULL,
    migration     TEXT COLLATE "C" NOT NULL,
    source        TEXT COLLATE "C" NOT NULL,
    target        TEXT COLLATE "C" NOT NULL,
    manifest_root TEXT COLLATE "C" NOT NULL,
    last_sequence BIGINT NOT NULL,
    changed_at    BIGINT
);
CREATE INDEX tenant_placements_by_node ON tenant_placements (relay_node, tenant, generation, migration);
CREATE INDEX tenant_placements_by_source ON tenant_placements (source, tenant) WHERE source <> '';
CREATE INDEX tenant_placements_by_target ON tenant_placements (target, tenant) WHERE target <> '';

CREATE TABLE placement_migrations (
    id              TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    tenant          TEXT COLLATE "C" NOT NULL,
    recovery        BOOLEAN NOT NULL,
    source          TEXT COLLATE "C" NOT NULL,
    target          TEXT COLLATE "C" NOT NULL,
    rehome          TEXT COLLATE "C" NOT NULL,
    state           TEXT COLLATE "C" NOT NULL,
    ended           BOOLEAN NOT NULL, -- follows from state
    generation      BIGINT NOT NULL,
    source_prepared BOOLEAN NOT NULL,
    target_prepared BOOLEAN NOT NULL,
    base_sequence   BIGINT NOT NULL,
    manifest_root   TEXT COLLATE "C" NOT NULL,
    last_sequence   BIGINT NOT NULL,
    started_at      BIGINT,
    changed_at      BIGINT,
    ended_at        BIGINT,
    deadline        BIGINT,
    notes           TEXT COLLATE "C" NOT NULL -- JSON: steps, failure, data loss
);
CREATE INDEX placement_migrations_by_tenant ON placement_migrations (tenant, id);
CREATE INDEX placement_migrations_running ON placement_migrations (id) WHERE NOT ended;
CREATE INDEX placement_migrations_running_from ON placement_migrations (source) WHERE NOT ended;

CREATE TABLE placement_queue (
    tenant TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    region TEXT COLLATE "C" NOT NULL,
    since  BIGINT
);
CREATE INDEX placement_queue_oldest ON placement_queue (since NULLS FIRST, tenant);
CREATE INDEX placement_queue_oldest_in ON placement_queue (region, since NULLS FIRST, tenant);

CREATE TABLE tenant_backups (
    tenant        TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    relay_node    TEXT COLLATE "C" NOT NULL,
    generation    BIGINT NOT NULL,
    manifest_root TEXT COLLATE "C" NOT NULL,
    last_sequence BIGINT NOT NULL,
    at            BIGINT
);

CREATE TABLE tenant_authorization_state (
    tenant     TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    status     TEXT COLLATE "C" NOT NULL,
    revision   BIGINT NOT NULL,
    floor      BIGINT NOT NULL, -- the lowest revision that a delta can start from
    owners     BIGINT NOT NULL,
    principals BIGINT NOT NULL,
    handles    BIGINT NOT NULL,
    routes     BIGINT NOT NULL,
    created_at BIGINT,
    changed_at BIGINT
);

CREATE TABLE tenant_principals (
    id               TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    tenant           TEXT COLLATE "C" NOT NULL,
    kind             TEXT COLLATE "C" NOT NULL,
    role             TEXT COLLATE "C" NOT NULL,
    status           TEXT COLLATE "C" NOT NULL,
    name             TEXT COLLATE "C" NOT NULL,
    public_key       BYTEA NOT NULL,
    handles          BIGINT NOT NULL,
    created_at       BIGINT,
    revoked_at       BIGINT,
    revoked_by       TEXT COLLATE "C" NOT NULL,
    revoked_revision BIGINT NOT NULL
);
CREATE INDEX tenant_principals_by_tenant ON tenant_principals (tenant, id);

CREATE TABLE tenant_route_handles (
    tenant           TEXT COLLATE "C" NOT NULL,
    digest           BYTEA NOT NULL, -- SHA-256 of the handle, which is kept nowhere
    principal        TEXT COLLATE "C" NOT NULL REFERENCES tenant_principals (id) DEFERRABLE INITIALLY DEFERRED,
    route            TEXT COLLATE "C" NOT NULL,
    status           TEXT COLLATE "C" NOT NULL,
    created_at       BIGINT,
    revoked_at       BIGINT,
    revoked_revision BIGINT NOT NULL,
    PRIMARY KEY (tenant, digest)
);
CREATE INDEX tenant_route_handles_by_principal ON tenant_route_handles (tenant, principal, digest);

CREATE TABLE tenant_routes (
    tenant     TEXT COLLATE "C" NOT NULL,
    id         TEXT COLLATE "C" NOT NULL,
    created_at BIGINT,
    created_by TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, id)
);

CREATE TABLE tenant_authorization_changes (
    tenant           TEXT COLLATE "C" NOT NULL,
    revision         BIGINT NOT NULL,
    part             BIGINT NOT NULL,
    parts            BIGINT NOT NULL,
    kind             TEXT COLLATE "C" NOT NULL,
    status           TEXT COLLATE "C" NOT NULL,
    principal        TEXT COLLATE "C" NOT NULL,
    principal_kind   TEXT COLLATE "C" NOT NULL,
    principal_role   TEXT COLLATE "C" NOT NULL,
    principal_status TEXT COLLATE "C" NOT NULL,
    route            TEXT COLLATE "C" NOT NULL,
    handle_digest    BYTEA NOT NULL,
    handle_principal TEXT COLLATE "C" NOT NULL,
    handle_route     TEXT COLLATE "C" NOT NULL,
    handle_status    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, revision, part)
);

CREATE TABLE relay_node_credentials (
    fingerprint    TEXT COLLATE "C" PRIMARY KEY NOT NULL, -- SHA-256 in lower-case hex
    node           TEXT COLLATE "C" NOT NULL REFERENCES relay_nodes (id) DEFERRABLE INITIALLY DEFERRED,
    spiffe_id      TEXT COLLATE "C" NOT NULL,
    state          TEXT COLLATE "C" NOT NULL,
    issued_at      BIGINT,
    expires_at     BIGINT,
    used_at        BIGINT,
    revoked_at     BIGINT,
    revoked_reason TEXT COLLATE "C" NOT NULL,
    admitted_by    TEXT COLLATE "C" NOT NULL
);
CREATE INDEX relay_node_credentials_by_node ON relay_node_credentials (node, issued_at NULLS FIRST, fingerprint);
CREATE INDEX relay_node_credentials_usable ON relay_node_credentials (fingerprint)
    WHERE state IN ('prepared', 'current');

CREATE TABLE relay_signing_keys (
    kid             TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    purpose         TEXT COLLATE "C" NOT NULL,
    public_key      BYTEA NOT NULL,
    private_key_ref TEXT COLLATE "C" NOT NULL, -- its name in the KMS
    state           TEXT COLLATE "C" NOT NULL,
    not_before      BIGINT,
    sign_until      BIGINT,
    verify_until    BIGINT,
    created_at      BIGINT,
    ended_at        BIGINT
);
CREATE INDEX relay_signing_keys_by_purpose ON relay_signing_keys (purpose, kid);

CREATE TABLE operator_tokens (
    id         TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    role       TEXT COLLATE "C" NOT NULL,
    hash       BYTEA NOT NULL,
    created_at BIGINT,
    expires_at BIGINT,
    revoked_at BIGINT
);

CREATE TABLE one_time_secrets (
    hash       TEXT COLLATE "C" PRIMARY KEY NOT NULL, -- SHA-256 in lower-case hex
    id         TEXT COLLATE "C" NOT NULL,
    purpose    TEXT COLLATE "C" NOT NULL,
    subject    TEXT COLLATE "C" NOT NULL,
    grants     TEXT COLLATE "C" NOT NULL,
    created_at BIGINT,
    expires_at BIGINT,
    used_at    BIGINT
);
CREATE INDEX one_time_secrets_by_end ON one_time_secrets (expires_at);

CREATE TABLE spent_nonces (
    scope      TEXT COLLATE "C" NOT NULL,
    nonce      TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (scope, nonce)
);
CREATE INDEX spent_nonces_by_end ON spent_nonces (expires_at);

CREATE TABLE audit_log (
    sequence     BIGINT PRIMARY KEY NOT NULL,
    at           BIGINT NOT NULL,
    actor_kind   TEXT COLLATE "C" NOT NULL,
    actor_id     TEXT COLLATE "C" NOT NULL,
    actor_source TEXT COLLATE "C" NOT NULL,
    action       TEXT COLLATE "C" NOT NULL,
    subject      TEXT COLLATE "C" NOT NULL,
    detail       TEXT COLLATE "C" NOT NULL, -- JSON; empty for none
    previous     BYTEA NOT NULL,
    hash         BYTEA NOT NULL
);
CREATE INDEX audit_log_by_subject ON audit_log (subject, sequence);

CREATE TABLE idempotent_requests (
    scope      TEXT COLLATE "C" NOT NULL,
    key        TEXT COLLATE "C" NOT NULL,
    digest     TEXT COLLATE "C" NOT NULL,
    done       BOOLEAN NOT NULL,
    status     BIGINT NOT NULL,
    header     TEXT COLLATE "C" NOT NULL, -- JSON; empty for none
    body       BYTEA,
    created_at BIGINT,
    PRIMARY KEY (scope, key)
);
CREATE INDEX idempotent_requests_by_age ON idempotent_requests (created_at);

-- Who runs the sweeps. A replica counts on its own clock how long a row stays as it is.
CREATE TABLE duty_leaders (
    duty   TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    holder TEXT COLLATE "C" NOT NULL,   -- a process, not a host
    term   BIGINT NOT NULL, -- raised by each change of holder
    beat   BIGINT NOT NULL  -- raised by each renewal
);

-- Hold no rows: they are locked. Each write transaction locks writers, shared, and alone when it could not be brought
-- into an order with others; a round of heartbeats locks beat_rounds alone, since the rounds of all replicas meet in the
-- same rows.
CREATE TABLE writers ();
CREATE TABLE beat_rounds ();
