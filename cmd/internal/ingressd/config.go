package ingressd

import (
	"time"

	"github.com/spf13/pflag"

	"berth/adapters/ingress"
	"berth/cmd/internal/settings"
)

// Config is every setting of berth-ingress. The tag koanf is the setting's name, usage what people read of it.
type Config struct {
	Listen   string `koanf:"listen" usage:"of the nodes: host:port or unix:PATH"`
	CertFile string `koanf:"cert_file" usage:"certificate chain that nodes see, PEM"`
	KeyFile  string `koanf:"key_file" usage:"its key, PEM, mode 0600"`

	TrustBundleFile    string        `koanf:"trust_bundle_file" usage:"roots of node certificates, PEM; kept fresh from the upstream, and may be absent at first"`
	TrustBundleRefresh time.Duration `koanf:"trust_bundle_refresh" usage:"between two questions to the upstream for the roots; 0s never asks"`
	TrustDomain        string        `koanf:"trust_domain" usage:"trust domain of the nodes' SPIFFE ids"`

	Upstream         []string `koanf:"upstream" usage:"internal listeners of the control plane: unix:PATH or https://host:port, comma separated"`
	UpstreamPins     []string `koanf:"upstream_pins" usage:"SHA-256 of their keys (SPKI), hex, comma separated"`
	UpstreamCAFile   string   `koanf:"upstream_ca_file" usage:"who signs their certificates, PEM; instead of pins, or besides"`
	UpstreamCertFile string   `koanf:"upstream_cert_file" usage:"certificate chain to show them, PEM"`
	UpstreamKeyFile  string   `koanf:"upstream_key_file" usage:"its key, PEM, mode 0600"`
	SecretsFile      string   `koanf:"secrets_file" usage:"file of mode 0600 with what the ingress signs by; the first secret signs"`

	MetricsListen         string        `koanf:"metrics_listen" usage:"of metrics and health: host:port, unix:PATH or off"`
	MaxConnections        int           `koanf:"max_connections" usage:"at a time"`
	MaxConnectionsPerNode int           `koanf:"max_connections_per_node" usage:"at a time"`
	NodeRate              int           `koanf:"node_rate" usage:"requests a second that each node may make"`
	NodeBurst             int           `koanf:"node_burst" usage:"requests that a node may make at once"`
	AccessLog             string        `koanf:"access_log" usage:"requests to log: all, refused or off"`
	StopGrace             time.Duration `koanf:"stop_grace" usage:"how long a stop waits for requests that were accepted"`
	ClockOffset           time.Duration `koanf:"clock_offset" usage:"by how much the wall clock is shifted; for tests"`
	LogLevel              string        `koanf:"log_level" usage:"debug, info, warn or error"`
	LogFormat             string        `koanf:"log_format" usage:"text or json"`
}

// Default is what holds where nothing is said.
func Default() Config {
	l := ingress.DefaultLimits()
	return Config{
		Listen: ":8443", TrustBundleRefresh: 30 * time.Second, MetricsListen: "127.0.0.1:8448",
		MaxConnections: l.Connections, MaxConnectionsPerNode: l.ConnectionsPerNode,
		NodeRate: int(l.NodeRate), NodeBurst: l.NodeBurst, AccessLog: string(ingress.LogRefused),
		StopGrace: 20 * time.Second, LogLevel: "info", LogFormat: "text",
	}
}

// limits are what clients can make the ingress hold.
func (c Config) limits() ingress.Limits {
	l := ingress.DefaultLimits()
	l.Connections, l.ConnectionsPerNode = c.MaxConnections, c.MaxConnectionsPerNode
	l.NodeRate, l.NodeBurst = float64(c.NodeRate), c.NodeBurst
	return l
}

func program() settings.Program[Config] {
	return settings.Program[Config]{Prefix: "BERTH_INGRESS_", Help: "berth-ingress serve --help", Default: Default}
}

// AddFlags gives a command a flag for every setting, and --config for the file.
func AddFlags(flags *pflag.FlagSet) { program().AddFlags(flags) }

// Load reads every source and judges what it found. The error is settings.Problems: everything that is wrong, at once.
func Load(s settings.Sources) (*settings.Loaded[Config], error) {
	return program().Load(s, func(c Config, f *settings.Findings) { c.judge(f, s.Production()) })
}
