package ingressd

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"berth/cmd/internal/settings"
)

// What is needed is enough; each bad value is refused under its own name, with what would do.
func TestEachBadSettingIsNamed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if _, err := p.load(); err != nil {
		t.Fatal(err)
	}
	pin := strings.Repeat("ab", 32)
	good := p.env
	for _, c := range []struct {
		key, says string
		env       map[string]string
	}{
		{"listen", "host:port", map[string]string{"LISTEN": "8443"}},
		{"cert_file", "TLS alone", map[string]string{"CERT_FILE": "", "KEY_FILE": ""}},
		{"key_file", "needs its key", map[string]string{"KEY_FILE": ""}},
		{"key_file", "no certificate and its key", map[string]string{"KEY_FILE": p.path("secrets.json")}},
		{"trust_domain", "trust domain", map[string]string{"TRUST_DOMAIN": "Berth.example"}},
		{"trust_bundle_file", "is missing", map[string]string{"TRUST_BUNDLE_FILE": "", "TRUST_BUNDLE_REFRESH": "0s"}},
		{"trust_bundle_file", "no such file", map[string]string{"TRUST_BUNDLE_REFRESH": "0s"}},
		{"trust_bundle_file", "PEM blocks", map[string]string{"TRUST_BUNDLE_FILE": p.path("secrets.json")}},
		{"trust_bundle_refresh", "between", map[string]string{"TRUST_BUNDLE_REFRESH": "1ms"}},
		{"upstream", "is missing", map[string]string{"UPSTREAM": ""}},
		{"upstream", "unix:PATH or https", map[string]string{"UPSTREAM": "http://berth:1"}},
		{"upstream", "unix:PATH or https", map[string]string{"UPSTREAM": "https://berth/path"}},
		{"upstream", "unix:PATH or https", map[string]string{"UPSTREAM": "unix:/a,https://user@berth"}},
		{"upstream_pins", "prove who it is", map[string]string{"UPSTREAM": "https://berth:1"}},
		{"upstream_pins", "64 hex", map[string]string{"UPSTREAM_PINS": "abc"}},
		{"upstream_cert_file", "known clients", map[string]string{"UPSTREAM": "https://berth:1", "UPSTREAM_PINS": pin}},
		{"upstream_key_file", "needs its key", map[string]string{"UPSTREAM_CERT_FILE": good["CERT_FILE"]}},
		{"upstream_ca_file", "no such file", map[string]string{"UPSTREAM_CA_FILE": p.path("none")}},
		{"upstream_ca_file", "holds no certificate", map[string]string{"UPSTREAM_CA_FILE": p.path("secrets.json")}},
		{"secrets_file", "is missing", map[string]string{"SECRETS_FILE": ""}},
		{"secrets_file", "can not be read", map[string]string{"SECRETS_FILE": p.path("none")}},
		{"metrics_listen", "the address of listen", map[string]string{"LISTEN": "127.0.0.1:1", "METRICS_LISTEN": "127.0.0.1:1"}},
		{"max_connections", "between", map[string]string{"MAX_CONNECTIONS": "0"}},
		{"max_connections_per_node", "between", map[string]string{"MAX_CONNECTIONS_PER_NODE": "0"}},
		{"node_rate", "between", map[string]string{"NODE_RATE": "0"}},
		{"node_burst", "between", map[string]string{"NODE_BURST": "1"}},
		{"access_log", "all, refused or off", map[string]string{"ACCESS_LOG": "some"}},
		{"stop_grace", "between", map[string]string{"STOP_GRACE": "0s"}},
		{"log_level", "debug", map[string]string{"LOG_LEVEL": "loud"}},
	} {
		p.env = map[string]string{}
		for _, from := range []map[string]string{good, c.env} {
			maps.Copy(p.env, from)
		}
		_, err := p.load()
		var problems settings.Problems
		if !errors.As(err, &problems) {
			t.Errorf("%v: %v", c.env, err)
			continue
		}
		found := false
		for _, one := range problems {
			found = found || one.Key == c.key && strings.Contains(one.String(), c.says)
		}
		if !found {
			t.Errorf("%v: %v", c.env, err)
		}
	}
}

// A clock is shifted for tests, never in production.
func TestClockOffset(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env["CLOCK_OFFSET"] = "-1h"
	if _, err := p.load(); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(settings.Sources{Environ: append(p.environ(), "BERTH_ENV=production")}); err == nil {
		t.Error("it is shifted in production")
	}
}

// Upstreams over the network are reached at the port they name, or at that of https.
func TestUpstreams(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"unix:/run/s": "unix /run/s", "https://berth:8441": "tcp berth:8441", "https://berth": "tcp berth:443",
		"https://[::1]:8441": "tcp [::1]:8441", "https://[::1]": "tcp [::1]:443",
		"": "", "berth:1": "", "https://": "", "https://berth:1/": "", "https://berth:1?x": "", "https://a@berth": "", "unix:": "",
	} {
		e, ok := endpoint(text)
		if ok != (want != "") || ok && e.Network+" "+e.Address != want || ok && e.Secure != (e.Network == "tcp") {
			t.Errorf("%q: %+v %v", text, e, ok)
		}
	}
}
