package apiclient

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"sync/atomic"
	"time"

	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/authority"
)

// Authority is the control plane as a node sees it, over the network. Its methods are safe for concurrent use; what each
// does and which faults it has is said at ports/authority. Use NewAuthority, and Close when done.
type Authority struct {
	options  AuthorityOptions
	channels atomic.Pointer[channels]
}

// AuthorityOptions say where the control plane is. Control is the ingress, with the node's certificate; Enroll is the
// listener of enrolment, which takes none.
type AuthorityOptions struct {
	Node    string
	Control Options
	Enroll  Options
	// Roots is who may sign the certificates of both, asked whenever connections are made anew. Where it is nil, or gives
	// nil, that is what the options say.
	Roots func() *x509.CertPool
}

// channels are clients with connections of their own each, so that none waits for another: what hangs in a long poll
// holds up no beat, and the poll that is the safety net shares nothing with the hints (A4).
type channels struct {
	calls, polls, waits Node
	enrol               *Client
}

var (
	_ authority.Enrolment      = (*Authority)(nil)
	_ authority.Credentials    = (*Authority)(nil)
	_ authority.Leases         = (*Authority)(nil)
	_ authority.Assignments    = (*Authority)(nil)
	_ authority.Authorizations = (*Authority)(nil)
	_ authority.Migrations     = (*Authority)(nil)
)

// NewAuthority returns the control plane at the places given. Fault: Invalid invalid_url.
func NewAuthority(o AuthorityOptions) (*Authority, error) {
	a := &Authority{options: o}
	c, err := o.open()
	if err != nil {
		return nil, err
	}
	a.channels.Store(c)
	return a, nil
}

func (o AuthorityOptions) open() (*channels, error) {
	if o.Roots != nil {
		if roots := o.Roots(); roots != nil {
			o.Control.CA, o.Enroll.CA = roots, roots
		}
	}
	enrol, err := New(o.Enroll)
	if err != nil {
		return nil, err
	}
	var out [3]Node
	for i := range out {
		c, err := New(o.Control)
		if err != nil {
			return nil, err
		}
		out[i] = NewNode(c, o.Node)
	}
	return &channels{out[0], out[1], out[2], enrol}, nil
}

func (c *channels) close() {
	for _, n := range []Node{c.calls, c.polls, c.waits} {
		n.c.Close()
	}
	c.enrol.Close()
}

// Renew has every later request go over a new connection, on which certificate and roots are asked for anew. Requests in flight
// end on the connections that they have, which are then closed.
func (a *Authority) Renew() {
	next, err := a.options.open()
	if err != nil { // the same options were opened before
		return
	}
	a.channels.Swap(next).close()
}

// Close lets go of idle connections.
func (a *Authority) Close() { a.channels.Load().close() }

func (a *Authority) calls() Node { return a.channels.Load().calls }

// Enroll gives the join token and gets a certificate.
func (a *Authority) Enroll(ctx context.Context, joinToken string, csr []byte) (authority.Issued, error) {
	out, err := NewEnrolment(a.channels.Load().enrol).Enroll(ctx, contract.Enroll{JoinToken: joinToken, CSR: requestPEM(csr)})
	return issued(out, err)
}

// Rotate gets the next certificate over the current one.
func (a *Authority) Rotate(ctx context.Context, csr []byte) (authority.Issued, error) {
	out, err := a.calls().Rotate(ctx, contract.Rotate{CSR: requestPEM(csr)})
	return issued(out, err)
}

func requestPEM(csr []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: csr}))
}

func issued(in contract.Enrolled, err error) (authority.Issued, error) {
	if err != nil {
		return authority.Issued{}, err
	}
	out := authority.Issued{ServerTime: in.ServerTime}
	for _, text := range []string{in.Certificate, in.Chain} {
		for rest := []byte(text); ; {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			out.Chain = append(out.Chain, block.Bytes)
		}
	}
	if len(out.Chain) == 0 {
		return authority.Issued{}, unexpected("there is no certificate in the answer")
	}
	return out, nil
}

// Register registers this process as the node.
func (a *Authority) Register(ctx context.Context, r placement.Registration) (int64, error) {
	out, err := a.calls().Register(ctx, contract.Register{
		BootID: r.BootID, StorageID: r.StorageID, Version: r.Version, Advertise: r.Advertise,
	})
	if err == nil && out.Generation < 1 {
		err = unexpected("a heartbeat generation is at least 1")
	}
	return out.Generation, err
}

// Beat asks for a lease.
func (a *Authority) Beat(ctx context.Context, b authority.Beat) (authority.Lease, error) {
	in := contract.Heartbeat{Generation: b.Generation, Sequence: b.Sequence, Usage: contract.Capacity(b.Usage)}
	if b.Capacity != nil {
		in.Capacity = new(contract.Capacity(*b.Capacity))
	}
	out, err := a.calls().Heartbeat(ctx, in)
	if err != nil {
		return authority.Lease{}, err
	}
	const longest = 10 * time.Minute
	if out.LeaseMS <= 0 || out.LeaseMS > longest.Milliseconds() || out.LeaseEpoch < 1 {
		return authority.Lease{}, unexpected("a lease lasts up to 10 minutes and has an epoch")
	}
	return authority.Lease{
		For: time.Duration(out.LeaseMS) * time.Millisecond, Epoch: out.LeaseEpoch, ServerTime: out.ServerTime,
		Status: out.Status, Schedulable: out.Schedulable, Assignments: out.AssignmentsVersion,
	}, nil
}

// Assignments answers all that concerns the node.
func (a *Authority) Assignments(ctx context.Context, known int64, wait time.Duration) (authority.Assigned, error) {
	all, changed, err := a.channels.Load().waits.Assignments(ctx, known, wait)
	if err != nil || !changed {
		return authority.Assigned{Version: known, Unchanged: true}, err
	}
	out := authority.Assigned{Version: all.Version}
	for _, p := range all.Placements {
		one, err := assignment(p)
		if err != nil {
			return authority.Assigned{}, err
		}
		out.Placements = append(out.Placements, one)
	}
	return out, nil
}

// Snapshot answers all of a tenant.
func (a *Authority) Snapshot(ctx context.Context, tenant string, generation int64) (authority.Snapshot, error) {
	out, err := a.calls().Snapshot(ctx, tenant, generation)
	if err != nil {
		return authority.Snapshot{}, err
	}
	return snapshot(out)
}

// Poll names those of the tenants that are not as the node believes.
func (a *Authority) Poll(ctx context.Context, known []authority.Known, wait time.Duration) ([]authority.Differing, error) {
	in := make([]contract.Known, 0, len(known))
	for _, k := range known {
		in = append(in, contract.Known(k))
	}
	node := a.channels.Load().polls
	if wait > 0 {
		node = a.channels.Load().waits
	}
	answer, err := node.Poll(ctx, in, wait)
	if err != nil {
		return nil, err
	}
	out := make([]authority.Differing, 0, len(answer.Tenants))
	for _, t := range answer.Tenants {
		one, err := differing(t)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// Prepared reports that the base was copied ahead.
func (a *Authority) Prepared(ctx context.Context, migration string, generation, baseSequence int64) error {
	return a.calls().Prepared(ctx, migration, contract.Prepared{Generation: generation, BaseSequence: baseSequence})
}

// Quiesced reports that every write is refused and drained.
func (a *Authority) Quiesced(ctx context.Context, migration string, generation int64, m placement.Manifest) error {
	return a.calls().Quiesced(ctx, migration, contract.Quiesced{
		Generation: generation, LastSequence: m.LastSequence, ManifestRoot: m.Root,
	})
}

// Copied reports that the manifest was verified and installed.
func (a *Authority) Copied(ctx context.Context, migration string, generation int64, m placement.Manifest) error {
	return a.calls().Copied(ctx, migration, contract.Copied{
		Generation: generation, LastSequence: m.LastSequence, ManifestRoot: m.Root,
	})
}

// Drained reports that the last connection is closed.
func (a *Authority) Drained(ctx context.Context, migration string, generation int64) error {
	return a.calls().Drained(ctx, migration, contract.Drained{Generation: generation})
}

// Failed reports that a step can not be done.
func (a *Authority) Failed(ctx context.Context, migration string, generation int64, step, reason string) error {
	return a.calls().Failed(ctx, migration, contract.Failed{Generation: generation, Step: step, Reason: reason})
}

func unexpected(detail string) error {
	return fault.New(fault.Internal, "unexpected_answer", "the answer is not of this contract: %s", detail)
}
