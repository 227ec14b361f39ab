package delivery

import (
	"maps"
	"slices"
	"strconv"

	"berth/domain/quantity"
)

// secure refuses a pod that lacks what the restricted Pod Security profile demands to be there, that would get the
// default account's token, or that asks for no bounded amount of CPU and memory. What the profile forbids is not in the
// allow-list.
func (c *checker) secure(spec any) {
	if dig(spec, "automountServiceAccountToken") != false {
		c.insecure("automountServiceAccountToken: false", "automountServiceAccountToken")
	}
	if len(items(spec, "containers")) == 0 {
		c.field("a pod has containers")
	}
	mounts := map[string]bool{}
	for _, v := range items(spec, "volumes") {
		name, _ := v["name"].(string)
		mounts[name] = true
	}
	for _, field := range [...]string{"initContainers", "containers"} {
		for i, box := range items(spec, field) {
			c.path = append(c.path, field, strconv.Itoa(i))
			c.secureContainer(spec, box)
			c.bounded(box)
			c.mounted(box, mounts)
			c.path = c.path[:len(c.path)-2]
		}
	}
}

func (c *checker) secureContainer(spec any, box map[string]any) {
	context := dig(box, "securityContext")
	if dig(context, "allowPrivilegeEscalation") != false {
		c.insecure("securityContext.allowPrivilegeEscalation: false", "securityContext", "allowPrivilegeEscalation")
	}
	if drop, _ := dig(context, "capabilities", "drop").([]any); !slices.Contains(drop, any("ALL")) {
		c.insecure(`securityContext.capabilities.drop: ["ALL"]`, "securityContext", "capabilities", "drop")
	}
	if dig(context, "runAsNonRoot") != true && dig(spec, "securityContext", "runAsNonRoot") != true {
		c.insecure("securityContext.runAsNonRoot: true, here or on the pod", "securityContext", "runAsNonRoot")
	}
	const profile = "RuntimeDefault"
	if dig(context, "seccompProfile", "type") != profile && dig(spec, "securityContext", "seccompProfile", "type") != profile {
		c.insecure("securityContext.seccompProfile.type: RuntimeDefault, here or on the pod", "securityContext", "seccompProfile")
	}
	if name, _ := dig(box, "name").(string); name == "" {
		c.field("a container has a name")
	}
	if reference, _ := dig(box, "image").(string); reference == "" {
		c.field("a container has an image")
	}
}

// insecure refuses what is not said, at the place where it is to be said.
func (c *checker) insecure(say string, path ...string) {
	depth := len(c.path)
	c.path = append(c.path, path...)
	c.refuse(invalid("manifest_insecure", "the restricted Pod Security profile, and no token of an account, are demanded").
		Curable("set %s", say))
	c.path = c.path[:depth]
}

// bounded refuses a container without requests, or that requests nothing, and one whose requests are above its limits.
func (c *checker) bounded(box map[string]any) {
	depth := len(c.path)
	for _, resource := range [...]string{"cpu", "memory"} {
		request, asked := amountOf(box, "requests", resource)
		limit, limited := amountOf(box, "limits", resource)
		c.path = append(c.path, "resources", "requests", resource)
		switch {
		case !asked || request == 0: // zero is no bound to Kubernetes, and would count as nothing
			c.refuse(invalid("manifest_unbounded", "a container says how much %s it requests", resource).
				Curable("set resources.requests.%s", resource))
		case limited && request > limit:
			c.field("a container does not request more than its limit")
		}
		c.path = c.path[:depth]
	}
}

// amountOf is what a container requests, or is limited to, in thousandths of a CPU or bytes; false where it does not say,
// or says no quantity.
func amountOf(box map[string]any, what, resource string) (int64, bool) {
	said, ok := amountText(dig(box, "resources", what, resource))
	if !ok {
		return 0, false
	}
	read := quantity.Bytes
	if resource == "cpu" {
		read = quantity.MilliCPU
	}
	n, err := read(said)
	return n, err == nil
}

// mounted refuses what a container mounts and its pod does not have.
func (c *checker) mounted(box map[string]any, volumes map[string]bool) {
	for i, m := range items(box, "volumeMounts") {
		if name, _ := m["name"].(string); !volumes[name] {
			depth := len(c.path)
			c.path = append(c.path, "volumeMounts", strconv.Itoa(i))
			c.refuse(invalid("manifest_reference_outside", "the pod has no volume of this name"))
			c.path = c.path[:depth]
		}
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
