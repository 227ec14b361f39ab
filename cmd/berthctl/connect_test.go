package main

import "testing"

// Who subscribes goes on until it is stopped; everything else of a device ends in a minute where nothing else is said.
func TestTimeOfCommands(t *testing.T) {
	t.Parallel()
	parent := newConnect(streams{})
	seen := 0
	for _, cmd := range parent.Commands() {
		ctx, cancel := within(t.Context(), cmd)
		if _, ends := ctx.Deadline(); ends == (cmd.Name() == "subscribe") {
			t.Errorf("%s ends by itself: %t", cmd.Name(), ends)
		}
		cancel()
		seen++
	}
	if seen != 7 {
		t.Errorf("%d commands were looked at", seen)
	}
	subscribe, _, err := parent.Find([]string{"subscribe"})
	if err != nil {
		t.Fatal(err)
	}
	if err := subscribe.ParseFlags([]string{"--timeout=1s"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := within(t.Context(), subscribe)
	defer cancel()
	if _, ends := ctx.Deadline(); !ends {
		t.Error("a subscribe does not end when it is told to")
	}
}
