package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"time"

	"berth/application/watch"
	"berth/cmd/internal/config"
	"berth/cmd/internal/listen"
	"berth/cmd/internal/secretfile"
)

// certificates are those of the listeners, as their files have them now. A nil one is none.
type certificates struct{ public, internal *pair }

type pair = secretfile.Watched[*tls.Certificate]

func openCertificates(c config.Config) (*certificates, error) {
	public, err := openPair(c.TLSCertFile, c.TLSKeyFile)
	if err != nil {
		return nil, err
	}
	internal, err := openPair(c.InternalTLSCertFile, c.InternalTLSKeyFile)
	return &certificates{public, internal}, err
}

func openPair(cert, key string) (*pair, error) {
	if cert == "" {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	return secretfile.Watch(func() (*tls.Certificate, error) { return secretfile.KeyPair(cert, key) }, cert, key)
}

// tls is how a listener is secured; nil where it is not. The internal one takes pinned clients only.
func (c *certificates) tls(listener string, pins []string) *tls.Config {
	switch {
	case listener == "internal" && c.internal != nil:
		return listen.PinnedTLS(c.internal.Current, pins)
	case listener != "internal" && c.public != nil:
		return listen.TLS(c.public.Current)
	}
	return nil
}

func (c *certificates) all() []*pair {
	var out []*pair
	for _, p := range []*pair{c.public, c.internal} {
		if p != nil {
			out = append(out, p)
		}
	}
	return out
}

const certificateInterval = 5 * time.Second

// duty takes up certificates that were renewed.
func (c *certificates) duty(log *slog.Logger) watch.Duty {
	return watch.Duty{Name: "certificates", Every: certificateInterval, Everywhere: true, Run: func(ctx context.Context) error {
		var failed error
		for _, p := range c.all() {
			changed, err := p.Refresh()
			if changed {
				log.InfoContext(ctx, "a certificate was read anew")
			}
			failed = errors.Join(failed, err)
		}
		return failed
	}}
}
