package delivery_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
)

func aPayload(apps int) delivery.Payload {
	p := delivery.Payload{InstallID: "ins_1", IssuedAt: start, Revision: 7, Previous: digest("six"), Apps: []delivery.DesiredApp{}}
	for i := range apps {
		a := anApp(fmt.Sprintf("app-%03d", i), "1.2.3")
		a.RunUntil = start.Add(time.Hour)
		a.Requires = []string{"db"}
		a.Seals = []delivery.Seal{{Parameter: "password", Secret: "s", Key: "k", SHA256: digest("sealed")}}
		p.Apps = append(p.Apps, a)
	}
	return p
}

// asTold is what an agent is told of an app: neither parameters, nor use, nor since when.
func asTold(apps []delivery.DesiredApp) []delivery.DesiredApp {
	out := []delivery.DesiredApp{}
	for _, a := range apps {
		a.Parameters, a.Usage, a.Since = nil, entitlement.Usage{}, 0
		if a.Requires == nil {
			a.Requires = []string{}
		}
		out = append(out, a)
	}
	return out
}

func TestAPayloadIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, apps := range []int{0, 1, 3, 200} {
		p := aPayload(apps)
		payload, list, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if len(payload) > delivery.MaxPayload {
			t.Fatalf("%d apps: %d bytes are to be signed", apps, len(payload))
		}
		got, err := delivery.ParsePayload(payload)
		if err != nil {
			t.Fatal(err, string(payload))
		}
		if got.AppsAt != nil {
			if *got.AppsAt != delivery.BlobOf(list) {
				t.Fatal("the list is not the one that is named")
			}
			if got.Apps, err = delivery.ParseApps(list); err != nil {
				t.Fatal(err)
			}
			got.AppsAt = nil
		} else if list != nil {
			t.Fatal("a list beside one that is within")
		}
		p.Apps = asTold(p.Apps)
		if !reflect.DeepEqual(got, p) {
			t.Fatalf("%+v\n%+v", got, p)
		}
	}
}

// Whatever is not exactly in the form that is signed is refused, so that nothing can be read in two ways.
func TestAnotherFormIsRefused(t *testing.T) {
	t.Parallel()
	payload, _, err := aPayload(1).Encode()
	if err != nil {
		t.Fatal(err)
	}
	good := string(payload)
	for name, bad := range map[string]string{
		"empty":           "",
		"nothing":         "null",
		"space":           good + " ",
		"two":             good + good,
		"unknown":         strings.Replace(good, `"revision":7`, `"revision":7,"x":1`, 1),
		"twice":           strings.Replace(good, `"revision":7`, `"revision":8,"revision":7`, 1),
		"other case":      strings.Replace(good, `"revision"`, `"Revision"`, 1),
		"other order":     strings.Replace(good, `"aud":"ins_1","iat":`, `"iat":`, 1),
		"no audience":     strings.Replace(good, `"ins_1"`, `""`, 1),
		"revision zero":   strings.Replace(good, `"revision":7`, `"revision":0`, 1),
		"exponent":        strings.Replace(good, `"revision":7`, `"revision":7e0`, 1),
		"digest":          strings.Replace(good, digest("six"), strings.ToUpper(digest("six")), 1),
		"run until":       strings.Replace(good, `"run_until":"2030-01-02T04:04:05Z"`, `"run_until":"2030-01-02T06:04:05+02:00"`, 1),
		"not removed":     strings.Replace(good, `"run_until"`, `"removed":false,"run_until"`, 1),
		"images null":     strings.Replace(good, `"requires":["db"]`, `"requires":null`, 1),
		"neither":         `{"aud":"ins_1","iat":1,"revision":1,"previous":""}`,
		"apps null":       `{"aud":"ins_1","iat":1,"revision":1,"previous":"","apps":null}`,
		"both":            `{"aud":"ins_1","iat":1,"revision":1,"previous":"","apps":[],"apps_at":{"sha256":"` + digest("x") + `","size":1}}`,
		"list too large":  `{"aud":"ins_1","iat":1,"revision":1,"previous":"","apps_at":{"sha256":"` + digest("x") + `","size":99999999}}`,
		"removed and run": strings.Replace(good, `"run_until":"2030-01-02T04:04:05Z"`, `"removed":true`, 1),
	} {
		if got, err := delivery.ParsePayload([]byte(bad)); fault.SlugOf(err) != "desired_state_malformed" {
			t.Errorf("%s: %v, read as %+v", name, err, got)
		}
	}
	unordered := aPayload(2)
	unordered.Apps[0], unordered.Apps[1] = unordered.Apps[1], unordered.Apps[0]
	raw, _, err := unordered.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := delivery.ParsePayload(raw); err == nil {
		t.Error("apps out of order are read")
	}
}

// Whatever a head can come to is read back by an agent.
func TestEveryHeadCanBeRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory()
		next, _, err := h.head.Apply(delivery.Edit{}, start)
		if err != nil {
			t.Fatal(err)
		}
		h.take(t, next.HandedOut())
		for range rapid.IntRange(1, 8).Draw(t, "edits") {
			next, _, err := h.head.Apply(drawEdit(t, h.head), start)
			if err != nil {
				t.Fatal(err)
			}
			if next != nil {
				h.take(t, next)
			}
			payload, list, err := delivery.PayloadOf(h.head.Record(), digest("before")).Encode()
			if err != nil {
				t.Fatal(err)
			}
			got, err := delivery.ParsePayload(payload)
			if err != nil {
				t.Fatal(err, string(payload))
			}
			if list != nil {
				if got.Apps, err = delivery.ParseApps(list); err != nil {
					t.Fatal(err, string(list))
				}
			}
			if len(got.Apps) != len(h.head.Record().Apps) {
				t.Fatalf("%d apps of %d", len(got.Apps), len(h.head.Record().Apps))
			}
		}
	})
}

func FuzzParsePayload(f *testing.F) {
	for _, apps := range []int{0, 1, 200} {
		payload, _, err := aPayload(apps).Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(payload)
	}
	f.Add([]byte(`{"aud":"ins_1","iat":1,"revision":1,"previous":"","apps":[{"app":"a"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := delivery.ParsePayload(raw)
		if err != nil {
			return
		}
		again, _, err := p.Encode()
		if err != nil || string(again) != string(raw) {
			t.Fatalf("%s is written again as %s: %v", raw, again, err)
		}
	})
}

func FuzzParseApps(f *testing.F) {
	_, list, err := aPayload(50).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(list)
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		apps, err := delivery.ParseApps(raw)
		if err == nil && len(apps) > delivery.MaxDeploymentApps {
			t.Fatalf("%d apps", len(apps))
		}
	})
}
