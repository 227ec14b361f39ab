// Package relayd is berth-relay as a process: its settings, its data directory, its page and its metrics.
package relayd

import (
	"net"
	"net/url"
	"time"

	"berth/adapters/connect"
	"berth/application/relay"
	"berth/cmd/internal/settings"
	"berth/domain/identity"
	"berth/domain/placement"
)

// Config is every setting of berth-relay.
type Config struct {
	Node          string `koanf:"node" usage:"id of this node, as an operator defined it"`
	Region        string `koanf:"region" usage:"id of its region"`
	TrustDomain   string `koanf:"trust_domain" usage:"trust domain of the nodes' SPIFFE ids, as berthd has it"`
	ControlURL    string `koanf:"control_url" usage:"https://host[:port] of the ingress"`
	EnrollURL     string `koanf:"enroll_url" usage:"https://host[:port] of enrolment; needed as long as the node has no certificate"`
	CAFile        string `koanf:"ca_file" usage:"who signs the certificates of these two, PEM; the system's when empty"`
	JoinTokenFile string `koanf:"join_token_file" usage:"file of mode 0600 with a join token; looked at whenever the node needs one"`
	DataDir       string `koanf:"data_dir" usage:"directory that is this node, on a disk of its own; made where it is not there"`

	Listen        string `koanf:"listen" usage:"of devices: host:port, by the certificate of tls_cert_file; none when empty"`
	PeerListen    string `koanf:"peer_listen" usage:"of other nodes: host:port, by the node's own certificate; none when empty, and the node then serves only devices that find it by themselves"`
	Advertise     string `koanf:"advertise" usage:"host:port where other nodes reach this one"`
	TLSCertFile   string `koanf:"tls_cert_file" usage:"certificate chain of devices' and metrics' listeners, PEM"`
	TLSKeyFile    string `koanf:"tls_key_file" usage:"its key, PEM, mode 0600"`
	MetricsListen string `koanf:"metrics_listen" usage:"of metrics and of the page /debug/tenants: host:port, unix:PATH or off"`

	CapacityTenants int `koanf:"capacity_tenants" usage:"tenants that this node takes at most, whatever the operator allows; 0 for no limit of its own"`
	CapacityBytes   int `koanf:"capacity_bytes" usage:"bytes likewise"`

	MaxConnections          int `koanf:"max_connections" usage:"devices' connections at a time"`
	ConnectionsPerAddress   int `koanf:"connections_per_address" usage:"of one address; of IPv6, of one /64"`
	ConnectionsPerPrincipal int `koanf:"connections_per_principal" usage:"of one device"`
	AcceptRate              int `koanf:"accept_rate" usage:"new connections that are let in a second"`
	PublishRate             int `koanf:"publish_rate" usage:"messages that one device may publish a second"`
	TenantPublishRate       int `koanf:"tenant_publish_rate" usage:"messages that the devices of one tenant may publish a second"`

	EngineIdle         time.Duration `koanf:"engine_idle" usage:"how long a tenant that nobody uses stays open"`
	MaxEngines         int           `koanf:"max_engines" usage:"tenants that are open at a time"`
	MaxAttachmentBytes int           `koanf:"max_attachment_bytes" usage:"of one attachment"`
	TenantQuotaBytes   int           `koanf:"tenant_quota_bytes" usage:"that one tenant may take on the disk"`
	DrainSpread        time.Duration `koanf:"drain_spread" usage:"over how long a node that is drained sends its devices away"`

	SnapshotBound   time.Duration `koanf:"snapshot_bound" usage:"the oldest that what is known of a tenant may be, at most 65s"`
	SnapshotRefresh time.Duration `koanf:"snapshot_refresh" usage:"how often all of it is taken anew"`
	PollInterval    time.Duration `koanf:"poll_interval" usage:"how often changes are asked for, whatever becomes of hints"`
	PollTimeout     time.Duration `koanf:"poll_timeout" usage:"of that, and of the snapshot after it"`
	KeyRefresh      time.Duration `koanf:"key_refresh" usage:"how often the keys of devices' tokens are taken anew"`
	PeerRefresh     time.Duration `koanf:"peer_refresh" usage:"how often the certificates of other nodes are"`
	RouteLife       time.Duration `koanf:"route_life" usage:"how long it is believed which node has a tenant"`
	ClockBound      time.Duration `koanf:"clock_bound" usage:"by how much the wall clock may jump before the lease counts as over"`
	StepPause       time.Duration `koanf:"step_pause" usage:"a pause before each step of a migration is reported, to watch it"`

	StopGrace   time.Duration `koanf:"stop_grace" usage:"how long a stop waits for what runs"`
	LogLevel    string        `koanf:"log_level" usage:"debug, info, warn or error"`
	LogFormat   string        `koanf:"log_format" usage:"text or json"`
	ClockOffset time.Duration `koanf:"clock_offset" usage:"shifts the wall clock, for tests; refused in production"`
}

// Default is what holds where nothing is said.
func Default() Config {
	s, l := relay.DefaultSettings(identity.SPIFFEID{}), connect.DefaultLimits()
	return Config{
		MetricsListen: "127.0.0.1:8459", SnapshotBound: s.Bound, SnapshotRefresh: s.Refresh, PollInterval: s.Poll,
		PollTimeout: s.Timeout, ClockBound: s.ClockBound, StopGrace: 10 * time.Second, LogLevel: "info", LogFormat: "text",
		MaxConnections: s.MaxConnections, ConnectionsPerAddress: l.ConnectionsPerAddress, AcceptRate: int(l.AcceptRate),
		ConnectionsPerPrincipal: s.ConnectionsPerPrincipal, PublishRate: s.PublishRate, TenantPublishRate: s.TenantPublishRate,
		EngineIdle: s.EngineIdle, MaxEngines: s.MaxEngines, MaxAttachmentBytes: int(l.Attachment), TenantQuotaBytes: 1 << 30,
		DrainSpread: s.DrainSpread, KeyRefresh: s.KeyRefresh, PeerRefresh: s.PeerRefresh, RouteLife: s.RouteLife,
	}
}

// Program says how the settings are found.
func Program() settings.Program[Config] {
	return settings.Program[Config]{Prefix: "BERTH_RELAY_", Help: "berth-relay run --help", Default: Default}
}

// Judge finds everything that is wrong with the settings.
func Judge(production bool) func(Config, *settings.Findings) {
	return func(c Config, f *settings.Findings) {
		c.judgeIdentity(f)
		c.judgeListeners(f)
		if !f.Has("node") && !f.Has("region") && !f.Has("trust_domain") {
			f.Take(c.Settings("").Check(), own)
		}
		c.judgeDevices(f)
		f.Between("capacity_tenants", c.CapacityTenants, 0, 1_000_000)
		f.Between("capacity_bytes", c.CapacityBytes, 0, 1<<53-1)
		f.Lasting("stop_grace", c.StopGrace, time.Second, 10*time.Minute)
		f.Log("log_level", c.LogLevel, "log_format", c.LogFormat)
		f.ClockOffset("clock_offset", c.ClockOffset, production)
	}
}

func (c Config) judgeIdentity(f *settings.Findings) {
	for key, needed := range map[string]struct{ value, cure string }{
		"node":         {c.Node, "give the id by which an operator defined the node"},
		"region":       {c.Region, "give the region in which an operator defined the node"},
		"trust_domain": {c.TrustDomain, "give the one that the control plane has in trust_domain"},
		"control_url":  {c.ControlURL, "give the address of the ingress, such as https://ingress.example:8443"},
		"data_dir":     {c.DataDir, "name a directory for this node alone, such as /var/lib/berth/n1"},
	} {
		if needed.value == "" {
			f.Add(key, "is missing", needed.cure)
		}
	}
	if _, err := identity.RelayID(c.TrustDomain, c.Region, c.Node); err != nil && c.Node != "" && c.Region != "" && c.TrustDomain != "" {
		f.Take(err, func(field string) string { return field })
	}
	for key, value := range map[string]string{"control_url": c.ControlURL, "enroll_url": c.EnrollURL} {
		if u, err := url.Parse(value); value != "" && (err != nil || u.Host == "" || "https://"+u.Host != value) {
			f.Add(key, "must read https://host or https://host:port, with nothing behind it", "")
		}
	}
	if c.JoinTokenFile != "" && c.EnrollURL == "" {
		f.Add("enroll_url", "is missing, and a join token is spent there", "give the address of enrolment, such as https://berth.example:8442")
	}
	if c.CAFile != "" {
		if _, err := c.roots(); err != nil {
			f.Take(err, settings.Called("ca_file"))
		}
	}
}

func (c Config) judgeListeners(f *settings.Findings) {
	for key, value := range map[string]string{"listen": c.Listen, "peer_listen": c.PeerListen} {
		if value == "" {
			continue
		}
		if _, err := settings.ParseAddress(value); err != nil {
			f.Take(err, settings.Called(key))
		}
	}
	if host, port, err := net.SplitHostPort(c.Advertise); c.Advertise != "" && (err != nil || host == "" || port == "") {
		f.Add("advertise", "must read host:port", "")
	}
	switch {
	case c.PeerListen != "" && c.Advertise == "":
		f.Add("advertise", "is missing, and other nodes do not find peer_listen without it", "give the host:port where they reach it")
	case c.PeerListen == "" && c.Advertise != "":
		f.Add("peer_listen", "is missing, and other nodes are sent to advertise", "give the host:port to listen at, or leave advertise out")
	}
	if c.Listen != "" && c.TLSCertFile == "" {
		f.Add("tls_cert_file", "is missing, and devices are served by it", "name the certificate of the region's origin, and its key")
	}
	f.Pair("tls_cert_file", c.TLSCertFile, "tls_key_file", c.TLSKeyFile)
	if c.MetricsListen != settings.Off {
		f.Listener("metrics_listen", c.MetricsListen, c.TLSCertFile != "", "name tls_cert_file and tls_key_file, or an address on loopback")
	}
	f.Apart(settings.Listening{Key: "listen", Address: c.Listen}, settings.Listening{Key: "peer_listen", Address: c.PeerListen},
		settings.Listening{Key: "metrics_listen", Address: c.MetricsListen})
}

// own translates what the node calls a setting.
func own(field string) string {
	if ours, ok := ours[field]; ok {
		return ours
	}
	return field
}

var ours = map[string]string{ //nolint:gochecknoglobals // an immutable table
	"bound": "snapshot_bound", "refresh": "snapshot_refresh", "poll": "poll_interval", "timeout": "poll_timeout", "pace": "step_pause",
}

// Settings are those of the node itself.
func (c Config) Settings(version string) relay.Settings {
	self, _ := identity.RelayID(c.TrustDomain, c.Region, c.Node) // it was judged
	s := relay.DefaultSettings(self)
	s.Version, s.Advertise, s.Pace = version, c.Advertise, c.StepPause
	s.Bound, s.Refresh, s.Poll, s.Timeout, s.ClockBound = c.SnapshotBound, c.SnapshotRefresh, c.PollInterval, c.PollTimeout, c.ClockBound
	s.EngineIdle, s.MaxEngines, s.DrainSpread = c.EngineIdle, c.MaxEngines, c.DrainSpread
	s.MaxConnections, s.ConnectionsPerPrincipal = c.MaxConnections, c.ConnectionsPerPrincipal
	s.KeyRefresh, s.PeerRefresh, s.RouteLife = c.KeyRefresh, c.PeerRefresh, c.RouteLife
	s.PublishRate, s.TenantPublishRate = c.PublishRate, c.TenantPublishRate
	if c.CapacityTenants > 0 || c.CapacityBytes > 0 {
		limit := placement.Boundless()
		if c.CapacityTenants > 0 {
			limit.Tenants = int64(c.CapacityTenants)
		}
		if c.CapacityBytes > 0 {
			limit.Bytes = int64(c.CapacityBytes)
		}
		s.Capacity = &limit
	}
	return s
}
