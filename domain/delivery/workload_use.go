package delivery

import (
	"math"

	"berth/domain/entitlement"
	"berth/domain/fault"
)

// Use returns what objects that Check accepts use at most: one app, its replicas, and for each of them the larger of
// requests and limits of all its containers, counted as Kubernetes counts them (DESIGN §14). Fault: Invalid
// manifest_unbounded, quantity_too_large.
func Use(docs []Document) (entitlement.Usage, error) {
	out := entitlement.Usage{Apps: 1}
	for _, d := range docs {
		if d.kind() != "Deployment" {
			continue
		}
		replicas := int64(1)
		if n, ok := dig(d.Object, "spec", "replicas").(int64); ok {
			replicas = n
		}
		spec := dig(d.Object, "spec", "template", "spec")
		cpu, ok := demand(spec, "cpu")
		memory, okay := demand(spec, "memory")
		if !ok || !okay || replicas < 0 {
			return entitlement.Usage{}, invalid("manifest_unbounded", "a container says how much CPU and memory it requests").At(d.Origin)
		}
		out.Replicas = plus(out.Replicas, replicas)
		out.MilliCPU = plus(out.MilliCPU, times(replicas, cpu))
		out.MemoryBytes = plus(out.MemoryBytes, times(replicas, memory))
	}
	if max(out.MilliCPU, out.MemoryBytes, out.Replicas) == math.MaxInt64 {
		return entitlement.Usage{}, fault.New(fault.Invalid, "quantity_too_large", "the app asks for more than Berth counts")
	}
	return out, nil
}

// demand is how much of a resource a pod takes: its containers and sidecars together, or what one of its init containers
// takes beside the sidecars that were started before it, whichever is more.
func demand(spec any, resource string) (int64, bool) {
	var sidecars, start, together int64
	for _, box := range items(spec, "initContainers") {
		n, ok := most(box, resource)
		if !ok {
			return 0, false
		}
		if box["restartPolicy"] == "Always" {
			sidecars = plus(sidecars, n)
			n = 0
		}
		start = max(start, plus(sidecars, n))
	}
	for _, box := range items(spec, "containers") {
		n, ok := most(box, resource)
		if !ok {
			return 0, false
		}
		together = plus(together, n)
	}
	return max(start, plus(together, sidecars)), true
}

// most is the larger of what a container requests and what it is limited to.
func most(box map[string]any, resource string) (int64, bool) {
	request, asked := amountOf(box, "requests", resource)
	limit, _ := amountOf(box, "limits", resource)
	return max(request, limit), asked
}

// plus adds what is not below zero; what is too large stays at the largest number.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func times(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}
