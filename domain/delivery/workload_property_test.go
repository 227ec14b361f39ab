package delivery_test

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"berth/domain/delivery"
)

// dangers are the fields that make a workload more than a workload, by what makes them harmless. The list is written down
// apart from the table that it judges.
var dangers = map[string]func(any) bool{
	"hostNetwork": isFalse, "hostPID": isFalse, "hostIPC": isFalse, "privileged": isFalse, "allowPrivilegeEscalation": isFalse,
	"automountServiceAccountToken": isFalse, "hostUsers": never, "hostAliases": never, "shareProcessNamespace": never,
	"hostPath": never, "hostPort": never, "hostIP": never, "nodePort": never, "nodeName": never, "ephemeralContainers": never, "runtimeClassName": never,
	"priorityClassName": never, "schedulerName": never, "tolerations": never, "nodeAffinity": never, "serviceAccountToken": never,
	"clusterTrustBundle": never, "csi": never, "nfs": never, "ephemeral": never, "volumeDevices": never, "procMount": never, "seLinuxOptions": never,
	"windowsOptions": never, "sysctls": never, "mountPropagation": never, "subPathExpr": never, "externalIPs": never, "externalName": never,
	"loadBalancerIP": never, "loadBalancerClass": never, "clusterIPs": never, "ownerReferences": never, "finalizers": never, "generateName": never,
	"defaultBackend": never, "resource": isText, "claims": never, "serviceAccountName": isDefault, "serviceAccount": isDefault,
	"type": isOneOf("ClusterIP", "Opaque", "kubernetes.io/tls", "kubernetes.io/dockerconfigjson", "RuntimeDefault", "RollingUpdate", "Recreate"),
	"add": func(v any) bool {
		return reflect.DeepEqual(v, []any{"NET_BIND_SERVICE"}) || reflect.DeepEqual(v, []any{})
	},
	"drop": func(v any) bool { return reflect.DeepEqual(v, []any{"ALL"}) }, "runAsUser": func(v any) bool { return v != int64(0) },
	"runAsNonRoot": func(v any) bool { return v == true }, "namespace": isOneOf("acme"), "kind": isOneOf("Deployment", "Service", "Ingress", "Secret", "ConfigMap"),
	"restartPolicy": isOneOf("Always"), "dnsPolicy": isOneOf("ClusterFirst"),
}

func isFalse(v any) bool   { return v == false }
func never(any) bool       { return false }
func isText(v any) bool    { _, ok := v.(string); return ok }
func isDefault(v any) bool { return v == "default" }
func isOneOf(all ...string) func(any) bool {
	return func(v any) bool { s, ok := v.(string); return ok && slices.Contains(all, s) }
}

// free are where keys are the app's own words.
var free = []string{"data", "stringData", "binaryData", "labels", "matchLabels", "annotations", "selector", "nodeSelector"}

// danger finds a dangerous field anywhere in a value.
func danger(v any) string {
	switch v := v.(type) {
	case obj:
		for k, e := range v {
			harmless, known := dangers[k]
			if known && e != nil && !harmless(e) {
				return k
			}
			if inner := danger(e); inner != "" && !slices.Contains(free, k) {
				return k + "." + inner
			}
		}
	case []any:
		for _, e := range v {
			if inner := danger(e); inner != "" {
				return inner
			}
		}
	}
	return ""
}

func everyMap(v any, found []obj) []obj {
	switch v := v.(type) {
	case obj:
		found = append(found, v)
		for _, k := range slices.Sorted(maps.Keys(v)) {
			found = everyMap(v[k], found)
		}
	case []any:
		for _, e := range v {
			found = everyMap(e, found)
		}
	}
	return found
}

func drawValue(t *rapid.T) any {
	return rapid.SampledFrom([]any{
		nil, true, false, int64(0), int64(1), int64(8080), 0.5, "", "default", "Always", "acme", "shop", "kube-system", "/", "100m", "RuntimeDefault", "ALL",
		"NET_BIND_SERVICE", "SYS_ADMIN", "Localhost", "r.example/other:1", "NodePort", "*", "shop.example.com",
		[]any{}, []any{"ALL"}, []any{"SYS_ADMIN"}, []any{"NET_BIND_SERVICE"}, []any{obj{"hostPath": obj{"path": "/"}, "name": "x"}}, []any{nil},
		obj{}, obj{"path": "/"}, obj{"type": "RuntimeDefault"}, obj{"type": "Unconfined"}, obj{"name": "shop"}, obj{"privileged": true}, obj{"hostNetwork": true},
	}).Draw(t, "value")
}

// disturb changes a few fields of an app, dangerous and harmless ones, where they belong and where they do not.
func disturb(t *rapid.T, docs []doc) {
	words := append(slices.Sorted(maps.Keys(dangers)), "replicas", "image", "name", "env", "securityContext", "containers", "initContainers", "volumes",
		"metadata", "spec", "template", "labels", "args", "livenessProbe", "resources", "limits", "requests", "cpu", "readOnlyRootFilesystem", "seccompProfile",
		"emptyDir", "secret", "secretName", "paths", "host", "hosts", "rules", "data", "apiVersion", "annotations", "status")
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		all := everyMap(docs[rapid.IntRange(0, len(docs)-1).Draw(t, "document")].Object, nil)
		m := all[rapid.IntRange(0, len(all)-1).Draw(t, "map")]
		keys := append(slices.Sorted(maps.Keys(m)), words...)
		if rapid.Bool().Draw(t, "known") && len(m) > 0 {
			keys = slices.Sorted(maps.Keys(m))
		}
		key := rapid.SampledFrom(keys).Draw(t, "key")
		if value := drawValue(t); value == nil && rapid.Bool().Draw(t, "delete") {
			delete(m, key)
		} else {
			m[key] = value
		}
	}
}

// What Check accepts holds nothing dangerous anywhere, however it was made; names nothing outside of the app; uses a
// bounded amount; and is accepted by whoever reads it again, such as the cluster's agent.
func TestWhatIsAcceptedIsHarmless(t *testing.T) {
	t.Parallel()
	p := policy()
	rapid.Check(t, func(t *rapid.T) {
		docs := shop(t)
		for i := range docs {
			docs[i].Secrets = nil
		}
		disturb(t, docs)
		if len(delivery.Check(p, docs)) > 0 {
			return
		}
		for _, d := range docs {
			if found := danger(d.Object); found != "" {
				t.Fatalf("%s is accepted with %s: %v", d.Origin, found, d.Object)
			}
		}
		own := append(delivery.Objects(docs), p.Externals...)
		for _, m := range everyMap(docs[theDeployment].Object, nil) {
			if name, named := m["secretName"].(string); named && !slices.Contains(own, "Secret/"+name) {
				t.Fatalf("a volume is of Secret %q", name)
			}
			if ref, ok := m["secretKeyRef"].(obj); ok && ref["name"] != nil && !slices.Contains(own, "Secret/"+ref["name"].(string)) {
				t.Fatalf("a variable is of Secret %q", ref["name"])
			}
		}
		if use, err := delivery.Use(docs); err != nil || use.Replicas > 0 && (use.MilliCPU < 0 || use.MemoryBytes < 0) {
			t.Fatalf("uses %+v, %v", use, err)
		}
		data, err := delivery.Encode(docs)
		if err != nil {
			t.Fatal(err)
		}
		again, err := delivery.Decode(data)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if faults := delivery.Check(p, again); len(faults) > 0 {
			t.Fatalf("read again it is refused: %v", faults)
		}
	})
}

// Whatever the objects are, judging them does not panic, changes nothing, and is the same each time.
func TestJudgingChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs := shop(t)
		disturb(t, docs)
		before := delivery.Pin(docs, nil)
		first := named(delivery.Check(policy(), docs))
		_, _ = delivery.Use(docs)
		_, _ = delivery.Encode(docs)
		_ = delivery.Seals(docs)
		if !reflect.DeepEqual(docs, before) {
			t.Fatal("judging changed an object")
		}
		if second := named(delivery.Check(policy(), docs)); !slices.Equal(first, second) {
			t.Fatalf("%q, then %q", first, second)
		}
	})
}

func drawPods(t *rapid.T) []doc {
	image := rapid.SampledFrom([]string{"r.example/a:1", "r.example/b:2", "r.example/c@" + digestText, "nginx", ""})
	box := func() any {
		return obj{"name": "x", "image": image.Draw(t, "image")}
	}
	var docs []doc
	for range rapid.IntRange(0, 4).Draw(t, "documents") {
		pod := obj{}
		for _, field := range []string{"containers", "initContainers", "ephemeralContainers"} {
			boxes := []any{}
			for range rapid.IntRange(0, 3).Draw(t, field) {
				boxes = append(boxes, box())
			}
			pod[field] = boxes
		}
		o := obj{"kind": rapid.SampledFrom([]string{"Deployment", "StatefulSet", "Job", "Unknown"}).Draw(t, "kind"), "spec": obj{"template": obj{"spec": pod}}}
		switch rapid.IntRange(0, 2).Draw(t, "where") {
		case 1: // a CronJob
			o["spec"] = obj{"jobTemplate": obj{"spec": o["spec"]}}
		case 2: // a Pod, within a List
			o = obj{"kind": "List", "items": []any{obj{"kind": "Pod", "spec": pod}}}
		}
		docs = append(docs, doc{Object: o})
	}
	return docs
}

// Every image that is anywhere in the objects' containers is found, each that is found is pinned, nothing else changes, and
// the given objects stay as they were.
func TestImagesAreFoundAndPinned(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs := drawPods(t)
		before := delivery.Pin(docs, nil)
		found := delivery.Images(docs)
		want := map[string]bool{}
		for _, d := range docs {
			for _, m := range everyMap(d.Object, nil) {
				if s, ok := m["image"].(string); ok {
					want[s] = true
				}
			}
		}
		if !slices.Equal(found, slices.Sorted(maps.Keys(want))) {
			t.Fatalf("found %q of %v", found, want)
		}
		pins, back := map[string]string{}, map[string]string{}
		for i, image := range found {
			pins[image] = "pinned/" + string(rune('a'+i))
			back[pins[image]] = image
		}
		pinned := delivery.Pin(docs, pins)
		for _, image := range delivery.Images(pinned) {
			if back[image] == "" && pins[""] != image {
				t.Fatalf("%q is not pinned", image)
			}
		}
		if !reflect.DeepEqual(docs, before) || !reflect.DeepEqual(delivery.Pin(pinned, back), docs) {
			t.Fatal("pinning changed more than images, or what it was given")
		}
	})
}

// The same objects have one form, in whichever order they come and whichever way their numbers were written; what is
// written is read back; other objects have another form.
func TestEncodingIsCanonical(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs := shop(t)
		disturb(t, docs)
		if len(slices.Compact(slices.Sorted(slices.Values(delivery.Objects(docs))))) < len(docs) {
			return
		}
		first, err := delivery.Encode(docs)
		if err != nil {
			t.Fatal(err)
		}
		shuffled := rapid.Permutation(docs).Draw(t, "order")
		if second, err := delivery.Encode(delivery.Pin(shuffled, nil)); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s\n%s\n%v", first, second, err)
		}
		read, err := delivery.Decode(first)
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		if again, err := delivery.Encode(read); err != nil || !bytes.Equal(first, again) {
			t.Fatalf("%s\n%s\n%v", first, again, err)
		}
		put(t, docs[0].Object, "spec", obj{"other": "spec"})
		if other, _ := delivery.Encode(docs); bytes.Equal(first, other) {
			t.Fatal("other objects have the same form")
		}
	})
	docs := []doc{decode(t, "", `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"b"},"spec":{"x":1e3,"y":-0.0,"z":0.5,"n":null,"l":[null,"<&>"]}}`), decode(t, "", secretText)}
	got, err := delivery.Encode(docs)
	want := `{"objects":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"shop"},"stringData":{"password":""},"type":"Opaque"},` +
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"b"},"spec":{"l":[null,"<&>"],"x":1000,"y":0,"z":0.5}}]}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	big := []doc{{Object: obj{"data": strings.Repeat("x", delivery.MaxRendered)}}}
	wantFault(t, second(delivery.Encode(big)), "manifest_too_large ")
	if empty, err := delivery.Encode(nil); err != nil || string(empty) != `{"objects":[]}` {
		t.Errorf("%s, %v", empty, err)
	}
}

// Only what Encode writes is read: nothing that can be understood in two ways.
func TestDecodingIsStrict(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "null", "[]", "{}", `{"objects":null}`, `{"Objects":[]}`, `{"objects":[]} `, `{"objects":[]}{}`, `{"objects":[null]}`, `{"objects":[1]}`, `{"objects":[{"a":1,"a":1}]}`,
		`{"objects":[{"b":1,"a":1}]}`, `{"objects":[{"a":null}]}`, `{"objects":[{"a":1.0}]}`, `{"objects":[{"a":1e3}]}`, `{"objects":[{"a":-0}]}`,
		`{"objects":[{"a":99999999999999999999}]}`, `{"objects":[{"a":1e999}]}`, `{"objects":[],"more":1}`, "{\"objects\":[{\"a\":\"\xff\"}]}",
		`{"objects":[{"kind":"Deployment"},{"kind":"Secret"}]}`,
	} {
		if docs, err := delivery.Decode([]byte(text)); err == nil {
			t.Errorf("%s became %v", text, docs)
		}
	}
	wantFault(t, second(delivery.Decode(bytes.Repeat([]byte(" "), delivery.MaxRendered+1))), "manifest_too_large ")
}

// Any text is refused, or is written again as it was read.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"objects":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"n":[1,0.5,true,null,"x"]}]}`))
	f.Add([]byte(`{"objects":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, err := delivery.Decode(data)
		if err != nil {
			return
		}
		if again, err := delivery.Encode(docs); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%q became %q: %v", data, again, err)
		}
		_ = delivery.Check(policy(), docs)
		_, _ = delivery.Use(docs)
		_ = delivery.Pin(docs, map[string]string{"a": "b"})
	})
}
