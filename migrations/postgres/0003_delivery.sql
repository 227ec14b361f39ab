-- readable from version 1
-- Programs of versions 1 and 2 know nothing of these tables, and nothing of theirs is changed.

-- Times are microseconds since 1970 in UTC, NULL for none; what is named JSON is empty for none.

CREATE TABLE customers (
    id         TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    created_at BIGINT
);

CREATE TABLE licenses (
    id                 TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    customer           TEXT COLLATE "C" NOT NULL,
    environment        TEXT COLLATE "C" NOT NULL,
    status             TEXT COLLATE "C" NOT NULL,
    enforcement        TEXT COLLATE "C" NOT NULL,
    expires_at         BIGINT,
    grace              BIGINT NOT NULL, -- nanoseconds
    quota_apps         BIGINT NOT NULL,
    quota_replicas     BIGINT NOT NULL,
    quota_milli_cpu    BIGINT NOT NULL,
    quota_memory_bytes BIGINT NOT NULL,
    key_hash           BYTEA NOT NULL, -- HMAC-SHA256 of the key, which is kept nowhere
    revision           BIGINT NOT NULL,
    created_at         BIGINT,
    changed_at         BIGINT
);
CREATE INDEX licenses_by_customer ON licenses (customer, id);

CREATE TABLE license_apps (
    license      TEXT COLLATE "C" NOT NULL,
    app          TEXT COLLATE "C" NOT NULL,
    expires_at   BIGINT,
    versions     TEXT COLLATE "C" NOT NULL,
    granted_at   BIGINT,
    withdrawn_at BIGINT,
    PRIMARY KEY (license, app)
);

CREATE TABLE apps (
    id         TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    name       TEXT COLLATE "C" NOT NULL,
    created_at BIGINT
);

CREATE TABLE app_releases (
    app         TEXT COLLATE "C" NOT NULL,
    version     TEXT COLLATE "C" NOT NULL,
    schema_gate BOOLEAN NOT NULL,
    requires    TEXT COLLATE "C" NOT NULL, -- JSON
    digest      TEXT COLLATE "C" NOT NULL,
    kind        TEXT COLLATE "C" NOT NULL,
    source      TEXT COLLATE "C" NOT NULL, -- SHA-256 of an object
    created_at  BIGINT,
    externals   TEXT COLLATE "C" NOT NULL, -- JSON
    images      TEXT COLLATE "C" NOT NULL, -- JSON
    parameters  TEXT COLLATE "C" NOT NULL, -- JSON
    PRIMARY KEY (app, version)
);

CREATE TABLE registries (
    host            TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    credentials_ref TEXT COLLATE "C" NOT NULL, -- where they are
    ca              TEXT COLLATE "C" NOT NULL, -- PEM
    mirror_of       TEXT COLLATE "C" NOT NULL,
    plain_http      BOOLEAN NOT NULL,
    created_at      BIGINT
);

CREATE TABLE deployments (
    install_id        TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    license           TEXT COLLATE "C" NOT NULL,
    review_at         BIGINT,
    customer          TEXT COLLATE "C" NOT NULL,
    namespace         TEXT COLLATE "C" NOT NULL,
    config_maps       BOOLEAN NOT NULL,
    gate_open         BOOLEAN NOT NULL,
    gate_note         TEXT COLLATE "C" NOT NULL,
    created_at        BIGINT,
    changed_at        BIGINT,
    ingress_hosts     TEXT COLLATE "C" NOT NULL, -- JSON
    selected_services TEXT COLLATE "C" NOT NULL  -- JSON
);
CREATE INDEX deployments_by_license ON deployments (license, install_id);
CREATE INDEX deployments_due ON deployments (review_at, install_id) WHERE review_at IS NOT NULL;

-- The head of each deployment's desired state. Agents ask for its first columns all the time; its last are large, and are
-- written when it changes and read by whom is told of that.
CREATE TABLE desired_states (
    install_id         TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    revision           BIGINT NOT NULL,
    digest             TEXT COLLATE "C" NOT NULL,
    frozen             BOOLEAN NOT NULL,
    license            TEXT COLLATE "C" NOT NULL,
    usage_apps         BIGINT NOT NULL,
    usage_replicas     BIGINT NOT NULL,
    usage_milli_cpu    BIGINT NOT NULL,
    usage_memory_bytes BIGINT NOT NULL,
    proven             BIGINT NOT NULL,
    claimed            BIGINT NOT NULL,
    at                 BIGINT,
    token              TEXT COLLATE "C" NOT NULL, -- a JWS
    apps               TEXT COLLATE "C" NOT NULL  -- JSON
);
CREATE INDEX desired_states_usage ON desired_states
    (license, usage_apps, usage_replicas, usage_milli_cpu, usage_memory_bytes);

CREATE TABLE desired_state_revisions (
    install_id   TEXT COLLATE "C" NOT NULL,
    revision     BIGINT NOT NULL,
    at           BIGINT,
    actor_kind   TEXT COLLATE "C" NOT NULL,
    actor_id     TEXT COLLATE "C" NOT NULL,
    actor_source TEXT COLLATE "C" NOT NULL,
    reason       TEXT COLLATE "C" NOT NULL,
    digest       TEXT COLLATE "C" NOT NULL,
    diff         TEXT COLLATE "C" NOT NULL, -- JSON
    token        TEXT COLLATE "C" NOT NULL, -- a JWS
    apps         TEXT COLLATE "C" NOT NULL, -- JSON
    PRIMARY KEY (install_id, revision)
);

CREATE TABLE objects (
    sha256  TEXT COLLATE "C" PRIMARY KEY NOT NULL, -- of the content, in lower-case hex
    content BYTEA NOT NULL
);

CREATE TABLE object_readers (
    install_id TEXT COLLATE "C" NOT NULL,
    sha256     TEXT COLLATE "C" NOT NULL REFERENCES objects (sha256) DEFERRABLE INITIALLY DEFERRED,
    PRIMARY KEY (install_id, sha256)
);

CREATE TABLE agents (
    id                TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    install_id        TEXT COLLATE "C" NOT NULL,
    public_key        BYTEA NOT NULL,
    instance          TEXT COLLATE "C" NOT NULL, -- of the process that was heard last
    previous_instance TEXT COLLATE "C" NOT NULL,
    interleaved       BIGINT NOT NULL,
    sequence          BIGINT NOT NULL,
    observed          BIGINT NOT NULL,
    gaps              BIGINT NOT NULL,
    seen_at           BIGINT,
    enrolled_at       BIGINT,
    seal_key          TEXT COLLATE "C" NOT NULL,
    seal_proof        BYTEA NOT NULL,
    cluster_uid       TEXT COLLATE "C" NOT NULL,
    cluster_info      TEXT COLLATE "C" NOT NULL,
    version           TEXT COLLATE "C" NOT NULL,
    platforms         TEXT COLLATE "C" NOT NULL, -- JSON
    drift             TEXT COLLATE "C" NOT NULL  -- JSON
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX agents_of_install ON agents (install_id);

CREATE TABLE observations (
    install_id   TEXT COLLATE "C" NOT NULL,
    app          TEXT COLLATE "C" NOT NULL,
    version      TEXT COLLATE "C" NOT NULL,
    outcome      TEXT COLLATE "C" NOT NULL,
    detail       TEXT COLLATE "C" NOT NULL,
    failures     TEXT COLLATE "C" NOT NULL, -- JSON
    revision     BIGINT NOT NULL,
    digest       TEXT COLLATE "C" NOT NULL,
    reported_at  BIGINT,
    installed    BOOLEAN NOT NULL,
    installed_at BIGINT,
    installed_as TEXT COLLATE "C" NOT NULL,
    reached      TEXT COLLATE "C" NOT NULL,
    quarantined  BIGINT NOT NULL,
    PRIMARY KEY (install_id, app)
);

CREATE TABLE intents (
    id           TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    install_id   TEXT COLLATE "C" NOT NULL,
    license      TEXT COLLATE "C" NOT NULL,
    app          TEXT COLLATE "C" NOT NULL,
    action       TEXT COLLATE "C" NOT NULL,
    version      TEXT COLLATE "C" NOT NULL,
    from_version TEXT COLLATE "C" NOT NULL,
    state        TEXT COLLATE "C" NOT NULL,
    revision     BIGINT NOT NULL,
    waived       TEXT COLLATE "C" NOT NULL, -- JSON
    detail       TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT,
    changed_at   BIGINT,
    ended_at     BIGINT
);
CREATE INDEX intents_of_install ON intents (install_id, id);
CREATE INDEX intents_in_flight ON intents (install_id, id) WHERE ended_at IS NULL;

CREATE TABLE secret_values (
    install_id TEXT COLLATE "C" NOT NULL,
    app        TEXT COLLATE "C" NOT NULL,
    parameter  TEXT COLLATE "C" NOT NULL,
    custody    TEXT COLLATE "C" NOT NULL,
    ciphertext BYTEA NOT NULL,
    recipient  TEXT COLLATE "C" NOT NULL,
    set_at     BIGINT,
    PRIMARY KEY (install_id, app, parameter)
);

CREATE TABLE delivery_packages (
    id             TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    install_id     TEXT COLLATE "C" NOT NULL,
    revision       BIGINT NOT NULL,
    content_sha256 TEXT COLLATE "C" NOT NULL, -- of an object
    content_size   BIGINT NOT NULL,
    created_at     BIGINT,
    apply_before   BIGINT,
    expires_at     BIGINT,
    fetched_at     BIGINT
);
CREATE INDEX delivery_packages_of_install ON delivery_packages (install_id, id);

-- Secrets of the control plane itself, each sealed by a key that is not in here.
CREATE TABLE wrapped_secrets (
    name    TEXT COLLATE "C" PRIMARY KEY NOT NULL,
    wrapped BYTEA NOT NULL
);
