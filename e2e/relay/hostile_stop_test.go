package relay

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// longPoll is a long poll that a test sends by itself, since the server may be gone before it answers.
func (w *world) longPoll(t *testing.T, n *harness.Node) *http.Request {
	t.Helper()
	const path = "/authorization/poll"
	body := `{"tenants":[],"wait":30}`
	target := "/nodes/" + n.ID + path
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+harness.InternalHost+"/internal/v1"+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(contract.HeaderAssertion, w.seal(w.Secret, n.Payload("POST", target, []byte(body))))
	return req
}

// A stop does not wait for those who wait: each long poll is answered at once, and told to come again.
func TestStopWithManyLongPolls(t *testing.T) {
	t.Parallel()
	const polls = 300
	w := newWorld(t)
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", w.Socket)
	}}}
	answers := make(chan string, polls)
	for range polls {
		req := w.longPoll(t, w.nodes["a"])
		go func() {
			resp, err := client.Do(req)
			if err != nil {
				answers <- err.Error()
				return
			}
			_ = resp.Body.Close()
			answers <- strconv.Itoa(resp.StatusCode) + " " + resp.Header.Get("Retry-After")
		}()
	}
	w.Eventually("all of them wait", func() bool { return w.Waiting() >= polls })
	start := time.Now()
	w.Stop()
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("the stop took %s", took)
	}
	for range polls {
		if a := <-answers; a != "503 1" {
			t.Fatalf("a long poll got %q", a)
		}
	}
}

// What was refused, left half sent or abandoned keeps nothing: no goroutine and no connection.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Do(w.Token, "GET", "/api/v1/nodes", nil)
	http.DefaultClient.CloseIdleConnections()
	settled := func() (goroutines, files int) {
		entries, err := os.ReadDir("/proc/" + strconv.Itoa(w.PID()) + "/fd")
		if err != nil {
			t.Fatal(err)
		}
		return w.gauge(t, "go_goroutines"), len(entries)
	}
	before, files := settled()
	bodies := []struct{ method, path, body, token string }{
		{"GET", "/api/v1/nodes", "", w.Token}, {"GET", "/nothing", "", w.Token}, {"GET", "/api/v1/nodes", "", "x"},
		{"POST", "/api/v1/regions", `{"id":`, w.Token}, {"POST", "/v1/devices/token", `{"assertion":"a.b.c"}`, ""},
		{"GET", "/api/v1/tenants/acme/migrations/none?wait=30s", "", w.Token},
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	atOnce(32, func(g int) string {
		for i := range 40 {
			b := bodies[(g+i)%len(bodies)]
			req, err := http.NewRequest(b.method, w.API+b.path, strings.NewReader(b.body))
			if err != nil {
				return err.Error()
			}
			req.Header.Set("Authorization", "Bearer "+b.token)
			req.Header.Set("Content-Type", "application/json")
			abandon(client, req, i%10 == 0)
		}
		return ""
	})
	for range 20 {
		wire := w.apiWire(t)
		wire.say(`{"id":`, "POST /api/v1/regions HTTP/1.1", "Host: x", "Authorization: Bearer "+w.Token,
			"Content-Type: application/json", "Content-Length: 100")
		_ = wire.conn.Close()
	}
	client.CloseIdleConnections()
	w.Eventually("goroutines and connections are back to what they were", func() bool {
		g, f := settled()
		return g <= before+8 && f <= files+8
	})
}

// abandon sends a request and does not care for the answer; early it does not even wait for one.
func abandon(client *http.Client, req *http.Request, early bool) {
	ctx, leave := context.WithCancel(req.Context())
	defer leave()
	if early {
		leave()
	}
	if resp, err := client.Do(req.WithContext(ctx)); err == nil {
		_ = resp.Body.Close()
	}
}

func (w *world) gauge(t *testing.T, name string) int {
	t.Helper()
	for line := range strings.SplitSeq(w.MetricsText(), "\n") {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

// A token that is revoked while its bearer waits for an answer gets none.
func TestTokenRevokedDuringALongPoll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := w.begin()
	var token contract.Token
	w.Operator("POST", "/api/v1/tokens", contract.NewToken{Name: "viewer", Role: "viewer"}, 201, &token)
	waiting := w.Waiting()
	answered := make(chan harness.Answer, 1)
	go func() { answered <- w.Do(token.Token, "GET", "/api/v1/tenants/acme/migrations/"+m.ID+"?wait=30s", nil) }()
	w.Eventually("the poll waits", func() bool { return w.Waiting() > waiting })
	w.Operator("POST", "/api/v1/tokens/"+token.ID+"/revoke", nil, 200, nil)
	m.Prepare()
	if a := <-answered; a.Slug() != "token_revoked" {
		t.Fatalf("a revoked token got %d %s", a.Status, a.Body)
	}
}

// What a file of secrets is overwritten with does not matter until it can be used: garbage, an open mode and nothing at
// all leave what was there, and the next good file is taken.
func TestSecretsFileGarbage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := w.nodes["a"]
	path := filepath.Join(w.Dir, "ingress.json")
	complaints := func() int { return strings.Count(w.Output(), "level=ERROR") }
	for _, text := range []string{"\x00\xff garbage", "", `{"secrets":[]}`, `{"secrets":[{"id":"s1","key":"AA=="}]}`} {
		told := complaints()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w.Reload()
		w.Eventually("it complains", func() bool { return complaints() > told })
		n.Call("GET", "/nodes/a/assignments", nil, 200, nil)
	}
	if strings.Contains(w.Output(), "garbage") {
		t.Error("the log repeats what stands in a file of secrets")
	}
	w.WriteSecrets(w.Secret)
	w.Reload()
	n.Beat()
}
