package contract_test

import (
	"testing"

	"berth/adapters/contract"
)

// Only a target that is the poll's and nothing else makes a POST one that changes nothing: what is wrongly taken for a read
// is broken off by a stop, and asked again.
func TestReads(t *testing.T) {
	t.Parallel()
	const poll = "/internal/v1/nodes/n1/authorization/poll"
	for _, c := range []struct {
		method, target string
		want           bool
	}{
		{"GET", "/internal/v1/peers", true},
		{"HEAD", "/internal/v1/peers", true},
		{"POST", poll, true},
		{"POST", poll + "?a=b", true},
		{"POST", poll + "?/", true},
		{"PUT", poll, false},
		{"DELETE", poll, false},
		{"post", poll, false},
		{"POST", poll + "/", false},
		{"POST", poll + "/x", false},
		{"POST", "/x" + poll, false},
		{"POST", "/internal/v1/nodes//authorization/poll", false},
		{"POST", "/internal/v1/nodes/n1/n2/authorization/poll", false},
		{"POST", "/internal/v1/nodes/n1/authorization", false},
		{"POST", "/internal/v1/nodes/n1/heartbeat", false},
		{"POST", "/internal/v1/nodes/n1/heartbeat?" + poll, false},
		{"POST", "", false},
	} {
		if got := contract.Reads(c.method, c.target); got != c.want {
			t.Errorf("%s %s: %v", c.method, c.target, got)
		}
	}
}
