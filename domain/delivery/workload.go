package delivery

// Document is one Kubernetes object, decoded: maps by string, lists, strings, int64, float64, bool and nil.
type Document struct {
	Origin string // file, and which document of it, for people: "deployment.yaml#2"
	Object map[string]any
	// Secrets are the places of secret parameters: the parameter's name by JSON pointer (RFC 6901). An empty string stands
	// at each.
	Secrets map[string]string
}

// Policy is what the objects of one app are held to, beside the allow-list that holds for every app (D2).
type Policy struct {
	Namespace    string   // the only one that they may name
	IngressHosts []string // the only hosts that Ingresses may name
	AnyHost      bool     // any host and namespace instead: for a release, before there is a deployment
	ConfigMaps   bool     // whether ConfigMap is among the kinds
	Externals    []string // Release.Externals
	Registries   []Registry
	AnyRegistry  bool // any registry instead: where images are judged apart
}

// Bounds of what one app is rendered to.
const (
	MaxObjects   = 100
	MaxRendered  = 1 << 20 // bytes, encoded
	MaxAppImages = 64
	MaxDepth     = 64 // of an object: maps and lists within one another
	maxTold      = 100
)

// text returns the text at a path of maps; empty where there is none.
func (d Document) text(path ...string) string {
	s, _ := dig(d.Object, path...).(string)
	return s
}

func (d Document) kind() string { return d.text("kind") }

func (d Document) name() string { return d.text("metadata", "name") }

// dig returns what is at a path of maps; nil where there is nothing.
func dig(v any, path ...string) any {
	for _, step := range path {
		m, _ := v.(map[string]any)
		v = m[step]
	}
	return v
}

// items returns the maps of a list at a path of maps.
func items(v any, path ...string) []map[string]any {
	list, _ := dig(v, path...).([]any)
	out := make([]map[string]any, len(list))
	for i, item := range list {
		out[i], _ = item.(map[string]any)
	}
	return out
}

// Objects names the objects, as Kind/name.
func Objects(docs []Document) []string {
	out := make([]string, 0, len(docs))
	for _, d := range docs {
		out = append(out, d.kind()+"/"+d.name())
	}
	return out
}
