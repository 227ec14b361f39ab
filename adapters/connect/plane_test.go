package connect_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"berth/adapters/connect"
	"berth/application/relay"
	"berth/domain/fault"
	"berth/ports/authority"
	"berth/ports/engine"
)

// plane is a small node in memory: tenants with routes, idempotent publishes, attachments. A device's token is
// "tenant.principal", a handle "principal-route". Faults are injected by name.
type plane struct {
	mu       sync.Mutex
	tokens   map[string]error // refused tokens
	entering error
	entered  func(relay.Line) // is told of a session before Enter returns
	waiting  int              // publishes
	filing   error
	denying  error // of transfers that have begun
	where    []func() (relay.Where, error) // answers of Locate and Relocate, in order; then here
	believed []*int64
	tenants  map[string]*tenantData
	sessions map[*session]struct{}
	left     int
	instead  func(relay.Publish, func(int64, error)) // of publishing, where it is not nil
	hold     chan struct{}                           // publishes wait for it, where it is not nil
	taking   chan struct{}                           // Take waits for it, where it is not nil
	failing  error                                   // of Take
	takes    atomic.Int64                            // how often it was called
	follows  func()                                  // is called when a subscription is there, before Subscribe returns
}

type tenantData struct {
	routes  map[string][]engine.Message
	files   map[[32]byte][]byte
	partial map[[32]byte][]byte
	quota   int64
}

func newPlane() *plane {
	return &plane{tokens: map[string]error{}, tenants: map[string]*tenantData{}, sessions: map[*session]struct{}{}}
}

func (p *plane) Authenticate(token string) (relay.Device, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.tokens[token]; err != nil {
		return relay.Device{}, err
	}
	tenant, principal, ok := strings.Cut(token, ".")
	if !ok {
		return relay.Device{}, fault.New(fault.Unauthenticated, "device_token_malformed", "no token")
	}
	return relay.Device{Tenant: tenant, Principal: principal, TokenID: token, ExpiresAt: time.Now().Add(time.Minute)}, nil
}

func (p *plane) Locate(_ context.Context, _ string, forwarded *int64) (relay.Where, error) {
	p.mu.Lock()
	p.believed = append(p.believed, forwarded)
	var answer func() (relay.Where, error)
	if len(p.where) > 0 {
		answer, p.where = p.where[0], p.where[1:]
	}
	p.mu.Unlock()
	if answer == nil {
		return relay.Where{Here: true}, nil
	}
	return answer()
}

func (p *plane) Relocate(ctx context.Context, refused authority.Route) (relay.Where, error) {
	return p.Locate(ctx, refused.Tenant, nil)
}

func (p *plane) tenant(name string) *tenantData {
	t := p.tenants[name]
	if t == nil {
		t = &tenantData{routes: map[string][]engine.Message{}, files: map[[32]byte][]byte{}, partial: map[[32]byte][]byte{}, quota: 1 << 20}
		p.tenants[name] = t
	}
	return t
}

func (p *plane) Enter(_ context.Context, d relay.Device, l relay.Line) (connect.Session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.entering != nil {
		return nil, p.entering
	}
	s := &session{plane: p, device: d, line: l, after: map[string]int64{}}
	p.sessions[s] = struct{}{}
	if p.entered != nil {
		p.entered(l)
	}
	return s, nil
}

func (p *plane) Files(_ context.Context, d relay.Device) (connect.Files, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.filing != nil {
		return nil, p.filing
	}
	return &files{p, d}, nil
}

// stored is how many messages a tenant's route holds.
func (p *plane) stored(tenant, route string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.tenant(tenant).routes[route])
}

// publishing is how many publishes were ever held.
func (p *plane) publishing() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting
}

// open is how many sessions are open.
func (p *plane) open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.sessions)
}

// end ends the sessions of a principal.
func (p *plane) end(principal string, e relay.End) {
	p.mu.Lock()
	var lines []relay.Line
	for s := range p.sessions {
		if s.device.Principal == principal {
			lines = append(lines, s.line)
		}
	}
	p.mu.Unlock()
	for _, l := range lines {
		l.End(e)
	}
}

type session struct {
	plane  *plane
	device relay.Device
	line   relay.Line
	after  map[string]int64
}

// route finds what a handle stands for; another principal's is a stranger.
func (s *session) route(handle string) (string, error) {
	principal, route, ok := strings.Cut(handle, "-")
	if !ok || principal != s.device.Principal {
		return "", fault.New(fault.Forbidden, "handle_refused", "the handle is none of the device's")
	}
	return route, nil
}

func (s *session) Publish(p relay.Publish, done func(int64, error)) {
	s.plane.mu.Lock()
	hold, instead := s.plane.hold, s.plane.instead
	s.plane.mu.Unlock()
	if instead != nil {
		instead(p, done)
		return
	}
	if hold == nil {
		done(s.publish(p))
		return
	}
	s.plane.mu.Lock()
	s.plane.waiting++
	s.plane.mu.Unlock()
	go func() {
		<-hold
		done(s.publish(p))
	}()
}

func (s *session) publish(p relay.Publish) (int64, error) {
	route, err := s.route(p.Handle)
	switch {
	case err != nil:
		return 0, err
	case p.ID == "" || len(p.ID) > 64:
		return 0, fault.New(fault.Invalid, "publish_id_invalid", "an id has 1 to 64 characters")
	case len(p.Body) > 48<<10:
		return 0, fault.New(fault.Invalid, "body_too_large", "a body has at most 48 KiB")
	case p.ID == "flood":
		return 0, fault.New(fault.Exhausted, "publish_rate", "too many publishes").After(1500 * time.Millisecond)
	case p.ID == "break":
		return 0, errors.New("a secret of the machine room")
	}
	s.plane.mu.Lock()
	defer s.plane.mu.Unlock()
	t := s.plane.tenant(s.device.Tenant)
	for _, m := range t.routes[route] {
		if m.ID == p.ID && m.From == s.device.Principal {
			if !bytes.Equal(m.Body, p.Body) {
				return 0, fault.New(fault.Conflict, "publish_id_reused", "the id was used with another body")
			}
			return m.Seq, nil
		}
	}
	m := engine.Message{
		Route: route, Seq: int64(len(t.routes[route]) + 1), ID: p.ID, From: s.device.Principal, Body: p.Body,
		At: time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC),
	}
	t.routes[route] = append(t.routes[route], m)
	for other := range s.plane.sessions {
		if other.device.Tenant == s.device.Tenant && len(other.after) > 0 {
			other.line.Wake()
		}
	}
	return m.Seq, nil
}

func (s *session) Subscribe(_ context.Context, handle string, after int64) (relay.Subscribed, error) {
	route, err := s.route(handle)
	if err != nil {
		return relay.Subscribed{}, err
	}
	s.plane.mu.Lock()
	defer func() {
		follows := s.plane.follows
		s.plane.mu.Unlock()
		if follows != nil {
			follows()
		}
	}()
	head := int64(len(s.plane.tenant(s.device.Tenant).routes[route]))
	if after > head {
		return relay.Subscribed{}, fault.New(fault.Invalid, "after_beyond_end", "the route has %d messages", head)
	}
	s.after[route] = after
	s.line.Wake()
	return relay.Subscribed{Route: route, Head: head}, nil
}

func (s *session) Unsubscribe(handle string) (string, error) {
	route, err := s.route(handle)
	if err != nil {
		return "", err
	}
	s.plane.mu.Lock()
	defer s.plane.mu.Unlock()
	delete(s.after, route)
	return route, nil
}

func (s *session) Take(_ context.Context, most int) (out []engine.Message, more bool, err error) {
	s.plane.mu.Lock()
	wait := s.plane.taking
	s.plane.mu.Unlock()
	s.plane.takes.Add(1)
	if wait != nil {
		<-wait
	}
	s.plane.mu.Lock()
	defer s.plane.mu.Unlock()
	if s.plane.failing != nil {
		return nil, false, s.plane.failing
	}
	for route, after := range s.after {
		for _, m := range s.plane.tenant(s.device.Tenant).routes[route][after:] {
			if most <= 0 {
				return out, true, nil
			}
			out, most = append(out, m), most-len(m.Body)
			s.after[route] = m.Seq
		}
	}
	return out, false, nil
}

func (s *session) Revoke(_ context.Context, principal string) (int64, error) {
	if s.device.Principal != "owner" {
		return 0, fault.New(fault.Forbidden, "revoke_not_allowed", "only an owner revokes")
	}
	s.plane.end(principal, relay.End{Reason: relay.Revoked})
	return 7, nil
}

func (s *session) Renew(token string) (time.Time, error) {
	d, err := s.plane.Authenticate(token)
	if err == nil && d.Principal != s.device.Principal {
		err = fault.New(fault.Forbidden, "device_token_of_another", "the token is another device's")
	}
	return time.Date(2026, 1, 2, 3, 14, 5, 0, time.UTC), err
}

func (s *session) Leave() {
	s.plane.mu.Lock()
	defer s.plane.mu.Unlock()
	delete(s.plane.sessions, s)
	s.plane.left++
}

type files struct {
	plane  *plane
	device relay.Device
}

func (f *files) Stat(_ context.Context, digest [32]byte) (int64, error) {
	f.plane.mu.Lock()
	defer f.plane.mu.Unlock()
	content, ok := f.plane.tenant(f.device.Tenant).files[digest]
	if !ok {
		return 0, fault.New(fault.NotFound, "attachment_missing", "there is no such attachment")
	}
	return int64(len(content)), nil
}

type content struct{ *bytes.Reader }

func (content) Close() error { return nil }

func (f *files) Content(_ context.Context, digest [32]byte) (io.ReadSeekCloser, error) {
	f.plane.mu.Lock()
	defer f.plane.mu.Unlock()
	return content{bytes.NewReader(f.plane.tenant(f.device.Tenant).files[digest])}, nil
}

func (f *files) Uploaded(_ context.Context, digest [32]byte) (int64, error) {
	f.plane.mu.Lock()
	defer f.plane.mu.Unlock()
	return int64(len(f.plane.tenant(f.device.Tenant).partial[digest])), nil
}

func (f *files) Upload(_ context.Context, u relay.Upload, from io.Reader) (bool, error) {
	f.plane.mu.Lock()
	t := f.plane.tenant(f.device.Tenant)
	have := t.partial[u.Digest]
	quota := t.quota
	f.plane.mu.Unlock()
	if int64(len(have)) != u.Offset {
		return false, fault.New(fault.Conflict, "upload_offset", "the upload is at %d", len(have))
	}
	if u.Size > quota {
		return false, fault.New(fault.Exhausted, "tenant_quota_exceeded", "the tenant's quota is used up")
	}
	part, err := io.ReadAll(io.LimitReader(from, u.Length))
	if err == nil && int64(len(part)) < u.Length {
		err = io.ErrUnexpectedEOF
	}
	f.plane.mu.Lock()
	defer f.plane.mu.Unlock()
	have = append(have, part...)
	t.partial[u.Digest] = have
	if err != nil || int64(len(have)) < u.Size {
		return false, err
	}
	delete(t.partial, u.Digest)
	if sha256.Sum256(have) != u.Digest {
		return false, fault.New(fault.Invalid, "attachment_digest_differs", "the content has another digest")
	}
	t.files[u.Digest] = have
	return true, nil
}

func (f *files) Permitted() error {
	f.plane.mu.Lock()
	defer f.plane.mu.Unlock()
	return f.plane.denying
}

func (f *files) Close() {}
