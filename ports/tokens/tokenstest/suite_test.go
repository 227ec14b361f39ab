package tokenstest

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/signer"
	"berth/ports/tokens"
)

// The fakes keep every law.
func TestFakesConform(t *testing.T) {
	t.Parallel()
	RunAgents(t, func(testing.TB) tokens.AgentVerifier { return Agents{} })
	RunDocuments(t, fake)
}

func fake(_ testing.TB, s signer.Signer) Paper { return Paper{Documents{s}, Documents{s}} }

type (
	verifyAgent func(string, ed25519.PublicKey, tokens.AgentRequest, string, time.Time) (tokens.AgentToken, error)
	verifyPaper func(string, string, tokens.KeySet, time.Time) ([]byte, string, error)
	signPaper   func(context.Context, tokens.SigningKey, string, []byte) (string, error)
)

type agentMutant struct {
	verify  verifyAgent
	claimed func(string) (string, error)
}

func (m agentMutant) Claimed(token string) (string, error) { return m.claimed(token) }
func (m agentMutant) VerifyAgent(
	token string, key ed25519.PublicKey, r tokens.AgentRequest, install string, now time.Time,
) (tokens.AgentToken, error) {
	return m.verify(token, key, r, install, now)
}

// trusting takes what a token says for what is asked, where the true verifier refuses by the given end of a slug.
func trusting(end string) agentMutant {
	return agentMutant{claimed: Agents{}.Claimed, verify: func(
		token string, key ed25519.PublicKey, r tokens.AgentRequest, install string, now time.Time,
	) (tokens.AgentToken, error) {
		got, err := Agents{}.VerifyAgent(token, key, r, install, now)
		if err != nil && strings.HasSuffix(fault.SlugOf(err), end) {
			return tokens.AgentToken{}, nil
		}
		return got, err
	}}
}

// Each verifier of agents' tokens that lets one thing pass is caught by the law that forbids it.
func TestAgentMutantsAreCaught(t *testing.T) {
	t.Parallel()
	trim := agentMutant{claimed: Agents{}.Claimed, verify: func(
		token string, key ed25519.PublicKey, r tokens.AgentRequest, install string, now time.Time,
	) (tokens.AgentToken, error) {
		return Agents{}.VerifyAgent(strings.TrimSpace(token), key, r, install, now)
	}}
	lax := agentMutant{verify: trim.verify, claimed: func(token string) (string, error) {
		var c struct{ Iss string }
		split, _ := parts(token)
		return c.Iss, json.Unmarshal(split[1], &c)
	}}
	mutants := map[string]struct {
		mutant agentMutant
		law    string
	}{
		"any request":         {trusting("_request"), "a token is bound to method, target and body"},
		"any installation":    {trusting("_audience"), "a token is for one installation"},
		"any key":             {trusting("_signature"), "only the agent's own key signs"},
		"for ever":            {trusting("_expired"), "a token lives a minute at most, with skew both ways"},
		"from the future":     {trusting("_from_future"), "a token lives a minute at most, with skew both ways"},
		"a long life":         {trusting("_lifetime"), "a token lives a minute at most, with skew both ways"},
		"any algorithm":       {trusting("_algorithm"), "a header says three things and nothing else"},
		"any type":            {trusting("_type"), "a header says three things and nothing else"},
		"more in the header":  {trusting("_header"), "a header says three things and nothing else"},
		"claims left out":     {trusting("_claims"), "claims are those of the contract"},
		"trims":               {trim, "one token has one text"},
		"any size":            {trusting("_too_large"), "one token has one text"},
		"says nothing":        {trusting(""), "a token is bound to method, target and body"},
		"claims without form": {lax, "a header says three things and nothing else"},
	}
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			law.Caught(t, agentLaws(), m.law, func(testing.TB) tokens.AgentVerifier { return m.mutant })
		})
	}
}

type paperMutant struct {
	sign   signPaper
	verify verifyPaper
}

func (m paperMutant) SignDocument(ctx context.Context, key tokens.SigningKey, typ string, payload []byte) (string, error) {
	return m.sign(ctx, key, typ, payload)
}

func (m paperMutant) VerifyDocument(token, typ string, keys tokens.KeySet, now time.Time) ([]byte, string, error) {
	return m.verify(token, typ, keys, now)
}

// passing accepts what the true verifier refuses by the given end of a slug.
func passing(end string) func(*paperMutant, signer.Signer) {
	return func(m *paperMutant, _ signer.Signer) {
		m.verify = func(token, typ string, keys tokens.KeySet, now time.Time) ([]byte, string, error) {
			payload, kid, err := Documents{}.VerifyDocument(token, typ, keys, now)
			if err != nil && strings.HasSuffix(fault.SlugOf(err), end) {
				return []byte("x"), "k1", nil
			}
			return payload, kid, err
		}
	}
}

// Each fault in signing or checking documents is caught by the law that forbids it.
func TestDocumentMutantsAreCaught(t *testing.T) {
	t.Parallel()
	for name, c := range documentMutants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			law.Caught(t, documentLaws(), c.law, func(tb testing.TB) desk {
				tb.Helper()
				return newDesk(tb, func(_ testing.TB, s signer.Signer) Paper {
					m := paperMutant{Documents{s}.SignDocument, Documents{s}.VerifyDocument}
					c.spoil(&m, s)
					return Paper{m, m}
				})
			})
		})
	}
}

type paperFate struct {
	law   string
	spoil func(m *paperMutant, s signer.Signer)
}

func documentMutants() map[string]paperFate {
	signs := func(s signer.Signer, key tokens.SigningKey, header string, payload []byte) (string, error) {
		input := segment([]byte(header)) + "." + segment(payload)
		signature, err := s.Sign(context.Background(), key.Ref, []byte(input))
		return input + "." + segment(signature), err
	}
	return map[string]paperFate{
		"any type":           {"a document is of one type", passing("_type")},
		"a retired key":      {"a key is trusted for its window and for itself", passing("_retired")},
		"any key":            {"a key is trusted for its window and for itself", passing("_unknown")},
		"any signature":      {"nothing of a document can be changed", passing("_signature")},
		"any algorithm":      {"a header says three things and nothing else", passing("_algorithm")},
		"more in the header": {"a header says three things and nothing else", passing("_header")},
		"any text":           {"one document has one text", passing("_malformed")},
		"any size":           {"one document has one text", passing("_too_large")},
		"tidies the payload": {"what was signed is what is read, byte for byte", func(m *paperMutant, s signer.Signer) {
			m.sign = func(ctx context.Context, key tokens.SigningKey, typ string, payload []byte) (string, error) {
				return Documents{s}.SignDocument(ctx, key, typ, append([]byte("\n"), bytes.TrimSpace(payload)...))
			}
		}},
		"another order": {"a document is a compact JWS of RFC 8037", func(m *paperMutant, s signer.Signer) {
			m.sign = func(_ context.Context, key tokens.SigningKey, typ string, payload []byte) (string, error) {
				return signs(s, key, `{"typ":"`+typ+`","alg":"EdDSA","kid":"k1"}`, payload)
			}
		}},
		"signs tokens": {"a document is of one type", func(m *paperMutant, s signer.Signer) {
			m.sign = func(_ context.Context, key tokens.SigningKey, typ string, payload []byte) (string, error) {
				return signs(s, key, tokens.DocumentHeader("k1", typ), payload)
			}
		}},
		"signs nothing": {"what can not be signed everywhere is signed nowhere", func(m *paperMutant, s signer.Signer) {
			m.sign = func(_ context.Context, key tokens.SigningKey, typ string, payload []byte) (string, error) {
				return signs(s, key, tokens.DocumentHeader(key.KID, typ), payload)
			}
		}},
		"blames the caller": {"a key that can not sign is unavailable", func(m *paperMutant, s signer.Signer) {
			m.sign = func(_ context.Context, key tokens.SigningKey, typ string, payload []byte) (string, error) {
				return signs(s, key, tokens.DocumentHeader(key.KID, typ), payload)
			}
		}},
	}
}
