package main

import (
	"context"
	"os"
	"syscall"
	"testing"
)

// However many signals come while nobody reads anew, as at a stop, each is taken and none keeps the process from ending.
func TestSignalsNeverWait(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	signals, reload := make(chan os.Signal), make(chan struct{}, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		passOn(ctx, signals, reload)
	}()
	for range 3 {
		signals <- syscall.SIGHUP
	}
	cancel()
	<-ended
	if len(reload) != 1 {
		t.Errorf("%d reloads are asked for", len(reload))
	}
}
