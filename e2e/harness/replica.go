package harness

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"berth/domain/identity"
	"berth/e2e/lab"
)

// Plan is what replicas share.
type Plan struct {
	tb       testing.TB
	dir      string
	owner    int // uid and gid in the containers
	image    string
	database string
	extra    []string
	secret   identity.IngressSecret
	server   credentials
	ingress  credentials
}

// Replicas starts n replicas of berthd, in containers of the image that is shipped, on a fresh Postgres database; the
// test's end stops them.
func Replicas(tb testing.TB, n int, extra ...string) []*Server {
	tb.Helper()
	return NewPlan(tb, lab.Shared(tb).InsideDSN(), extra...).Start(n)
}

// NewPlan makes the files that replicas share: secrets, keys, certificates. The database is one that containers reach; its
// password is moved into a file.
func NewPlan(tb testing.TB, database string, extra ...string) *Plan {
	tb.Helper()
	dir, err := os.MkdirTemp("", "berth-")
	must(tb, err)
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &Plan{
		tb: tb, dir: dir, owner: os.Getuid(), database: database, extra: extra,
		secret: identity.IngressSecret{ID: "s1", Key: random(32)},
		server: newCredentials(tb, ServerName, InternalHost, "*."+TrustDomain), ingress: newCredentials(tb, "ingress"),
	}
	if p.owner == 0 {
		p.owner = imageUser // root can give files to the image's own user
	}
	p.image, err = image()
	must(tb, err)
	p.fill()
	return p
}

// imageUser is the user that the image names.
const imageUser = 65532

// image is the id of berthd's image, built once for the test process.
var image = sync.OnceValues(func() (string, error) { return lab.Image("berthd") })

func (p *Plan) fill() {
	(&Server{t: p.tb, Dir: p.dir}).WriteSecrets(p.secret)
	files := map[string]string{
		"bootstrap": Bootstrap, "tls.crt": p.server.pem.chain, "tls.key": p.server.pem.key,
	}
	if before, rest, found := strings.Cut(p.database, "@"); found {
		user, password, _ := strings.Cut(strings.TrimPrefix(before, "postgres://"), ":")
		files["password"] = password
		p.database = "postgres://" + user + "@" + rest
	}
	for name, text := range files {
		must(p.tb, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600))
	}
	must(p.tb, os.Mkdir(filepath.Join(p.dir, "keys"), 0o700))
	must(p.tb, filepath.Walk(p.dir, func(path string, _ os.FileInfo, err error) error {
		return errors.Join(err, os.Chown(path, p.owner, p.owner))
	}))
}

// WritePassword changes the password of the database in its file.
func (p *Plan) WritePassword(password string) {
	p.tb.Helper()
	(&Server{t: p.tb, Dir: p.dir}).write("password", password)
}

// Start starts replicas and waits until all are ready.
func (p *Plan) Start(n int) []*Server {
	p.tb.Helper()
	var all []*Server
	for range n {
		all = append(all, p.Server())
	}
	var started sync.WaitGroup // at once, so that they meet in an empty database
	for _, s := range all {
		started.Go(s.process.start)
	}
	started.Wait()
	for _, s := range all {
		s.Eventually("berthd is ready", s.Ready)
	}
	token := all[0].firstAdmin()
	for _, s := range all {
		s.Token = token
	}
	return all
}

// Server is a replica that does not run yet; the test's end stops it where it does.
func (p *Plan) Server(extra ...string) *Server {
	s := &Server{
		t: p.tb, Dir: p.dir, Extra: append(append([]string{}, p.extra...), extra...), specs: replicaSpecs, Secret: p.secret,
		inside: "https://" + InternalHost, down: true,
	}
	c := &contained{s: s, plan: p}
	s.process = c
	s.client = client(p.server.trusting(ServerName), nil)
	s.ingress = client(p.server.trusting(InternalHost, p.ingress.cert), func() string { return c.container.Address(internalPort) })
	return s
}

// replicaSpecs are shared by all replicas, which run one image.
var replicaSpecs = &specs{}

// client speaks TLS with a replica. Where address is given it is dialled whatever the URL says.
func client(trust *tls.Config, address func() string) *http.Client {
	dial := (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		MaxIdleConnsPerHost: 64, TLSClientConfig: trust,
		DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			if address != nil {
				to = address()
			}
			return dial(ctx, network, to)
		},
	}}
}

const (
	apiPort      = 8440
	internalPort = 8441
	enrollPort   = 8442
	metricsPort  = 8449
	devicesPort  = 8443
	peerPort     = 8444
	mounted      = "/berth" // where a container has the plan's directory
)

// contained is a berthd that runs in a container.
type contained struct {
	s         *Server
	plan      *Plan
	container *lab.Container
}

func (c *contained) start() {
	c.s.t.Helper()
	c.s.down = false
	if c.container != nil {
		c.container.Start()
		return
	}
	owner := strconv.Itoa(c.plan.owner)
	c.container = lab.Launch(c.s.t, lab.Spec{
		Image: c.plan.image, Domain: TrustDomain, Command: []string{"serve", "--migrate"}, Env: c.environment(), User: owner + ":" + owner,
		Ports: []int{apiPort, internalPort, enrollPort, metricsPort}, Binds: []string{c.plan.dir + ":" + mounted},
	})
	c.s.t.Cleanup(c.s.Stop) // before the container is removed
	c.s.API = "https://" + c.container.Address(apiPort)
	c.s.Metrics = "https://" + c.container.Address(metricsPort)
}

func (c *contained) environment() map[string]string {
	env := map[string]string{
		"BERTH_DATABASE_URL": c.plan.database, "BERTH_KMS_URL": "file:" + mounted + "/keys",
		"BERTH_LISTEN":                 fmt.Sprintf("0.0.0.0:%d", apiPort),
		"BERTH_INTERNAL_LISTEN":        fmt.Sprintf("0.0.0.0:%d", internalPort),
		"BERTH_ENROLL_LISTEN":          fmt.Sprintf("0.0.0.0:%d", enrollPort),
		"BERTH_METRICS_LISTEN":         fmt.Sprintf("0.0.0.0:%d", metricsPort),
		"BERTH_TLS_CERT_FILE":          mounted + "/tls.crt",
		"BERTH_TLS_KEY_FILE":           mounted + "/tls.key",
		"BERTH_INTERNAL_TLS_CERT_FILE": mounted + "/tls.crt",
		"BERTH_INTERNAL_TLS_KEY_FILE":  mounted + "/tls.key",
		"BERTH_INTERNAL_CLIENT_PINS":   c.plan.ingress.pin(),
		"BERTH_BOOTSTRAP_TOKEN_FILE":   mounted + "/bootstrap",
		"BERTH_INGRESS_SECRETS_FILE":   mounted + "/ingress.json",
	}
	if strings.HasPrefix(c.plan.database, "postgres:") {
		env["BERTH_DATABASE_PASSWORD_FILE"] = mounted + "/password"
	}
	for _, setting := range append(generous(), c.s.Extra...) {
		name, value, _ := strings.Cut(setting, "=")
		env[name] = value
	}
	return env
}

func (c *contained) signal(sig syscall.Signal) {
	c.s.t.Helper()
	c.container.Signal(strconv.Itoa(int(sig)))
}

func (c *contained) wait(bound time.Duration) (ended bool, err error) {
	return waitFor(c.container, bound)
}

// waitFor is a process's wait, of a container.
func waitFor(c *lab.Container, bound time.Duration) (ended bool, err error) {
	deadline := time.Now().Add(bound)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		if state, code := c.State(); state == "exited" || state == "dead" {
			if code != 0 {
				err = fmt.Errorf("exit status %d", code)
			}
			return true, err
		}
		if !time.Now().Before(deadline) {
			return false, nil
		}
	}
}

func (c *contained) output() string { return c.container.Logs() }
