package harness

import (
	"encoding/base64"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"berth/domain/identity"
)

const hangUp = syscall.SIGHUP

// Ingress is a running berth-ingress.
type Ingress struct {
	*running
	Dir     string
	Address string            // host:port
	Metrics string            // base URL
	Extra   map[string]string // further environment, for the next start
}

// newIngress is that of a site, not started.
func (s *Site) newIngress() *Ingress {
	s.tb.Helper()
	i := &Ingress{Dir: s.temp(), Extra: map[string]string{}}
	address, metrics := freeAddresses(s.tb)
	i.Address, i.Metrics = address, "http://"+metrics
	i.running = &running{tb: s.tb, name: "berth-ingress"}
	for name, text := range map[string]string{
		"tls.crt": s.server.pem.chain, "tls.key": s.server.pem.key, "client.crt": s.ingress.pem.chain, "client.key": s.ingress.pem.key,
		"secrets.json": secretsFile(nil, s.secret),
	} {
		i.write(name, text)
	}
	var upstream []string
	for _, t := range s.Upstream {
		upstream = append(upstream, t.URL())
	}
	i.process = newProgram(s.tb, "berth-ingress", func() map[string]string {
		env := map[string]string{
			"LISTEN": i.Address, "METRICS_LISTEN": metrics, "CERT_FILE": i.path("tls.crt"), "KEY_FILE": i.path("tls.key"),
			"TRUST_BUNDLE_FILE": i.path("bundle.pem"), "TRUST_DOMAIN": TrustDomain, "TRUST_BUNDLE_REFRESH": "1s",
			"UPSTREAM": strings.Join(upstream, ","), "UPSTREAM_PINS": s.server.pin(), "UPSTREAM_CERT_FILE": i.path("client.crt"),
			"UPSTREAM_KEY_FILE": i.path("client.key"), "SECRETS_FILE": i.path("secrets.json"), "ACCESS_LOG": "all",
			"NODE_RATE": "100000", "NODE_BURST": "100000", "STOP_GRACE": "2s",
		}
		return prefixed("BERTH_INGRESS_", env, i.Extra)
	})
	return i
}

// Start starts it and waits until it listens.
func (i *Ingress) Start() {
	i.tb.Helper()
	i.running.Start()
	i.Within(30*time.Second, "it listens", func() bool {
		c, err := net.DialTimeout("tcp", i.Address, time.Second)
		if err == nil {
			err = c.Close()
		}
		return err == nil
	})
}

// prefixed is an environment, of which the extra settings win.
func prefixed(prefix string, env, extra map[string]string) map[string]string {
	out := map[string]string{}
	for _, settings := range []map[string]string{env, extra} {
		for name, value := range settings {
			out[prefix+name] = value
		}
	}
	return out
}

func (i *Ingress) path(name string) string { return filepath.Join(i.Dir, name) }

func (i *Ingress) write(name, text string) {
	i.tb.Helper()
	must(i.tb, os.WriteFile(i.path(name), []byte(text), 0o600))
}

// secretsFile is a file of ingress secrets, the first of which signs.
func secretsFile(retired []string, secrets ...identity.IngressSecret) string {
	type entry struct {
		ID  string `json:"id"`
		Key string `json:"key"`
	}
	var list []entry
	for _, x := range secrets {
		list = append(list, entry{x.ID, base64.StdEncoding.EncodeToString(x.Key)})
	}
	data, err := json.Marshal(map[string]any{"secrets": list, "retired": retired})
	if err != nil {
		panic(err) // texts always marshal
	}
	return string(data)
}
