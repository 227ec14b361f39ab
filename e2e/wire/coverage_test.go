package wire

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documents are where the server describes what it offers to programs that are not updated along with it. One that is
// not served describes nothing yet; from the day on which it is, each of its operations needs a recording.
var documents = []string{
	"/internal/v1/openapi.json", "/v1/devices/openapi.json", "/agent/v1/openapi.json", "/enroll/v1/openapi.json",
	"/v1/market/openapi.json",
}

// undescribed are endpoints that are in no OpenAPI document.
var undescribed = []endpoint{
	{name: "key set", method: "GET", path: "/.well-known/jwks.json", public: true},
	{name: "delivery package", method: "GET", path: "{{link}}"}, // whole, as it is given out
	{name: "trust bundle of the ingress", method: "GET", path: "/trust-bundle", public: true},
}

// public are the operations that refuse nobody.
var public = []string{"get-trust-bundle"}

// endpoint is an operation that has to be recorded.
type endpoint struct {
	name, method, path string
	public             bool // refuses nobody
}

// answers are the steps that ask an endpoint.
func (e endpoint) answers(all []*Story) []*Step {
	pattern := regexp.MustCompile("^" + regexp.MustCompile(`\\\{[a-z0-9_]+\\\}`).ReplaceAllString(regexp.QuoteMeta(e.path), "[^/]+") + "$")
	var out []*Step
	for _, s := range all {
		for _, step := range s.Steps {
			path, _, _ := strings.Cut(step.target(), "?")
			if step.method() == e.method && pattern.MatchString(path) {
				out = append(out, step)
			}
		}
	}
	return out
}

// endpoints are those that the running server describes.
func endpoints(t *testing.T, p *player) []endpoint {
	t.Helper()
	out := undescribed
	for _, path := range documents {
		got, err := p.send(&Step{Request: "GET " + path})
		if err != nil {
			t.Fatal(err)
		}
		if got.status == http.StatusNotFound {
			continue
		}
		data, err := json.Marshal(got.body)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Paths map[string]map[string]struct{ OperationID string }
		}
		if err := json.Unmarshal(data, &doc); err != nil || len(doc.Paths) == 0 {
			t.Fatalf("%s describes no paths: %v", path, err)
		}
		for path, methods := range doc.Paths {
			for method, op := range methods {
				out = append(out, endpoint{name: op.OperationID, method: strings.ToUpper(method), path: path, public: slices.Contains(public, op.OperationID)})
			}
		}
	}
	return out
}

// Every endpoint of nodes, devices, agents and platforms is recorded: with a success and with a refusal.
func TestEveryEndpointIsRecorded(t *testing.T) {
	t.Parallel()
	all, err := stories(version)
	if err != nil {
		t.Fatal(err)
	}
	p := newPlayer(t, &Story{}, nil)
	list := endpoints(t, p)
	// As a guard against a document that is read wrongly, or not served where it is looked for.
	for prefix, today := range map[string]int{"/internal/v1/": 17, "/v1/devices": 3, "/enroll/v1/": 2, "/agent/v1/": 5, "/v1/market/": 5} {
		described := 0
		for _, e := range list {
			if strings.HasPrefix(e.path, prefix) {
				described++
			}
		}
		if described < today {
			t.Errorf("only %d endpoints below %s are described", described, prefix)
		}
	}
	for _, e := range list {
		for _, lack := range e.lacks(all) {
			t.Errorf("%s (%s %s) has no recorded %s: write a story and run the tests with -update", e.name, e.method, e.path, lack)
		}
	}
	stranger := endpoint{name: "stranger", method: "POST", path: "/internal/v1/nodes/{node}/stranger"}
	if lacks := stranger.lacks(all); len(lacks) != 2 {
		t.Errorf("an endpoint that nobody recorded lacks only %v", lacks)
	}
}

func (e endpoint) lacks(all []*Story) []string {
	lacks := []string{"success", "refusal"}
	if e.public {
		lacks = lacks[:1]
	}
	for _, step := range e.answers(all) {
		what := "refusal"
		if step.recorded() && step.Answer.Status < http.StatusBadRequest {
			what = "success"
		}
		lacks = slices.DeleteFunc(lacks, func(l string) bool { return l == what })
	}
	return lacks
}

// refusals are the slugs by which a node or a device decides what to do, by operation; those under "" are any node's.
var refusals = map[string][]string{
	"": {
		"assertion_missing", "assertion_malformed", "assertion_replayed", "assertion_expired", "assertion_from_future",
		"assertion_lifetime_too_long", "assertion_secret_unknown", "assertion_method_mismatch", "assertion_target_mismatch",
		"assertion_host_mismatch", "assertion_body_mismatch", "node_mismatch", "node_retired", "rate_limited",
		"credential_unknown", "credential_of_another_node", "credential_not_yet_valid", "credential_expired",
		"credential_superseded", "credential_revoked", "path_unknown", "method_not_allowed", "wrong_type",
		"store_unavailable",
	},
	"register":      {"storage_changed", "node_retired", "invalid_text", "unknown_field", "required_field_missing"},
	"heartbeat":     {"heartbeat_generation_stale", "heartbeat_sequence_stale", "node_retired", "out_of_range"},
	"assignments":   {"node_retired", "invalid_wait"},
	"poll":          {"out_of_range", "unknown_field"},
	"snapshot":      {"not_found", "generation_ahead"},
	"delta":         {"not_found", "generation_stale", "generation_ahead", "delta_unavailable"},
	"revoke":        {"not_found", "principal_not_found", "generation_stale", "generation_ahead", "last_owner", "revoke_not_allowed"},
	"route":         {"not_found"},
	"peers":         {"invalid_cursor"},
	"prepared":      {"not_found", "generation_stale", "out_of_range"},
	"quiesced":      {"not_found", "generation_stale", "manifest_root_differs", "last_sequence_differs", "invalid_manifest_root", "backup_older"},
	"copied":        {"not_found", "generation_stale", "manifest_root_differs", "last_sequence_differs", "invalid_manifest_root"},
	"drained":       {"not_found", "generation_stale"},
	"failed":        {"not_found", "generation_stale"},
	"backup_record": {"not_found", "generation_stale", "backup_older", "invalid_manifest_root"},
	"pair-device": {
		"pairing_code_malformed", "pairing_code_unknown", "pairing_code_used", "invalid_public_key", "tenant_suspended",
		"required_field_missing",
	},
	"issue-device-token": {
		"device_assertion_malformed", "device_assertion_type", "device_assertion_signature", "device_assertion_audience",
		"device_assertion_lifetime", "device_assertion_from_future", "device_assertion_expired", "assertion_replayed",
		"tenant_suspended",
	},
	"enroll-node": {
		"join_token_malformed", "join_token_unknown", "join_token_used", "csr_malformed", "csr_extensions", "csr_key_weak",
		"csr_signature_invalid", "rate_limited", "required_field_missing", "store_unavailable",
	},
	"rotate_credential": {"csr_malformed", "csr_extensions", "credential_revoked", "credential_superseded", "assertion_replayed", "node_mismatch"},
	"get-connection":    {"device_token_refused", "rate_limited"},
}

// What a node or a device has to tell apart is recorded.
func TestEveryRefusalIsRecorded(t *testing.T) {
	t.Parallel()
	all, err := stories(version)
	if err != nil {
		t.Fatal(err)
	}
	recorded := map[string]map[string]bool{"": {}}
	for _, e := range endpoints(t, newPlayer(t, &Story{}, nil)) {
		recorded[e.name] = map[string]bool{}
		for _, step := range e.answers(all) {
			recorded[e.name][step.slug()] = true
		}
	}
	for _, s := range all {
		for _, step := range s.Steps {
			recorded[""][step.slug()] = true
		}
	}
	for name, slugs := range refusals {
		for _, slug := range slugs {
			if !recorded[name][slug] {
				t.Errorf("%s: the refusal %s is not recorded", name, slug)
			}
		}
	}
}
