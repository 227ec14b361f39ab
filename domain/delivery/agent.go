package delivery

import (
	"crypto/ed25519"
	"slices"
	"strings"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
	keys "berth/domain/identity"
)

// Agent is the agent in a deployment's cluster.
type Agent struct{ record AgentRecord }

// RestoreAgent makes one of what was stored.
func RestoreAgent(record AgentRecord) *Agent { return &Agent{record} }

// Record returns what is to be stored.
func (v *Agent) Record() AgentRecord { return v.record }

// The bounds of what an agent says of itself and of its cluster, in bytes but for the count of platforms.
const (
	maxPlatforms   = 16
	maxClusterText = 128
	maxSealKey     = 256
)

// Enrolment is an agent that asks to be one (G1).
type Enrolment struct {
	ID               string
	InstallID        string
	PublicKey        []byte // Ed25519
	SealKey          string // age recipient; whether it is one is the sealer's to say
	SealKeySignature []byte // by PublicKey, over SealKeyMessage
	ClusterUID       string
	ClusterVersion   string
	Platforms        []string // "linux/amd64", as nodes of the cluster are
}

// SealKeyMessage is what an agent signs by its own key, so that nobody else's seal key is taken for its own (D3).
func SealKeyMessage(sealKey string) []byte { return []byte("berth/agent-seal-key/v1\x00" + sealKey) }

// NewAgent makes an agent that has not reported yet. Invalid, each problem named: public_key_malformed, seal_key_unproven,
// seal_key_invalid, platform_invalid, text_out_of_bounds.
func NewAgent(e Enrolment, now time.Time) (*Agent, error) {
	now = ident.Instant(now)
	if err := fault.All(append(e.keyFaults(), e.clusterFaults()...)...); err != nil {
		return nil, err
	}
	platforms := slices.Compact(slices.Sorted(slices.Values(e.Platforms)))
	return &Agent{AgentRecord{
		ID: e.ID, InstallID: e.InstallID, PublicKey: slices.Clone(e.PublicKey), SealKey: e.SealKey,
		SealProof: slices.Clone(e.SealKeySignature), ClusterUID: e.ClusterUID,
		ClusterInfo: e.ClusterVersion, Platforms: platforms, EnrolledAt: now, SeenAt: now,
	}}, nil
}

func (e Enrolment) keyFaults() []*fault.Error {
	if keys.CheckTokenKey("agent", e.PublicKey) != nil {
		return []*fault.Error{invalid("public_key_malformed", "an Ed25519 public key is 32 bytes, and a point of full order").At("public_key")}
	}
	var errs []*fault.Error
	if e.SealKey == "" || len(e.SealKey) > maxSealKey {
		errs = append(errs, invalid("seal_key_invalid", "a seal key is an age recipient").At("seal_key"))
	}
	if !ed25519.Verify(e.PublicKey, SealKeyMessage(e.SealKey), e.SealKeySignature) {
		errs = append(errs, invalid("seal_key_unproven", "the seal key is not signed by the agent's key").At("seal_key_signature"))
	}
	return errs
}

func (e Enrolment) clusterFaults() []*fault.Error {
	var errs []*fault.Error
	if len(e.Platforms) == 0 || len(e.Platforms) > maxPlatforms || slices.ContainsFunc(e.Platforms, notPlatform) {
		errs = append(errs, invalid("platform_invalid", "a cluster has 1 to %d platforms such as linux/amd64", maxPlatforms).At("cluster.platforms"))
	}
	for field, text := range map[string]string{"cluster.uid": e.ClusterUID, "cluster.version": e.ClusterVersion} {
		if text == "" || !validValue(text, maxClusterText) {
			errs = append(errs, invalid("text_out_of_bounds", "must have 1 to %d bytes of text", maxClusterText).At(field))
		}
	}
	return errs
}

func notPlatform(text string) bool {
	parts := strings.Split(text, "/")
	return len(parts) < 2 || len(parts) > 3 || slices.ContainsFunc(parts, func(part string) bool {
		return part == "" || len(part) > 16 || strings.Trim(part, "abcdefghijklmnopqrstuvwxyz0123456789") != ""
	})
}

// IsBy tells whether this is the agent of a key and a seal key: the same asks again, since an answer was lost.
func (v *Agent) IsBy(publicKey []byte, sealKey string) bool {
	return ed25519.PublicKey(v.record.PublicKey).Equal(ed25519.PublicKey(publicKey)) && v.record.SealKey == sealKey
}

// Hear notes by which process the agent spoke (G1). Another one than last is a restart, unless it was heard before that
// one: then two use the key by turns. It reports whether there is anything to store, and whether they do.
func (v *Agent) Hear(instance string, now time.Time) (changed, interleaved bool) {
	r := &v.record
	switch instance {
	case r.Instance:
		return false, false
	case r.Before:
		r.Interleaved++
		interleaved = true
	}
	r.Before, r.Instance, r.SeenAt = r.Instance, instance, ident.Instant(now)
	return true, interleaved
}

// Take notes a report. It is false where its sequence was taken already: what comes late is not heard (API.md). A gap is
// counted and taken.
func (v *Agent) Take(r Report, now time.Time) (fresh, gap bool) {
	if r.Sequence <= v.record.Sequence {
		return false, false
	}
	gap = r.Sequence > v.record.Sequence+1
	if gap {
		v.record.Gaps++
	}
	v.record.Sequence, v.record.Observed, v.record.SeenAt = r.Sequence, r.Observed, ident.Instant(now)
	v.record.Drift = r.drift()
	if r.Version != "" {
		v.record.Version = clip(r.Version, maxClusterText)
	}
	return true, gap
}
