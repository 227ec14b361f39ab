-- readable from version 1
-- Names the file as Berth's, so that another product's database is never taken for an empty one.
PRAGMA application_id = 1114797160;

-- Times are microseconds since 1970 in UTC, NULL for none. Statuses are kept by name.

CREATE TABLE relay_regions (
    id         TEXT PRIMARY KEY NOT NULL,
    origin     TEXT NOT NULL,
    created_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE relay_nodes (
    id                  TEXT PRIMARY KEY NOT NULL,
    region              TEXT NOT NULL,
    status              TEXT NOT NULL,
    schedulable         INTEGER NOT NULL,
    capacity_tenants    INTEGER NOT NULL,
    capacity_bytes      INTEGER NOT NULL,
    tenants             INTEGER NOT NULL,
    inbound             INTEGER NOT NULL,
    assignments_version INTEGER NOT NULL,
    created_at          INTEGER,
    changed_at          INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX relay_nodes_by_region ON relay_nodes (region, id);

-- The hot row of a node, apart from what changes seldom.
CREATE TABLE relay_node_leases (
    node                 TEXT PRIMARY KEY NOT NULL REFERENCES relay_nodes (id) DEFERRABLE INITIALLY DEFERRED,
    boot_id              TEXT NOT NULL,
    storage_id           TEXT NOT NULL,
    version              TEXT NOT NULL,
    advertise            TEXT NOT NULL,
    heartbeat_generation INTEGER NOT NULL,
    heartbeat_sequence   INTEGER NOT NULL,
    lease_epoch          INTEGER NOT NULL,
    lapsed               INTEGER NOT NULL,
    reported_tenants     INTEGER NOT NULL,
    reported_bytes       INTEGER NOT NULL,
    usage_tenants        INTEGER NOT NULL,
    usage_bytes          INTEGER NOT NULL,
    beat_at              INTEGER,
    registered_at        INTEGER,
    lease_granted        INTEGER NOT NULL DEFAULT 0 -- nanoseconds that the node may count its lease
) STRICT, WITHOUT ROWID;

-- Raised for each node that a tenant's placement names, before or after, by each write of that tenant's place or head.
CREATE TABLE relay_node_pulses (
    node  TEXT PRIMARY KEY NOT NULL,
    pulse INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tenant_placements (
    tenant        TEXT PRIMARY KEY NOT NULL,
    home_region   TEXT NOT NULL,
    relay_node    TEXT NOT NULL,
    generation    INTEGER NOT NULL,
    version       INTEGER NOT NULL,
    state         TEXT NOT NULL,
    migration     TEXT NOT NULL,
    source        TEXT NOT NULL,
    target        TEXT NOT NULL,
    manifest_root TEXT NOT NULL,
    last_sequence INTEGER NOT NULL,
    changed_at    INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX tenant_placements_by_node ON tenant_placements (relay_node, tenant, generation, migration);
CREATE INDEX tenant_placements_by_source ON tenant_placements (source, tenant) WHERE source <> '';
CREATE INDEX tenant_placements_by_target ON tenant_placements (target, tenant) WHERE target <> '';

CREATE TABLE placement_migrations (
    id              TEXT PRIMARY KEY NOT NULL,
    tenant          TEXT NOT NULL,
    recovery        INTEGER NOT NULL,
    source          TEXT NOT NULL,
    target          TEXT NOT NULL,
    rehome          TEXT NOT NULL,
    state           TEXT NOT NULL,
    ended           INTEGER NOT NULL, -- follows from state
    generation      INTEGER NOT NULL,
    source_prepared INTEGER NOT NULL,
    target_prepared INTEGER NOT NULL,
    base_sequence   INTEGER NOT NULL,
    manifest_root   TEXT NOT NULL,
    last_sequence   INTEGER NOT NULL,
    started_at      INTEGER,
    changed_at      INTEGER,
    ended_at        INTEGER,
    deadline        INTEGER,
    notes           TEXT NOT NULL -- JSON: steps, failure, data loss
) STRICT, WITHOUT ROWID;
CREATE INDEX placement_migrations_by_tenant ON placement_migrations (tenant, id);
CREATE INDEX placement_migrations_running ON placement_migrations (id) WHERE NOT ended;
CREATE INDEX placement_migrations_running_from ON placement_migrations (source) WHERE NOT ended;

CREATE TABLE placement_queue (
    tenant TEXT PRIMARY KEY NOT NULL,
    region TEXT NOT NULL,
    since  INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX placement_queue_oldest ON placement_queue (since, tenant);
CREATE INDEX placement_queue_oldest_in ON placement_queue (region, since, tenant);

CREATE TABLE tenant_backups (
    tenant        TEXT PRIMARY KEY NOT NULL,
    relay_node    TEXT NOT NULL,
    generation    INTEGER NOT NULL,
    manifest_root TEXT NOT NULL,
    last_sequence INTEGER NOT NULL,
    at            INTEGER
) STRICT, WITHOUT ROWID;

-- Who runs the sweeps. A replica counts on its own clock how long a row stays as it is.
CREATE TABLE duty_leaders (
    duty   TEXT PRIMARY KEY NOT NULL,
    holder TEXT NOT NULL,   -- a process, not a host
    term   INTEGER NOT NULL, -- raised by each change of holder
    beat   INTEGER NOT NULL  -- raised by each renewal
) STRICT, WITHOUT ROWID;

CREATE TABLE tenant_authorization_state (
    tenant     TEXT PRIMARY KEY NOT NULL,
    status     TEXT NOT NULL,
    revision   INTEGER NOT NULL,
    floor      INTEGER NOT NULL, -- the lowest revision that a delta can start from
    owners     INTEGER NOT NULL,
    principals INTEGER NOT NULL,
    handles    INTEGER NOT NULL,
    routes     INTEGER NOT NULL,
    created_at INTEGER,
    changed_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE tenant_principals (
    id               TEXT PRIMARY KEY NOT NULL,
    tenant           TEXT NOT NULL,
    kind             TEXT NOT NULL,
    role             TEXT NOT NULL,
    status           TEXT NOT NULL,
    name             TEXT NOT NULL,
    public_key       BLOB NOT NULL,
    handles          INTEGER NOT NULL,
    created_at       INTEGER,
    revoked_at       INTEGER,
    revoked_by       TEXT NOT NULL,
    revoked_revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tenant_principals_by_tenant ON tenant_principals (tenant, id);

CREATE TABLE tenant_route_handles (
    tenant           TEXT NOT NULL,
    digest           BLOB NOT NULL, -- SHA-256 of the handle, which is kept nowhere
    principal        TEXT NOT NULL REFERENCES tenant_principals (id) DEFERRABLE INITIALLY DEFERRED,
    route            TEXT NOT NULL,
    status           TEXT NOT NULL,
    created_at       INTEGER,
    revoked_at       INTEGER,
    revoked_revision INTEGER NOT NULL,
    PRIMARY KEY (tenant, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX tenant_route_handles_by_principal ON tenant_route_handles (tenant, principal, digest);

CREATE TABLE tenant_routes (
    tenant     TEXT NOT NULL,
    id         TEXT NOT NULL,
    created_at INTEGER,
    created_by TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenant_authorization_changes (
    tenant           TEXT NOT NULL,
    revision         INTEGER NOT NULL,
    part             INTEGER NOT NULL,
    parts            INTEGER NOT NULL,
    kind             TEXT NOT NULL,
    status           TEXT NOT NULL,
    principal        TEXT NOT NULL,
    principal_kind   TEXT NOT NULL,
    principal_role   TEXT NOT NULL,
    principal_status TEXT NOT NULL,
    route            TEXT NOT NULL,
    handle_digest    BLOB NOT NULL,
    handle_principal TEXT NOT NULL,
    handle_route     TEXT NOT NULL,
    handle_status    TEXT NOT NULL,
    PRIMARY KEY (tenant, revision, part)
) STRICT, WITHOUT ROWID;

CREATE TABLE relay_node_credentials (
    fingerprint    TEXT PRIMARY KEY NOT NULL, -- SHA-256 in lower-case hex
    node           TEXT NOT NULL REFERENCES relay_nodes (id) DEFERRABLE INITIALLY DEFERRED,
    spiffe_id      TEXT NOT NULL,
    state          TEXT NOT NULL,
    issued_at      INTEGER,
    expires_at     INTEGER,
    used_at        INTEGER,
    revoked_at     INTEGER,
    revoked_reason TEXT NOT NULL,
    admitted_by    TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX relay_node_credentials_by_node ON relay_node_credentials (node, issued_at, fingerprint);
CREATE INDEX relay_node_credentials_usable ON relay_node_credentials (fingerprint)
    WHERE state IN ('prepared', 'current');

CREATE TABLE relay_signing_keys (
    kid             TEXT PRIMARY KEY NOT NULL,
    purpose         TEXT NOT NULL,
    public_key      BLOB NOT NULL,
    private_key_ref TEXT NOT NULL, -- its name in the KMS
    state           TEXT NOT NULL,
    not_before      INTEGER,
    sign_until      INTEGER,
    verify_until    INTEGER,
    created_at      INTEGER,
    ended_at        INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX relay_signing_keys_by_purpose ON relay_signing_keys (purpose, kid);

CREATE TABLE operator_tokens (
    id         TEXT PRIMARY KEY NOT NULL,
    name       TEXT NOT NULL,
    role       TEXT NOT NULL,
    hash       BLOB NOT NULL,
    created_at INTEGER,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE one_time_secrets (
    hash       TEXT PRIMARY KEY NOT NULL, -- SHA-256 in lower-case hex
    id         TEXT NOT NULL,
    purpose    TEXT NOT NULL,
    subject    TEXT NOT NULL,
    grants     TEXT NOT NULL,
    created_at INTEGER,
    expires_at INTEGER,
    used_at    INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX one_time_secrets_by_end ON one_time_secrets (expires_at);

CREATE TABLE spent_nonces (
    scope      TEXT NOT NULL,
    nonce      TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (scope, nonce)
) STRICT, WITHOUT ROWID;
CREATE INDEX spent_nonces_by_end ON spent_nonces (expires_at);

CREATE TABLE audit_log (
    sequence     INTEGER PRIMARY KEY NOT NULL,
    at           INTEGER NOT NULL,
    actor_kind   TEXT NOT NULL,
    actor_id     TEXT NOT NULL,
    actor_source TEXT NOT NULL,
    action       TEXT NOT NULL,
    subject      TEXT NOT NULL,
    detail       TEXT NOT NULL, -- JSON; empty for none
    previous     BLOB NOT NULL,
    hash         BLOB NOT NULL
) STRICT;
CREATE INDEX audit_log_by_subject ON audit_log (subject, sequence);

CREATE TABLE idempotent_requests (
    scope      TEXT NOT NULL,
    key        TEXT NOT NULL,
    digest     TEXT NOT NULL,
    done       INTEGER NOT NULL,
    status     INTEGER NOT NULL,
    header     TEXT NOT NULL, -- JSON; empty for none
    body       BLOB,
    created_at INTEGER,
    PRIMARY KEY (scope, key)
) STRICT;
CREATE INDEX idempotent_requests_by_age ON idempotent_requests (created_at);
