package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/domain/ident"
	"berth/ports/clock"
	"berth/ports/store"
)

// ShownOnce is the operation metadata that names what a recorded answer leaves out.
const ShownOnce = "shown_once"

// Repeats lets a write be repeated under an Idempotency-Key: the first request's answer is recorded and given again. A
// key whose first request did not come to a recorded end is refused, never carried out a second time: that is at most
// once, and the caller looks at the resource to learn which.
type Repeats struct {
	Store store.Store
	Clock clock.Clock
	Scope func(context.Context) string // the credential of the request
}

const maxKey = 255

// Middleware is placed behind authentication.
func (o Repeats) Middleware(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		key := ctx.Header(contract.HeaderIdempotencyKey)
		if key == "" || ctx.Method() == http.MethodGet || ctx.Method() == http.MethodHead {
			next(ctx)
			return
		}
		if err := checkKey(key); err != nil {
			Refuse(api, ctx, err)
			return
		}
		data, err := body(ctx)
		if err != nil {
			Refuse(api, ctx, err)
			return
		}
		url := ctx.URL()
		sum := sha256.Sum256(append([]byte(url.RequestURI()+"\n"), data...))
		claim := store.Once{
			Scope: o.Scope(ctx.Context()) + " " + ctx.Operation().OperationID, Key: key,
			Digest: hex.EncodeToString(sum[:]), CreatedAt: ident.Instant(o.Clock.Now()),
		}
		o.run(api, ctx, next, claim, data)
	}
}

func (o Repeats) run(api huma.API, ctx huma.Context, next func(huma.Context), claim store.Once, data []byte) {
	found, err := o.claim(ctx.Context(), claim)
	switch {
	case err != nil:
		Refuse(api, ctx, err)
		return
	case found != nil:
		replay(api, ctx, claim, *found)
		return
	}
	r := &recorder{embedded: ctx, in: bytes.NewReader(data)}
	next(r)
	// The outcome is kept even when the client is gone: it may come back with the same key.
	if err := o.settle(context.WithoutCancel(ctx.Context()), ctx.Operation(), claim, r); err != nil {
		Log(ctx.Context()).Error("the outcome of a repeatable request was not recorded; its key stays closed", "error", err)
	}
	r.send()
}

func (o Repeats) claim(ctx context.Context, claim store.Once) (*store.Once, error) {
	var found *store.Once
	err := o.Store.Atomically(ctx, func(ctx context.Context, r *store.Roles) error {
		var err error
		found, err = r.Idempotency.Begin(ctx, claim)
		return err
	})
	if found != nil && fault.KindOf(err) == fault.AlreadyExists {
		return found, nil
	}
	return nil, err
}

// settle records a success. A refusal changed nothing, so its key may be used again; after a failure of which nobody
// knows whether it changed something, such as a commit that was not answered, the key stays closed.
func (o Repeats) settle(ctx context.Context, op *huma.Operation, claim store.Once, r *recorder) error {
	if r.status >= http.StatusInternalServerError &&
		(r.status != http.StatusServiceUnavailable || scopeOf(ctx).slug == store.Unknown(nil).Slug) {
		return nil
	}
	return o.Store.Atomically(ctx, func(ctx context.Context, roles *store.Roles) error {
		if r.status >= http.StatusBadRequest {
			return roles.Idempotency.Release(ctx, claim.Scope, claim.Key)
		}
		claim.Done, claim.Status, claim.Body = true, r.status, conceal(op, r.out.Bytes())
		claim.Header = map[string]string{"Content-Type": r.get("Content-Type")}
		return roles.Idempotency.Finish(ctx, claim)
	})
}

// conceal drops what is shown once; an answer that can not be read is not kept at all.
func conceal(op *huma.Operation, data []byte) []byte {
	fields, _ := op.Metadata[ShownOnce].([]string)
	if len(fields) == 0 {
		return data
	}
	var m map[string]any
	if json.Unmarshal(data, &m) != nil {
		return nil
	}
	for _, f := range fields {
		delete(m, f)
	}
	out, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return nil
	}
	return out
}

func replay(api huma.API, ctx huma.Context, claim, found store.Once) {
	switch {
	case found.Digest != claim.Digest:
		Refuse(api, ctx, fault.New(fault.Invalid, "idempotency_key_reused", "this key was used for another request").
			Curable("use a new key for a new request"))
	case !found.Done:
		Refuse(api, ctx, fault.New(fault.Conflict, "idempotency_outcome_unknown",
			"the first request with this key runs, or ended without a recorded answer").
			Curable("look at the resource; then use a new key if it was not carried out"))
	default:
		for name, value := range found.Header {
			ctx.SetHeader(name, value)
		}
		ctx.SetHeader(contract.HeaderReplayed, "true")
		ctx.SetStatus(found.Status)
		_, _ = ctx.BodyWriter().Write(found.Body) // a write error means that the client is gone
	}
}

func checkKey(key string) error {
	ok := len(key) <= maxKey
	for i := 0; ok && i < len(key); i++ {
		ok = key[i] > ' ' && key[i] < 0x7f
	}
	if ok {
		return nil
	}
	return fault.New(fault.Invalid, "invalid_idempotency_key", "a key is 1 to %d printable ASCII characters without spaces", maxKey)
}
