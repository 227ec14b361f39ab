// Package fileidentity keeps a node's certificate and its keys in files of mode 0600: current.pem, the certificate in use
// with its chain and its key, and next-key.pem, the key of which the next certificate is asked for. Each file is put in
// place whole and durable, or not at all.
package fileidentity

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"berth/ports/engine"
)

// Identity is an engine.Identity in a directory. Use Open.
type Identity struct{ dir string }

var _ engine.Identity = (*Identity)(nil)

const (
	currentFile = "current.pem"
	nextFile    = "next-key.pem"
	spentFile   = "spent-tokens"

	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY"
	purposeHeader    = "For"

	// remembered is how many spent join tokens are kept.
	remembered = 32
)

// Open opens the directory, making it (0700) where it is not there. What a process that was killed left half written is
// removed: it may hold a key that is in use.
func Open(dir string) (*Identity, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, engine.Away(err)
	}
	if err := sweep(dir); err != nil {
		return nil, engine.Away(err)
	}
	i := &Identity{filepath.Clean(dir)}
	i.tidy()
	return i, nil
}

// tidy removes a prepared key that was installed by a process that was killed before it did so itself. One that stays is
// never used.
func (i *Identity) tidy() {
	data, err := readPrivate(i.path(nextFile))
	if err != nil {
		return
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return
	}
	if key, err := keyOf(block); err == nil && i.installed(context.Background(), key) {
		_ = os.Remove(i.path(nextFile))
	}
}

func (i *Identity) path(name string) string { return filepath.Join(i.dir, name) }

// Current returns the certificate that is in use.
func (i *Identity) Current(ctx context.Context) (c engine.Credential, ok bool, err error) {
	data, err := i.read(ctx, currentFile)
	if err != nil || data == nil {
		return engine.Credential{}, false, err
	}
	for rest := data; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		switch block.Type {
		case certificateBlock:
			c.Chain = append(c.Chain, block.Bytes)
		case keyBlock:
			if c.Key, err = keyOf(block); err != nil {
				return engine.Credential{}, false, engine.Damaged(i.path(currentFile), nil)
			}
		}
	}
	if len(c.Chain) == 0 || c.Key == nil {
		return engine.Credential{}, false, engine.Damaged(i.path(currentFile), nil)
	}
	return c, true, nil
}

// keyOf reads a private key. Its errors are dropped by callers: they may hold a part of it.
func keyOf(block *pem.Block) (ed25519.PrivateKey, error) {
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	own, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("not an Ed25519 key")
	}
	return own, nil
}

// Prepared returns the key that was prepared.
func (i *Identity) Prepared(ctx context.Context) (engine.NextKey, bool, error) {
	data, err := i.read(ctx, nextFile)
	if err != nil || data == nil {
		return engine.NextKey{}, false, err
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != keyBlock {
		return engine.NextKey{}, false, engine.Damaged(i.path(nextFile), nil)
	}
	key, err := keyOf(block)
	if err != nil {
		return engine.NextKey{}, false, engine.Damaged(i.path(nextFile), nil)
	}
	if i.installed(ctx, key) { // the process ended before it removed the file
		return engine.NextKey{}, false, nil
	}
	return engine.NextKey{Key: key, For: block.Headers[purposeHeader]}, true, nil
}

func (i *Identity) installed(ctx context.Context, key ed25519.PrivateKey) bool {
	current, ok, err := i.Current(ctx)
	return err == nil && ok && current.Key.Equal(key)
}

// Prepare keeps a key before a certificate is asked for it.
func (i *Identity) Prepare(ctx context.Context, next engine.NextKey) error {
	block, err := pemOf(next.Key)
	if err != nil {
		return engine.Failed(err)
	}
	block.Headers = map[string]string{purposeHeader: next.For}
	return i.write(ctx, nextFile, pem.EncodeToMemory(block))
}

func pemOf(key ed25519.PrivateKey) (*pem.Block, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &pem.Block{Type: keyBlock, Bytes: der}, nil
}

// Install puts a certificate and its key in the place of the current ones.
func (i *Identity) Install(ctx context.Context, c engine.Credential) error {
	var out bytes.Buffer
	for _, der := range c.Chain {
		_ = pem.Encode(&out, &pem.Block{Type: certificateBlock, Bytes: der}) // a buffer takes everything
	}
	block, err := pemOf(c.Key)
	if err != nil {
		return engine.Failed(err)
	}
	_ = pem.Encode(&out, block)
	if err := i.write(ctx, currentFile, out.Bytes()); err != nil {
		return err
	}
	if err := os.Remove(i.path(nextFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return engine.Away(err)
	}
	return nil
}

// Spent says whether a join token was used up.
func (i *Identity) Spent(ctx context.Context, token [32]byte) (bool, error) {
	all, err := i.spent(ctx)
	return slices.Contains(all, hex.EncodeToString(token[:])), err
}

func (i *Identity) spent(ctx context.Context) ([]string, error) {
	data, err := i.read(ctx, spentFile)
	return strings.Fields(string(data)), err
}

// Spend remembers a join token.
func (i *Identity) Spend(ctx context.Context, token [32]byte) error {
	all, err := i.spent(ctx)
	if err != nil {
		return err
	}
	one := hex.EncodeToString(token[:])
	if slices.Contains(all, one) {
		return nil
	}
	all = append(all, one)
	all = all[max(0, len(all)-remembered):]
	return i.write(ctx, spentFile, []byte(strings.Join(all, "\n")+"\n"))
}
