package storetest

import (
	"context"
	"strings"

	"berth/ports/store"
)

func objectMutants() []broken {
	objects := func(change func(o otherObjects) otherObjects) func(*mutant) {
		return twisting(func(t *tx, r *store.Roles) { r.Objects = change(otherObjects{Objects: r.Objects, t: t}) })
	}
	return []broken{
		{"an address is found in either case", "an object is found by the digest of its content", objects(func(o otherObjects) otherObjects {
			o.get = func(ctx context.Context, sha256 string) ([]byte, error) {
				return o.Objects.Get(ctx, strings.ToLower(sha256))
			}
			return o
		})},
		{"an empty object is none", "an object is found by the digest of its content", objects(func(o otherObjects) otherObjects {
			o.get = func(ctx context.Context, sha256 string) ([]byte, error) {
				got, err := o.Objects.Get(ctx, sha256)
				if err == nil && len(got) == 0 {
					err = store.Missing("object")
				}
				return got, err
			}
			return o
		})},
		{"objects are cut", "objects of a mebibyte come back, a hundred in one call", objects(func(o otherObjects) otherObjects {
			o.read = func(ctx context.Context, install, sha256 string) ([]byte, error) {
				got, err := o.Objects.Read(ctx, install, sha256)
				return got[:min(len(got), 1<<16)], err
			}
			return o
		})},
		{"whoever knows the address reads", "an object is read by whom it was allowed to", objects(func(o otherObjects) otherObjects {
			o.read = func(ctx context.Context, _, sha256 string) ([]byte, error) { return o.Objects.Get(ctx, sha256) }
			return o
		})},
		{"what one may read all may", "an object is read by whom it was allowed to", objects(func(o otherObjects) otherObjects {
			o.read = func(ctx context.Context, _, sha256 string) ([]byte, error) {
				for key := range o.t.state.allowed.above("") {
					if strings.HasSuffix(key, sha256) {
						return o.Objects.Get(ctx, sha256)
					}
				}
				return nil, store.Missing("object")
			}
			return o
		})},
		{"objects are the caller's", "objects belong to the store, and what comes back to its caller", objects(func(o otherObjects) otherObjects {
			o.put = func(_ context.Context, contents ...[]byte) error {
				for _, content := range contents {
					o.t.state.objects = o.t.state.objects.put(addressOf(content), content)
				}
				return nil
			}
			return o
		})},
		{"an object is lent", "objects belong to the store, and what comes back to its caller", objects(func(o otherObjects) otherObjects {
			o.read = func(_ context.Context, _, sha256 string) ([]byte, error) {
				content, _ := o.t.state.objects.get(sha256)
				return content, nil
			}
			return o
		})},
		{"what is not there is allowed", "what belongs to nothing is refused at the commit", objects(func(o otherObjects) otherObjects {
			o.allow = func(ctx context.Context, install string, sha256 ...string) error {
				owed := o.t.owed
				err := o.Objects.Allow(ctx, install, sha256...)
				o.t.owed = owed
				return err
			}
			return o
		})},
		{"an object comes before who may read it", "what it belongs to may be written after it", objects(func(o otherObjects) otherObjects {
			o.allow = func(ctx context.Context, install string, sha256 ...string) error {
				for _, key := range sha256 {
					if !o.t.state.objects.has(key) {
						return store.Dangling()
					}
				}
				return o.Objects.Allow(ctx, install, sha256...)
			}
			return o
		})},
	}
}

type otherObjects struct {
	store.Objects
	t     *tx
	put   func(ctx context.Context, contents ...[]byte) error
	get   func(ctx context.Context, sha256 string) ([]byte, error)
	allow func(ctx context.Context, install string, sha256 ...string) error
	read  func(ctx context.Context, install, sha256 string) ([]byte, error)
}

func (o otherObjects) Put(ctx context.Context, contents ...[]byte) error {
	if o.put == nil {
		return o.Objects.Put(ctx, contents...)
	}
	return o.put(ctx, contents...)
}

func (o otherObjects) Get(ctx context.Context, sha256 string) ([]byte, error) {
	if o.get == nil {
		return o.Objects.Get(ctx, sha256)
	}
	return o.get(ctx, sha256)
}

func (o otherObjects) Allow(ctx context.Context, install string, sha256 ...string) error {
	if o.allow == nil {
		return o.Objects.Allow(ctx, install, sha256...)
	}
	return o.allow(ctx, install, sha256...)
}

func (o otherObjects) Read(ctx context.Context, install, sha256 string) ([]byte, error) {
	if o.read == nil {
		return o.Objects.Read(ctx, install, sha256)
	}
	return o.read(ctx, install, sha256)
}
