package agent_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/ports/tokens"
)

// lean checks the signature of a token and nothing else, so that what is measured is the handler: what reading a token
// costs is measured where that is done.
type lean struct{ agent string }

func (l lean) Claimed(string) (string, error) { return l.agent, nil }

func (l lean) VerifyAgent(token string, key ed25519.PublicKey, _ tokens.AgentRequest, install string, _ time.Time) (tokens.AgentToken, error) {
	at := strings.LastIndexByte(token, '.')
	signature, err := base64.RawURLEncoding.DecodeString(token[at+1:])
	if err != nil || !ed25519.Verify(key, []byte(token[:at]), signature) {
		return tokens.AgentToken{}, fault.New(fault.Unauthenticated, "agent_token_signature", "refused")
	}
	return tokens.AgentToken{Agent: l.agent, Install: install, Instance: "p1"}, nil
}

// BenchmarkPollWithNothingNew is what one poll costs in the handler: one signature that is checked, and one read.
func BenchmarkPollWithNothingNew(b *testing.B) {
	s := enrolled(b)
	s.publish("1.0.0")
	s.desired.Crypto.Agents = lean{s.agent}
	const path = "/agent/v1/desired-state"
	etag := s.asks("GET", path, "").Header().Get("ETag")
	token := "Bearer " + s.token("GET", path, "")
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, http.NoBody)
		r.Header.Set("Authorization", token)
		r.Header.Set("If-None-Match", etag)
		out := httptest.NewRecorder()
		s.handler.ServeHTTP(out, r)
		if out.Code != http.StatusNotModified {
			b.Fatal(out.Code, out.Body)
		}
	}
}
