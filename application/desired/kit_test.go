package desired_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"strings"

	"berth/application/desired"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/sealing"
	"berth/ports/sealing/sealingtest"
	"berth/ports/store"
	"berth/ports/tokens"
	"berth/ports/tokens/tokenstest"
)

// workload is a Deployment that asks for little; its replicas are a parameter.
const workload = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"APP"},"spec":{"replicas":"${replicas}",
 "selector":{"matchLabels":{"app":"APP"}},"template":{"metadata":{"labels":{"app":"APP"}},"spec":{
 "automountServiceAccountToken":false,"securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}},
 "containers":[{"name":"main","image":"IMAGE","resources":{"requests":{"cpu":"100m","memory":"64Mi"}},
 "env":[{"name":"PASSWORD","valueFrom":{"secretKeyRef":{"name":"APP","key":"password"}}}],
 "securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}]}}}}`

const secretText = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"APP"},"type":"Opaque","stringData":{"password":"${password}"}}`

// release puts a version into the catalogue, and its image into the registry.
func (w *world) release(app, version string, requires ...delivery.Requirement) delivery.Release {
	w.t.Helper()
	image := host + "/" + app + ":" + version
	w.images.Put(image)
	return w.releaseOf(app, version, image, requires...)
}

func (w *world) releaseOf(app, version, image string, requires ...delivery.Requirement) delivery.Release {
	w.t.Helper()
	fill := strings.NewReplacer("APP", app, "IMAGE", image)
	source, errs := delivery.EncodeFiles(map[string]string{"a.yaml": fill.Replace(workload), "b.yaml": fill.Replace(secretText)})
	w.must(fault.All(errs...))
	r, err := delivery.NewRelease(delivery.Release{
		App: app, Version: version, Kind: delivery.SourceManifests, Source: delivery.Digest(source), Requires: requires,
		Images: []string{image}, Parameters: []delivery.Parameter{
			{Name: "replicas", Type: delivery.ParameterInt, Default: "1", HasDefault: true, CustomerSettable: true},
			{Name: "password", Type: delivery.ParameterString, Secret: true},
		},
	}, noon)
	w.must(err)
	w.do(func(ctx context.Context, roles *store.Roles) error {
		w.must(roles.Objects.Put(ctx, source))
		return roles.Releases.Create(ctx, r)
	})
	return r
}

func choice(app, version string, parameters ...string) delivery.Choice {
	c := delivery.Choice{App: app, Version: version}
	for i := 0; i < len(parameters); i += 2 {
		if c.Parameters == nil {
			c.Parameters = map[string]string{}
		}
		c.Parameters[parameters[i]] = parameters[i+1]
	}
	return c
}

// agent is the agent in a cluster, as far as it speaks with the control plane.
type agent struct {
	*world
	key      *tokenstest.Agent
	private  ed25519.PrivateKey
	seal     *sealingtest.FakeKey
	instance string
	id       string
	install  string
	minimum  int64

	held     string // ETag
	state    delivery.Payload
	token    string
	sequence int64
}

// enroll makes a package and enrols by its token.
func (w *world) enroll(seed byte) *agent {
	w.t.Helper()
	a := w.stranger(seed)
	out, err := a.ask(w.packageToken())
	w.must(err)
	a.id, a.install, a.minimum = out.AgentID, out.InstallID, out.MinimumRevision
	return a
}

// stranger is an agent that did not enrol yet.
func (w *world) stranger(seed byte) *agent {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	return &agent{
		world: w, private: private, key: &tokenstest.Agent{Key: tokenstest.KeyOf(private)}, seal: sealingtest.NewFakeKey(),
		instance: "process-1",
	}
}

// packageToken is the enrolment token of a new package.
func (w *world) packageToken() string {
	w.t.Helper()
	return strings.TrimSpace(string(w.unpacked()["enrolment-token"]))
}

// unpacked makes a package, fetches it by its link and reads it.
func (w *world) unpacked() map[string][]byte {
	w.t.Helper()
	w.must(w.Review(w.ctx, install)) // a deployment that was not made by CreateDeployment has no revision yet
	p, err := w.CreatePackage(w.ctx, desired.CreatePackageRequest{Actor: alice, Install: install})
	w.must(err)
	_, link, _ := strings.Cut(p.DownloadURL, "/packages/v1/")
	_, content, err := w.FetchPackage(w.ctx, link, "192.0.2.1")
	w.must(err)
	files, err := w.Archiver.Read(content)
	w.must(err)
	out := map[string][]byte{}
	for _, f := range files {
		out[f.Name] = f.Content
	}
	return out
}

func (a *agent) ask(token string) (desired.Enrolled, error) {
	return a.Enroll(a.ctx, desired.EnrollRequest{
		Token: token, LicenseKey: licenseKey, Source: "192.0.2.1", Enrolment: a.enrolment(),
	})
}

func (a *agent) enrolment() delivery.Enrolment {
	recipient := a.seal.Recipient()
	return delivery.Enrolment{
		PublicKey: a.key.PublicKey(), SealKey: recipient, SealKeySignature: ed25519.Sign(a.private, delivery.SealKeyMessage(recipient)),
		ClusterUID: "uid-1", ClusterVersion: "v1.33.1", Platforms: []string{"linux/amd64"},
	}
}

// sealed is a secret as whoever sets it seals it to the agent.
func (a *agent) sealed(app, parameter, clear string) []byte {
	a.t.Helper()
	text, err := sealingtest.Fake{}.Seal(a.seal.Recipient(), sealing.Place{InstallID: install, App: app, Parameter: parameter}, []byte(clear))
	a.must(err)
	return text
}

// caller is the agent, authenticated by a token of its own.
func (a *agent) caller(on *desired.Desired) (desired.AgentCaller, error) {
	request := tokenstest.Request("GET", "/agent/v1/desired-state", nil)
	token := a.key.Token(tokens.AgentToken{Agent: a.id, Install: a.install, Instance: a.instance, IssuedAt: a.clock.Now()}, request)
	return on.AuthenticateAgent(a.ctx, token, request)
}

// poll asks for the desired state, and takes it as an agent does: it refuses what is lower, and keeps what it has
// otherwise (D1, G9).
func (a *agent) poll(on *desired.Desired) (desired.PollAnswer, error) {
	caller, err := a.caller(on)
	if err != nil {
		return desired.PollAnswer{}, err
	}
	answer, err := on.Poll(a.ctx, desired.PollRequest{Caller: caller, Held: a.held})
	if err != nil || answer.Unchanged {
		return answer, err
	}
	p := a.payload(answer.Token)
	if p.Revision < a.minimum || p.Revision <= a.state.Revision {
		return answer, fmt.Errorf("revision %d after %d", p.Revision, a.state.Revision)
	}
	a.state, a.held, a.token = p, answer.ETag, answer.Token
	return answer, nil
}

func (a *agent) follow() {
	a.t.Helper()
	_, err := a.poll(a.Desired)
	a.must(err)
}

// runs are the apps that the agent lets run: name, version, and a mark for those that are suspended or to be removed.
func (a *agent) runs() string {
	var out []string
	for _, app := range a.state.Apps {
		text := app.App + " " + app.Version
		if app.Suspended {
			text += " suspended"
		}
		if app.Removed {
			text += " removed"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// reports tells what runs, by app, version and outcome by turns.
func (a *agent) reports(parts ...string) error {
	a.sequence++
	r := delivery.Report{Sequence: a.sequence, Observed: a.state.Revision, Version: "0.1.0"}
	for i := 0; i < len(parts); i += 3 {
		r.Apps = append(r.Apps, delivery.AppReport{App: parts[i], Version: parts[i+1], Outcome: delivery.Outcome(parts[i+2])})
	}
	caller, err := a.caller(a.Desired)
	if err != nil {
		return err
	}
	return a.Report(a.ctx, desired.ReportRequest{Caller: caller, Report: r})
}

// opened is a secret of an app, opened by the agent's key from the object that its seal names.
func (a *agent) opened(app, parameter string) string {
	a.t.Helper()
	caller, err := a.caller(a.Desired)
	a.must(err)
	for _, d := range a.state.Apps {
		for _, seal := range d.Seals {
			if d.App != app || seal.Parameter != parameter {
				continue
			}
			text, err := a.Object(a.ctx, caller, seal.SHA256)
			a.must(err)
			clear, err := a.seal.Open(sealing.Place{InstallID: a.install, App: app, Parameter: parameter}, text)
			a.must(err)
			return string(clear)
		}
	}
	a.t.Fatalf("no seal of %s in %+v", parameter, a.state.Apps)
	return ""
}
