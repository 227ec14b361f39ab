package ingressd

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"os"
	"sync/atomic"

	"berth/adapters/ingress"
	"berth/cmd/internal/secretfile"
	"berth/domain/identity"
	"berth/ports/clock"
)

// Files are what an ingress reads and follows: certificates, secrets, and the bundle as its file has it.
type Files struct {
	certificate *secretfile.Watched[*tls.Certificate]
	client      *secretfile.Watched[*tls.Certificate] // shown to the upstream; nil for none
	secrets     *secretfile.Watched[identity.IngressSecrets]
	bundle      *secretfile.Watched[[]byte] // nil for none; empty while the file is absent
	trust       *ingress.Trust
	heard       atomic.Bool // the upstream told the bundle, and has the say from then on
	all         []file
}

// file is one of them.
type file struct {
	what            string
	reload, refresh func() (bool, error)
}

// OpenFiles reads every file for the first time.
func OpenFiles(c Config, trust *ingress.Trust) (*Files, error) {
	f := &Files{trust: trust}
	var err error
	if f.certificate, err = watchPair(f, "certificate", c.CertFile, c.KeyFile); err != nil {
		return nil, err
	}
	if c.UpstreamCertFile != "" {
		if f.client, err = watchPair(f, "client_certificate", c.UpstreamCertFile, c.UpstreamKeyFile); err != nil {
			return nil, err
		}
	}
	f.secrets, err = secretfile.Watch(func() (identity.IngressSecrets, error) { return secretfile.IngressSecrets(c.SecretsFile) }, c.SecretsFile)
	if err != nil {
		return nil, err
	}
	f.all = append(f.all, file{"secrets", f.secrets.Reload, f.secrets.Refresh})
	if c.TrustBundleFile == "" {
		return f, nil
	}
	f.bundle, err = secretfile.Watch(func() ([]byte, error) { return f.readBundle(c) }, c.TrustBundleFile)
	if err != nil {
		return nil, err
	}
	f.all = append(f.all, file{"bundle", f.bundle.Reload, f.bundle.Refresh})
	return f, nil
}

func watchPair(f *Files, what, cert, key string) (*secretfile.Watched[*tls.Certificate], error) {
	w, err := secretfile.Watch(func() (*tls.Certificate, error) { return secretfile.KeyPair(cert, key) }, cert, key)
	if err == nil {
		f.all = append(f.all, file{what, w.Reload, w.Refresh})
	}
	return w, err
}

// readBundle puts the roots of the file in force, unless the upstream told others since. A file that is absent is none
// where the upstream is asked.
func (f *Files) readBundle(c Config) ([]byte, error) {
	text, err := os.ReadFile(c.TrustBundleFile)
	if errors.Is(err, os.ErrNotExist) && c.TrustBundleRefresh != 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if f.heard.Load() { // a file that could not be written is an older state, in which a root may stand that was taken out
		return text, ingress.CheckBundle(text)
	}
	_, err = f.trust.Set(text)
	return text, err
}

// follower takes up files that changed.
type follower struct {
	files   *Files
	log     *slog.Logger
	metrics *ingress.Metrics
	clock   clock.Clock
}

// first counts what was read at the start.
func (f follower) first() {
	for _, one := range f.files.all {
		f.metrics.Reloaded(one.what, f.clock.Now(), nil)
	}
}

// refresh reads what changed since it was read last; what can not be used is told once.
func (f follower) refresh() {
	for _, one := range f.files.all {
		f.said(one, one.refresh)
	}
}

// reload reads everything.
func (f follower) reload() {
	for _, one := range f.files.all {
		f.said(one, one.reload)
	}
}

func (f follower) said(one file, read func() (bool, error)) {
	changed, err := read()
	switch {
	case err != nil:
		f.metrics.Reloaded(one.what, f.clock.Now(), err)
		f.log.Error("what was there before stays in use", "read", one.what, "error", err)
	case changed:
		f.metrics.Reloaded(one.what, f.clock.Now(), nil)
		f.log.Info("read anew", "read", one.what)
	}
}
