package relayd

import (
	"context"
	"io"

	"berth/adapters/connect"
	"berth/application/relay"
	"berth/ports/engine"
)

// Plane is the node as the devices' connections see it.
type Plane struct{ *relay.Node }

var _ connect.Plane = Plane{}

// Locate says who serves a tenant.
func (p Plane) Locate(ctx context.Context, tenant string, forwarded *int64) (connect.Where, error) {
	where, err := p.Node.Locate(ctx, tenant, forwarded)
	return connect.Where(where), err
}

// Enter opens a session.
func (p Plane) Enter(ctx context.Context, d relay.Device, l relay.Line) (connect.Session, error) {
	s, err := p.Node.Enter(ctx, d, l)
	if err != nil {
		return nil, err
	}
	return session{s}, nil
}

// Files opens a device's way to its tenant's attachments.
func (p Plane) Files(ctx context.Context, d relay.Device) (connect.Files, error) {
	f, err := p.Node.Files(ctx, d)
	if err != nil {
		return nil, err
	}
	return files{f}, nil
}

type session struct{ *relay.Session }

func (s session) Publish(p connect.Publish, done func(int64, error)) {
	s.Session.Publish(relay.Publish(p), done)
}

func (s session) Subscribe(ctx context.Context, handle string, after int64) (connect.Subscribed, error) {
	got, err := s.Session.Subscribe(ctx, handle, after)
	return connect.Subscribed(got), err
}

type files struct{ *relay.Files }

// Upload takes a part; generation and principal are the node's to say.
func (f files) Upload(ctx context.Context, p engine.Part, from io.Reader) (bool, error) {
	return f.Files.Upload(ctx, relay.Upload{Digest: p.Digest, Offset: p.Offset, Length: p.Length, Size: p.Size}, from)
}
