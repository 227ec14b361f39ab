package lab

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// RegistryOptions say what a registry asks of its callers.
type RegistryOptions struct {
	TLS                bool
	Username, Password string // basic authentication, where there is a name
}

// Registry is Debian's docker-registry as a child of the test, on a free port of 127.0.0.1. What is in it lives as long as
// the test.
type Registry struct {
	Host string // 127.0.0.1:port, the same after each start
	CA   string // PEM, with TLS
	RegistryOptions

	tb      testing.TB
	program string
	dir     string
	cmd     *exec.Cmd
}

var registryProgram = sync.OnceValues(func() (string, error) { return script("registry") })

// OCIRegistry starts a registry, which is empty, until the test ends.
func OCIRegistry(tb testing.TB, o RegistryOptions) *Registry {
	tb.Helper()
	program, err := registryProgram()
	if err != nil {
		tb.Fatal(err)
	}
	r := &Registry{Host: "127.0.0.1:0", RegistryOptions: o, tb: tb, program: program, dir: tb.TempDir()}
	if o.TLS {
		r.CA = r.certify()
	}
	if o.Username != "" {
		hash, err := bcrypt.GenerateFromPassword([]byte(o.Password), bcrypt.MinCost)
		r.check(err)
		r.write("htpasswd", fmt.Sprintf("%s:%s\n", o.Username, hash))
	}
	tb.Cleanup(r.Stop)
	r.Start()
	return r
}

// Start starts it, again too: at the same port, with what it had.
func (r *Registry) Start() {
	r.tb.Helper()
	r.write("config.yml", r.config())
	r.cmd = exec.Command(r.program, "serve", r.path("config.yml"))
	r.cmd.Env = []string{"OTEL_TRACES_EXPORTER=none"} // newer ones trace to somewhere
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	says, err := r.cmd.StderrPipe()
	r.check(err)
	r.check(r.cmd.Start())
	r.Host, err = listening(says)
	r.check(err)
}

// Stop kills it.
func (r *Registry) Stop() {
	if r.cmd == nil {
		return
	}
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
	r.cmd = nil
}

// listening reads from a registry's log where it listens, and goes on reading, or the registry would wait for that.
func listening(log io.ReadCloser) (string, error) {
	lines := bufio.NewScanner(log)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
		if _, rest, ok := strings.Cut(lines.Text(), "listening on "); ok {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			end := strings.IndexFunc(rest, func(c rune) bool { return c != '.' && c != ':' && (c < '0' || c > '9') })
			return rest[:max(end, 0)], nil
		}
	}
	return "", fmt.Errorf("docker-registry does not listen:\n%s", strings.Join(said, "\n"))
}

func (r *Registry) config() string {
	text := "version: 0.1\nlog:\n  level: info\n  accesslog:\n    disabled: true\n" +
		"storage:\n  filesystem:\n    rootdirectory: " + r.path("content") + "\n  delete:\n    enabled: true\n" +
		"http:\n  addr: " + r.Host + "\n  secret: lab\n"
	if r.TLS {
		text += "  tls:\n    certificate: " + r.path("cert.pem") + "\n    key: " + r.path("key.pem") + "\n"
	}
	if r.Username != "" {
		text += "auth:\n  htpasswd:\n    realm: lab\n    path: " + r.path("htpasswd") + "\n"
	}
	return text
}

// certify makes a certificate for 127.0.0.1, which is its own authority, and returns it.
func (r *Registry) certify() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	r.check(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "registry of a test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	r.check(err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	r.check(err)
	r.write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	cert := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	r.write("cert.pem", cert)
	return cert
}

func (r *Registry) path(name string) string { return filepath.Join(r.dir, name) }

func (r *Registry) write(name, text string) {
	r.tb.Helper()
	r.check(os.WriteFile(r.path(name), []byte(text), 0o600))
}

func (r *Registry) check(err error) {
	if err != nil {
		r.tb.Helper()
		r.tb.Fatal(err)
	}
}
