// Package filekeywrap wraps secrets under a key in a file, for development and tests only: whoever reads the directory
// can open them all. It says so whenever it is opened, and refuses to run in production (I7).
//
// The key is one file of mode 0600 in a directory of mode 0700, both owned by the user that runs the process; it may be
// the directory of the signing keys. The file is read each time it is used, so that a key that was taken away, or opened
// to others, opens nothing from then on.
package filekeywrap

import (
	"bytes"
	"context"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"os"
	"path/filepath"

	"golang.org/x/crypto/chacha20poly1305"

	"berth/domain/fault"
	"berth/ports/keywrap"
)

// Options says where the key is and under what circumstances.
type Options struct {
	Dir        string       // made where it does not exist, the key in it too
	Production bool         // the process runs in production: Open refuses
	Logger     *slog.Logger // slog.Default where nil
}

// Wrapper is a keywrap.Wrapper. Use Open, and Close after use.
type Wrapper struct{ root *os.Root }

var _ keywrap.Wrapper = (*Wrapper)(nil)

// Open checks directory and key, and makes them where they are not there; of several processes that do so at once one
// makes the key, and all use it. It refuses
//
//   - production: Forbidden file_keywrap_in_production;
//   - a directory or key file that others may read or write, that another user owns, or that is a symbolic link or
//     anything else than what it should be: Invalid key_file_unsafe;
//   - a key file that holds no wrapping key: Invalid key_file_malformed;
//   - a directory that cannot be made or read: Unavailable keywrap_unavailable.
func Open(o Options) (*Wrapper, error) {
	if o.Production {
		return nil, fault.New(fault.Forbidden, "file_keywrap_in_production",
			"a wrapping key in a file is for development, and this is production").
			Curable("name a key management service by BERTH_KMS_URL")
	}
	dir := filepath.Clean(o.Dir)
	root, err := openDirectory(dir)
	if err != nil {
		return nil, err
	}
	w := &Wrapper{root}
	if err := w.prepare(); err != nil {
		_ = root.Close()
		return nil, err
	}
	logger := o.Logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.Warn("SECRETS ARE WRAPPED UNDER A KEY IN A PLAIN FILE: for development only, never for production",
		"directory", dir)
	return w, nil
}

// Close lets go of the directory. The key stays.
func (w *Wrapper) Close() error { return w.root.Close() }

// A wrapped secret is a version byte, eight bytes that tell the key, a nonce, and XChaCha20-Poly1305 over the secret. All
// in front of the ciphertext is authenticated with the binding; nonces of 24 random bytes never meet.
const (
	version = 1
	header  = 1 + 8
	front   = header + chacha20poly1305.NonceSizeX
)

// Wrap wraps under the key in the file.
func (w *Wrapper) Wrap(ctx context.Context, binding string, secret []byte) ([]byte, error) {
	if err := keywrap.Check(ctx, binding, len(secret)); err != nil {
		return nil, err
	}
	aead, out, err := w.key()
	if err != nil {
		return nil, err
	}
	out = append(out, make([]byte, chacha20poly1305.NonceSizeX)...)
	_, _ = rand.Read(out[header:]) // documented never to fail: it ends the process instead
	return aead.Seal(out, out[header:], secret, additional(out, binding)), nil
}

// Unwrap opens what Wrap made under the same key for the same binding.
func (w *Wrapper) Unwrap(ctx context.Context, binding string, wrapped []byte) ([]byte, error) {
	if err := keywrap.Check(ctx, binding, 0); err != nil {
		return nil, err
	}
	aead, head, err := w.key()
	if err != nil {
		return nil, err
	}
	if len(wrapped) < front || len(wrapped) > front+keywrap.MaxSecret+aead.Overhead() || !bytes.HasPrefix(wrapped, head) {
		return nil, keywrap.Invalid()
	}
	secret, err := aead.Open(nil, wrapped[header:front], wrapped[front:], additional(head, binding))
	if err != nil {
		return nil, keywrap.Invalid().Because(err)
	}
	return secret, nil
}

func additional(head []byte, binding string) []byte {
	return append(bytes.Clone(head[:header]), binding...)
}

// key returns the cipher under the key in the file, and what a secret that is wrapped by it starts with.
func (w *Wrapper) key() (cipher.AEAD, []byte, error) {
	key, err := w.read()
	if err != nil {
		return nil, nil, keywrap.Unreachable(err)
	}
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, nil, keywrap.Unreachable(err)
	}
	sum := sha256.Sum256(append([]byte("berth wrapping key\n"), key...))
	return aead, append([]byte{version}, sum[:header-1]...), nil
}
