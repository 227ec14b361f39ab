package connectclient

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// Options say where a device connects and how.
type Options struct {
	URL    string      // wss://host[:port]/connect/v1, as the API gives it
	Tokens Source      // of the device
	TLS    *tls.Config // nil for the system's roots
	// Dial reaches the origin some other way than by its name; nil for the usual one.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Pause is the longest between two attempts that fail; 0 for 15 s.
	Pause time.Duration
	// Notify is told what becomes of the connection, on the goroutine that reads; nil for nobody.
	Notify func(Event)
}

// Source gives access tokens; Tokens is one.
type Source interface {
	Token(ctx context.Context) (contract.AccessToken, error)
	Forget(token string)
}

// Event is something that became of a client's connection.
type Event struct {
	Connected bool
	Err       error         // why there is no connection: a *Goaway, or what else it is
	Retry     time.Duration // how long it is waited for the next one
}

const handshakeBound = 20 * time.Second

// transport speaks HTTP/1.1 with the origin, as WebSocket needs.
func (o Options) transport() *http.Transport {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.TLS != nil {
		trust = o.TLS.Clone()
	}
	trust.NextProtos = []string{"http/1.1"}
	dial := o.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: handshakeBound}).DialContext
	}
	return &http.Transport{
		TLSClientConfig: trust, DialContext: dial, TLSHandshakeTimeout: handshakeBound, MaxIdleConnsPerHost: 2, DisableCompression: true,
		IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: contract.MaxHeader, ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10,
	}
}

// client goes where it is told, and nowhere that it is sent to: a token is for one origin.
func (o Options) client(t *http.Transport) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func errURL() error {
	return fault.New(fault.Invalid, "invalid_url", "an origin reads wss://host[:port]/connect/v1")
}

// attachment is the URL of an attachment at the same origin. Fault: Invalid invalid_url.
func (o Options) attachment(digest string) (string, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "wss" && u.Scheme != "https" {
		return "", errURL()
	}
	return "https://" + u.Host + contract.AttachmentsPath + strings.ToLower(digest), nil
}
