package storetest

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A tree is an ordered map, and every tree that was ever made stays what it was.
func TestTreeIsAnOrderedMapThatNeverChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var trees []tree[int]
		var models []map[string]int
		now, model := tree[int]{}, map[string]int{}
		for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
			key := rapid.StringMatching(`[a-c]{0,3}`).Draw(t, "key")
			if rapid.Bool().Draw(t, "put") {
				now = now.put(key, i)
				model[key] = i
			} else {
				now = now.remove(key)
				delete(model, key)
			}
			trees, models = append(trees, now), append(models, maps.Clone(model))
		}
		after := rapid.StringMatching(`[a-c]{0,3}`).Draw(t, "after")
		for i := range trees {
			compare(t, trees[i], models[i], after)
		}
	})
}

func compare(t *rapid.T, got tree[int], want map[string]int, after string) {
	var keys []string
	for key, value := range got.above(after) {
		keys = append(keys, key)
		if want[key] != value {
			t.Fatalf("%q holds %d, want %d", key, value, want[key])
		}
	}
	sorted := slices.DeleteFunc(slices.Sorted(maps.Keys(want)), func(k string) bool { return k <= after })
	if !slices.Equal(keys, sorted) {
		t.Fatalf("the keys above %q are %q, want %q", after, keys, sorted)
	}
	var downward []string
	for key := range got.below(after) {
		downward = append(downward, key)
	}
	lower := slices.DeleteFunc(slices.Sorted(maps.Keys(want)), func(k string) bool { return after != "" && k >= after })
	if slices.Reverse(lower); !slices.Equal(downward, lower) {
		t.Fatalf("the keys below %q are %q, want %q", after, downward, lower)
	}
	for key := range want {
		if value, found := got.get(key); !found || value != want[key] {
			t.Fatalf("get %q: %d, %t", key, value, found)
		}
	}
	if _, found := got.last(); found != (len(want) > 0) {
		t.Fatalf("last of %d: %t", len(want), found)
	}
}
