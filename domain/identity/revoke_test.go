package identity_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/identity"
)

// family draws certificates of a node, each let in by a join token or asked for over any of them, an own descendant or
// itself included: what was stored wrongly must not keep a revocation from coming to its end.
func family(t *rapid.T, now time.Time) []identity.CredentialRecord {
	size := rapid.IntRange(1, 12).Draw(t, "size")
	states := rapid.SampledFrom([]identity.CredentialState{
		identity.CredentialPrepared, identity.CredentialCurrent, identity.CredentialSuperseded, identity.CredentialRevoked,
	})
	records := make([]identity.CredentialRecord, 0, size)
	for n := range size {
		r := recordIn(t, states.Draw(t, "state"))
		r.Fingerprint, r.IssuedAt = fingerprint(n), now.Add(-time.Hour)
		r.ExpiresAt = now.Add(time.Duration(rapid.IntRange(-1, 2).Draw(t, "minutes left")) * time.Minute)
		if over := rapid.IntRange(-1, size-1).Draw(t, "over"); over >= 0 {
			r.AdmittedBy = identity.RotatedOver(fingerprint(over))
		}
		records = append(records, r)
	}
	return records
}

// over is what was asked for over a certificate, directly or through any others. It is the closure of the
// relation, told another way than the code under test tells it.
func over(records []identity.CredentialRecord, of string) map[string]bool {
	found := map[string]bool{}
	for range records {
		for _, r := range records {
			for _, by := range records {
				if r.AdmittedBy == identity.RotatedOver(by.Fingerprint) && (by.Fingerprint == of || found[by.Fingerprint]) {
					found[r.Fingerprint] = true
				}
			}
		}
	}
	return found
}

// Revoking one that is prepared or current ends exactly that and whatever was asked for over it that had not ended; the
// reason of each of those names the one revoked. Revoking any other changes nothing.
func TestRevokeEndsWhatWasAskedForOverIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := start()
		before := family(t, now)
		named := rapid.SampledFrom(before).Draw(t, "named")
		set := credentialsOf(before...)
		changed, err := set.Revoke(named.Fingerprint, now, "stolen")
		must(t, err)
		told := map[string]identity.CredentialRecord{}
		for _, c := range changed {
			told[c.Fingerprint()] = c.Record()
		}
		revocable := func(r identity.CredentialRecord) bool {
			return r.State == identity.CredentialPrepared || r.State == identity.CredentialCurrent
		}
		descends := over(before, named.Fingerprint)
		for i, after := range set.Records() {
			was := before[i]
			itself := was.Fingerprint == named.Fingerprint
			ends := revocable(named) && revocable(was) &&
				(itself || descends[was.Fingerprint] && now.Before(was.ExpiresAt))
			want := was
			if ends {
				want.State, want.RevokedAt, want.RevokedReason = identity.CredentialRevoked, now, after.RevokedReason
			}
			if after != want || ends && told[was.Fingerprint] != after {
				t.Fatalf("%d of %+v became %+v, told %+v", i, before, after, told[was.Fingerprint])
			}
			if ends && (itself && after.RevokedReason != "stolen" || !itself && !strings.Contains(after.RevokedReason, named.Fingerprint)) {
				t.Fatalf("the reason of %d is %q", i, after.RevokedReason)
			}
			if !ends && told[was.Fingerprint].Fingerprint != "" {
				t.Fatalf("%d was told and did not change", i)
			}
		}
		if len(changed) != len(told) || len(changed) > 0 && changed[0].Fingerprint() != named.Fingerprint {
			t.Fatalf("told %+v", changed)
		}
	})
}
