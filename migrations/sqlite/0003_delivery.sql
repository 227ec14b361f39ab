-- readable from version 1
-- Programs of versions 1 and 2 know nothing of these tables, and nothing of theirs is changed.

-- Times are microseconds since 1970 in UTC, NULL for none; what is named JSON is empty for none.

CREATE TABLE customers (
    id         TEXT PRIMARY KEY NOT NULL,
    name       TEXT NOT NULL,
    created_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE licenses (
    id                 TEXT PRIMARY KEY NOT NULL,
    customer           TEXT NOT NULL,
    environment        TEXT NOT NULL,
    status             TEXT NOT NULL,
    enforcement        TEXT NOT NULL,
    expires_at         INTEGER,
    grace              INTEGER NOT NULL, -- nanoseconds
    quota_apps         INTEGER NOT NULL,
    quota_replicas     INTEGER NOT NULL,
    quota_milli_cpu    INTEGER NOT NULL,
    quota_memory_bytes INTEGER NOT NULL,
    key_hash           BLOB NOT NULL, -- HMAC-SHA256 of the key, which is kept nowhere
    revision           INTEGER NOT NULL,
    created_at         INTEGER,
    changed_at         INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX licenses_by_customer ON licenses (customer, id);

CREATE TABLE license_apps (
    license      TEXT NOT NULL,
    app          TEXT NOT NULL,
    expires_at   INTEGER,
    versions     TEXT NOT NULL,
    granted_at   INTEGER,
    withdrawn_at INTEGER,
    PRIMARY KEY (license, app)
) STRICT, WITHOUT ROWID;

CREATE TABLE apps (
    id         TEXT PRIMARY KEY NOT NULL,
    name       TEXT NOT NULL,
    created_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE app_releases (
    app         TEXT NOT NULL,
    version     TEXT NOT NULL,
    schema_gate INTEGER NOT NULL,
    requires    TEXT NOT NULL, -- JSON
    digest      TEXT NOT NULL,
    kind        TEXT NOT NULL,
    source      TEXT NOT NULL, -- SHA-256 of an object
    created_at  INTEGER,
    externals   TEXT NOT NULL, -- JSON
    images      TEXT NOT NULL, -- JSON
    parameters  TEXT NOT NULL, -- JSON
    PRIMARY KEY (app, version)
) STRICT;

CREATE TABLE registries (
    host            TEXT PRIMARY KEY NOT NULL,
    credentials_ref TEXT NOT NULL, -- where they are
    ca              TEXT NOT NULL, -- PEM
    mirror_of       TEXT NOT NULL,
    plain_http      INTEGER NOT NULL,
    created_at      INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE deployments (
    install_id        TEXT PRIMARY KEY NOT NULL,
    license           TEXT NOT NULL,
    review_at         INTEGER,
    customer          TEXT NOT NULL,
    namespace         TEXT NOT NULL,
    config_maps       INTEGER NOT NULL,
    gate_open         INTEGER NOT NULL,
    gate_note         TEXT NOT NULL,
    created_at        INTEGER,
    changed_at        INTEGER,
    ingress_hosts     TEXT NOT NULL, -- JSON
    selected_services TEXT NOT NULL  -- JSON
) STRICT;
CREATE INDEX deployments_by_license ON deployments (license, install_id);
CREATE INDEX deployments_due ON deployments (review_at, install_id) WHERE review_at IS NOT NULL;

-- The head of each deployment's desired state. Agents ask for its first columns all the time; its last are large, and are
-- written when it changes and read by whom is told of that.
CREATE TABLE desired_states (
    install_id         TEXT PRIMARY KEY NOT NULL,
    revision           INTEGER NOT NULL,
    digest             TEXT NOT NULL,
    frozen             INTEGER NOT NULL,
    license            TEXT NOT NULL,
    usage_apps         INTEGER NOT NULL,
    usage_replicas     INTEGER NOT NULL,
    usage_milli_cpu    INTEGER NOT NULL,
    usage_memory_bytes INTEGER NOT NULL,
    proven             INTEGER NOT NULL,
    claimed            INTEGER NOT NULL,
    at                 INTEGER,
    token              TEXT NOT NULL, -- a JWS
    apps               TEXT NOT NULL  -- JSON
) STRICT;
CREATE INDEX desired_states_usage ON desired_states
    (license, usage_apps, usage_replicas, usage_milli_cpu, usage_memory_bytes);

CREATE TABLE desired_state_revisions (
    install_id   TEXT NOT NULL,
    revision     INTEGER NOT NULL,
    at           INTEGER,
    actor_kind   TEXT NOT NULL,
    actor_id     TEXT NOT NULL,
    actor_source TEXT NOT NULL,
    reason       TEXT NOT NULL,
    digest       TEXT NOT NULL,
    diff         TEXT NOT NULL, -- JSON
    token        TEXT NOT NULL, -- a JWS
    apps         TEXT NOT NULL, -- JSON
    PRIMARY KEY (install_id, revision)
) STRICT;

CREATE TABLE objects (
    sha256  TEXT PRIMARY KEY NOT NULL, -- of the content, in lower-case hex
    content BLOB NOT NULL
) STRICT;

CREATE TABLE object_readers (
    install_id TEXT NOT NULL,
    sha256     TEXT NOT NULL REFERENCES objects (sha256) DEFERRABLE INITIALLY DEFERRED,
    PRIMARY KEY (install_id, sha256)
) STRICT, WITHOUT ROWID;

CREATE TABLE agents (
    id                TEXT PRIMARY KEY NOT NULL,
    install_id        TEXT NOT NULL,
    public_key        BLOB NOT NULL,
    instance          TEXT NOT NULL, -- of the process that was heard last
    previous_instance TEXT NOT NULL,
    interleaved       INTEGER NOT NULL,
    sequence          INTEGER NOT NULL,
    observed          INTEGER NOT NULL,
    gaps              INTEGER NOT NULL,
    seen_at           INTEGER,
    enrolled_at       INTEGER,
    seal_key          TEXT NOT NULL,
    seal_proof        BLOB NOT NULL,
    cluster_uid       TEXT NOT NULL,
    cluster_info      TEXT NOT NULL,
    version           TEXT NOT NULL,
    platforms         TEXT NOT NULL, -- JSON
    drift             TEXT NOT NULL  -- JSON
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX agents_of_install ON agents (install_id);

CREATE TABLE observations (
    install_id   TEXT NOT NULL,
    app          TEXT NOT NULL,
    version      TEXT NOT NULL,
    outcome      TEXT NOT NULL,
    detail       TEXT NOT NULL,
    failures     TEXT NOT NULL, -- JSON
    revision     INTEGER NOT NULL,
    digest       TEXT NOT NULL,
    reported_at  INTEGER,
    installed    INTEGER NOT NULL,
    installed_at INTEGER,
    installed_as TEXT NOT NULL,
    reached      TEXT NOT NULL,
    quarantined  INTEGER NOT NULL,
    PRIMARY KEY (install_id, app)
) STRICT, WITHOUT ROWID;

CREATE TABLE intents (
    id           TEXT PRIMARY KEY NOT NULL,
    install_id   TEXT NOT NULL,
    license      TEXT NOT NULL,
    app          TEXT NOT NULL,
    action       TEXT NOT NULL,
    version      TEXT NOT NULL,
    from_version TEXT NOT NULL,
    state        TEXT NOT NULL,
    revision     INTEGER NOT NULL,
    waived       TEXT NOT NULL, -- JSON
    detail       TEXT NOT NULL,
    created_at   INTEGER,
    changed_at   INTEGER,
    ended_at     INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX intents_of_install ON intents (install_id, id);
CREATE INDEX intents_in_flight ON intents (install_id, id) WHERE ended_at IS NULL;

CREATE TABLE secret_values (
    install_id TEXT NOT NULL,
    app        TEXT NOT NULL,
    parameter  TEXT NOT NULL,
    custody    TEXT NOT NULL,
    ciphertext BLOB NOT NULL,
    recipient  TEXT NOT NULL,
    set_at     INTEGER,
    PRIMARY KEY (install_id, app, parameter)
) STRICT, WITHOUT ROWID;

CREATE TABLE delivery_packages (
    id             TEXT PRIMARY KEY NOT NULL,
    install_id     TEXT NOT NULL,
    revision       INTEGER NOT NULL,
    content_sha256 TEXT NOT NULL, -- of an object
    content_size   INTEGER NOT NULL,
    created_at     INTEGER,
    apply_before   INTEGER,
    expires_at     INTEGER,
    fetched_at     INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX delivery_packages_of_install ON delivery_packages (install_id, id);

-- Secrets of the control plane itself, each sealed by a key that is not in here.
CREATE TABLE wrapped_secrets (
    name    TEXT PRIMARY KEY NOT NULL,
    wrapped BLOB NOT NULL
) STRICT, WITHOUT ROWID;
