package tokenstest

import (
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"berth/ports/internal/law"
	"berth/ports/tokens"
)

// RunAgents checks every law of a tokens.AgentVerifier.
func RunAgents(t *testing.T, open func(tb testing.TB) tokens.AgentVerifier) {
	t.Helper()
	law.Run(t, agentLaws(), open)
}

func agentLaws() []law.Law[tokens.AgentVerifier] {
	return []law.Law[tokens.AgentVerifier]{
		{Name: "a token says who sent it", Check: agentSays},
		{Name: "a token is bound to method, target and body", Check: agentBound},
		{Name: "a token is for one installation", Check: agentAudience},
		{Name: "only the agent's own key signs", Check: agentSignature},
		{Name: "a token lives a minute at most, with skew both ways", Check: agentTimes},
		{Name: "a header says three things and nothing else", Check: agentHeaders},
		{Name: "claims are those of the contract", Check: agentClaims},
		{Name: "one token has one text", Check: agentTexts},
	}
}

func sample() (*Agent, tokens.AgentToken, tokens.AgentRequest) {
	return NewAgent(1), tokens.AgentToken{Agent: "agt_1", Install: "ins_1", Instance: "pod-1", IssuedAt: noon()},
		Request("GET", "/agent/v1/desired-state?wait=30s", []byte("body"))
}

func agentSays(tb testing.TB, v tokens.AgentVerifier) {
	tb.Helper()
	a, want, r := sample()
	got, err := v.VerifyAgent(a.Token(want, r), a.PublicKey(), r, "ins_1", noon())
	if err != nil || got != want {
		tb.Errorf("it says %+v (%v)", got, err)
	}
	if claimed, err := v.Claimed(a.Token(want, r)); err != nil || claimed != "agt_1" {
		tb.Errorf("it claims to be of %q (%v)", claimed, err)
	}
	if claimed, err := v.Claimed(NewAgent(2).Token(want, r)); err != nil || claimed != "agt_1" {
		tb.Errorf("a claim needs no proof: %q (%v)", claimed, err)
	}
}

func agentBound(tb testing.TB, v tokens.AgentVerifier) {
	tb.Helper()
	a, says, r := sample()
	token := a.Token(says, r)
	for name, other := range map[string]tokens.AgentRequest{
		"method":           Request("POST", r.URL, []byte("body")),
		"method's case":    Request("get", r.URL, []byte("body")),
		"path":             Request("GET", "/agent/v1/objects/x?wait=30s", []byte("body")),
		"query":            Request("GET", "/agent/v1/desired-state?wait=29s", []byte("body")),
		"no query":         Request("GET", "/agent/v1/desired-state", []byte("body")),
		"another spelling": Request("GET", "/agent/v1//desired-state?wait=30s", []byte("body")),
		"body":             Request("GET", r.URL, []byte("bodY")),
		"no body":          Request("GET", r.URL, nil),
	} {
		_, err := v.VerifyAgent(token, a.PublicKey(), other, "ins_1", noon())
		wants(tb, name, err, "agent_token_request")
	}
}

func agentAudience(tb testing.TB, v tokens.AgentVerifier) {
	tb.Helper()
	a, says, r := sample()
	for _, install := range []string{"ins_2", "INS_1", "ins_1 ", ""} {
		_, err := v.VerifyAgent(a.Token(says, r), a.PublicKey(), r, install, noon())
		wants(tb, "for "+install, err, "agent_token_audience")
	}
}

func agentSignature(tb testing.TB, v tokens.AgentVerifier) {
	tb.Helper()
	a, says, r := sample()
	token, key := a.Token(says, r), a.PublicKey()
	for name, other := range map[string]ed25519.PublicKey{
		"another key": NewAgent(2).PublicKey(), "no key": nil, "a short key": key[:31], "a long key": append(key[:32:32], 0),
	} {
		_, err := v.VerifyAgent(token, other, r, "ins_1", noon())
		wants(tb, name, err, "agent_token_signature")
	}
	says.Install = "ins_2" // truly signed by another key, with wrong claims too: the signature is what is told
	_, err := v.VerifyAgent(NewAgent(2).Token(says, r), key, r, "ins_1", noon())
	wants(tb, "another's token", err, "agent_token_signature")
	for _, changed := range flipped(token) {
		if got, err := v.VerifyAgent(changed, key, r, "ins_1", noon()); err == nil {
			tb.Errorf("a changed token was taken for %+v", got)
		}
	}
}

func agentTimes(tb testing.TB, v tokens.AgentVerifier) {
	tb.Helper()
	a, says, r := sample()
	check := func(name string, issued, expires int64, now time.Time, slug string) {
		claims := with(with(AgentClaims(says, r), "iat", issued), "exp", expires)
		_, err := v.VerifyAgent(a.Sign(AgentHeader(), claims), a.PublicKey(), r, "ins_1", now)
		wants(tb, name, err, slug)
	}
	iat := noon().Unix()
	end := noon().Add(time.Minute)
	check("a minute", iat, iat+60, noon(), "")
	check("more than a minute", iat, iat+61, noon(), "agent_token_lifetime")
	check("no time at all", iat, iat, noon(), "agent_token_lifetime")
	check("backwards", iat, iat-1, noon(), "agent_token_lifetime")
	check("over the range", -1<<62, 1<<62, noon(), "agent_token_claims")
	check("as early as it goes", iat, iat+60, noon().Add(-tokens.Skew), "")
	check("earlier", iat, iat+60, noon().Add(-tokens.Skew-1), "agent_token_from_future")
	check("as late as it goes", iat, iat+60, end.Add(tokens.Skew-1), "")
	check("later", iat, iat+60, end.Add(tokens.Skew), "agent_token_expired")
}

func agentHeaders(tb testing.TB, v tokens.AgentVerifier) {
	tb.Helper()
	a, says, r := sample()
	claims := encode(AgentClaims(says, r))
	for header, slug := range headers(tokens.AgentTokenType) {
		_, err := v.VerifyAgent(a.SignRaw([]byte(header), claims), a.PublicKey(), r, "ins_1", noon())
		refusedAs(tb, header, err, "agent_token_", slug)
		_, err = v.Claimed(a.SignRaw([]byte(header), claims))
		refusedAs(tb, header, err, "agent_token_", slug)
	}
}

func agentClaims(tb testing.TB, v tokens.AgentVerifier) {
	tb.Helper()
	a, says, r := sample()
	good := AgentClaims(says, r)
	for name, c := range map[string]struct {
		claims any
		slug   string
	}{
		"no iss":              {with(good, "iss", nil), "claims"},
		"an empty aud":        {with(good, "aud", ""), "claims"},
		"no ins":              {with(good, "ins", nil), "claims"},
		"a long ins":          {with(good, "ins", strings.Repeat("x", tokens.MaxName+1)), "claims"},
		"a space in ins":      {with(good, "ins", "pod 1"), "claims"},
		"a control in iss":    {with(good, "iss", "agt\x00"), "claims"},
		"no iat":              {with(good, "iat", nil), "claims"},
		"no exp":              {with(good, "exp", nil), "claims"},
		"exp of zero":         {with(good, "exp", 0), "claims"},
		"no htm":              {with(good, "htm", nil), "request"},
		"no htu":              {with(good, "htu", nil), "request"},
		"no bdh":              {with(good, "bdh", nil), "request"},
		"an unknown claim":    {with(good, "scope", "all"), "malformed"},
		"a wrongly cased one": {with(good, "Iss", "agt_2"), "malformed"},
		"a list of aud":       {with(good, "aud", []string{"ins_1"}), "malformed"},
		"exp with a fraction": {with(good, "exp", 1.5), "malformed"},
		"exp as text":         {with(good, "exp", "1772367000"), "malformed or claims"},
		"a list":              {[]int{1}, "malformed"},
	} {
		_, err := v.VerifyAgent(a.Sign(AgentHeader(), c.claims), a.PublicKey(), r, "ins_1", noon())
		refusedAs(tb, name, err, "agent_token_", c.slug)
	}
	twice := `{"iss":"agt_2",` + string(encode(good))[1:]
	_, err := v.VerifyAgent(a.SignRaw(encode(AgentHeader()), []byte(twice)), a.PublicKey(), r, "ins_1", noon())
	wants(tb, "iss twice", err, "agent_token_malformed")
}

func agentTexts(tb testing.TB, v tokens.AgentVerifier) {
	tb.Helper()
	a, says, r := sample()
	token := a.Token(says, r)
	for name, other := range texts(token) {
		_, err := v.VerifyAgent(other, a.PublicKey(), r, "ins_1", noon())
		refusedAs(tb, name, err, "agent_token_", "malformed or header")
	}
	r.URL = "/" + strings.Repeat("x", tokens.MaxSize)
	_, err := v.VerifyAgent(a.Token(says, r), a.PublicKey(), r, "ins_1", noon())
	wants(tb, "too large", err, "agent_token_too_large")
	_, err = v.Claimed(a.Token(says, r))
	wants(tb, "too large", err, "agent_token_too_large")
}
