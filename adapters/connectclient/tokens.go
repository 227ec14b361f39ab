package connectclient

import (
	"context"
	"sync"
	"time"

	"berth/adapters/contract"
)

// Issuing exchanges assertions for access tokens; apiclient.Device is one.
type Issuing interface {
	Token(ctx context.Context, assertion string) (contract.AccessToken, error)
}

// Tokens are a device's access tokens: the one at hand, and the next before that runs out. Safe for concurrent use; those
// who ask at once share one request.
type Tokens struct {
	device *Device
	from   Issuing
	now    func() time.Time

	mu    sync.Mutex // held while a token is fetched
	token contract.AccessToken
	renew time.Time // from when the next one is fetched
}

// NewTokens has no token yet.
func NewTokens(d *Device, from Issuing) *Tokens { return &Tokens{device: d, from: from, now: time.Now} }

// At has it go by another clock than this machine's.
func (t *Tokens) At(now func() time.Time) *Tokens { t.now = now; return t }

// Token is a token with a quarter of its life left at least. Faults: those of the API.
func (t *Tokens) Token(ctx context.Context) (contract.AccessToken, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if t.token.AccessToken != "" && now.Before(t.renew) {
		return t.token, nil
	}
	assertion, err := t.device.Assertion(now)
	if err != nil {
		return contract.AccessToken{}, err
	}
	got, err := t.from.Token(ctx, assertion)
	if err != nil {
		return contract.AccessToken{}, err
	}
	t.token, t.renew = got, got.ExpiresAt.Add(-got.ExpiresAt.Sub(now)/4)
	return got, nil
}

// Forget drops a token that was refused, so that the next is fetched.
func (t *Tokens) Forget(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token.AccessToken == token {
		t.token = contract.AccessToken{}
	}
}
