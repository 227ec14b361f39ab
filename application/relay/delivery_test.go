package relay_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/application/relay"
	"berth/domain/authorization"
	"berth/ports/engine"
)

// plan is who publishes how much, and who follows what from where.
type plan struct {
	publishers []publisher
	followers  []follower
}

type publisher struct {
	route    string
	messages int
	size     int
	pause    int // milliseconds, at most, in between
}

type follower struct {
	begins int // milliseconds after the publishers
	after  int // percent of what there is by then
	bytes  int // of each take
	slow   int // milliseconds, at most, before each take
	leaves bool
}

func drawPlan() *rapid.Generator[plan] {
	return rapid.Custom(func(t *rapid.T) plan {
		route := rapid.SampledFrom([]string{"main", "r1", "r2"})
		return plan{
			publishers: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) publisher {
				return publisher{route.Draw(t, "route"), rapid.IntRange(1, 400).Draw(t, "messages"), rapid.SampledFrom([]int{1, 100, 20_000}).Draw(t, "size"), rapid.IntRange(0, 3).Draw(t, "pause")}
			}), 1, 4).Draw(t, "publishers"),
			followers: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) follower {
				return follower{
					rapid.IntRange(0, 500).Draw(t, "begins"), rapid.IntRange(0, 100).Draw(t, "after"), rapid.SampledFrom([]int{1, 300, 1 << 20}).Draw(t, "bytes"),
					rapid.SampledFrom([]int{0, 0, 5, 100}).Draw(t, "slow"), rapid.Bool().Draw(t, "leaves"),
				}
			}), 1, 4).Draw(t, "followers"),
		}
	})
}

// Whoever follows routes gets every message of them from where it began, in the order of each route, once, however slowly it
// takes them and whatever else goes on: woken whenever there is something to take, and taking only then.
func TestDeliversAllInOrderOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan().Draw(rt, "plan")
		bubble(t, func(r *rig) { r.play(p) })
		if t.Failed() {
			rt.Fatal("not all was delivered")
		}
	})
}

func (r *rig) play(p plan) {
	r.empty = true
	r.control.AddRoute("t0", "r1")
	r.control.AddRoute("t0", "r2")
	r.start()
	keeper := r.connected(authorization.Owner)
	var publishing, following sync.WaitGroup
	for i, one := range p.publishers {
		device := r.connected(authorization.Member)
		publishing.Go(func() { r.publishAll(device, fmt.Sprint(i), one) })
	}
	var checks []func()
	for _, one := range p.followers {
		device := r.connected(authorization.Member)
		followed := &followed{from: map[string]int64{}, got: map[string][]engine.Message{}}
		following.Go(func() { r.followAll(device, one, followed) })
		if !one.leaves {
			checks = append(checks, func() { followed.check(r, keeper) })
		}
	}
	publishing.Wait()
	following.Wait()
	for _, check := range checks {
		check()
	}
}

func (r *rig) publishAll(device *phone, name string, p publisher) {
	var flying sync.WaitGroup
	defer flying.Wait()
	for i := range p.messages {
		if p.pause > 0 {
			pass(time.Duration(i%(p.pause+1)) * time.Millisecond)
		}
		body := `"` + strings.Repeat("x", p.size) + `"`
		id := fmt.Sprintf("%s-%d", name, i)
		if i%7 == 0 {
			if _, err := device.publishes(p.route, id, body); err != nil {
				r.t.Errorf("publish: %v", err)
			}
			continue
		}
		flying.Add(1)
		device.session.Publish(relay.Publish{Handle: device.Handles[p.route], ID: id, Body: []byte(body)}, func(_ int64, err error) {
			defer flying.Done()
			if slug := slugOf(err); err != nil && slug != "publishes_in_flight" && slug != "rate_limited" {
				r.t.Errorf("publish: %v", err)
			}
		})
	}
}

// followed is what somebody got, by route, after where it began.
type followed struct {
	from map[string]int64
	got  map[string][]engine.Message
}

func (r *rig) followAll(device *phone, f follower, out *followed) {
	pass(time.Duration(f.begins) * time.Millisecond)
	for route, handle := range device.Handles {
		at, err := device.session.Subscribe(r.t.Context(), handle, 0)
		if err != nil {
			r.t.Errorf("subscribe: %v", err)
			return
		}
		out.from[route] = at.Head * int64(f.after) / 100
		if _, err := device.session.Subscribe(r.t.Context(), handle, out.from[route]); err != nil {
			r.t.Errorf("subscribe: %v", err)
		}
	}
	for quiet := 0; quiet < 3000; quiet++ { // for so many milliseconds nobody woke it
		pass(time.Millisecond)
		if !device.wakes() {
			continue
		}
		quiet = 0
		for more := true; more; {
			pass(time.Duration(f.slow) * time.Millisecond)
			part, left, err := device.session.Take(r.t.Context(), f.bytes)
			if err != nil {
				r.t.Errorf("take: %v", err)
				return
			}
			for _, m := range part {
				out.got[m.Route] = append(out.got[m.Route], m)
			}
			if more = left; f.leaves && len(out.got["main"]) > 10 {
				device.session.Leave()
				return
			}
		}
	}
}

func (f *followed) check(r *rig, keeper *phone) {
	for route, handle := range keeper.Handles {
		at, err := keeper.session.Subscribe(r.t.Context(), handle, 0)
		if err != nil {
			r.t.Errorf("subscribe: %v", err)
			return
		}
		got := f.got[route]
		if int64(len(got)) != at.Head-f.from[route] {
			r.t.Errorf("of %s %d messages came, from %d, and it ends at %d", route, len(got), f.from[route], at.Head)
		}
		for i, m := range got {
			if m.Seq != f.from[route]+int64(i)+1 {
				r.t.Errorf("of %s number %d came where %d is next", route, m.Seq, f.from[route]+int64(i)+1)
				return
			}
		}
	}
}
