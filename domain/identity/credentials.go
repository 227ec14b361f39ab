package identity

import (
	"slices"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// MaxPrepared is how many certificates of a node may wait for their first use at a time. Answers get lost one by one, so
// that more are those of a node that does not work, or of somebody who is none.
const MaxPrepared = 16

// Credentials are all certificates that were admitted for one node. At most one is current.
type Credentials struct {
	node string
	all  []*Credential
}

// Admission is a certificate that was signed for a node and is to be admitted.
type Admission struct {
	SPIFFEID    SPIFFEID
	Fingerprint string
	IssuedAt    time.Time
	ExpiresAt   time.Time
	AdmittedBy  string
}

// RestoreCredentials makes the set of a node's credentials of what was stored, in any order; those of other nodes are
// left out. An empty set is that of a node which never enrolled. Whatever an event changes it returns, as copies to be
// stored in the same transaction.
func RestoreCredentials(node string, records []CredentialRecord) *Credentials {
	set := &Credentials{node: node}
	for _, r := range records {
		if r.Node == node {
			set.all = append(set.all, RestoreCredential(r))
		}
	}
	return set
}

// Records returns all credentials, in the order of restoring and admitting.
func (s *Credentials) Records() []CredentialRecord {
	out := make([]CredentialRecord, 0, len(s.all))
	for _, c := range s.all {
		out = append(out, c.record)
	}
	return out
}

// Find returns a copy of the credential with a fingerprint; nil where there is none.
func (s *Credentials) Find(fingerprint string) *Credential {
	c := s.find(fingerprint)
	if c == nil {
		return nil
	}
	return RestoreCredential(c.record)
}

func (s *Credentials) find(fingerprint string) *Credential {
	i := slices.IndexFunc(s.all, func(c *Credential) bool { return c.record.Fingerprint == fingerprint })
	if i < 0 {
		return nil
	}
	return s.all[i]
}

// Admit adds a certificate as prepared and returns it; nothing else changes, so that an answer which is lost locks
// nobody out (I5). Admitting the same again changes nothing and returns nil. Invalid, each problem named:
// fingerprint_malformed, validity_invalid, text_out_of_bounds; Forbidden credential_of_another_node; AlreadyExists
// credential_exists where the fingerprint is taken by a certificate that is not the same; Exhausted credentials_too_many
// where MaxPrepared of them are in force and were never used.
func (s *Credentials) Admit(a Admission, now time.Time) (added *Credential, err error) {
	if a.SPIFFEID.IsZero() || a.SPIFFEID.Node() != s.node {
		return nil, forbidden("credential_of_another_node", "the certificate names another node")
	}
	record := CredentialRecord{
		Node: s.node, SPIFFEID: a.SPIFFEID.String(), Fingerprint: a.Fingerprint, State: CredentialPrepared,
		IssuedAt: ident.Instant(a.IssuedAt), ExpiresAt: ident.Instant(a.ExpiresAt), AdmittedBy: a.AdmittedBy,
	}
	if err := fault.All(
		CheckFingerprint("fingerprint", record.Fingerprint),
		checkPeriod("expires_at", record.IssuedAt, record.ExpiresAt, now),
		checkText("admitted_by", record.AdmittedBy, maxNote),
	); err != nil {
		return nil, err
	}
	if known := s.find(record.Fingerprint); known != nil {
		return nil, known.checkSame(record)
	}
	if s.prepared(now) >= MaxPrepared {
		return nil, fault.New(fault.Exhausted, "credentials_too_many", "%d certificates of the node were never used", MaxPrepared).
			Curable("revoke those that nobody has, or use one of them")
	}
	s.all = append(s.all, RestoreCredential(record))
	return RestoreCredential(record), nil
}

// MakeRoom supersedes the certificate that has waited longest for its first use, where MaxPrepared of them wait, and
// returns it; nil where there is room. It goes before the admission of one that was signed on request: whose answers are
// lost, or whose disk takes no certificate, asks again and again, and must not lock itself out by that (I5). Of so many
// only the last can still be on its way.
func (s *Credentials) MakeRoom(now time.Time) *Credential {
	if s.prepared(now) < MaxPrepared {
		return nil
	}
	var oldest *Credential
	for _, c := range s.all {
		waits := c.record.State == CredentialPrepared && now.Before(c.record.ExpiresAt)
		if waits && (oldest == nil || c.record.IssuedAt.Before(oldest.record.IssuedAt)) {
			oldest = c
		}
	}
	oldest.step(credentialReplace)
	return RestoreCredential(oldest.record)
}

// Unclaimed tells whether every certificate that something let in still waits for its first use. Only then can the answer
// that brought it be one that was lost: once a certificate was used, superseded or revoked, its key gets no other by what
// let it in, or a key that was stolen would outlive its revocation.
func (s *Credentials) Unclaimed(admittedBy string) bool {
	return !slices.ContainsFunc(s.all, func(c *Credential) bool {
		return c.record.AdmittedBy == admittedBy && c.record.State != CredentialPrepared
	})
}

func (s *Credentials) prepared(now time.Time) int {
	n := 0
	for _, c := range s.all {
		if c.record.State == CredentialPrepared && now.Before(c.record.ExpiresAt) {
			n++
		}
	}
	return n
}

func (c *Credential) checkSame(other CredentialRecord) error {
	known := c.record
	if known.SPIFFEID == other.SPIFFEID && known.AdmittedBy == other.AdmittedBy &&
		known.IssuedAt.Equal(other.IssuedAt) && known.ExpiresAt.Equal(other.ExpiresAt) {
		return nil
	}
	return fault.New(fault.AlreadyExists, "credential_exists", "a certificate with this fingerprint was admitted otherwise")
}

// Use records that a node showed a certificate and returns what that changed. The first use of a prepared one makes it
// current; the one that was current is superseded at that moment and not before, and so is every prepared one issued
// earlier. A later use changes nothing. Refused as CheckCredential refuses.
func (s *Credentials) Use(fingerprint string, now time.Time) (changed []*Credential, err error) {
	used := s.find(fingerprint)
	if used == nil {
		return nil, unauthenticated("credential_unknown", "no such certificate was admitted")
	}
	if first, err := used.use(now); !first {
		return nil, err
	}
	changed = append(changed, RestoreCredential(used.record))
	for _, c := range s.all {
		earlier := c.record.IssuedAt.Before(used.record.IssuedAt)
		outdated := c != used && (c.record.State == CredentialCurrent || earlier)
		if outdated && c.step(credentialReplace) {
			changed = append(changed, RestoreCredential(c.record))
		}
	}
	return changed, nil
}

// RotatedOver names a certificate as what let in the one that was asked for over it.
func RotatedOver(fingerprint string) string { return "credential/" + fingerprint }

// Revoke ends a certificate at once, as Credential.Revoke, and with it whatever was asked for over it, over that, and so
// on, and has not ended: who stole its key may have asked for more. It returns what that changed, the named one first; the
// reason of the others names it. Where the named one does not change, nothing does. NotFound credential_not_found.
func (s *Credentials) Revoke(fingerprint string, now time.Time, reason string) (changed []*Credential, err error) {
	c := s.find(fingerprint)
	if c == nil {
		return nil, fault.New(fault.NotFound, "credential_not_found", "the node has no such certificate")
	}
	if ended, err := c.Revoke(now, reason); !ended {
		return nil, err
	}
	changed = append(changed, RestoreCredential(c.record))
	because := "asked for over " + fingerprint + ", which was revoked"
	for _, d := range s.descendants(c) {
		if !now.Before(d.record.ExpiresAt) {
			continue
		}
		ended, err := d.Revoke(now, because)
		if err != nil {
			return nil, err
		}
		if ended {
			changed = append(changed, RestoreCredential(d.record))
		}
	}
	return changed, nil
}

// descendants are those that were asked for over a credential, directly or through others in whatever state, each once
// and without the credential itself: what is stored is not trusted to be a tree.
func (s *Credentials) descendants(of *Credential) []*Credential {
	found := []*Credential{of}
	for i := 0; i < len(found); i++ {
		by := RotatedOver(found[i].record.Fingerprint)
		for _, c := range s.all {
			if c.record.AdmittedBy == by && !slices.Contains(found, c) {
				found = append(found, c)
			}
		}
	}
	return found[1:]
}
