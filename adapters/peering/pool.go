package peering

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"sync"

	"berth/domain/fault"
)

// pool keeps connections to peers from one request to the next. They are kept by where a peer is and who it must be, so that none
// is used for another, and each is cut as soon as its peer is not believed any more.
type pool struct {
	*http.Transport
	f *Forwarder

	mu     sync.Mutex
	places map[string]place // by the host that stands for it
}

const (
	mostPlaces = 4096
	mostIdle   = 16 // connections to one peer
)

func newPool(f *Forwarder) *pool {
	var one http.Protocols
	one.SetHTTP1(true)
	p := &pool{f: f, places: map[string]place{}}
	p.Transport = &http.Transport{
		DialTLSContext: p.dial, Protocols: &one, DisableCompression: true, MaxIdleConnsPerHost: mostIdle, IdleConnTimeout: f.o.Limits.KeepAlive,
		ResponseHeaderTimeout: f.o.Limits.AnswerTimeout, ExpectContinueTimeout: f.o.Limits.ContinueTimeout,
		MaxResponseHeaderBytes: maxAnswerHead, ReadBufferSize: pieceSize, WriteBufferSize: pieceSize,
	}
	return p
}

// host names a place, for the transport alone.
func (p *pool) host(at place) string {
	sum := sha256.Sum256([]byte(at.spiffeID + "\n" + at.address))
	host := hex.EncodeToString(sum[:16]) + ".peer"
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.places[host]; !ok && len(p.places) >= mostPlaces {
		clear(p.places)
	}
	p.places[host] = at
	return host
}

func (p *pool) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(address)
	p.mu.Lock()
	at, ok := p.places[host]
	p.mu.Unlock()
	if !ok {
		return nil, fault.New(fault.Internal, "internal", "there is no place of this name")
	}
	c, err := p.f.dial(ctx, at)
	if err != nil {
		return nil, err
	}
	return &moving{c, p.f.o.Limits.StallTimeout}, nil
}

func (p *pool) close() { p.CloseIdleConnections() }
