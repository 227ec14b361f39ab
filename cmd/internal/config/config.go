package config

import (
	"time"

	"berth/application/access"
	"berth/application/desired"
	"berth/application/fleet"
	"berth/application/market"
	"berth/application/trust"
	"berth/cmd/internal/settings"
	"berth/domain/placement"
)

// Config is every setting of berthd. The tag koanf is the setting's name, usage what people read of it.
type Config struct {
	Env         string `koanf:"env" usage:"development, or production, which refuses what is for development only"`
	DatabaseURL string `koanf:"database_url" usage:"sqlite:PATH or postgres://USER@HOST/NAME?sslmode=verify-full"`
	KMSURL      string `koanf:"kms_url" usage:"where signing keys are: file:DIR, pkcs11:…, vault:…, awskms:… or gcpkms:…"`
	BackupURL   string `koanf:"backup_url" usage:"where backups are: file:DIR or s3://…"`
	TrustDomain string `koanf:"trust_domain" usage:"trust domain of the nodes' SPIFFE ids, a DNS name"`
	PublicURL   string `koanf:"public_url" usage:"https://host[:port] at which devices reach the API; localhost when empty"`

	DatabasePasswordFile string        `koanf:"database_password_file" usage:"file of mode 0600 with the password of postgres://; read for each connection"`
	DatabaseConnections  int           `koanf:"database_connections" usage:"to Postgres at a time"`
	DatabaseTimeout      time.Duration `koanf:"database_timeout" usage:"how long one statement on Postgres may take"`

	Listen              string   `koanf:"listen" usage:"of the API: host:port or unix:PATH"`
	TLSCertFile         string   `koanf:"tls_cert_file" usage:"certificate chain of the API and of metrics, PEM"`
	TLSKeyFile          string   `koanf:"tls_key_file" usage:"its key, PEM, mode 0600"`
	InternalListen      string   `koanf:"internal_listen" usage:"of the ingress: unix:PATH, or host:port with TLS and pinned clients"`
	InternalSocketMode  string   `koanf:"internal_socket_mode" usage:"of Unix sockets: 0600, or 0660 for an ingress of the same group"`
	InternalTLSCertFile string   `koanf:"internal_tls_cert_file" usage:"certificate chain of the internal listener, PEM"`
	InternalTLSKeyFile  string   `koanf:"internal_tls_key_file" usage:"its key, PEM, mode 0600"`
	InternalClientPins  []string `koanf:"internal_client_pins" usage:"SHA-256 of the ingress keys (SPKI) that may connect, hex, comma separated"`
	IngressListen       string   `koanf:"ingress_listen" usage:"of nodes, by an ingress within this process: host:port; none when empty"`
	IngressCertFile     string   `koanf:"ingress_cert_file" usage:"certificate chain that nodes see there, PEM"`
	IngressKeyFile      string   `koanf:"ingress_key_file" usage:"its key, PEM, mode 0600"`
	EnrollListen        string   `koanf:"enroll_listen" usage:"of node enrolment: host:port, with the certificate of the API; not served when empty"`
	MetricsListen       string   `koanf:"metrics_listen" usage:"of metrics: host:port, unix:PATH or off"`

	BootstrapTokenFile string `koanf:"bootstrap_token_file" usage:"file of mode 0600 with a token that works while no admin exists"`
	IngressSecretsFile string `koanf:"ingress_secrets_file" usage:"file of mode 0600 with what the ingress signs by"`

	LeaseDuration     time.Duration `koanf:"lease_duration" usage:"how long a heartbeat lets a node write"`
	LeaseMargin       time.Duration `koanf:"lease_margin" usage:"how much longer the control plane counts it"`
	LeaseDriftPercent int           `koanf:"lease_drift_percent" usage:"by how much clocks may differ in speed"`

	DeadlinePrepare   time.Duration `koanf:"deadline_prepare" usage:"of a migration's base copy"`
	DeadlineQuiesce   time.Duration `koanf:"deadline_quiesce" usage:"of its source to stop writing"`
	DeadlineCopy      time.Duration `koanf:"deadline_copy" usage:"of its target to install the data"`
	DeadlineDrain     time.Duration `koanf:"deadline_drain" usage:"of its source to close, once the target writes"`
	QuiesceUnprepared bool          `koanf:"quiesce_unprepared" usage:"go on at the prepare deadline instead of failing"`
	DrainParallelism  int           `koanf:"drain_parallelism" usage:"migrations at a time from a node that is emptied"`
	DrainRetry        time.Duration `koanf:"drain_retry" usage:"how long a tenant is left alone before a drain tries again"`
	QueueBatch        int           `koanf:"queue_batch" usage:"tenants of a region placed in one sweep of the queue"`

	PairingLife time.Duration `koanf:"pairing_life" usage:"of a pairing code"`
	TokenLife   time.Duration `koanf:"token_life" usage:"of a device token, at most 10m"`
	KeepChanges int           `koanf:"keep_changes" usage:"how many revisions back a delta reaches"`

	AssertionSkew   time.Duration `koanf:"assertion_skew" usage:"between the clocks of ingress and control plane"`
	CertificateLife time.Duration `koanf:"certificate_life" usage:"the longest validity of a node certificate that an operator admits"`
	KeyPublishAhead time.Duration `koanf:"key_publish_ahead" usage:"a token key is published so long before it signs"`
	KeySignFor      time.Duration `koanf:"key_sign_for" usage:"a token key signs so long"`
	KeyVerifyAfter  time.Duration `koanf:"key_verify_after" usage:"what it signed is good so long after"`

	NodeCertificateLife time.Duration `koanf:"node_certificate_life" usage:"of the certificates that nodes enrol for and renew at half of it"`
	CA                  string        `koanf:"ca" usage:"builtin, or none where every certificate comes from a CA outside"`
	ExternalRootsFile   string        `koanf:"external_roots_file" usage:"PEM of CAs outside whose node certificates are believed, writable by nobody else"`
	JoinTokenLife       time.Duration `koanf:"join_token_life" usage:"of a join token, unless the operator says another"`
	CAPublishAhead      time.Duration `koanf:"ca_publish_ahead" usage:"a root is in the trust bundle so long before it signs"`
	CASignFor           time.Duration `koanf:"ca_sign_for" usage:"a root signs so long"`

	StaleAfter      time.Duration `koanf:"stale_after" usage:"a report of a cluster agent that is older is shown as stale"`
	AgentTokenLife  time.Duration `koanf:"agent_token_life" usage:"of the enrolment token in a delivery package"`
	PackageLife     time.Duration `koanf:"package_life" usage:"of the link to a delivery package"`
	MarketFailRate  int           `koanf:"market_fail_rate" usage:"wrong license keys a minute from one address, before it is told to wait"`
	MarketFailBurst int           `koanf:"market_fail_burst" usage:"such failures at once"`

	NodeRate    int `koanf:"node_rate" usage:"requests a second that each node may make"`
	NodeBurst   int `koanf:"node_burst" usage:"requests that a node may make at once"`
	SourceRate  int `koanf:"source_rate" usage:"requests a second to the API from one address"`
	SourceBurst int `koanf:"source_burst" usage:"such requests at once"`
	DeviceRate  int `koanf:"device_rate" usage:"requests a second to the devices' API from one address"`
	DeviceBurst int `koanf:"device_burst" usage:"such requests at once"`
	EnrollRate  int `koanf:"enroll_rate" usage:"requests a second to the enrolment listener from one address"`
	EnrollBurst int `koanf:"enroll_burst" usage:"such requests at once"`

	SweepInterval  time.Duration `koanf:"sweep_interval" usage:"between sweeps of leases, migrations, drains and the queue"`
	SweepAccess    time.Duration `koanf:"sweep_access" usage:"between sweeps of change logs and of codes that expired"`
	MaxConnections int           `koanf:"max_connections" usage:"on each listener"`
	MaxWaiters     int           `koanf:"max_waiters" usage:"long polls at a time"`
	StopGrace      time.Duration `koanf:"stop_grace" usage:"how long a stop waits for requests that were accepted"`
	LogLevel       string        `koanf:"log_level" usage:"debug, info, warn or error"`
	LogFormat      string        `koanf:"log_format" usage:"text or json"`
	ClockOffset    time.Duration `koanf:"clock_offset" usage:"shifts the wall clock, for tests; refused in production"`
}

// Default is what holds where nothing is said.
func Default() Config {
	f, a, t := fleet.DefaultSettings(""), access.DefaultSettings(""), trust.DefaultSettings("")
	d, m := desired.DefaultSettings(""), market.DefaultSettings()
	return Config{
		DatabaseConnections: 24, DatabaseTimeout: 5 * time.Second,
		Env: Development, Listen: "127.0.0.1:8440", InternalSocketMode: "0600", MetricsListen: "127.0.0.1:8449",
		LeaseDuration: f.Lease.Duration, LeaseMargin: f.Lease.Margin, LeaseDriftPercent: int(f.Lease.DriftPercent),
		DeadlinePrepare: f.Deadlines.Prepare, DeadlineQuiesce: f.Deadlines.Quiesce, DeadlineCopy: f.Deadlines.Copy,
		DeadlineDrain: f.Deadlines.Drain, QuiesceUnprepared: f.Deadlines.QuiesceUnprepared,
		DrainParallelism: f.DrainParallelism, DrainRetry: f.DrainRetry, QueueBatch: f.QueueBatch,
		PairingLife: a.PairingLife, TokenLife: a.TokenLife, KeepChanges: a.KeepRevisions,
		AssertionSkew: t.Skew, CertificateLife: t.CertificateLife, KeyPublishAhead: t.Windows.PublishAhead,
		KeySignFor: t.Windows.SignFor, KeyVerifyAfter: t.Windows.VerifyAfter,
		CA: CABuiltIn, NodeCertificateLife: t.NodeLife, JoinTokenLife: t.JoinTokenLife, CAPublishAhead: t.CAPublishAhead, CASignFor: t.CASignFor,
		StaleAfter: m.StaleAfter, AgentTokenLife: d.AgentTokenLife, PackageLife: d.PackageLife, MarketFailRate: 60, MarketFailBurst: 30,
		NodeRate: 2000, NodeBurst: 4000, DeviceRate: 50, DeviceBurst: 500,
		SourceRate: 500, SourceBurst: 2000, EnrollRate: 10, EnrollBurst: 100,
		SweepInterval: time.Second, SweepAccess: time.Minute, MaxConnections: 10_000, MaxWaiters: 20_000, StopGrace: 20 * time.Second,
		LogLevel: "info", LogFormat: "text",
	}
}

// The environments.
const (
	Development = "development"
	Production  = "production"
)

// Who signs node certificates.
const (
	CABuiltIn = "builtin"
	CANone    = "none" // nobody here
)

// Off is the address of a listener that is not to be.
const Off = settings.Off

// Fleet is what the use cases of nodes and placement are set to.
func (c Config) Fleet() fleet.Settings {
	s := fleet.DefaultSettings(c.TrustDomain)
	s.Lease = placement.LeaseTerms{
		Duration: c.LeaseDuration, Margin: c.LeaseMargin, DriftPercent: int64(c.LeaseDriftPercent),
	}
	s.Deadlines = placement.Deadlines{
		Prepare: c.DeadlinePrepare, Quiesce: c.DeadlineQuiesce, Copy: c.DeadlineCopy, Drain: c.DeadlineDrain,
		QuiesceUnprepared: c.QuiesceUnprepared,
	}
	s.DrainParallelism, s.DrainRetry, s.QueueBatch = c.DrainParallelism, c.DrainRetry, c.QueueBatch
	return s
}

// Access is what the use cases of tenants and devices are set to.
func (c Config) Access() access.Settings {
	s := access.DefaultSettings(c.publicURL() + "/v1/devices/token")
	s.PairingLife, s.TokenLife, s.KeepRevisions = c.PairingLife, c.TokenLife, c.KeepChanges
	return s
}

// Trust is what the use cases of identity and keys are set to.
func (c Config) Trust() trust.Settings {
	s := trust.DefaultSettings(c.TrustDomain)
	s.Skew, s.CertificateLife = c.AssertionSkew, c.CertificateLife
	s.Windows.PublishAhead, s.Windows.SignFor, s.Windows.VerifyAfter = c.KeyPublishAhead, c.KeySignFor, c.KeyVerifyAfter
	s.NodeLife, s.JoinTokenLife, s.CAPublishAhead, s.CASignFor = c.NodeCertificateLife, c.JoinTokenLife, c.CAPublishAhead, c.CASignFor
	return s
}

// Desired is what the use cases of desired states, agents and packages are set to.
func (c Config) Desired() desired.Settings {
	s := desired.DefaultSettings(c.publicURL())
	s.AgentTokenLife, s.PackageLife = c.AgentTokenLife, c.PackageLife
	return s
}

// Market is what the use cases of the market are set to.
func (c Config) Market() market.Settings {
	s := market.DefaultSettings()
	s.StaleAfter = c.StaleAfter
	return s
}

// publicURL falls back to what a device on the same machine would use.
func (c Config) publicURL() string {
	if c.PublicURL != "" {
		return c.PublicURL
	}
	return "https://localhost" + settings.PortOf(c.Listen)
}
