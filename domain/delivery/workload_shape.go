package delivery

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"berth/domain/fault"
	"berth/domain/ident"
	"berth/domain/quantity"
)

// shape is what a value of an object has to look like. Null is no value: a field that is null is not there.
type shape interface {
	check(c *checker, v any)
}

// checker walks through one object and notes what is refused, by JSON pointer.
type checker struct {
	policy Policy
	own    map[string]bool // Kind/name of the app's objects
	origin string
	path   []string
	faults []*fault.Error
}

func (c *checker) refuse(err *fault.Error) {
	if len(c.faults) < maxTold {
		c.faults = append(c.faults, err.At(placed(c.origin, c.path)))
	}
}

// field refuses a value that the allow-list does not have.
func (c *checker) field(format string, args ...any) {
	c.refuse(invalid("manifest_field_refused", format, args...))
}

// at does something for a part of the object.
func (c *checker) at(step string, do func()) {
	c.path = append(c.path, step)
	do()
	c.path = c.path[:len(c.path)-1]
}

// placed names a place in an object: web.yaml#2:/spec/replicas.
func placed(origin string, steps []string) string {
	if len(steps) == 0 {
		return origin
	}
	return origin + ":" + Pointer(steps)
}

// Pointer is the JSON pointer that the steps make (RFC 6901). A step that is longer than anybody reads is cut.
func Pointer(steps []string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var out strings.Builder
	for _, step := range steps {
		if len(step) > maxStep {
			step = strings.ToValidUTF8(step[:maxStep], "") + "…"
		}
		out.WriteString("/" + escape.Replace(step))
	}
	return out.String()
}

const maxStep = 253 // bytes: as long as Kubernetes lets a name be

// object is a map of the fields that it lists, and of no other.
type object map[string]shape

func (o object) check(c *checker, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		c.field("this is an object")
		return
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if m[key] == nil {
			continue
		}
		c.at(key, func() {
			if s, allowed := o[key]; allowed {
				s.check(c, m[key])
				return
			}
			c.refuse(invalid("manifest_field_refused", "this field is none that Berth delivers").Curable("leave it out"))
		})
	}
}

// list is a list of one shape.
type list struct {
	of   shape
	most int
}

func (l list) check(c *checker, v any) {
	items, ok := v.([]any)
	switch {
	case !ok:
		c.field("this is a list")
		return
	case len(items) > l.most:
		c.field("this list has at most %d items", l.most)
		return
	}
	for i, item := range items {
		c.at(strconv.Itoa(i), func() { l.of.check(c, item) })
	}
}

// texts is a map of text by keys of one form.
type texts struct {
	key  func(string) bool
	of   shape
	most int
}

func (t texts) check(c *checker, v any) {
	m, ok := v.(map[string]any)
	switch {
	case !ok:
		c.field("this is an object")
		return
	case len(m) > t.most:
		c.field("this object has at most %d members", t.most)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if m[key] == nil {
			continue
		}
		c.at(key, func() {
			if !t.key(key) {
				c.field("this is no key for this object")
			}
			t.of.check(c, m[key])
		})
	}
}

// text is a string of a form.
type text struct {
	fits func(string) bool
	says string // what the form is
}

func (t text) check(c *checker, v any) {
	if s, ok := v.(string); !ok || len(s) > maxText || !t.fits(s) {
		c.field("this is %s", t.says)
	}
}

const maxText = 256 << 10 // bytes of any string in an object

// oneOf is a string out of a few.
type oneOf []string

func (o oneOf) check(c *checker, v any) {
	if s, ok := v.(string); !ok || !slices.Contains(o, s) {
		c.field("this is one of %q", []string(o))
	}
}

// only is a boolean that may not be the other one.
type only bool

func (o only) check(c *checker, v any) {
	if v != bool(o) {
		c.refuse(invalid("manifest_insecure", "this is %t, or not there", bool(o)))
	}
}

type boolean struct{}

func (boolean) check(c *checker, v any) {
	if _, ok := v.(bool); !ok {
		c.field("this is true or false")
	}
}

// whole is a whole number within bounds.
type whole struct{ least, most int64 }

func (w whole) check(c *checker, v any) {
	if n, ok := v.(int64); !ok || n < w.least || n > w.most {
		c.field("this is a whole number from %d to %d", w.least, w.most)
	}
}

// either is a value of one shape or the other, by whether it is text.
type either struct{ text, other shape }

func (e either) check(c *checker, v any) {
	if _, ok := v.(string); ok {
		e.text.check(c, v)
		return
	}
	e.other.check(c, v)
}

// amount is a quantity, written as text or as a number.
type amount struct{}

func (amount) check(c *checker, v any) {
	s, ok := amountText(v)
	if !ok {
		c.field("this is a Kubernetes quantity")
		return
	}
	if err := quantity.Check(s); err != nil {
		c.refuse(err)
	}
}

// amountText is a quantity as text: numbers stand for themselves, as in JSON.
func amountText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	}
	return "", false
}

// reference is the name of an object of a kind, which is the app's own or a declared external.
type reference string

func (r reference) check(c *checker, v any) {
	name, ok := v.(string)
	switch {
	case !ok || !dnsName(name):
		c.field("this is the name of a %s", string(r))
	case !c.own[string(r)+"/"+name] && !slices.Contains(c.policy.Externals, string(r)+"/"+name):
		c.refuse(invalid("manifest_reference_outside", "%s/%s is neither the app's own nor a declared external", string(r), name).
			Curable("add the object to the release, or declare %s/%s among its externals", string(r), name))
	}
}

// host is a host name that Ingresses of the deployment may have.
type host struct{}

func (host) check(c *checker, v any) {
	name, ok := v.(string)
	switch {
	case !ok || !dnsName(strings.TrimPrefix(name, "*.")):
		c.field("this is a host name")
	case !c.policy.AnyHost && !slices.Contains(c.policy.IngressHosts, name):
		c.refuse(invalid("ingress_host_refused", "%q is none of the deployment's ingress hosts", name).
			Curable("use one of them, or ask the vendor to add it to the deployment"))
	}
}

// namespace is absent, or the deployment's.
type namespace struct{}

func (namespace) check(c *checker, v any) {
	name, ok := v.(string)
	switch {
	case !ok || ident.Check("", name) != nil:
		c.field("this is the name of a namespace")
	case !c.policy.AnyHost && name != c.policy.Namespace:
		c.refuse(invalid("manifest_namespace_refused", "an object is in its deployment's namespace").Curable("leave the namespace out"))
	}
}
