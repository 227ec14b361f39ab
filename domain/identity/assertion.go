package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"berth/domain/fault"
)

const (
	// MaxAssertion is the longest value of the assertion header, in bytes.
	MaxAssertion = 8 << 10

	// MaxAssertionLife is the longest time from issue to expiry (I3).
	MaxAssertionLife = 15 * time.Second

	assertionVersion = "v1"
)

// Arrived is the request that stands before the control plane, as it was received.
type Arrived struct {
	Method     string
	Target     string // raw request target, path and query
	Host       string
	BodySHA256 [32]byte
}

// Assertion is what an accepted assertion proves. Nonce is unique to it together with SecretID.
type Assertion struct {
	SPIFFEID    SPIFFEID
	Fingerprint string
	SecretID    string
	Nonce       string // base64url
	ExpiresAt   time.Time

	// ForgetAfter is when the nonce may be forgotten: the assertion is accepted until expiry plus skew, by a replica
	// whose clock may differ by as much again from that of the one which sweeps.
	ForgetAfter time.Time
}

// Caller returns the node that the assertion speaks for.
func (a Assertion) Caller() Caller {
	return Caller{
		Node: a.SPIFFEID.Node(), Region: a.SPIFFEID.Region(), SPIFFEID: a.SPIFFEID.String(), Fingerprint: a.Fingerprint,
	}
}

// Seal writes the header value v1.<base64url payload>.<base64url mac>. A payload or secret out of form is Invalid, each
// problem named; so is one whose value would pass MaxAssertion.
func Seal(secret IngressSecret, payload Payload) (string, error) {
	if err := fault.All(append(secret.check("secret"), payload.check()...)...); err != nil {
		return "", err
	}
	text := strictBase64.EncodeToString(payload.wire(secret.ID).encode())
	value := assertionVersion + "." + text + "." + strictBase64.EncodeToString(secret.mac(text))
	if len(value) > MaxAssertion {
		return "", fault.New(fault.Invalid, "assertion_malformed", "the assertion has more than %d bytes", MaxAssertion)
	}
	return value, nil
}

func (s IngressSecret) mac(text string) []byte {
	h := hmac.New(sha256.New, s.Key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// OpenAssertion judges every value of the assertion header that came with a request (I4). It checks neither the stored
// credential (CheckCredential) nor the node in the path (CheckPathNode) nor whether the nonce was seen before.
//
// Unauthenticated, the assertion is no proof: assertion_missing, assertion_duplicated, assertion_malformed,
// assertion_secret_unknown, assertion_secret_retired, assertion_mac_mismatch, assertion_lifetime_too_long,
// assertion_expired, assertion_from_future, spiffe_id_malformed. Forbidden, it is proof of another request:
// assertion_method_mismatch, assertion_target_mismatch, assertion_host_mismatch, assertion_body_mismatch; and
// target_ambiguous for a target that CheckTarget refuses. Skew is allowed on either side of the validity.
func OpenAssertion(
	values []string, secrets IngressSecrets, arrived Arrived, now time.Time, skew time.Duration,
) (Assertion, error) {
	wire, err := authenticate(values, secrets)
	if err != nil {
		return Assertion{}, err
	}
	if err := wire.checkTime(now, skew); err != nil {
		return Assertion{}, err
	}
	id, err := ParseSPIFFEID(wire.SPIFFEID)
	if err != nil {
		return Assertion{}, unauthenticated("spiffe_id_malformed", "the assertion names no node").Because(err)
	}
	if err := wire.checkBinding(arrived); err != nil {
		return Assertion{}, err
	}
	expires := time.Unix(wire.ExpiresAt, 0).UTC()
	return Assertion{
		SPIFFEID: id, Fingerprint: wire.Fingerprint, SecretID: wire.SecretID, Nonce: wire.Nonce,
		ExpiresAt: expires, ForgetAfter: expires.Add(2 * max(skew, 0)),
	}, nil
}

// authenticate finds the one value, and the secret that made it. The payload is read before the MAC is checked only to
// learn the secret's id.
func authenticate(values []string, secrets IngressSecrets) (wirePayload, error) {
	value, err := single(values)
	if err != nil {
		return wirePayload{}, err
	}
	text, mac, ok := split(value)
	if !ok {
		return wirePayload{}, malformedAssertion()
	}
	payload, ok := decodeBase64(text)
	if !ok {
		return wirePayload{}, malformedAssertion()
	}
	wire, ok := decodeWire(payload)
	if !ok {
		return wirePayload{}, malformedAssertion()
	}
	secret, err := secrets.find(wire.SecretID)
	if err != nil {
		return wirePayload{}, err
	}
	if !hmac.Equal(mac, secret.mac(text)) {
		return wirePayload{}, unauthenticated("assertion_mac_mismatch", "the assertion was not made with its secret")
	}
	if !wire.wellFormed() {
		return wirePayload{}, malformedAssertion()
	}
	return wire, nil
}

func malformedAssertion() *fault.Error {
	return unauthenticated("assertion_malformed", "the assertion is out of form")
}

func single(values []string) (string, error) {
	switch len(values) {
	case 0:
		return "", unauthenticated("assertion_missing", "the request carries no ingress assertion")
	case 1:
		return values[0], nil
	}
	return "", unauthenticated("assertion_duplicated", "the request carries more than one ingress assertion")
}

func split(value string) (text string, mac []byte, ok bool) {
	if len(value) > MaxAssertion {
		return "", nil, false
	}
	version, rest, _ := strings.Cut(value, ".")
	text, encoded, _ := strings.Cut(rest, ".")
	mac, ok = decodeBase64(encoded)
	return text, mac, ok && version == assertionVersion && len(mac) == sha256.Size
}

func (w wirePayload) checkTime(now time.Time, skew time.Duration) error {
	skew = max(skew, 0)
	switch {
	case !validLife(w.IssuedAt, w.ExpiresAt):
		return unauthenticated("assertion_lifetime_too_long", "the assertion does not live between 1 and 15 seconds")
	case !now.Before(time.Unix(w.ExpiresAt, 0).Add(skew)):
		return unauthenticated("assertion_expired", "the assertion has expired")
	case time.Unix(w.IssuedAt, 0).After(now.Add(skew)):
		return unauthenticated("assertion_from_future", "the assertion was issued in the future")
	}
	return nil
}

func (w wirePayload) checkBinding(arrived Arrived) error {
	switch {
	case w.Method != arrived.Method:
		return forbidden("assertion_method_mismatch", "the assertion is for another method")
	case w.Target != arrived.Target:
		return forbidden("assertion_target_mismatch", "the assertion is for another request target")
	case w.Host != arrived.Host:
		return forbidden("assertion_host_mismatch", "the assertion is for another host")
	case w.Body != hex.EncodeToString(arrived.BodySHA256[:]):
		return forbidden("assertion_body_mismatch", "the assertion is for another body")
	}
	if f := checkTarget(arrived.Target); f != nil {
		return forbidden(f.Slug, f.Detail)
	}
	return nil
}
