package delivery

// Document is one Kubernetes object, decoded: maps by string, lists, strings, int64, float64, bool and nil.
type Document struct {
	Origin string // file, and which document of it, for people: "deployment.yaml#2"
	Object map[string]any
	// Secrets are the places of secret parameters: the parameter's name by JSON pointer (RFC 6901). An empty string stands
	// at each.
	Secrets map[string]string
}

// Bounds of what one app is rendered to.
const (
	MaxObjects   = 100
	MaxRendered  = 1 << 20 // bytes, encoded
	MaxAppImages = 64
	MaxDepth     = 64 // of an object: maps and lists within one another
)
