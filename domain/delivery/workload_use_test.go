package delivery_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"berth/domain/delivery"
	"berth/domain/entitlement"
)

func box(cpu, memory, limitCPU, limitMemory, restart string) string {
	return fmt.Sprintf(`{"resources":{"requests":{"cpu":%q,"memory":%q},"limits":{"cpu":%q,"memory":%q}},"restartPolicy":%q}`, cpu, memory, limitCPU, limitMemory, restart)
}

func podsOf(t interface{ Fatal(...any) }, replicas, init, containers string) doc {
	return decode(t, "x#1", fmt.Sprintf(`{"kind":"Deployment","spec":{%s"template":{"spec":{"initContainers":[%s],"containers":[%s]}}}}`, replicas, init, containers))
}

// What an app uses is its replicas times the larger of requests and limits, with init containers and sidecars counted as
// Kubernetes counts them.
func TestUse(t *testing.T) {
	t.Parallel()
	const mi = 1 << 20
	small, large := box("100m", "10Mi", "200m", "20Mi", ""), box("1", "1Gi", "0", "0", "")
	for name, c := range map[string]struct {
		docs []doc
		want entitlement.Usage
	}{
		"nothing":        {nil, entitlement.Usage{Apps: 1}},
		"limits":         {[]doc{podsOf(t, `"replicas":3,`, "", small)}, entitlement.Usage{Apps: 1, Replicas: 3, MilliCPU: 600, MemoryBytes: 60 * mi}},
		"one is implied": {[]doc{podsOf(t, "", "", small)}, entitlement.Usage{Apps: 1, Replicas: 1, MilliCPU: 200, MemoryBytes: 20 * mi}},
		"requests":       {[]doc{podsOf(t, "", "", large)}, entitlement.Usage{Apps: 1, Replicas: 1, MilliCPU: 1000, MemoryBytes: 1024 * mi}},
		"none":           {[]doc{podsOf(t, `"replicas":0,`, "", large)}, entitlement.Usage{Apps: 1}},
		"two containers": {[]doc{podsOf(t, "", "", small+","+large)}, entitlement.Usage{Apps: 1, Replicas: 1, MilliCPU: 1200, MemoryBytes: 1044 * mi}},
		"large init":     {[]doc{podsOf(t, "", large, small)}, entitlement.Usage{Apps: 1, Replicas: 1, MilliCPU: 1000, MemoryBytes: 1024 * mi}},
		"small init":     {[]doc{podsOf(t, "", small, large)}, entitlement.Usage{Apps: 1, Replicas: 1, MilliCPU: 1000, MemoryBytes: 1024 * mi}},
		"inits in turn":  {[]doc{podsOf(t, "", small+","+small+","+small, small)}, entitlement.Usage{Apps: 1, Replicas: 1, MilliCPU: 200, MemoryBytes: 20 * mi}},
		"each by itself": {
			[]doc{podsOf(t, "", box("2", "1Mi", "0", "0", ""), box("1", "2Mi", "0", "0", ""))},
			entitlement.Usage{Apps: 1, Replicas: 1, MilliCPU: 2000, MemoryBytes: 2 * mi},
		},
		"a sidecar beside containers": {
			[]doc{podsOf(t, "", box("1", "1Gi", "0", "0", "Always"), small)},
			entitlement.Usage{Apps: 1, Replicas: 1, MilliCPU: 1200, MemoryBytes: 1044 * mi},
		},
		"a sidecar before an init": {
			[]doc{podsOf(t, "", box("1", "1Mi", "0", "0", "Always")+","+box("3", "3Mi", "0", "0", ""), small)},
			entitlement.Usage{Apps: 1, Replicas: 1, MilliCPU: 4000, MemoryBytes: 21 * mi},
		},
		"a sidecar after an init": {
			[]doc{podsOf(t, "", box("3", "3Mi", "0", "0", "")+","+box("1", "1Mi", "0", "0", "Always"), small)},
			entitlement.Usage{Apps: 1, Replicas: 1, MilliCPU: 3000, MemoryBytes: 21 * mi},
		},
		"two Deployments": {
			[]doc{podsOf(t, "", "", small), podsOf(t, `"replicas":2,`, "", large), decode(t, "", secretText)},
			entitlement.Usage{Apps: 1, Replicas: 3, MilliCPU: 2200, MemoryBytes: 2068 * mi},
		},
		"rounded up": {[]doc{podsOf(t, "", "", box("0.1m", "0.5", "0", "0", ""))}, entitlement.Usage{Apps: 1, Replicas: 1, MilliCPU: 1, MemoryBytes: 1}},
	} {
		if got, err := delivery.Use(c.docs); err != nil || got != c.want {
			t.Errorf("%s: %+v (%v), want %+v", name, got, err, c.want)
		}
	}
}

// Without requests there is no answer, and what can not be counted is not counted wrongly.
func TestUseThatCanNotBeCounted(t *testing.T) {
	t.Parallel()
	huge := box("9223372036854775", "7Ei", "0", "0", "")
	for want, d := range map[string]doc{
		"manifest_unbounded x#1":    podsOf(t, "", "", `{"resources":{"requests":{"cpu":"1"}}}`),
		"manifest_unbounded x#1 ":   podsOf(t, "", "", `{"resources":{"limits":{"cpu":"1","memory":"1Gi"}}}`),
		"manifest_unbounded x#1  ":  podsOf(t, "", `{}`, box("1", "1", "0", "0", "")),
		"manifest_unbounded x#1   ": podsOf(t, `"replicas":-1,`, "", box("1", "1", "0", "0", "")),
		"quantity_too_large ":       podsOf(t, `"replicas":1000,`, "", huge),
		"quantity_too_large  ":      podsOf(t, "", "", huge+","+huge),
		"quantity_too_large   ":     podsOf(t, "", strings.Replace(huge, `:""`, `:"Always"`, 1)+","+huge, box("1", "1", "0", "0", "")),
	} {
		_, err := delivery.Use([]doc{d})
		slug, field, _ := strings.Cut(want, " ")
		wantFault(t, err, slug+" "+strings.TrimSpace(field))
	}
}

// More replicas, more containers and larger limits never use less.
func TestMoreNeverUsesLess(t *testing.T) {
	t.Parallel()
	amount := rapid.SampledFrom([]string{"0", "1m", "100m", "1", "64Mi", "1Gi"})
	rapid.Check(t, func(t *rapid.T) {
		draw := func() []string {
			var out []string
			for range rapid.IntRange(1, 4).Draw(t, "boxes") {
				out = append(out, box(amount.Draw(t, "cpu"), amount.Draw(t, "memory"), amount.Draw(t, "limit"), "0", rapid.SampledFrom([]string{"", "Always"}).Draw(t, "restart")))
			}
			return out
		}
		init, containers := draw(), draw()
		use := func(replicas int, init, containers []string) entitlement.Usage {
			u, err := delivery.Use([]doc{podsOf(t, fmt.Sprintf(`"replicas":%d,`, replicas), strings.Join(init, ","), strings.Join(containers, ","))})
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
		base := use(2, init, containers)
		for name, more := range map[string]entitlement.Usage{
			"replicas": use(3, init, containers), "init": use(2, append(init, draw()...), containers), "containers": use(2, init, append(containers, draw()...)),
		} {
			if more.MilliCPU < base.MilliCPU || more.MemoryBytes < base.MemoryBytes || more.Replicas < base.Replicas {
				t.Fatalf("more %s: %+v after %+v", name, more, base)
			}
		}
	})
}

// A chart's secrets are in one Secret, whose values the agent puts in; each place is known by parameter.
func TestPlacesOfSecretValues(t *testing.T) {
	t.Parallel()
	d, any := delivery.ParametersSecret("shop", []param{{Name: "a", Type: "int"}, {Name: "db.password", Type: "string", Secret: true}, {Name: "token", Type: "string", Secret: true}})
	if !any || !reflect.DeepEqual(delivery.Objects([]doc{d}), []string{"Secret/shop-parameters"}) {
		t.Errorf("%+v", d)
	}
	if faults := delivery.Check(policy(), []doc{d}); len(faults) > 0 {
		t.Error(faults)
	}
	want := []delivery.Seal{{Parameter: "db.password", Secret: "shop-parameters", Key: "db.password"}, {Parameter: "token", Secret: "shop-parameters", Key: "token"}}
	if got := delivery.Seals([]doc{d}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if _, any := delivery.ParametersSecret("shop", []param{{Name: "a", Type: "int"}}); any {
		t.Error("a Secret without secrets")
	}
	two := shop(t)
	two[theTLS].Secrets = map[string]string{"/data/tls.key": "password", "/stringData/a~1b": "other"}
	want = []delivery.Seal{{Parameter: "other", Secret: "shop-tls", Key: "a/b"}, {Parameter: "password", Secret: "shop", Key: "password"}, {Parameter: "password", Secret: "shop-tls", Key: "tls.key"}}
	if got := delivery.Seals(two); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// What a customer sets may change numbers and words, and never what there is, what runs in it, and as whom.
func TestIdentityOfWhatIsRendered(t *testing.T) {
	t.Parallel()
	for path, same := range map[string]bool{
		"spec.replicas": true, containerAt + ".env.0.value": true, containerAt + ".resources.limits.cpu": true, "metadata.labels.x": true,
		"metadata.name": false, "kind": false, "apiVersion": false, "metadata.namespace": false, containerAt + ".image": false, containerAt + ".name": false,
		podAt + ".initContainers.0.image": false, podAt + ".serviceAccountName": false,
	} {
		docs := shop(t)
		put(t, docs[theDeployment].Object, path, "other")
		if got := delivery.SameIdentity(shop(t), docs); got != same {
			t.Errorf("%s: the same is %t", path, got)
		}
	}
	if delivery.SameIdentity(shop(t), shop(t)[1:]) {
		t.Error("an object less is the same")
	}
	placed := delivery.Place(shop(t), "acme")
	for _, d := range placed {
		if d.Object["metadata"].(obj)["namespace"] != "acme" {
			t.Errorf("%s is in no namespace", d.Origin)
		}
	}
	if !reflect.DeepEqual(placed[theSecret].Secrets, shop(t)[theSecret].Secrets) || shop(t)[0].Object["metadata"].(obj)["namespace"] != nil {
		t.Error("placing lost or changed something")
	}
}
