package relay

import (
	"context"
	"crypto/ed25519"
	"time"

	"berth/domain/fault"
	"berth/ports/engine"
)

// rotate gets the next certificate over the current one.
func (k *keeper) rotate(ctx context.Context, c *credential) error {
	purpose := "rotate " + c.Fingerprint
	next := k.untaken.of(purpose)
	if next == nil {
		var err error
		if next, err = k.successor(ctx, purpose); err != nil {
			return err
		}
	}
	if err := k.install(ctx, purpose, next); err != nil {
		return err
	}
	k.counts.rotations.Add(1)
	k.Log.InfoContext(ctx, "the certificate is renewed", "fingerprint", next.Fingerprint, "expires_at", next.NotAfter)
	return nil
}

// successor asks for the certificate that follows the current one.
func (k *keeper) successor(ctx context.Context, purpose string) (*credential, error) {
	key, csr, err := k.prepared(ctx, purpose)
	if err != nil {
		return nil, err
	}
	sent := k.clocks()
	timed, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	in, err := k.Authority.Credentials.Rotate(timed, csr)
	if err != nil {
		k.heard(ctx, err, sent.Elapsed)
		return nil, err
	}
	next, err := k.issued(in, key)
	if err != nil {
		return nil, err
	}
	k.serverTime(ctx, in.ServerTime, sent)
	return next, nil
}

// expire ends the use of a certificate that is over, and takes it up again where a clock that was ahead was set right: until
// then nobody is asked who could tell the time.
func (k *keeper) expire(ctx context.Context, c *credential) {
	switch {
	case c == nil:
	case !k.now().Before(c.NotAfter):
		lost := k.lose(ctx, fault.New(fault.Unauthenticated, "credential_expired", "the certificate ended at %s", c.NotAfter.Format(time.RFC3339)))
		k.expired = k.expired || lost
	case k.expired:
		k.use(c)
		k.Log.InfoContext(ctx, "the clock was set, and the certificate is in force", "expires_at", c.NotAfter)
	}
}

// prepared is a key for one request, durable before anybody is asked for a certificate of it, and the request. A key that
// was prepared for the same request, of which the answer was lost, is used again; one for another may be known to whoever
// copied the disk since.
func (k *keeper) prepared(ctx context.Context, purpose string) (key ed25519.PrivateKey, csr []byte, err error) {
	next, ok, err := k.Identity.Prepared(ctx)
	switch slug := fault.SlugOf(err); {
	case slug == "engine_damaged", slug == "file_unsafe": // another one takes its place
		k.Log.WarnContext(ctx, "the key that was prepared can not be used, and another is made", "error", err)
	case err != nil:
		return nil, nil, err
	}
	if !ok || next.For != purpose {
		next = engine.NextKey{Key: k.chance.newKey(), For: purpose}
		if err := k.Identity.Prepare(ctx, next); err != nil {
			return nil, nil, err
		}
	}
	csr, err = request(next.Key)
	return next.Key, csr, err
}

// install makes a certificate the current one: on the disk first, and then for every connection that is made from here
// on.
func (k *keeper) install(ctx context.Context, purpose string, c *credential) error {
	k.untaken = untaken{purpose, c}
	if err := k.Identity.Install(ctx, c.Credential); err != nil {
		return err
	}
	k.untaken = untaken{}
	k.use(c)
	return nil
}
