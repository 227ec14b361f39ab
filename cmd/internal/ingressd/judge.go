package ingressd

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"berth/adapters/ingress"
	"berth/adapters/ingress/upstream"
	"berth/cmd/internal/secretfile"
	"berth/cmd/internal/settings"
	"berth/domain/identity"
)

// judge finds everything that is wrong with the values, and opens every file that they name.
func (c Config) judge(f *settings.Findings, production bool) {
	f.Log("log_level", c.LogLevel, "log_format", c.LogFormat)
	f.ClockOffset("clock_offset", c.ClockOffset, production)
	f.OneOf("access_log", c.AccessLog, string(ingress.LogAll), string(ingress.LogRefused), string(ingress.LogOff))
	f.Lasting("stop_grace", c.StopGrace, time.Second, 10*time.Minute)
	f.AtLeast("max_connections", c.MaxConnections, 1)
	f.AtLeast("max_connections_per_node", c.MaxConnectionsPerNode, 1)
	f.AtLeast("node_rate", c.NodeRate, 1)
	f.AtLeast("node_burst", c.NodeBurst, c.NodeRate)
	c.judgeListeners(f)
	c.judgeTrust(f)
	c.judgeUpstream(f)
	if c.SecretsFile == "" {
		f.Add("secrets_file", "is missing", "name the file that the control plane has in ingress_secrets_file")
	} else if _, err := secretfile.IngressSecrets(c.SecretsFile); err != nil {
		f.Take(err, settings.Called("secrets_file"))
	}
}

func (c Config) judgeListeners(f *settings.Findings) {
	f.Listener("listen", c.Listen, true, "")
	if c.CertFile == "" && c.KeyFile == "" {
		f.Add("cert_file", "is missing: nodes are served over TLS alone", "give the ingress a certificate and its key")
	}
	f.Pair("cert_file", c.CertFile, "key_file", c.KeyFile)
	if c.MetricsListen != settings.Off {
		f.Listener("metrics_listen", c.MetricsListen, true, "") // beyond this machine it has the certificate
	}
	f.Apart(settings.Listening{Key: "listen", Address: c.Listen}, settings.Listening{Key: "metrics_listen", Address: c.MetricsListen})
}

const longestRefresh = time.Hour

func (c Config) judgeTrust(f *settings.Findings) {
	if c.TrustDomain == "" {
		f.Add("trust_domain", "is missing", "give the one that the control plane has in trust_domain")
	} else if _, err := identity.RelayID(c.TrustDomain, "r", "n"); err != nil {
		f.Add("trust_domain", "is no trust domain", "give the one that the control plane has in trust_domain")
	}
	refreshed := c.TrustBundleRefresh != 0
	if refreshed {
		f.Lasting("trust_bundle_refresh", c.TrustBundleRefresh, 100*time.Millisecond, longestRefresh)
	}
	if c.TrustBundleFile == "" {
		if !refreshed {
			f.Add("trust_bundle_file", "is missing, and the upstream is not to be asked", "name a file of roots, or set trust_bundle_refresh")
		}
		return
	}
	text, err := os.ReadFile(c.TrustBundleFile)
	if errors.Is(err, fs.ErrNotExist) && refreshed {
		return // it comes from the upstream
	}
	if err != nil {
		f.Add("trust_bundle_file", err.Error(), "name a file that can be read")
		return
	}
	f.Take(ingress.CheckBundle(text), settings.Called("trust_bundle_file"))
}

func (c Config) judgeUpstream(f *settings.Findings) {
	if len(c.Upstream) == 0 {
		f.Add("upstream", "is missing", "name the control plane's internal listener, such as unix:/run/berth/internal.sock")
	}
	secured := false
	for _, text := range c.Upstream {
		e, ok := endpoint(text)
		if !ok {
			f.Add("upstream", "each upstream reads unix:PATH or https://host:port", "")
			break
		}
		secured = secured || e.Secure
	}
	c.judgeProof(f)
	if !secured {
		return
	}
	if len(c.UpstreamPins) == 0 && c.UpstreamCAFile == "" {
		f.Add("upstream_pins", "is missing: over https the upstream has to prove who it is", "pin its key, or name its CA in upstream_ca_file")
	}
	if c.UpstreamCertFile == "" && c.UpstreamKeyFile == "" {
		f.Add("upstream_cert_file", "is missing: over https the upstream takes known clients only", "give the ingress a certificate for it")
	}
}

// judgeProof looks at what the upstream proves itself by, and what to it.
func (c Config) judgeProof(f *settings.Findings) {
	for _, pin := range c.UpstreamPins {
		if sum, err := hex.DecodeString(pin); err != nil || len(sum) != 32 {
			f.Add("upstream_pins", "each pin is the SHA-256 of a public key (SPKI) in 64 hex digits", "")
			break
		}
	}
	if c.UpstreamCAFile != "" {
		if _, err := authorities(c.UpstreamCAFile); err != nil {
			f.Add("upstream_ca_file", err.Error(), "name a file of certificates in PEM")
		}
	}
	f.Pair("upstream_cert_file", c.UpstreamCertFile, "upstream_key_file", c.UpstreamKeyFile)
}

// endpoint reads one upstream.
func endpoint(text string) (upstream.Endpoint, bool) {
	if strings.HasPrefix(text, "unix:") {
		a, err := settings.ParseAddress(text)
		return upstream.Endpoint{Network: a.Network, Address: a.Value}, err == nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || text != "https://"+u.Host {
		return upstream.Endpoint{}, false
	}
	at := u.Host
	if u.Port() == "" {
		at = net.JoinHostPort(u.Hostname(), "443")
	}
	return upstream.Endpoint{Network: "tcp", Address: at, Secure: true}, true
}
