package store

import (
	"errors"
	"maps"
	"reflect"
	"testing"
	"time"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
)

// The form in which desired apps are kept does not change with the records: what was written stays readable, and one list
// is always written in one way.
func TestFormOfDesiredApps(t *testing.T) {
	t.Parallel()
	apps := []delivery.DesiredApp{{
		App: "shop", Version: "1.2.3", Release: "aa", Manifests: delivery.Blob{SHA256: "bb", Size: 9}, Images: []string{"r/x@sha256:cc"}, Objects: []string{"Service/shop"},
		Requires: []string{"db"}, Seals: []delivery.Seal{{Parameter: "p", Secret: "s", Key: "k", SHA256: "dd"}},
		Parameters: map[string]string{"z": "1", "a": "<2>"},
		Usage:      entitlement.Usage{Apps: 1, Replicas: 2, MilliCPU: 3, MemoryBytes: 1<<53 - 1}, Since: 4, Retry: 5,
		Suspended: true, RunUntil: time.UnixMicro(1234567).UTC(), Removed: true,
	}, {App: "bare"}}
	const want = `[{"app":"shop","version":"1.2.3","release":"aa","manifests":{"sha256":"bb","size":9},"images":["r/x@sha256:cc"],` +
		`"objects":["Service/shop"],"requires":["db"],"seals":[{"parameter":"p","secret":"s","key":"k","sha256":"dd"}],"parameters":{"a":"\u003c2\u003e","z":"1"},` +
		`"usage":{"apps":1,"replicas":2,"milli_cpu":3,"memory_bytes":9007199254740991},"since":4,"retry":5,"suspended":true,` +
		`"run_until":1234567,"removed":true},{"app":"bare","version":"","release":"","manifests":{"sha256":"","size":0},` +
		`"usage":{"apps":0,"replicas":0,"milli_cpu":0,"memory_bytes":0},"since":0}]`
	for range 20 {
		apps[0].Parameters = maps.Clone(apps[0].Parameters)
		var d document
		if got := writeList(&d, each(apps, desiredAppFormOf)); got != want || d.err != nil {
			t.Fatalf("written as %s, %v", got, d.err)
		}
	}
	var d document
	if got := each(readList[desiredAppForm](&d, want), desiredAppForm.value); d.err != nil || !reflect.DeepEqual(got, apps) {
		t.Errorf("read as %+v, %v", got, d.err)
	}
}

// What is more than this program knows is refused and not left out: to write it again would lose it.
func TestListsAreReadStrictly(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"": true, "[]": true, `[{"app":"a"}]`: true, ` [{"app":"a"}] `: true,
		`[{"app":"a","hue":1}]`: false, `[{"app":"a"}]x`: false, `[{"app":"a"}][]`: false, `{"app":"a"}`: false, `[{"app":7}]`: false,
		`[{"app":"a"}`: false, "x": false,
	} {
		var d document
		if readList[requirementForm](&d, text); (d.err == nil) != good {
			t.Errorf("%q gave %v", text, d.err)
		}
	}
}

// Of several parts the first fault counts, and nothing is written after it.
func TestTheFirstFaultOfADocumentCounts(t *testing.T) {
	t.Parallel()
	var d document
	if got := writeList(&d, []string{"a\x00"}); got != "" || fault.SlugOf(d.err) != "invalid_text" {
		t.Fatalf("%q, %v", got, d.err)
	}
	first := d.err
	if got := writeList(&d, []string{"fine"}); got != "" || !errors.Is(d.err, first) {
		t.Errorf("%q, %v", got, d.err)
	}
	if got := readList[string](&d, "x"); got != nil || !errors.Is(d.err, first) {
		t.Errorf("%q, %v", got, d.err)
	}
}
