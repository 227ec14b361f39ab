package identity

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

const (
	payloadVersion = 1
	minNonce       = 16 // 128 bits (I3)
	maxNonce       = 64
	maxMethod      = 16
	maxHost        = 261 // a DNS name of 255 with ":65535"
)

// Payload is what the ingress says about one request (I3): who made it, and which request it was.
type Payload struct {
	SPIFFEID    SPIFFEID
	Fingerprint string // of the client certificate, as FingerprintOf
	Method      string // upper case
	Target      string // raw request target, path and query; passes CheckTarget
	Host        string // as received
	BodySHA256  [32]byte
	IssuedAt    time.Time // kept in whole seconds
	ExpiresAt   time.Time // kept in whole seconds; at most MaxAssertionLife after IssuedAt
	Nonce       []byte    // 16 to 64 random bytes
}

// wirePayload is the JSON that travels. The order of the fields and the absence of white space are part of the form.
type wirePayload struct {
	Version     int    `json:"v"`
	SecretID    string `json:"sid"`
	SPIFFEID    string `json:"spiffe"`
	Fingerprint string `json:"fp"`
	Method      string `json:"m"`
	Target      string `json:"t"`
	Host        string `json:"h"`
	Body        string `json:"b"`
	IssuedAt    int64  `json:"iat"`
	ExpiresAt   int64  `json:"exp"`
	Nonce       string `json:"n"`
}

//nolint:gochecknoglobals // immutable
var strictBase64 = base64.RawURLEncoding.Strict()

func (p Payload) wire(secretID string) wirePayload {
	return wirePayload{
		Version: payloadVersion, SecretID: secretID, SPIFFEID: p.SPIFFEID.String(), Fingerprint: p.Fingerprint,
		Method: p.Method, Target: p.Target, Host: p.Host, Body: hex.EncodeToString(p.BodySHA256[:]),
		IssuedAt: p.IssuedAt.Unix(), ExpiresAt: p.ExpiresAt.Unix(), Nonce: strictBase64.EncodeToString(p.Nonce),
	}
}

// encode writes the canonical form: the fields in order, nothing escaped that JSON does not ask for.
func (w wirePayload) encode() []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(w) // strings and integers in memory cannot fail
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// decodeWire accepts the canonical form only: what does not come out byte for byte as it went in held an unknown,
// doubled, missing, reordered or wrongly cased name, white space, another spelling of a value, or trailing data.
func decodeWire(text []byte) (wirePayload, bool) {
	var w wirePayload
	if err := json.Unmarshal(text, &w); err != nil {
		return wirePayload{}, false
	}
	return w, w.Version == payloadVersion && bytes.Equal(w.encode(), text)
}

// wellFormed checks the fields that are judged by nothing else: the others must equal what arrived.
func (w wirePayload) wellFormed() bool {
	nonce, ok := decodeBase64(w.Nonce)
	return ok && len(nonce) >= minNonce && len(nonce) <= maxNonce &&
		validDigest(w.Fingerprint) && validDigest(w.Body) &&
		w.IssuedAt > 0 && w.IssuedAt <= ident.MaxCounter && w.ExpiresAt > 0 && w.ExpiresAt <= ident.MaxCounter
}

// decodeBase64 is strict base64url without padding. Go's decoder skips line breaks even when strict.
func decodeBase64(text string) ([]byte, bool) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, false
	}
	out, err := strictBase64.DecodeString(text)
	return out, err == nil
}

func (p Payload) check() []*fault.Error {
	return []*fault.Error{
		unless(!p.SPIFFEID.IsZero(), "spiffe_id_malformed", "an assertion names a node", "spiffe_id"),
		CheckFingerprint("fingerprint", p.Fingerprint),
		unless(validMethod(p.Method), "method_malformed", "a method is 1 to 16 of A-Z", "method"),
		checkTarget(p.Target),
		unless(validHost(p.Host), "host_malformed", "a host is 1 to 261 visible ASCII characters", "host"),
		unless(validLife(p.IssuedAt.Unix(), p.ExpiresAt.Unix()) && p.IssuedAt.Unix() > 0, "assertion_lifetime_too_long",
			"an assertion lives between 1 and 15 seconds", "expires_at"),
		unless(len(p.Nonce) >= minNonce && len(p.Nonce) <= maxNonce, "nonce_malformed",
			"a nonce has 16 to 64 bytes", "nonce"),
	}
}

func validMethod(method string) bool {
	return method != "" && len(method) <= maxMethod && strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

func validHost(host string) bool {
	if host == "" || len(host) > maxHost {
		return false
	}
	for i := range len(host) {
		if c := host[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func validLife(issued, expires int64) bool {
	life := expires - issued
	return life > 0 && life <= int64(MaxAssertionLife/time.Second)
}
