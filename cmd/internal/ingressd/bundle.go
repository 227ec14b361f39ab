package ingressd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"berth/adapters/ingress"
	"berth/adapters/ingress/upstream"
	"berth/ports/clock"
)

// keeper keeps the trust bundle what the control plane says it is, and its file, from which a start without the control
// plane takes it.
type keeper struct {
	config   Config
	trust    *ingress.Trust
	heard    func() // told once the upstream's bundle is in force
	upstream *upstream.Upstream
	log      *slog.Logger
	metrics  *ingress.Metrics
	clock    clock.Clock
	wake     chan struct{} // the upstream is to be asked at once

	told string // the failure that was told last
}

const (
	hasty    = 200 * time.Millisecond // between two questions while nothing is believed yet
	patience = 5 * time.Second
)

// keep asks until the context ends.
func (k *keeper) keep(ctx context.Context) {
	for {
		every := k.config.TrustBundleRefresh
		if n, _ := k.trust.Roots(); n == 0 {
			every = min(every, hasty)
		}
		timer := k.clock.NewTimer(every)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-k.wake:
			timer.Stop()
		case <-timer.C():
		}
		k.ask(ctx)
	}
}

// rouse has the upstream asked at once.
func (k *keeper) rouse() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// ask asks once. A failure is told when it is another than before, so that one that lasts is told once.
func (k *keeper) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := k.take(ctx)
	if ctx.Err() != nil && err != nil && errors.Is(context.Cause(ctx), context.Canceled) { // a stop is no failure
		return
	}
	k.metrics.Reloaded("bundle", k.clock.Now(), err)
	what := sort(err)
	switch {
	case what == k.told:
	case err != nil:
		k.log.Error("the trust bundle can not be renewed; what is in force stays", "error", err)
	default:
		k.log.Info("the trust bundle can be renewed again")
	}
	k.told = what
}

// sort is what kind of failure an error is. Those of a connection name other ports each time.
func sort(err error) string {
	if err == nil {
		return ""
	}
	if failed, ok := errors.AsType[*upstream.Error](err); ok {
		return "no answer, " + strconv.Itoa(int(failed.Fate))
	}
	return err.Error()
}

func (k *keeper) take(ctx context.Context) error {
	b, err := k.upstream.TrustBundle(ctx)
	if err != nil {
		return err
	}
	if b.TrustDomain != k.config.TrustDomain {
		return fmt.Errorf("the upstream's trust domain is %q, and trust_domain is %q", b.TrustDomain, k.config.TrustDomain)
	}
	text := []byte(b.PEM)
	changed, err := k.trust.Set(text)
	if err != nil {
		return err
	}
	k.heard()
	if changed {
		n, _ := k.trust.Roots()
		k.log.Info("the trust bundle changed", "roots", n)
	}
	return k.write(text)
}

// write keeps the bundle for a start without the control plane. The file is no secret, and may be read by others.
func (k *keeper) write(text []byte) error {
	path := k.config.TrustBundleFile
	if path == "" {
		return nil
	}
	// The file is looked at each time: somebody else may have garbled it or taken it away.
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, text) {
		return nil
	}
	if err := replace(path, text); err != nil {
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			err = failed.Err // its path is that of another temporary file each time
		}
		return fmt.Errorf("the trust bundle is in force and can not be written to %s: %w", path, err)
	}
	return nil
}

// replace makes or replaces a file that all may read: whole and durable under its name, or not at all.
func replace(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err == nil {
		if err = f.Chmod(0o644); err == nil {
			err = f.Sync()
		}
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
