package desired

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"slices"
	"time"

	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/store"
)

// EnrollRequest asks to become the agent of a deployment (G1).
type EnrollRequest struct {
	Token      string // of a package
	LicenseKey string
	delivery.Enrolment
	Source string // where the request came from, for the audit log; may be empty
}

// TrustAnchor is a key that agents believe.
type TrustAnchor struct {
	KID         string
	Purpose     identity.KeyPurpose
	PublicKey   []byte
	VerifyUntil time.Time
}

// Enrolled is what an agent needs to begin.
type Enrolled struct {
	AgentID         string
	InstallID       string
	MinimumRevision int64 // the least revision that it may accept
	TrustAnchors    []TrustAnchor
	Wait            time.Duration // the longest that a poll may wait
	Interval        time.Duration // between polls that do not
}

// Enroll makes the agent of a deployment: the token works for one key, and again for the same one, so that a lost answer
// locks nobody out, as long as an operator does not have the agent forgotten. In the same step every secret that waited is sealed to the agent's key, and the wrapped copy is no
// more (D3). Faults: Invalid enrolment_token_malformed and those of delivery.NewAgent; Unauthenticated
// enrolment_token_unknown, enrolment_token_used, enrolment_token_expired, credentials_unknown; Conflict
// already_enrolled, license_inactive, desired_state_frozen; those of Publish.
func (d *Desired) Enroll(ctx context.Context, in EnrollRequest) (Enrolled, error) {
	key, err := enrolmentKey(in.Token)
	if err != nil {
		return Enrolled{}, err
	}
	pepper, err := d.Pepper(ctx)
	if err != nil {
		return Enrolled{}, err
	}
	e := enrolling{Desired: d, in: in, key: key, hash: entitlement.HashKey(pepper, in.LicenseKey)}
	return again(d, func() (Enrolled, error) { return e.enroll(ctx) })
}

type enrolling struct {
	*Desired
	in   EnrollRequest
	key  string // of the token
	hash [32]byte
}

// admission is what a token lets in.
type admission struct {
	install string
	secret  *identity.OneTimeSecret
	head    delivery.DesiredRecord
	already *delivery.Agent // the same agent that asks again
	secrets []delivery.SecretValue
	anchors []TrustAnchor
}

func (e enrolling) enroll(ctx context.Context) (Enrolled, error) {
	now := e.Clock.Now()
	var a admission
	err := e.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		a, err = e.admit(ctx, r, now)
		return err
	})
	if err != nil {
		return Enrolled{}, err
	}
	if a.already != nil {
		return e.answer(a, a.already.Record().ID, a.head.Proven), nil
	}
	agent, err := e.agent(a, now)
	if err != nil {
		return Enrolled{}, err
	}
	sealed, err := e.reseal(ctx, a.secrets, agent.Record().SealKey, now)
	if err != nil {
		return Enrolled{}, err
	}
	revision, err := e.publish(ctx, a, agent, sealed)
	if fault.SlugOf(err) == "already_enrolled" {
		return Enrolled{}, errMoved // it may have been the same key
	}
	if err != nil {
		return Enrolled{}, err
	}
	return e.answer(a, agent.Record().ID, revision), nil
}

// admit judges token, license key and deployment. It changes nothing.
func (e enrolling) admit(ctx context.Context, r *store.Roles, now time.Time) (admission, error) {
	var a admission
	secret, err := r.Secrets.Get(ctx, e.key)
	if fault.KindOf(err) == fault.NotFound {
		return a, identity.EnrolmentToken.Unknown()
	}
	if err != nil {
		return a, err
	}
	by, err := identity.KeyDigest(ed25519.PublicKey(e.in.PublicKey))
	if err != nil {
		return a, err
	}
	s, err := read(ctx, r, secret.Record().Subject, now, false)
	if err != nil {
		return a, err
	}
	if !s.License.Matches(e.hash) {
		return a, fault.New(fault.Unauthenticated, "credentials_unknown", "the license key is not that of the deployment")
	}
	if s.License.Record().Status == entitlement.LicenseRevoked {
		return a, fault.New(fault.Conflict, entitlement.LicenseInactive, "the license is revoked").Curable("ask for another license")
	}
	used := !secret.Record().UsedAt.IsZero()
	if err := secret.SpendBy(now, by); err != nil {
		return a, err
	}
	if used && s.Agent == nil { // it is for an answer that was lost, not for an agent that an operator had forgotten
		return a, identity.EnrolmentToken.Used()
	}
	a = admission{install: secret.Record().Subject, secret: secret, head: s.Head.Record(), secrets: s.Secrets}
	if s.Agent != nil {
		if !s.Agent.IsBy(e.in.PublicKey, e.in.SealKey) {
			return a, alreadyEnrolled()
		}
		a.already = s.Agent
	}
	if err := s.Head.Usable(); err != nil {
		return a, err
	}
	a.anchors, err = anchors(ctx, r, now)
	return a, err
}

func (e enrolling) agent(a admission, now time.Time) (*delivery.Agent, error) {
	enrolment := e.in.Enrolment
	enrolment.ID, enrolment.InstallID = e.IDs.New("agt"), a.install
	agent, err := delivery.NewAgent(enrolment, now)
	if err != nil {
		return nil, err
	}
	return agent, e.Crypto.Sealer.Check(enrolment.SealKey)
}

// reseal opens what waits in custody here and seals it to the agent. What was sealed to another agent's key stays as it
// is: nobody here can open it.
func (e enrolling) reseal(ctx context.Context, values []delivery.SecretValue, recipient string, now time.Time) ([]delivery.SecretValue, error) {
	var out []delivery.SecretValue
	for _, v := range values {
		if v.Custody != delivery.CustodyControl {
			continue
		}
		clear, err := e.Crypto.Wrapper.Unwrap(ctx, Binding(v.InstallID, v.App, v.Parameter), v.Text)
		if err != nil {
			return nil, err
		}
		text, err := e.Crypto.Sealer.Seal(recipient, placeOf(v), clear)
		clearBytes(clear)
		if err != nil {
			return nil, err
		}
		v.Custody, v.Recipient, v.Text, v.SetAt = delivery.CustodyAgent, recipient, text, now
		out = append(out, v)
	}
	return out, nil
}

func clearBytes(b []byte) {
	for i := range b {
		b[i] = 0
	}
}

func (e enrolling) publish(ctx context.Context, a admission, agent *delivery.Agent, sealed []delivery.SecretValue) (int64, error) {
	record := agent.Record()
	actor := audit.Actor{Kind: audit.ActorAgent, ID: record.ID, Source: e.in.Source}
	published, err := e.Publish(ctx, Proposal{
		Install: a.install, Actor: actor, Reason: "enrolment of " + record.ID, Secrets: sealed, enrolling: agent,
		Decide: func(s Situation) (delivery.Edit, error) {
			if !sameSecrets(s.stored, a.secrets) {
				return delivery.Edit{}, errMoved
			}
			return delivery.Edit{}, nil
		},
		Within: func(ctx context.Context, r *store.Roles, step Step) error {
			return e.within(ctx, r, step, agent)
		},
	})
	return published.Head.Revision, err
}

// within spends the token and admits the agent. Both are judged anew: another may have used the token.
func (e enrolling) within(ctx context.Context, r *store.Roles, step Step, agent *delivery.Agent) error {
	if _, err := e.admit(ctx, r, step.Now); err != nil {
		return err
	}
	secret, err := r.Secrets.Get(ctx, e.key)
	if err != nil {
		return err
	}
	by, err := identity.KeyDigest(ed25519.PublicKey(e.in.PublicKey))
	if err != nil {
		return err
	}
	if err := secret.SpendBy(step.Now, by); err != nil {
		return err
	}
	if err := r.Secrets.Save(ctx, secret); err != nil {
		return err
	}
	if err := r.Agents.Create(ctx, agent); err != nil {
		return err
	}
	if err := r.DesiredStates.Save(ctx, step.Next.HandedOut()); err != nil {
		return err
	}
	record := agent.Record()
	return r.Audit.Append(ctx, audit.Draft{
		At: step.Now, Actor: audit.Actor{Kind: audit.ActorAgent, ID: record.ID, Source: e.in.Source},
		Action: "agent.enrolled", Subject: subject(record.InstallID), Detail: map[string]string{
			"agent": record.ID, "token_id": secret.Record().ID, "cluster": record.ClusterUID, "kubernetes": record.ClusterInfo,
			"minimum_revision": number(step.Next.Record().Revision),
		},
	})
}

func sameSecrets(a, b []delivery.SecretValue) bool {
	return slices.EqualFunc(a, b, func(x, y delivery.SecretValue) bool {
		return x.App == y.App && x.Parameter == y.Parameter && x.Custody == y.Custody && bytes.Equal(x.Text, y.Text)
	})
}

func (e enrolling) answer(a admission, agent string, minimum int64) Enrolled {
	return Enrolled{
		AgentID: agent, InstallID: a.install, MinimumRevision: minimum, TrustAnchors: a.anchors,
		Wait: e.Settings.MaxWait, Interval: e.Settings.PollInterval,
	}
}

// anchors are the keys by which agents check what they are told.
func anchors(ctx context.Context, r *store.Roles, now time.Time) ([]TrustAnchor, error) {
	var out []TrustAnchor
	for _, purpose := range []identity.KeyPurpose{identity.KeyForDesiredState, identity.KeyForPackages} {
		ring, err := ringOf(ctx, r, purpose)
		if err != nil {
			return nil, err
		}
		for _, key := range ring.Published(now) {
			out = append(out, TrustAnchor{key.KID, purpose, key.PublicKey, key.VerifyUntil})
		}
	}
	return out, nil
}

// enrolmentKey is what an enrolment token is stored and found by. Fault: Invalid enrolment_token_malformed.
func enrolmentKey(clear string) (string, error) {
	return secretKey(identity.EnrolmentToken, clear)
}

func secretKey(purpose identity.SecretPurpose, clear string) (string, error) {
	canonical, err := identity.CanonicalSecret(purpose, clear)
	if err != nil {
		return "", err
	}
	hash := identity.HashSecret(purpose, canonical)
	return hex.EncodeToString(hash[:]), nil
}
