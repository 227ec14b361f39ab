package harness

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/sealing"
	"berth/ports/tokens"
)

// Agent is the agent of a cluster as a script: it applies nothing, and believes nothing but what is signed.
type Agent struct {
	Enrolled contract.AgentEnrolled
	Key      ed25519.PrivateKey
	Seal     *age.X25519Identity
	Held     delivery.Payload // the last good desired state
	Token    string           // as it was signed

	tb       testing.TB
	stand    *Stand
	instance string
	anchors  map[string]ed25519.PublicKey
	etag     string
	sequence int64
	Now      func() time.Time
}

// NewAgent makes an agent with keys of its own, which has not enrolled.
func (s *Stand) NewAgent() *Agent {
	s.tb.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	must(s.tb, err)
	seal, err := age.GenerateX25519Identity()
	must(s.tb, err)
	return &Agent{Key: key, Seal: seal, tb: s.tb, stand: s, instance: rand.Text(), Now: time.Now}
}

// Enrols lets an agent enrol by a fresh package.
func (c *Customer) Enrols() *Agent {
	c.tb.Helper()
	files, _ := c.Package()
	a := c.NewAgent()
	must(c.tb, a.Enroll(0, string(files["enrolment-token"]), c.License.LicenseKey))
	return a
}

// Enrolment is what the agent asks to enrol by.
func (a *Agent) Enrolment(token, licenseKey string) contract.AgentEnrol {
	recipient := a.Seal.Recipient().String()
	return contract.AgentEnrol{
		Token: strings.TrimSpace(token), LicenseKey: licenseKey, PublicKey: base64.RawURLEncoding.EncodeToString(a.Key.Public().(ed25519.PublicKey)),
		SealKey: recipient, SealKeySignature: base64.RawURLEncoding.EncodeToString(ed25519.Sign(a.Key, delivery.SealKeyMessage(recipient))),
		Cluster: contract.AgentCluster{UID: "cluster-1", Version: "v1.34.0", Platforms: []string{"linux/amd64"}},
	}
}

// Enroll enrols at a replica, and pins what it is told to trust.
func (a *Agent) Enroll(replica int, token, licenseKey string) error {
	a.tb.Helper()
	answer, err := apiclient.NewAgent(a.stand.Client(replica, nil)).Enroll(a.tb.Context(), a.Enrolment(token, licenseKey))
	if err != nil {
		return err
	}
	a.Enrolled, a.anchors = answer, map[string]ed25519.PublicKey{}
	for _, k := range answer.TrustAnchors.Keys {
		if k.Purpose == "desired-state" {
			a.anchors[k.KID] = k.PublicKey
		}
	}
	return nil
}

// At is the agents' API of a replica, with the agent's proof.
func (a *Agent) At(replica int) apiclient.Agent {
	a.tb.Helper()
	return apiclient.NewAgent(a.stand.Client(replica, a.Proof()))
}

// Proof is what the agent proves its requests by.
func (a *Agent) Proof() apiclient.AgentProof {
	return apiclient.AgentProof{
		Agent: a.Enrolled.AgentID, Install: a.Enrolled.InstallID, Instance: a.instance, Key: a.Key, Now: a.Now,
	}
}

// Poll asks a replica once, and takes what is newer and signed. It says whether there was anything new.
func (a *Agent) Poll(replica int, wait time.Duration) (changed bool, err error) {
	a.tb.Helper()
	token, etag, err := a.At(replica).DesiredState(a.tb.Context(), a.etag, wait)
	if err != nil || token == "" {
		return false, err
	}
	return true, a.take(a.tb.Context(), token, etag)
}

// take believes a desired state, or says why it does not (D1).
func (a *Agent) take(ctx context.Context, token, etag string) error {
	raw, err := a.verify(token)
	if err != nil {
		return err
	}
	p, err := delivery.ParsePayload(raw)
	switch {
	case err != nil:
		return err
	case p.InstallID != a.Enrolled.InstallID:
		return errors.New("it is for another installation")
	case p.Revision < a.Enrolled.MinimumRevision || p.Revision < a.Held.Revision:
		return fmt.Errorf("revision %d is refused: %d is held, and %d the least", p.Revision, a.Held.Revision, a.Enrolled.MinimumRevision)
	case p.Revision == a.Held.Revision && token != a.Token:
		return fmt.Errorf("there are two of revision %d", p.Revision)
	case p.AppsAt != nil:
		list, err := a.object(ctx, p.AppsAt.SHA256)
		if err != nil {
			return err
		}
		if p.Apps, err = delivery.ParseApps(list); err != nil {
			return err
		}
	}
	a.Held, a.Token, a.etag = p, token, etag
	return nil
}

func (a *Agent) verify(token string) (payload []byte, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return nil, errors.New("it is no compact JWS")
	}
	decoded := make([][]byte, 3)
	for i, part := range parts {
		if decoded[i], err = base64.RawURLEncoding.DecodeString(part); err != nil {
			return nil, err
		}
	}
	var header struct{ Alg, Kid, Typ string }
	if err := json.Unmarshal(decoded[0], &header); err != nil {
		return nil, err
	}
	key := a.anchors[header.Kid]
	if key == nil || header.Alg != "EdDSA" || header.Typ != tokens.DesiredStateType || !ed25519.Verify(key, []byte(parts[0]+"."+parts[1]), decoded[2]) {
		return nil, fmt.Errorf("it is not signed by what this agent trusts: %+v", header)
	}
	return decoded[1], nil
}

// Until polls until what is held is so.
func (a *Agent) Until(what string, ok func() bool) {
	a.tb.Helper()
	late := time.Now().Add(patience)
	for replica := 0; !ok(); replica++ {
		if time.Now().After(late) {
			a.tb.Fatalf("after %s the agent's desired state is not so that %s: %s\n%s", patience, what, a.Says(), a.stand.Output())
		}
		if _, err := a.Poll(replica, time.Second); err != nil && fault.KindOf(err) != fault.Unavailable { // else it comes again
			a.tb.Fatalf("waiting until %s: %v", what, err)
		}
	}
}

// Says is what is held, in short: each app with its version and what is special about it.
func (a *Agent) Says() string {
	words := []string{}
	for _, app := range a.Held.Apps {
		word := app.App + " " + app.Version
		if app.Suspended {
			word += " suspended"
		}
		if app.Removed {
			word += " removed"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// App is an app of what is held; false where it is not in it.
func (a *Agent) App(name string) (delivery.DesiredApp, bool) {
	for _, app := range a.Held.Apps {
		if app.App == name {
			return app, true
		}
	}
	return delivery.DesiredApp{}, false
}

// Objects are the objects of an app that is held.
func (a *Agent) Objects(name string) []delivery.Document {
	a.tb.Helper()
	app, _ := a.App(name)
	content, err := a.object(a.tb.Context(), app.Manifests.SHA256)
	must(a.tb, err)
	docs, err := delivery.Decode(content)
	must(a.tb, err)
	return docs
}

func (a *Agent) object(ctx context.Context, sha256 string) ([]byte, error) {
	content, err := a.At(1).Object(ctx, sha256)
	if err == nil && delivery.Digest(content) != sha256 {
		err = errors.New("an object is not what its name says")
	}
	return content, err
}

// SealsTo seals a value as a customer's platform does: by what the market says of the agent, which the agent's own key vouches
// for.
func (a *Agent) SealsTo(c *Customer, app, parameter, value string) string {
	a.tb.Helper()
	told, err := c.Market(0).Agent(a.tb.Context())
	must(a.tb, err)
	proof, err := base64.RawURLEncoding.DecodeString(told.SealKeySignature)
	must(a.tb, err)
	if key := a.Key.Public().(ed25519.PublicKey); told.PublicKey != base64.RawURLEncoding.EncodeToString(key) ||
		!ed25519.Verify(key, delivery.SealKeyMessage(told.SealKey), proof) {
		a.tb.Fatalf("the market tells of a key that the agent does not vouch for: %+v", told)
	}
	recipient, err := age.ParseX25519Recipient(told.SealKey)
	must(a.tb, err)
	frame, err := sealing.Frame(sealing.Place{InstallID: told.InstallID, App: app, Parameter: parameter}, []byte(value))
	must(a.tb, err)
	var out bytes.Buffer
	w, err := age.Encrypt(&out, recipient)
	must(a.tb, err)
	_, err = w.Write(frame)
	must(a.tb, err)
	must(a.tb, w.Close())
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// Opens returns a secret parameter of an app that is held.
func (a *Agent) Opens(name, parameter string) string {
	a.tb.Helper()
	app, _ := a.App(name)
	for _, seal := range app.Seals {
		if seal.Parameter != parameter {
			continue
		}
		sealed, err := a.object(a.tb.Context(), seal.SHA256)
		must(a.tb, err)
		r, err := age.Decrypt(bytes.NewReader(sealed), a.Seal)
		must(a.tb, err)
		frame, err := io.ReadAll(r)
		must(a.tb, err)
		value, err := sealing.Unframe(sealing.Place{InstallID: a.Enrolled.InstallID, App: name, Parameter: parameter}, frame)
		must(a.tb, err)
		return string(value)
	}
	a.tb.Fatalf("%s has no sealed %s: %+v", name, parameter, app.Seals)
	return ""
}

// Reports says what became of apps, on the revision that is held.
func (a *Agent) Reports(apps ...contract.AgentReportedApp) {
	a.tb.Helper()
	must(a.tb, a.Report(a.Held.Revision, apps...))
}

// Report is Reports on any revision.
func (a *Agent) Report(revision int64, apps ...contract.AgentReportedApp) error {
	a.tb.Helper()
	a.sequence++
	return a.At(int(a.sequence)).Report(a.tb.Context(), contract.AgentReport{
		Sequence: a.sequence, ObservedRevision: revision, Apps: apps, Agent: contract.AgentVersion{Version: "1.0.0"},
	})
}

// Healthy is a report that an app runs in a version.
func Healthy(app, version string) contract.AgentReportedApp {
	return contract.AgentReportedApp{App: app, Version: version, Outcome: "healthy"}
}

// Proves shows the control plane what is held, as it was signed.
func (a *Agent) Proves() error {
	a.tb.Helper()
	return a.At(0).Prove(a.tb.Context(), contract.AgentProof{DesiredState: a.Token})
}

// Behind says whether the control plane admits to know less than the agent.
func Behind(err error) bool { return fault.SlugOf(err) == "desired_state_behind" }

// Forgets lets the agent poll as if it held nothing yet.
func (a *Agent) Forgets() { a.etag = "" }

// Twin is another process with the same keys, which holds the same.
func (a *Agent) Twin() *Agent {
	other := *a
	other.instance = rand.Text()
	return &other
}
