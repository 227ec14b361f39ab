package wire

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// What proves a sender is made here by the rules of version 1 of the contract and not by today's code: an ingress or a
// device that was built when the recording was made does it so for as long as it lives.

// payload is the ingress assertion of version 1; the order of the fields is part of the form.
type payload struct {
	V      json.Number `json:"v"`
	SID    string      `json:"sid"`
	SPIFFE string      `json:"spiffe"`
	FP     string      `json:"fp"`
	M      string      `json:"m"`
	T      string      `json:"t"`
	H      string      `json:"h"`
	B      string      `json:"b"`
	IAT    json.Number `json:"iat"`
	EXP    json.Number `json:"exp"`
	N      string      `json:"n"`
}

// honest is the assertion of a request as the ingress makes it.
func honest(spiffe, fingerprint, method, target, host string, body []byte) payload {
	const bits128, seconds = 16, 10
	nonce := make([]byte, bits128)
	_, _ = rand.Read(nonce) // never fails
	now := time.Now().Unix()
	sum := sha256.Sum256(body)
	return payload{
		V: "1", SPIFFE: spiffe, FP: fingerprint, M: method, T: target, H: host, B: hex.EncodeToString(sum[:]),
		IAT: number(now), EXP: number(now + seconds), N: base64.RawURLEncoding.EncodeToString(nonce),
	}
}

func number(n int64) json.Number { return json.Number(fmt.Sprint(n)) }

// bend puts other values into some fields.
func (p payload) bend(fields map[string]any) (payload, error) {
	data, err := json.Marshal(fields)
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(data, &p)
}

// seal is v1.<base64url payload>.<base64url HMAC-SHA256 of that text>.
func (p payload) seal(key []byte) (string, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(p); err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return "v1." + text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), nil
}

// jwt is a compact JWS by Ed25519 (RFC 7515, RFC 8037).
func jwt(key ed25519.PrivateKey, header, claims any) (string, error) {
	h, err := json.Marshal(header)
	if err != nil {
		return "", err
	}
	c, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(h) + "." + base64.RawURLEncoding.EncodeToString(c)
	return text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(text))), nil
}
