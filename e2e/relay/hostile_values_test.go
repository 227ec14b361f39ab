package relay

import (
	"strings"
	"testing"

	"berth/adapters/contract"
)

// Of all that JSON can call a number, a count is a whole one between its bounds, written as such; nothing else makes a
// node.
func TestHostileNumbers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		number, slug string
	}{
		{"1e400", "wrong_type"}, {"1e-400", "wrong_type"}, {"1.0", "wrong_type"}, {"1e0", "wrong_type"}, {"1E2", "wrong_type"},
		{"1.0000000000000000000000001", "wrong_type"}, {"9007199254740991.4", "wrong_type"}, {`"1"`, "wrong_type"},
		{"true", "wrong_type"}, {"null", "wrong_type"}, {"[]", "wrong_type"}, {strings.Repeat("9", 100_000), "wrong_type"},
		{"9007199254740992", "out_of_range"}, {"9223372036854775808", "out_of_range"}, {"-9223372036854775809", "out_of_range"},
		{"-1", "out_of_range"}, {"0x10", "malformed_json"}, {"01", "malformed_json"}, {"+1", "malformed_json"},
		{"NaN", "malformed_json"}, {"Infinity", "malformed_json"}, {"-", "malformed_json"}, {".5", "malformed_json"},
	} {
		a := w.Do(w.Token, "POST", "/api/v1/nodes", `{"id":"x","region":"eu","capacity":{"tenants":`+c.number+`,"bytes":1}}`)
		if a.Slug() != c.slug || (a.Status != 400 && a.Status != 422) {
			t.Errorf("%.40s: %d %q, want %q", c.number, a.Status, a.Slug(), c.slug)
		}
	}
	w.Refused("GET", "/api/v1/nodes/x", nil, 404, "node_not_found")
}

// A document can be deep, long, doubled by an escape or no object at all; it is refused, and the server goes on.
func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for body, slug := range map[string]string{
		strings.Repeat("[", 500_000):                                           "malformed_json",
		strings.Repeat("[", 9000) + strings.Repeat("]", 9000):                  "wrong_type",
		strings.Repeat(`{"a":`, 150_000):                                       "malformed_json",
		`{"id":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`: "validation_failed",
		"null": "wrong_type",
		"1":    "wrong_type",
		"\ufeff" + `{"id":"x","origin":"https://x.test"}`:         "malformed_json",
		`{"id":"x",/**/"origin":"https://x.test"}`:                "malformed_json",
		`{"id":"\ud800","origin":"https://x.test"}`:               "malformed_json",
		`{"id":"x","\u0069d":"y","origin":"https://x.test"}`:      "duplicate_field",
		`{"id":"x","origin":"https://u:p@x.test"}`:                "invalid_origin",
		`{"id":"x","origin":"https://x.test\\@evil.test"}`:        "invalid_origin",
		`{"id":"x","origin":"https://\u0435u.test"}`:              "invalid_origin",
		`{"id":"x","origin":"https://x.test:99999"}`:              "invalid_origin",
		`{"id":"` + strings.Repeat("a", 64) + `","origin":"h"}`:   "invalid_length",
		`{"id":"a\u202e","origin":"https://x.test"}`:              "invalid_id",
		`{"id":"ａ","origin":"https://x.test"}`:                    "invalid_id",
		`{"id":"a\n","origin":"https://x.test"}`:                  "invalid_id",
		`{"id":"-a","origin":"https://x.test"}`:                   "invalid_id",
		`{"id":"..","origin":"https://x.test","colour":"\u0000"}`: "",
	} {
		a := w.Do(w.Token, "POST", "/api/v1/regions", body)
		if (slug != "" && a.Slug() != slug) || (a.Status != 400 && a.Status != 422) {
			t.Errorf("%.60s: %d %q, want %q", body, a.Status, a.Slug(), slug)
		}
	}
	var regions contract.Regions
	w.Operator("GET", "/api/v1/regions", nil, 200, &regions)
	if len(regions.Regions) != 1 {
		t.Fatalf("a refused document made a region: %+v", regions)
	}
}

const mostPolled = 2000

// A poll may name as many tenants as the contract says and no more, the same one again and again, and what is no tenant;
// each is answered once, and a stranger learns of none (A4, I8).
func TestHostilePolls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n, stranger := w.holder(), w.other()
	many := func(count int, id func(int) string) contract.Poll {
		var p contract.Poll
		for i := range count {
			p.Tenants = append(p.Tenants, contract.Known{Tenant: id(i), Generation: 1})
		}
		return p
	}
	same := func(int) string { return "acme" }
	var out contract.Polled
	n.Call("POST", "/nodes/"+n.ID+"/authorization/poll", many(mostPolled, same), 200, &out)
	if len(out.Tenants) != 1 || out.Tenants[0].Tenant != "acme" {
		t.Fatalf("the same tenant many times: %d entries", len(out.Tenants))
	}
	if a := n.Do("POST", "/nodes/"+n.ID+"/authorization/poll", many(mostPolled+1, same)); a.Status != 422 {
		t.Fatalf("one too many: %d %s", a.Status, a.Body)
	}
	var told contract.Polled
	odd := []string{"acme", "", "..", "%00", "ACME", "a'; DROP TABLE tenants;--", "💩", strings.Repeat("a", 63)}
	stranger.Call("POST", "/nodes/"+stranger.ID+"/authorization/poll", many(len(odd), func(i int) string { return odd[i] }), 200, &told)
	for _, e := range told.Tenants {
		if e.Result != "not_found" || e.Generation != 0 {
			t.Errorf("a stranger learns %+v", e)
		}
	}
	if len(told.Tenants) != len(odd) {
		t.Errorf("%d of %d are answered: %+v", len(told.Tenants), len(odd), told.Tenants)
	}
}
