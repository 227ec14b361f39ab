package ociregistry

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"berth/domain/delivery"
)

// maxAnswer bounds every answer's body: manifests, configurations, tokens and charts.
const maxAnswer = 4 << 20

// maxRedirects is how often one request may be sent on. The library's own check of redirects takes the place of net/http's,
// which had a bound.
const maxRedirects = 5

var errTooMuch = errors.New("an answer is longer than 4 MiB")

// gate is the only way to the network. Whatever makes a request, the library, a redirect or a challenge that names an
// authorization server, it goes to a registered registry, by the scheme that it is registered with, or not at all.
type gate struct {
	transports *transports
	open       map[string]delivery.Registry // by scheme://host:port

	mu  sync.Mutex
	out string // the first host that was refused
}

func newGate(t *transports, registries []delivery.Registry) *gate {
	g := &gate{transports: t, open: map[string]delivery.Registry{}}
	for _, r := range registries {
		scheme := "https"
		if r.PlainHTTP {
			scheme = "http"
		}
		g.open[origin(scheme, r.Host)] = r
		if strings.EqualFold(r.Host, "docker.io") { // which answers by another name
			g.open[origin(scheme, "index.docker.io")] = r
		}
	}
	return g
}

func origin(scheme, host string) string {
	host = strings.ToLower(host)
	if strings.LastIndexByte(host, ':') <= strings.LastIndexByte(host, ']') {
		if scheme == "http" {
			host += ":80"
		} else {
			host += ":443"
		}
	}
	return scheme + "://" + host
}

// RoundTrip is http.RoundTripper's.
func (g *gate) RoundTrip(in *http.Request) (*http.Response, error) {
	r, ok := g.open[origin(in.URL.Scheme, in.URL.Host)]
	if !ok || in.Host != "" && !strings.EqualFold(in.Host, in.URL.Host) {
		g.refuse(in)
		return nil, fmt.Errorf("%s is no registered registry", origin(in.URL.Scheme, in.URL.Host))
	}
	if redirected(in) > maxRedirects {
		return nil, fmt.Errorf("%s sends on without end", in.URL.Host)
	}
	t, err := g.transports.of(r)
	if err != nil {
		return nil, err
	}
	response, err := t.RoundTrip(in)
	if err != nil {
		return nil, err
	}
	response.Body = &bounded{ReadCloser: response.Body, left: maxAnswer}
	return response, nil
}

// redirected counts the redirects that led to a request, no further than is of interest.
func redirected(in *http.Request) int {
	n := 0
	for n <= maxRedirects && in.Response != nil && in.Response.Request != nil {
		in = in.Response.Request
		n++
	}
	return n
}

// refuse remembers a host for the person who has to register it. That a registry is not asked by the other scheme as well
// is no news.
func (g *gate) refuse(in *http.Request) {
	for _, scheme := range []string{"http", "https"} {
		if _, ok := g.open[origin(scheme, in.URL.Host)]; ok {
			return
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.out == "" {
		g.out = in.URL.Host
	}
}

func (g *gate) refused() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.out
}

// bounded is a body that fails where it does not end in time.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		var one [1]byte
		if n, err := b.ReadCloser.Read(one[:]); n == 0 {
			return 0, err
		}
		return 0, errTooMuch
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
