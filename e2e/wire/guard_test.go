package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// bender changes the answers to one path on their way.
type bender struct {
	http.RoundTripper
	path string
	bend func(status *int, body map[string]any)
}

func (b bender) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(req)
	if err != nil || !strings.HasSuffix(req.URL.Path, b.path) {
		return resp, err
	}
	defer func() { _ = resp.Body.Close() }()
	var body map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		return nil, err
	}
	b.bend(&resp.StatusCode, body)
	data, err := json.Marshal(body)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return resp, err
}

// A server that removed a member, gave it another type, or refuses by another status or slug, fails the whole test and
// not only the comparison.
func TestBrokenServersAreCaught(t *testing.T) {
	t.Parallel()
	kept := find(t, "heartbeat")
	for what, c := range map[string]struct {
		bend func(status *int, body map[string]any)
		said string
	}{
		"removed":        {func(_ *int, b map[string]any) { delete(b, "lease_ms") }, "body.lease_ms is missing"},
		"retyped":        {func(_ *int, b map[string]any) { b["lease_ms"] = "15000" }, "body.lease_ms is \"15000\""},
		"another status": {func(s *int, _ map[string]any) { *s = 201 }, "status is 201"},
		"another slug": {func(s *int, b map[string]any) {
			if *s == http.StatusConflict {
				b["type"] = problemPrefix + "stale"
			}
		}, "body.type is"},
		"nothing": {func(*int, map[string]any) {}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p := newPlayer(t, kept, func(r http.RoundTripper) http.RoundTripper { return bender{r, "/heartbeat", c.bend} })
			_, err := p.play(kept)
			if (err == nil) != (c.said == "") || err != nil && !strings.Contains(err.Error(), c.said) {
				t.Errorf("it was answered to by %v", err)
			}
		})
	}
}

func find(t *testing.T, name string) *Story {
	t.Helper()
	all, err := stories(version)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.name() == name {
			return s
		}
	}
	t.Fatalf("there is no story %s", name)
	return nil
}

// Recording fills what was left open and never touches what was recorded, whatever the server answers by now.
func TestRecordingKeepsWhatWasRecorded(t *testing.T) {
	t.Parallel()
	open := `{"story":"s","steps":[
		{"what":"old","request":"GET /old","answer":{"status":200,"body":{"kept":1}}},
		{"what":"new","request":"GET /new","answer":{"body":{"id":"{{id:string}}"}}},
		{"what":"refused","request":"GET /no","answer":{}}]}`
	s, err := parse([]byte(open))
	if err != nil {
		t.Fatal(err)
	}
	run := func(id, at string) []exchange {
		bodies := []string{
			`{"kept":2,"more":3}`,
			`{"id":"` + id + `","at":"` + at + `","n":9007199254740991,"list":["` + id + `"],"none":null}`,
			`{"type":"urn:berth:problem:no_way","title":"No","status":409,"detail":"no ` + id + `","cure":"x","request_id":"` + id +
				`","errors":[{"slug":"no_way","detail":"why","field":"body.x"}]}`,
		}
		var out []exchange
		for i, text := range bodies {
			body, err := decode([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			status := []int{500, 200, 409}[i]
			out = append(out, exchange{s.Steps[i], actual{status: status, header: http.Header{}, body: body}, map[string]any{"earlier": id}})
		}
		return out
	}
	if err := fill(s, run("x1", "2026-01-01T00:00:00Z"), run("x2", "2026-01-01T00:00:01Z")); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`{"status":200,"body":{"kept":1}}`,
		`{"status":200,"body":{"at":"{{:time}}","id":"{{id:string}}","list":["{{earlier}}"],"n":9007199254740991,"none":null}}`,
		`{"status":409,"body":{"detail":"{{:string}}","errors":[{"detail":"{{:string}}","field":"body.x","slug":"no_way"}],` +
			`"status":409,"title":"{{:string}}","type":"urn:berth:problem:no_way"}}`,
	} {
		if got := show(s.Steps[i].Answer); got != want {
			t.Errorf("%s was recorded as\n%s, want\n%s", s.Steps[i].What, got, want)
		}
	}
}
