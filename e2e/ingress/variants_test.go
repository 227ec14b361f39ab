package ingress_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"berth/adapters/ingress/proof"
	"berth/e2e/lab"
)

// overSocket are two processes of one machine, on SQLite.
func overSocket(tb testing.TB, more ...string) *deployment {
	tb.Helper()
	d := prepare(tb)
	d.overSocket(more...)
	d.ingressReady()
	return d
}

func (d *deployment) overSocket(more ...string) {
	d.tb.Helper()
	socket := d.path("internal.sock")
	d.processes("unix:"+socket, &proof.Endpoint{Network: "unix", Address: socket}, nil, more)
}

// overPins are two processes with TLS between them, by pinned keys.
func overPins(tb testing.TB, more ...string) *deployment {
	tb.Helper()
	d := prepare(tb)
	at := free(tb, 1)[0]
	internal := d.endpoint(at)
	internal.Own = &d.own
	d.processes(at, internal, map[string]string{
		"BERTH_INTERNAL_TLS_CERT_FILE": d.path("tls.crt"), "BERTH_INTERNAL_TLS_KEY_FILE": d.path("tls.key"), "BERTH_INTERNAL_CLIENT_PINS": pin(d.own),
	}, more)
	d.ingressReady()
	return d
}

func (d *deployment) processes(listen string, internal *proof.Endpoint, more map[string]string, extra []string) {
	d.tb.Helper()
	at := free(d.tb, 5)
	env := settings(d.dir)
	maps.Copy(env, more)
	env["BERTH_DATABASE_URL"], env["BERTH_INTERNAL_LISTEN"] = "sqlite:"+d.path("control.db"), listen
	env["BERTH_LISTEN"], env["BERTH_ENROLL_LISTEN"], env["BERTH_METRICS_LISTEN"] = at[0], at[1], at[2]
	d.site.API, d.site.Enroll, d.site.Metrics, d.site.Ingress = d.endpoint(at[0]), d.endpoint(at[1]), d.endpoint(at[2]), d.endpoint(at[3])
	d.site.Internal, d.internal = internal, []*proof.Endpoint{internal}
	d.berthd = []program{spawn(d.tb, "berthd", with(env, extra...))}
	d.ready()
	d.writeBundle()
	d.ingress = spawn(d.tb, "berth-ingress", with(d.ingressEnv(), "BERTH_INGRESS_LISTEN="+at[3], "BERTH_INGRESS_METRICS_LISTEN="+at[4]))
}

// anotherIngress is one more before the same control plane, with settings of its own.
func (d *deployment) anotherIngress(tb testing.TB, more ...string) *proof.Endpoint {
	tb.Helper()
	at := free(tb, 1)[0]
	p := spawn(tb, "berth-ingress", with(d.ingressEnv(), append(more, "BERTH_INGRESS_LISTEN="+at, "BERTH_INGRESS_METRICS_LISTEN=off")...))
	within(tb, "the ingress listens", p, func() bool { return dials(at) })
	return d.endpoint(at)
}

// ingressEnv is what another ingress of the same processes needs, but for its listeners.
func (d *deployment) ingressEnv() map[string]string {
	env := ingressSettings(d.dir)
	if d.site.Internal.Network == "unix" {
		env["BERTH_INGRESS_UPSTREAM"] = "unix:" + d.site.Internal.Address
		return env
	}
	return with(env, "BERTH_INGRESS_UPSTREAM=https://"+d.site.Internal.Address, "BERTH_INGRESS_UPSTREAM_PINS="+pin(d.served("tls")),
		"BERTH_INGRESS_UPSTREAM_CERT_FILE="+d.path("client.crt"), "BERTH_INGRESS_UPSTREAM_KEY_FILE="+d.path("client.key"))
}

const (
	apiPort      = 8440
	internalPort = 8441
	enrollPort   = 8442
	ingressPort  = 8443
	metricsPort  = 8449
	mounted      = "/berth"
)

// inContainers are two replicas on Postgres and one ingress before both, of the images that are shipped.
func inContainers(tb testing.TB, more ...string) *deployment {
	tb.Helper()
	d := prepare(tb)
	owner := d.handOver()
	env := settings(mounted)
	url := lab.Shared(tb).InsideDSN()
	before, rest, _ := strings.Cut(url, "@")
	user, password, _ := strings.Cut(strings.TrimPrefix(before, "postgres://"), ":")
	d.write("password", password)
	d.give(owner)
	for name, port := range map[string]int{"BERTH_LISTEN": apiPort, "BERTH_INTERNAL_LISTEN": internalPort, "BERTH_ENROLL_LISTEN": enrollPort, "BERTH_METRICS_LISTEN": metricsPort} {
		env[name] = "0.0.0.0:" + strconv.Itoa(port)
	}
	env = with(env, "BERTH_DATABASE_URL=postgres://"+user+"@"+rest, "BERTH_DATABASE_PASSWORD_FILE="+mounted+"/password",
		"BERTH_INTERNAL_TLS_CERT_FILE="+mounted+"/tls.crt", "BERTH_INTERNAL_TLS_KEY_FILE="+mounted+"/tls.key", "BERTH_INTERNAL_CLIENT_PINS="+pin(d.own))
	replicas := d.replicas(2, owner, with(env, more...))
	at := func(c *contained, port int) *proof.Endpoint { return d.endpoint(c.container.Address(port)) }
	d.site.API, d.site.Enroll, d.site.Metrics = at(replicas[0], apiPort), at(replicas[0], enrollPort), at(replicas[0], metricsPort)
	var upstream []string
	for _, r := range replicas {
		internal := at(r, internalPort)
		internal.Own = &d.own
		d.internal, d.berthd = append(d.internal, internal), append(d.berthd, r)
		upstream = append(upstream, "https://"+r.container.Name+":"+strconv.Itoa(internalPort))
	}
	d.site.Internal = d.internal[0]
	d.ready()
	d.writeBundle()
	d.give(owner)
	ingress := contain(tb, images.ingress, lab.Spec{
		User: owner + ":" + owner, Ports: []int{ingressPort}, Binds: []string{d.dir + ":" + mounted},
		Env: with(ingressSettings(mounted), "BERTH_INGRESS_LISTEN=0.0.0.0:"+strconv.Itoa(ingressPort), "BERTH_INGRESS_METRICS_LISTEN=off",
			"BERTH_INGRESS_UPSTREAM="+strings.Join(upstream, ","), "BERTH_INGRESS_UPSTREAM_PINS="+pin(d.served("tls")),
			"BERTH_INGRESS_UPSTREAM_CERT_FILE="+mounted+"/client.crt", "BERTH_INGRESS_UPSTREAM_KEY_FILE="+mounted+"/client.key"),
	})
	d.ingress, d.site.Ingress = ingress, at(ingress, ingressPort)
	d.ingressReady()
	return d
}

func (d *deployment) replicas(n int, owner string, env map[string]string) []*contained {
	d.tb.Helper()
	all := make([]*contained, n)
	var up sync.WaitGroup
	for i := range all {
		up.Go(func() {
			all[i] = contain(d.tb, images.berthd, lab.Spec{
				Command: []string{"serve", "--migrate"}, Env: env, User: owner + ":" + owner, Binds: []string{d.dir + ":" + mounted},
				Ports: []int{apiPort, internalPort, enrollPort, metricsPort},
			})
		})
	}
	up.Wait()
	return all
}

// handOver names the user of the containers: root can give files to the image's own.
func (d *deployment) handOver() string {
	owner := os.Getuid()
	if owner == 0 {
		owner = 65532
	}
	must(d.tb, os.MkdirAll(d.path("keys"), 0o700))
	return strconv.Itoa(owner)
}

func (d *deployment) give(owner string) {
	d.tb.Helper()
	id, err := strconv.Atoi(owner)
	must(d.tb, err)
	must(d.tb, filepath.Walk(d.dir, func(path string, _ os.FileInfo, err error) error {
		return errors.Join(err, os.Chown(path, id, id))
	}))
}
