package delivery

import (
	"slices"
	"strconv"
	"strings"

	"berth/domain/fault"
)

// Check refuses what Berth does not deliver (D2): every kind and every field outside of the allow-list, what lacks what
// the restricted Pod Security profile demands, and what refers to anything outside of the app. Each fault names the
// object by its origin, and the place in it by JSON pointer. Invalid: manifest_kind_refused, manifest_field_refused,
// manifest_insecure, manifest_namespace_refused, manifest_reference_outside, manifest_repeated, manifest_unbounded,
// manifest_too_large, manifest_empty, ingress_host_refused, image_reference_invalid, registry_unknown, quantity_invalid,
// quantity_too_large, secret_place_refused.
func Check(p Policy, docs []Document) []*fault.Error {
	switch {
	case len(docs) == 0:
		return []*fault.Error{invalid("manifest_empty", "there is no object to deliver")}
	case len(docs) > MaxObjects:
		return []*fault.Error{invalid("manifest_too_large", "an app has at most %d objects", MaxObjects)}
	}
	own := map[string]bool{}
	var faults []*fault.Error
	for _, d := range docs {
		c := checker{policy: p, own: own, origin: d.Origin}
		if own[d.kind()+"/"+d.name()] {
			c.refuse(invalid("manifest_repeated", "the app has two objects %s/%s", d.kind(), d.name()))
		}
		own[d.kind()+"/"+d.name()] = true
		faults = append(faults, c.faults...)
	}
	for _, d := range docs {
		c := checker{policy: p, own: own, origin: d.Origin}
		c.document(d)
		if d.kind() == "Service" {
			c.selects(docs, d)
		}
		faults = append(faults, c.faults...)
	}
	if n := len(Images(docs)); n > MaxAppImages {
		faults = append(faults, invalid("manifest_too_large", "an app has at most %d images, and this one has %d", MaxAppImages, n))
	}
	return faults[:min(len(faults), maxTold)]
}

func (c *checker) document(d Document) {
	k := kind{d.text("apiVersion"), d.kind()}
	o, ok := allowed[k]
	if !ok || k.name == "ConfigMap" && !c.policy.ConfigMaps {
		c.refuse(invalid("manifest_kind_refused", "%s %s is no kind that Berth delivers here", k.version, k.name).
			Curable("deliver Deployment (apps/v1), Service and Secret (v1), Ingress (networking.k8s.io/v1), and ConfigMap (v1) where the deployment allows it"))
		return
	}
	o.check(c, d.Object)
	if d.name() == "" {
		c.field("an object has a name: metadata.name")
	}
	c.secrets(d)
	switch k.name {
	case "Deployment":
		c.deployment(d)
	case "Ingress":
		c.ingress(d)
	}
}

// secrets refuses secret parameters anywhere but among the values of Secrets: elsewhere they would be shown.
func (c *checker) secrets(d Document) {
	for _, place := range sortedKeys(d.Secrets) {
		steps := strings.Split(place, "/")
		if d.kind() == "Secret" && len(steps) == 3 && (steps[1] == "data" || steps[1] == "stringData") {
			continue
		}
		c.refuse(invalid("secret_place_refused", "the secret parameter %q stands at %s, and not among the values of a Secret",
			d.Secrets[place], place).Curable("put it into a Secret's stringData, and refer to that"))
	}
}

func (c *checker) deployment(d Document) {
	template := dig(d.Object, "spec", "template")
	wanted, _ := dig(d.Object, "spec", "selector", "matchLabels").(map[string]any)
	if !matches(wanted, template) {
		c.at("spec", func() {
			c.at("selector", func() { c.field("a Deployment selects the pods of its own template, by labels") })
		})
	}
	c.path = append(c.path, "spec", "template", "spec")
	c.secure(dig(template, "spec"))
	c.path = nil
}

// matches tells whether a selector has labels, and all of them are the template's.
func matches(selector map[string]any, template any) bool {
	has, _ := dig(template, "metadata", "labels").(map[string]any)
	for k, v := range selector {
		if v == nil || has[k] != v {
			return false
		}
	}
	return len(selector) > 0
}

// selects refuses a Service that selects none of the app's own pods.
func (c *checker) selects(docs []Document, d Document) {
	wanted, _ := dig(d.Object, "spec", "selector").(map[string]any)
	if slices.ContainsFunc(docs, func(o Document) bool {
		return o.kind() == "Deployment" && matches(wanted, dig(o.Object, "spec", "template"))
	}) {
		return
	}
	c.path = append(c.path, "spec", "selector")
	c.refuse(invalid("manifest_reference_outside", "a Service selects pods of one of the app's own Deployments, by labels"))
	c.path = nil
}

// ingress refuses an Ingress, or a rule of one, that is for every host.
func (c *checker) ingress(d Document) {
	rules := items(d.Object, "spec", "rules")
	if len(rules) == 0 {
		c.refuse(invalid("ingress_host_refused", "an Ingress has rules, each for one host"))
	}
	for i, rule := range rules {
		if rule["host"] == nil {
			c.path = append(c.path, "spec", "rules", strconv.Itoa(i))
			c.refuse(invalid("ingress_host_refused", "a rule of an Ingress is for one host, and names it"))
			c.path = nil
		}
	}
	for i, tls := range items(d.Object, "spec", "tls") {
		if hosts, _ := tls["hosts"].([]any); len(hosts) == 0 {
			c.path = append(c.path, "spec", "tls", strconv.Itoa(i))
			c.refuse(invalid("ingress_host_refused", "a certificate of an Ingress is for hosts, and names them"))
			c.path = nil
		}
	}
}
