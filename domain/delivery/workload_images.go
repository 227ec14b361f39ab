package delivery

import (
	"slices"
	"strconv"
	"strings"
)

// containerFields are where pods list containers.
//
//nolint:gochecknoglobals // an immutable table
var containerFields = [...]string{"containers", "initContainers", "ephemeralContainers"}

// Images returns every image that the objects name, sorted: of each container of each pod template, wherever it stands,
// also in objects that Check refuses.
func Images(docs []Document) []string {
	found := map[string]bool{}
	for _, d := range docs {
		eachContainer(d.Object, func(box map[string]any) {
			if name, ok := box["image"].(string); ok {
				found[name] = true
			}
		})
	}
	return sortedKeys(found)
}

// Pin returns the objects with each image replaced by what it is pinned to; one that is not among the pins stays. The
// given objects are left alone.
func Pin(docs []Document, pins map[string]string) []Document {
	return changed(docs, func(o map[string]any) {
		eachContainer(o, func(box map[string]any) {
			name, _ := box["image"].(string)
			if to, ok := pins[name]; ok {
				box["image"] = to
			}
		})
	})
}

// Place returns the objects with their namespace spelt out, for an agent that manages several. The given objects are left
// alone.
func Place(docs []Document, namespace string) []Document {
	return changed(docs, func(o map[string]any) {
		if m, ok := o["metadata"].(map[string]any); ok {
			m["namespace"] = namespace
		}
	})
}

func changed(docs []Document, change func(map[string]any)) []Document {
	out := slices.Clone(docs)
	for i, d := range out {
		out[i].Object, _ = copied(d.Object).(map[string]any)
		change(out[i].Object)
	}
	return out
}

func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = copied(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = copied(value)
		}
		return out
	}
	return v
}

// eachContainer finds what lists containers, wherever it stands in an object.
func eachContainer(v any, do func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, field := range containerFields {
			for _, box := range items(v, field) {
				do(box)
			}
		}
		for _, part := range v {
			eachContainer(part, do)
		}
	case []any:
		for _, part := range v {
			eachContainer(part, do)
		}
	}
}

// ParametersSecret is the Secret that a chart with secret parameters is given the name of (existingSecret), with a place
// for each of them; false where the release declares none.
func ParametersSecret(app string, declared []Parameter) (Document, bool) {
	name := ParametersSecretName(app)
	values, places := map[string]any{}, map[string]string{}
	for _, p := range declared {
		if p.Secret {
			values[p.Name] = ""
			places[Pointer([]string{"stringData", p.Name})] = p.Name
		}
	}
	return Document{Origin: name, Secrets: places, Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "metadata": map[string]any{"name": name}, "stringData": values,
	}}, len(values) > 0
}

// ParametersSecretName is what existingSecret of a chart is set to.
func ParametersSecretName(app string) string { return app + "-parameters" }

// Seals says where the agent puts each secret value: by parameter, then Secret and key.
func Seals(docs []Document) []Seal {
	var out []Seal
	for _, d := range docs {
		for _, place := range sortedKeys(d.Secrets) {
			if steps := strings.SplitN(place, "/", 3); len(steps) == 3 {
				out = append(out, Seal{Parameter: d.Secrets[place], Secret: d.name(), Key: unescaped(steps[2])})
			}
		}
	}
	slices.SortFunc(out, func(a, b Seal) int {
		return strings.Compare(strings.Join([]string{a.Parameter, a.Secret, a.Key}, "\x00"), strings.Join([]string{b.Parameter, b.Secret, b.Key}, "\x00"))
	})
	return out
}

func unescaped(step string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
}

// identities is what a value that a customer chose may not change (E4): which objects there are, what runs in them, and as
// whom.
func identities(docs []Document) []string {
	var out []string
	for _, d := range docs {
		object := d.text("apiVersion") + " " + d.kind() + "/" + d.name() + " in " + d.text("metadata", "namespace")
		out = append(out, object)
		account, _ := dig(d.Object, "spec", "template", "spec", "serviceAccountName").(string)
		out = append(out, object+" as "+account)
		for _, field := range containerFields {
			for i, box := range items(d.Object, "spec", "template", "spec", field) {
				name, _ := box["name"].(string)
				image, _ := box["image"].(string)
				out = append(out, object+" "+field+" "+strconv.Itoa(i)+" "+name+" "+image)
			}
		}
	}
	slices.Sort(out)
	return out
}

// SameIdentity tells whether two renderings of a release are the same objects with the same images, containers and
// accounts: what a customer sets may change nothing of that (E4).
func SameIdentity(a, b []Document) bool { return slices.Equal(identities(a), identities(b)) }
