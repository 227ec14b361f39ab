package harness

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"berth/adapters/contract"
	"berth/e2e/lab"
)

// Relay is a berth-relay: a node that has a data directory, a join token and a wire to the ingress.
type Relay struct {
	*running
	site    *Site
	ID      string
	Region  string
	Dir     string            // with the data directory, data, and the join token
	Wire    *lab.Wire         // to the ingress
	Metrics string            // base URL of its metrics and debug page
	listen  string            // of devices, of one that is a process
	Extra   map[string]string // further environment, for the next start
	client  *http.Client      // of its page
}

// Relay defines a node in a region and gives it a join token; it does not run yet.
func (s *Site) Relay(id, region string) *Relay {
	s.tb.Helper()
	_, err := s.Operator().CreateNode(s.tb.Context(), contract.NewNode{
		ID: id, Region: region, Capacity: contract.Capacity{Tenants: 1000, Bytes: 1 << 40},
	})
	must(s.tb, err)
	r := s.process(id, region, s.temp())
	r.NewJoinToken()
	return r
}

// process is a process of a node, with a directory and addresses of its own.
func (s *Site) process(id, region, dir string) *Relay {
	s.tb.Helper()
	r := &Relay{site: s, ID: id, Region: region, Dir: dir, Wire: lab.NewWire(s.tb, s.Ingress.Address), Extra: map[string]string{}, client: client(s.server.trusting("127.0.0.1"), nil)}
	free := addresses(s.tb, 3)
	peer, metrics := free[0], free[1]
	r.Metrics, r.listen = "https://"+metrics, free[2]
	for name, text := range map[string]string{"tls.crt": s.server.pem.chain, "tls.key": s.server.pem.key} {
		must(s.tb, os.WriteFile(r.Path(name), []byte(text), 0o600))
	}
	r.running = &running{tb: s.tb, name: id}
	r.running.process = newProgram(s.tb, "berth-relay", func() map[string]string {
		return prefixed("BERTH_RELAY_", map[string]string{
			"NODE": id, "REGION": region, "TRUST_DOMAIN": TrustDomain, "DATA_DIR": r.Path("data"), "JOIN_TOKEN_FILE": r.Path("join-token"),
			"CONTROL_URL": "https://" + r.Wire.Address(), "ENROLL_URL": s.Enroll.URL(), "CA_FILE": s.CAFile,
			"PEER_LISTEN": peer, "ADVERTISE": peer, "METRICS_LISTEN": metrics, "STOP_GRACE": "2s",
			"LISTEN": r.listen, "TLS_CERT_FILE": r.Path("tls.crt"), "TLS_KEY_FILE": r.Path("tls.key"),
		}, r.Extra)
	})
	return r
}

// AsShipped has the node run without the race detector, for a test that measures.
func (r *Relay) AsShipped() { r.running.process.(*program).shipped = true }

// NewJoinToken writes a new join token into its file and returns it.
func (r *Relay) NewJoinToken() string {
	r.tb.Helper()
	made, err := r.site.Operator().JoinToken(r.tb.Context(), r.ID, contract.NewJoinToken{})
	must(r.tb, err)
	must(r.tb, os.WriteFile(r.Path("join-token"), []byte(made.Token+"\n"), 0o600))
	return made.Token
}

// Clone is another process with a copy of this one's data directory, as of a disk that was cloned; it does not run yet.
func (r *Relay) Clone() *Relay {
	r.tb.Helper()
	dir := r.site.temp()
	must(r.tb, os.CopyFS(dir, os.DirFS(r.Dir)))
	must(r.tb, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		if info.IsDir() {
			return os.Chmod(path, 0o700) // CopyFS adds what the umask leaves
		}
		return os.Chmod(path, 0o600)
	}))
	return r.site.process(r.ID, r.Region, dir)
}

// Twin is another process that was given the same join token, and has no data yet.
func (r *Relay) Twin() *Relay {
	r.tb.Helper()
	twin := r.site.process(r.ID, r.Region, r.site.temp())
	must(r.tb, os.WriteFile(twin.Path("join-token"), []byte(r.JoinToken()+"\n"), 0o600))
	return twin
}

// JoinToken is the one that lies in its file.
func (r *Relay) JoinToken() string {
	r.tb.Helper()
	text, err := os.ReadFile(r.Path("join-token"))
	must(r.tb, err)
	return strings.TrimSpace(string(text))
}

// Devices is host:port of its listener of devices.
func (r *Relay) Devices() string {
	if b, ok := r.running.process.(*boxed); ok {
		return b.container.Address(devicesPort)
	}
	return r.listen
}

// Path is a path in its directory.
func (r *Relay) Path(name string) string { return filepath.Join(r.Dir, name) }

// Serves starts the node and waits until the control plane has granted this process a lease.
func (r *Relay) Serves() {
	r.tb.Helper()
	before := r.site.Node(r.ID).Heartbeat.Generation
	r.Start()
	r.Beats(before)
}

// Beats waits until the node has a lease of a generation above one.
func (r *Relay) Beats(above int64) {
	r.tb.Helper()
	r.Within(30*time.Second, "it has a lease", func() bool {
		n := r.site.Node(r.ID)
		return n.Lease.State == "live" && n.Heartbeat.Generation > above
	})
}

// Certificate is the one that the node uses now; nil where it has none.
func (r *Relay) Certificate() *x509.Certificate {
	r.tb.Helper()
	rest, err := os.ReadFile(r.Path("data/identity/current.pem"))
	if err != nil {
		return nil
	}
	for block, rest := pem.Decode(rest); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			c, err := x509.ParseCertificate(block.Bytes)
			must(r.tb, err)
			return c
		}
	}
	return nil
}

// Fingerprint is that of a certificate; empty for none.
func Fingerprint(c *x509.Certificate) string {
	if c == nil {
		return ""
	}
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}
