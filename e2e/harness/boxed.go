package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"berth/adapters/contract"
	"berth/e2e/lab"
)

// boxed is an ingress or a node in a container of its image.
type boxed struct {
	site  *Site
	spec  lab.Spec
	begun func(*lab.Container) // once it runs first

	container *lab.Container
}

func (b *boxed) start() {
	b.site.tb.Helper()
	if b.container != nil {
		b.container.Start()
		return
	}
	b.container = lab.Launch(b.site.tb, b.spec)
	b.begun(b.container)
}

func (b *boxed) signal(sig syscall.Signal) {
	b.site.tb.Helper()
	b.container.Signal(strconv.Itoa(int(sig)))
}

func (b *boxed) wait(bound time.Duration) (ended bool, err error) { return waitFor(b.container, bound) }

func (b *boxed) output() string { return b.container.Logs() }

var (
	ingressImage = sync.OnceValues(func() (string, error) { return lab.Image("berth-ingress") })
	relayImage   = sync.OnceValues(func() (string, error) { return lab.Image("berth-relay") })
)

// box is a container's specification: of an image, with a directory that it has for itself.
func (s *Site) box(image func() (string, error), dir string, env map[string]string, ports ...int) lab.Spec {
	s.tb.Helper()
	id, err := image()
	must(s.tb, err)
	must(s.tb, filepath.Walk(dir, func(path string, _ os.FileInfo, err error) error {
		return errors.Join(err, os.Chown(path, s.owner, s.owner))
	}))
	return lab.Spec{
		Image: id, Env: env, User: fmt.Sprintf("%d:%d", s.owner, s.owner), Ports: ports, Binds: []string{dir + ":" + mounted},
		Domain: TrustDomain,
	}
}

// BoxedIngress starts another ingress, in a container of the image that is shipped, which reaches the replicas directly.
func (s *Site) BoxedIngress() *lab.Container {
	s.tb.Helper()
	dir := s.temp()
	for name, text := range map[string]string{
		"tls.crt": s.server.pem.chain, "tls.key": s.server.pem.key, "client.crt": s.ingress.pem.chain, "client.key": s.ingress.pem.key,
		"secrets.json": secretsFile(nil, s.secret),
	} {
		must(s.tb, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	var upstream []string
	for _, r := range s.Replicas {
		upstream = append(upstream, fmt.Sprintf("https://%s.%s:%d", r.process.(*contained).container.Name, TrustDomain, internalPort))
	}
	r := &running{tb: s.tb, name: "berth-ingress"}
	b := &boxed{site: s, begun: func(*lab.Container) {}, spec: s.box(ingressImage, dir, prefixed("BERTH_INGRESS_", map[string]string{
		"LISTEN": fmt.Sprintf("0.0.0.0:%d", apiPort), "METRICS_LISTEN": "off", "CERT_FILE": mounted + "/tls.crt",
		"KEY_FILE": mounted + "/tls.key", "TRUST_BUNDLE_FILE": mounted + "/bundle.pem", "TRUST_DOMAIN": TrustDomain,
		"TRUST_BUNDLE_REFRESH": "1s", "UPSTREAM": strings.Join(upstream, ","), "UPSTREAM_PINS": s.server.pin(),
		"UPSTREAM_CERT_FILE": mounted + "/client.crt", "UPSTREAM_KEY_FILE": mounted + "/client.key",
		"SECRETS_FILE": mounted + "/secrets.json", "STOP_GRACE": "2s",
	}, nil), apiPort)}
	r.process = b
	r.Start()
	r.Within(30*time.Second, "it is ready", func() bool { return strings.Contains(r.Output(), "\nready\n") })
	return b.container
}

// BoxedRelay defines a node that runs in a container of the image that is shipped, behind an ingress in another one. It
// has no wire: its container is cut off. It is on the networks that are given, or on the one that all share.
func (s *Site) BoxedRelay(id, region string, ingress *lab.Container, networks ...string) (r *Relay, container func() *lab.Container) {
	s.tb.Helper()
	name := "lab-" + id
	_, err := s.Operator().CreateNode(s.tb.Context(), contract.NewNode{
		ID: id, Region: region, Capacity: contract.Capacity{Tenants: 1000, Bytes: 1 << 40},
	})
	must(s.tb, err)
	r = &Relay{running: &running{tb: s.tb, name: id}, site: s, ID: id, Region: region, Dir: s.temp(), client: client(s.server.trusting("127.0.0.1"), nil)}
	r.NewJoinToken()
	for name, text := range map[string]string{"tls.crt": s.server.pem.chain, "tls.key": s.server.pem.key} {
		must(s.tb, os.WriteFile(r.Path(name), []byte(text), 0o600))
	}
	enroll := s.Replicas[0].process.(*contained).container.Name
	b := &boxed{site: s, spec: s.box(relayImage, r.Dir, prefixed("BERTH_RELAY_", map[string]string{
		"NODE": id, "REGION": region, "TRUST_DOMAIN": TrustDomain, "DATA_DIR": mounted + "/data",
		"JOIN_TOKEN_FILE": mounted + "/join-token", "CONTROL_URL": fmt.Sprintf("https://%s.%s:%d", ingress.Name, TrustDomain, apiPort),
		"ENROLL_URL": fmt.Sprintf("https://%s.%s:%d", enroll, TrustDomain, enrollPort), "CA_FILE": mounted + "/tls.crt",
		"METRICS_LISTEN": fmt.Sprintf("0.0.0.0:%d", metricsPort), "TLS_CERT_FILE": mounted + "/tls.crt",
		"TLS_KEY_FILE": mounted + "/tls.key", "STOP_GRACE": "2s",
		"LISTEN": fmt.Sprintf("0.0.0.0:%d", devicesPort), "PEER_LISTEN": fmt.Sprintf("0.0.0.0:%d", peerPort),
		"ADVERTISE": fmt.Sprintf("%s.%s:%d", name, TrustDomain, peerPort),
	}, nil), metricsPort, devicesPort)}
	b.spec.Name, b.spec.Networks = name, networks
	b.begun = func(c *lab.Container) { r.Metrics = "https://" + c.Address(metricsPort) }
	r.process = b
	return r, func() *lab.Container { return b.container }
}
