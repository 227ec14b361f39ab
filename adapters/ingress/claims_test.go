package ingress_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"berth/adapters/contract"
	"berth/adapters/ingress"
)

// Every spelling of a header by which a client says who it is, in any case and with '_' for '-', is known as one (lesson 8);
// what goes on to the control plane is none.
func TestClaimsInEverySpelling(t *testing.T) {
	t.Parallel()
	names := []string{
		contract.HeaderAssertion, "X-Forwarded-For", "X-Forwarded-Client-Cert", "X-Forwarded-Proto", "Forwarded", "X-Real-Ip", "Via",
		"X-Client-Cert", "X-Ssl-Client-Verify", "Ssl-Client-Cert", "X-Spiffe-Id", "Client-Cert", "X-Remote-User", "Remote-User", "X-Berth-Node",
	}
	rapid.Check(t, func(t *rapid.T) {
		name := []byte(rapid.SampledFrom(names).Draw(t, "name"))
		for i := range name {
			switch rapid.IntRange(0, 2).Draw(t, "change") {
			case 1:
				name[i] = strings.ToUpper(string(name[i]))[0]
			case 2:
				name[i] = strings.ToLower(strings.ReplaceAll(string(name[i]), "-", "_"))[0]
			}
		}
		if !ingress.Claims(string(name)) {
			t.Fatalf("%s passes for no claim", name)
		}
	})
	for _, name := range []string{
		"Accept", "Content-Type", "Idempotency-Key", "If-None-Match", "Traceparent", "Tracestate", "User-Agent", "X-Request-Id", "Host",
		"Content-Length", "Etag", "Cache-Control", "Retry-After", "Sec-Websocket-Key", "Vi", "",
	} {
		if ingress.Claims(name) {
			t.Errorf("%q passes for a claim", name)
		}
	}
}
