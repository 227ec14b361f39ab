package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func objectLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("an object is found by the digest of its content", objectsAddressed),
		promise("objects of a mebibyte come back, a hundred in one call", objectsLarge),
		promise("an object is read by whom it was allowed to", objectsPermitted),
		promise("objects belong to the store, and what comes back to its caller", objectsApart),
	}
}

func (k *kit) putsObjects(contents ...[]byte) {
	k.Helper()
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return r.Objects.Put(ctx, contents...) })
}

// object is what is at an address, by Get.
func (k *kit) object(address string) []byte {
	k.Helper()
	var out []byte
	k.mustSee(func(ctx context.Context, r *store.Roles) (err error) {
		out, err = r.Objects.Get(ctx, address)
		return err
	})
	return out
}

func objectsAddressed(k *kit) {
	contents := [][]byte{[]byte("one"), {}, {0, 0xff, '?', '\''}, []byte("one")}
	k.putsObjects(contents...)
	k.putsObjects(contents[0])
	k.putsObjects()
	for _, content := range contents {
		if got := k.object(addressOf(content)); !bytes.Equal(got, content) {
			k.Fatalf("%q came back as %q", content, got)
		}
	}
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		upper := "7692C3AD3540BB803C020B3AEE66CD8887123234EA0C6E7143C0ADD73FF431ED" // of "one"
		return errors.Join(expect(second(r.Objects.Get(ctx, addressOf([]byte("two")))), fault.NotFound, "object_not_found"),
			expect(second(r.Objects.Get(ctx, upper)), fault.NotFound, "object_not_found"),
			expect(second(r.Objects.Get(ctx, "one")), fault.NotFound, "object_not_found"))
	})
}

func objectsLarge(k *kit) {
	large := make([]byte, 1<<20)
	for i := range large {
		large[i] = byte(k.rand.Uint32())
	}
	contents := [][]byte{large}
	for i := range 100 {
		contents = append(contents, fmt.Appendf(nil, "object %d", i))
	}
	k.putsObjects(contents...)
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		var all []string
		for _, content := range contents {
			all = append(all, addressOf(content))
		}
		return r.Objects.Allow(ctx, "i", all...)
	})
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		for _, content := range contents {
			got, err := r.Objects.Read(ctx, "i", addressOf(content))
			if err != nil || !bytes.Equal(got, content) {
				return fmt.Errorf("an object of %d bytes came back with %d: %w", len(content), len(got), err)
			}
		}
		return nil
	})
}

func objectsPermitted(k *kit) {
	one, two := []byte("one"), []byte("two")
	k.putsObjects(one, two)
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(r.Objects.Allow(ctx, "i", addressOf(one)), r.Objects.Allow(ctx, "j", addressOf(one), addressOf(two)),
			r.Objects.Allow(ctx, "j"))
	})
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		return r.Objects.Allow(ctx, "j", addressOf(two), addressOf(one), addressOf(two))
	})
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		no := func(install string, content []byte) error {
			return expect(second(r.Objects.Read(ctx, install, addressOf(content))), fault.NotFound, "object_not_found")
		}
		return errors.Join(no("i", two), no("I", one), no("", one), no("i", []byte("none")),
			second(r.Objects.Read(ctx, "i", addressOf(one))), second(r.Objects.Read(ctx, "j", addressOf(one))),
			second(r.Objects.Read(ctx, "j", addressOf(two))))
	})
}

func objectsApart(k *kit) {
	content := []byte("content")
	address := addressOf(content)
	k.putsObjects(content)
	k.mustDo(func(ctx context.Context, r *store.Roles) error { return r.Objects.Allow(ctx, "i", address) })
	content[0] = 'X'
	k.object(address)[1] = 'X'
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		got, err := r.Objects.Read(ctx, "i", address)
		if err == nil {
			got[2] = 'X'
		}
		return err
	})
	if got := k.object(address); string(got) != "content" {
		k.Fatalf("the object became %q", got)
	}
}
