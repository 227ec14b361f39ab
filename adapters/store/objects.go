package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	port "berth/ports/store"
)

type objects struct{ t *Tx }

// contentsPerStatement bounds what one statement carries: an object may be a mebibyte.
const contentsPerStatement = 16

// Contents go beside the statements, never in their text.
//
//nolint:gochecknoglobals // immutable
var (
	addObjects = newBatch("INSERT INTO objects (sha256, content) VALUES {} ON CONFLICT DO NOTHING", "(?, ?)")
	addReaders = newBatch("INSERT INTO object_readers (install_id, sha256) VALUES {} ON CONFLICT DO NOTHING", "(?, ?)")
	readObject = newBatch("SELECT content FROM objects WHERE sha256 = {}", "?")
	readOwn    = newBatch(`SELECT o.content FROM object_readers AS r JOIN objects AS o ON o.sha256 = r.sha256
		WHERE (r.install_id, r.sha256) = {}`, "(?, ?)")
)

func (o objects) Put(ctx context.Context, contents ...[]byte) error {
	if err := o.t.writing(); err != nil {
		return err
	}
	for len(contents) > 0 {
		part := contents[:min(len(contents), contentsPerStatement)]
		contents = contents[len(part):]
		keys := tuples{}
		added, err := writeRows(ctx, o.t, addObjects, part, func(args []any, content []byte) []any {
			sum := sha256.Sum256(content)
			key := hex.EncodeToString(sum[:])
			keys = append(keys, []any{key})
			return append(args, key, held(content))
		})
		if err := o.all(ctx, "objects", "sha256", keys, added, err); err != nil {
			return err
		}
	}
	return nil
}

// all breaks the transaction unless a table holds every key: what was not added has to have been there.
func (o objects) all(ctx context.Context, table, columns string, keys tuples, added int, err error) error {
	if err != nil || added == len(keys) {
		return err
	}
	seen := map[any]bool{} // by what is last in a key: what comes before it is the same in all
	keys = slices.DeleteFunc(keys, func(key []any) bool {
		last := key[len(key)-1]
		again := seen[last]
		seen[last] = true
		return again
	})
	there, err := o.t.existing(ctx, table, columns, keys)
	return o.t.wrote(there, len(keys), err)
}

func (o objects) Allow(ctx context.Context, install string, sha256 ...string) error {
	if err := o.t.writing(); err != nil {
		return err
	}
	if err := port.CheckText(append([]string{install}, sha256...)...); err != nil {
		return err
	}
	keys := tuples{}
	added, err := writeRows(ctx, o.t, addReaders, sha256, func(args []any, key string) []any {
		keys = append(keys, []any{install, key})
		return append(args, install, key)
	})
	return o.all(ctx, "object_readers", "install_id, sha256", keys, added, err)
}

func (o objects) Get(ctx context.Context, sha256 string) ([]byte, error) {
	return o.content(ctx, readObject, sha256)
}

func (o objects) Read(ctx context.Context, install, sha256 string) ([]byte, error) {
	return o.content(ctx, readOwn, install, sha256)
}

func (o objects) content(ctx context.Context, b batch, keys ...any) (content []byte, err error) {
	found, err := blob(ctx, o.t, b, &content, keys...)
	if err == nil && !found {
		return nil, port.Missing("object")
	}
	return content, err
}
