package wire

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"berth/e2e/harness"
)

// audience is where the tokens of devices ask for: the public address of every berthd here.
const audience = "https://api.berth.test"

// player plays one story against a running berthd.
type player struct {
	server *harness.Server
	*values
	client *http.Client
	record bool // take any answer that was not recorded yet
}

// exchange is a step that was played.
type exchange struct {
	step *Step
	got  actual
	// What was bound before the step, for comparing its answer again.
	before map[string]any
}

// newPlayer starts a berthd with the story's settings. Through wrap a test may bend the answers; nil leaves them.
func newPlayer(t testing.TB, s *Story, wrap func(http.RoundTripper) http.RoundTripper) *player {
	t.Helper()
	env := []string{"BERTH_PUBLIC_URL=" + audience}
	for name, value := range s.Settings {
		env = append(env, name+"="+value)
	}
	p := &player{server: harness.Start(t, env...), values: newValues()}
	socket := p.server.Socket
	dialer := &net.Dialer{}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, harness.InternalHost) {
			return dialer.DialContext(ctx, "unix", socket)
		}
		return dialer.DialContext(ctx, network, address)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	p.client = &http.Client{Timeout: time.Minute, Transport: transport}
	if wrap != nil {
		p.client.Transport = wrap(transport)
	}
	if s.uses("{{registry}}") {
		p.bound["registry"] = stock(t)
	}
	p.bound["operator"] = p.server.Token
	p.bound["audience"] = audience
	return p
}

// play sends every step's request and compares the answers. It ends at the first that differs.
func (p *player) play(s *Story) ([]exchange, error) {
	var out []exchange
	for i, step := range s.Steps {
		before := maps.Clone(p.bound)
		got, err := p.step(step)
		if err != nil {
			return out, fmt.Errorf("step %d, %s (%s): %w", i+1, step.What, step.Request, err)
		}
		out = append(out, exchange{step, got, before})
	}
	return out, nil
}

func (p *player) step(s *Step) (actual, error) {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	deadline := time.Now().Add(30 * time.Second)
	for {
		got, err := p.send(s)
		if err != nil {
			return got, err
		}
		want, err := p.expected(s, got)
		if err != nil {
			return got, err
		}
		found := differences(want, got, p.values)
		if len(found) == 0 || !s.Until || time.Now().After(deadline) {
			return got, failed(found, got)
		}
		<-again.C
	}
}

// expected is the recorded answer; of one that is still to be recorded, what its author wrote of it.
func (p *player) expected(s *Step, got actual) (Answer, error) {
	if s.recorded() {
		return s.Answer, nil
	}
	if !p.record {
		return Answer{}, errors.New("the answer was not recorded yet: run the tests with -update")
	}
	want := Answer{Status: got.status, Headers: s.Answer.Headers, Body: s.Answer.Body}
	if want.Body == nil {
		want.Body = got.body
	}
	return want, nil
}

func failed(found []string, got actual) error {
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("the answer is not what was recorded:\n  %s\nit is %d %s",
		strings.Join(found, "\n  "), got.status, show(got.body))
}

func (p *player) send(s *Step) (actual, error) {
	req, err := p.request(s)
	if err != nil {
		return actual{}, err
	}
	if s.Locked {
		defer p.server.LockDatabase()()
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return actual{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return actual{}, err
	}
	got := actual{status: resp.StatusCode, header: resp.Header}
	if len(data) > 0 {
		if got.body, err = read(resp.Header.Get("Content-Type"), data); err != nil {
			return got, fmt.Errorf("%d %s: %w", got.status, data, err)
		}
	}
	return got, nil
}

// request makes the step's request: its body first, for what proves the sender is made over it.
func (p *player) request(s *Step) (*http.Request, error) {
	body, err := p.body(s)
	if err != nil {
		return nil, err
	}
	target, err := p.text(s.target())
	if err != nil {
		return nil, err
	}
	target = strings.TrimPrefix(target, audience) // of a link that was given out
	base := p.server.API
	switch {
	case strings.HasPrefix(target, "/internal/"), strings.HasPrefix(target, "/trust-bundle"):
		base = "http://" + harness.InternalHost
	case strings.HasPrefix(target, "/enroll/"):
		base = p.server.Enrolment
	}
	req, err := http.NewRequestWithContext(context.Background(), s.method(), base+target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range s.Headers {
		text, err := p.text(value)
		if err != nil {
			return nil, err
		}
		req.Header.Set(name, text)
	}
	return req, p.prove(req, s, body)
}

// prove adds what proves who asks.
func (p *player) prove(req *http.Request, s *Step, body []byte) error {
	kind, name, _ := strings.Cut(s.As, " ")
	switch kind {
	case "":
		return nil
	case "operator":
		req.Header.Set("Authorization", "Bearer "+p.server.Token)
		return nil
	case "node":
		value, err := p.assert(s, name, req.URL.RequestURI(), body)
		req.Header.Set(assertionHeader, value)
		return err
	}
	return fmt.Errorf("nobody knows how to ask as %q", s.As)
}

// body makes the step's body and its JWT, whichever is part of the other.
func (p *player) body(s *Step) ([]byte, error) {
	clear(p.ofStep)
	p.digest(nil)
	if s.Body == nil {
		return nil, p.sign(s)
	}
	if strings.Contains(show(s.Body), "{{signed}}") {
		if err := p.sign(s); err != nil {
			return nil, err
		}
	}
	x, err := p.expand(s.Body)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(x)
	if err != nil {
		return nil, err
	}
	p.digest(data)
	if p.ofStep["signed"] == "" {
		err = p.sign(s)
	}
	return data, err
}

// digest binds that of the step's body.
func (p *player) digest(body []byte) {
	sum := sha256.Sum256(body)
	p.ofStep["sha256"], p.ofStep["sha256url"] = hex.EncodeToString(sum[:]), base64.RawURLEncoding.EncodeToString(sum[:])
}

// sign makes the step's JWT.
func (p *player) sign(s *Step) error {
	if s.Sign == nil {
		return nil
	}
	claims, err := p.expand(s.Sign.Claims)
	if err != nil {
		return err
	}
	p.ofStep["signed"], err = jwt(p.key(s.Sign.Key), s.Sign.Header, claims)
	return err
}

// assert is what the ingress says of a node, which is named <region>/<node>.
func (p *player) assert(s *Step, node, target string, body []byte) (string, error) {
	spiffe := "spiffe://berth.test/relay/" + node
	name, ok := p.bound["certificate of "+spiffe].(string)
	if !ok {
		return "", fmt.Errorf("node %s has no certificate", node)
	}
	fingerprint, err := p.fingerprint(name)
	if err != nil {
		return "", err
	}
	said := honest(spiffe, fingerprint, s.method(), target, harness.InternalHost, body)
	said.SID = p.server.Secret.ID
	other := map[string]any{}
	for field, value := range s.Assertion {
		if other[field], err = p.expand(value); err != nil {
			return "", err
		}
	}
	if said, err = said.bend(other); err != nil {
		return "", err
	}
	return said.seal(p.server.Secret.Key)
}
