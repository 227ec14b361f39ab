package desired

import (
	"context"

	"berth/ports/clock"
	"berth/ports/ids"
	"berth/ports/keywrap"
	"berth/ports/notify"
	"berth/ports/pack"
	"berth/ports/registry"
	"berth/ports/render"
	"berth/ports/sealing"
	"berth/ports/store"
	"berth/ports/tokens"
)

// Hints is how use cases tell of a change, and wait for one.
type Hints interface {
	notify.Publisher
	notify.Subscriber
}

// Rendering is what makes a release into objects whose images are known to be there.
type Rendering struct {
	Renderers render.Renderers
	Images    registry.Images
}

// Crypto is what signs for agents, checks what they send, and keeps secrets on the way to them.
type Crypto struct {
	Documents tokens.DocumentSigner
	Verifier  tokens.DocumentVerifier
	Agents    tokens.AgentVerifier
	Wrapper   keywrap.Wrapper
	Sealer    sealing.Sealer
}

// Desired is the use cases of this package over their ports. Its exported fields are set once, before use; the Settings
// have passed their Check. All methods are safe for concurrent use, and any number of them may share one store.
type Desired struct {
	Store     store.Store
	Clock     clock.Clock
	IDs       ids.Source
	Hints     Hints
	Rendering Rendering
	Crypto    Crypto
	Archiver  pack.Archiver
	Settings  Settings

	// Pepper returns the key under which license keys are hashed.
	Pepper func(context.Context) ([]byte, error)
}
