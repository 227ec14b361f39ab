package placement

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/fault"
)

// Whatever answers come, in whatever order: what is known never goes back in version or generation, one version names one
// place, and nothing lives longer than its life counted from a question that was answered so (P15, A6).
func TestRoutingNeverGoesBack(t *testing.T) {
	t.Parallel()
	const life = 30 * time.Second
	rapid.Check(t, func(t *rapid.T) {
		var r Routing
		asked := map[Route]time.Duration{} // the latest question that was answered by each
		var now time.Duration
		t.Repeat(map[string]func(*rapid.T){
			"learn": func(t *rapid.T) {
				version := rapid.Int64Range(1, 6).Draw(t, "version")
				next := Route{
					Tenant: "t", Version: version, Generation: rapid.Int64Range(1, 3).Draw(t, "generation"),
					Node: rapid.SampledFrom([]string{"n0", "n1"}).Draw(t, "node"), Address: fmt.Sprint("h:", rapid.IntRange(1, 2).Draw(t, "port")),
				}
				at := now - time.Duration(rapid.IntRange(0, 40).Draw(t, "late"))*time.Second
				before, held := r.Route()
				err := r.Learn(next, at)
				after, _ := r.Route()
				back := held && (next.Version < before.Version || next.Generation < before.Generation)
				torn := held && next.Version == before.Version && (next.Node != before.Node || next.Generation != before.Generation)
				switch {
				case back && fault.SlugOf(err) != "route_older", !back && torn && fault.SlugOf(err) != "route_contradicts", !back && !torn && err != nil:
					t.Fatalf("%+v after %+v: %v", next, before, err)
				case err != nil && after != before:
					t.Fatalf("what was refused is known: %+v", after)
				case held && (after.Version < before.Version || after.Generation < before.Generation):
					t.Fatalf("%+v went back to %+v", before, after)
				case err == nil && !held && after != next, err == nil && next.Version > before.Version && after != next:
					t.Fatalf("%+v is not known, but %+v", next, after)
				}
				if last, ok := asked[next]; err == nil && (!ok || at > last) {
					asked[next] = at
				}
			},
			"wait": func(t *rapid.T) { now += time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second },
			"": func(t *rapid.T) {
				route, alive := r.Alive(now, life)
				last, ok := asked[route]
				if alive && (!ok || now-last >= life) {
					t.Fatalf("%+v is alive %v after it was asked for", route, now-last)
				}
				if _, held := r.Route(); r.Beyond(route) || held && !r.Beyond(Route{Version: route.Version - 1}) {
					t.Fatal("a route is beyond those of lower versions, and of no other")
				}
			},
		})
	})
}

// A route lives from its question on for exactly its life, and a confirmation renews it.
func TestRoutingLives(t *testing.T) {
	t.Parallel()
	var r Routing
	route := Route{Tenant: "t", Node: "n1", Version: 1, Generation: 1, Address: "h:1"}
	for _, step := range []struct{ asked, last, over time.Duration }{{10, 19, 20}, {15, 24, 25}, {12, 24, 25}} {
		if err := r.Learn(route, step.asked); err != nil {
			t.Fatal(err)
		}
		_, alive := r.Alive(step.last, 10)
		_, dead := r.Alive(step.over, 10)
		_, early := r.Alive(step.asked-6, 10)
		if !alive || dead || early {
			t.Fatalf("asked at %d: alive %t at %d, %t at %d, %t before", step.asked, alive, step.last, dead, step.over, early)
		}
	}
	moved := route
	moved.Address = "h:2"
	if err := r.Learn(moved, 14); err != nil {
		t.Fatal(err)
	}
	if got, _ := r.Route(); got.Address != "h:1" {
		t.Fatalf("an answer to an older question changed the address to %s", got.Address)
	}
}
