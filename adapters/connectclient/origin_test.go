package connectclient_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"go.uber.org/goleak"

	"berth/adapters/connectclient"
	"berth/adapters/contract"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// origin is a server of the test's own, which does with its nth connection what the test says.
type origin struct {
	t      *testing.T
	server *httptest.Server
	came   atomic.Int64
}

type line struct {
	t  *testing.T
	ws *websocket.Conn
}

func newOrigin(t *testing.T, serve func(n int64, l *line)) *origin {
	t.Helper()
	o := &origin{t: t}
	o.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{contract.ConnectProtocol}})
		if err != nil {
			t.Error(err)
			return
		}
		defer ws.CloseNow()
		serve(o.came.Add(1), &line{t, ws})
	}))
	t.Cleanup(o.server.Close)
	return o
}

func trusting(s *httptest.Server) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func (o *origin) options() connectclient.Options {
	return connectclient.Options{
		URL: "wss" + strings.TrimPrefix(o.server.URL, "https") + contract.ConnectPath, TLS: trusting(o.server), Tokens: lasting{},
	}
}

// dial connects a client that the test's end closes.
func (o *origin) dial(opts connectclient.Options) *connectclient.Client {
	c := connectclient.Dial(o.t.Context(), opts)
	o.t.Cleanup(func() { _ = c.Close() })
	return c
}

// lasting gives one token for ever.
type lasting struct{}

func (lasting) Token(context.Context) (contract.AccessToken, error) {
	return contract.AccessToken{AccessToken: "t", ExpiresAt: time.Now().Add(time.Hour)}, nil
}
func (lasting) Forget(string) {}

func (l *line) gets(op string) contract.Frame {
	l.t.Helper()
	var f contract.Frame
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, text, err := l.ws.Read(ctx)
	if err != nil || json.Unmarshal(text, &f) != nil || f.Op != op {
		l.t.Errorf("the origin got %s (%v), want %s", text, err, op)
	}
	return f
}

func (l *line) says(f contract.Frame) {
	l.t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		l.t.Error(err)
	}
	if err := l.ws.Write(context.Background(), websocket.MessageText, text); err != nil {
		l.t.Error(err)
	}
}

// waits until the client has parted.
func (l *line) waits() { _, _, _ = l.ws.Read(context.Background()) }

func message(seq int64) contract.Frame {
	return contract.Frame{Op: contract.OpMessage, Route: "main", Seq: seq, ID: "m", From: "p", Body: []byte(`1`)}
}
