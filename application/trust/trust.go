package trust

import (
	"berth/domain/identity"
	"berth/ports/ca"
	"berth/ports/clock"
	"berth/ports/ids"
	"berth/ports/notify"
	"berth/ports/signer"
	"berth/ports/store"
)

// Observer counts what is refused, by reason. It may be nil.
type Observer interface {
	// AssertionRefused is called once for each request or waiting caller that is refused; the slug is one of a fixed set.
	AssertionRefused(slug string)
}

// Trust is the use cases of this package over their ports. Its exported fields are set once, before use; the Settings
// have passed their Check. All methods are safe for concurrent use, and any number of Trusts may share one store.
type Trust struct {
	Store    store.Store
	Clock    clock.Clock
	IDs      ids.Source
	Hints    notify.Publisher
	Signer   signer.Keys
	CA       ca.BuiltIn // nil where every certificate comes from a CA outside
	Observer Observer
	Settings Settings

	// Secrets returns the ingress secrets in force. It is asked for each request, so that they can be loaded anew.
	Secrets func() identity.IngressSecrets
	// ExternalRoots returns the roots of CAs outside that are believed beside the control plane's own. It is asked for each
	// bundle, so that they can be loaded anew; nil: there are none.
	ExternalRoots func() []identity.ExternalRoot
	// Bootstrap is the bootstrap token by its hash.
	Bootstrap Bootstrap
}

// Bootstrap is the token by which the first admin is made. The zero value is none.
type Bootstrap struct{ hash *[32]byte }

// NewBootstrap keeps the hash of a bootstrap token, not the token.
func NewBootstrap(clear string) Bootstrap {
	hash := identity.HashToken(clear)
	return Bootstrap{&hash}
}

// is compares in constant time.
func (b Bootstrap) is(clear string) bool {
	return b.hash != nil && identity.TokenMatches(*b.hash, clear)
}

func recordsOf[T, R any](page store.List[T], record func(T) R) store.List[R] {
	out := store.List[R]{Items: make([]R, 0, len(page.Items)), Next: page.Next}
	for _, item := range page.Items {
		out.Items = append(out.Items, record(item))
	}
	return out
}
