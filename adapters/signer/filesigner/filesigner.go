// Package filesigner keeps signing keys in files, for development and tests only: whoever reads the directory can sign
// as the control plane. It says so whenever it is opened, and refuses to run in production (I7).
//
// Each key is one PKCS#8 PEM file of mode 0600 in a directory of mode 0700, both owned by the user that runs the
// process. A file is read each time it is used, so that what was destroyed, or opened to others, stops signing at once.
package filesigner

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"berth/domain/fault"
	"berth/domain/ident"
	"berth/ports/signer"
)

// Options says where the keys are and under what circumstances.
type Options struct {
	Dir        string       // made where it does not exist
	Production bool         // the process runs in production: Open refuses
	Logger     *slog.Logger // slog.Default where nil
}

// Signer is a signer.KMS. Use Open, and Close after use.
type Signer struct {
	dir  string
	root *os.Root
}

var _ signer.KMS = (*Signer)(nil)

const scheme = "file:"

// Open checks the directory and every key in it. It refuses
//
//   - production: Forbidden file_signer_in_production;
//   - a directory or key file that others may read or write, that another user owns, or that is a symbolic link or
//     anything else than what it should be: Invalid key_file_unsafe;
//   - a key file that holds no Ed25519 key: Invalid key_file_malformed;
//   - a directory that cannot be made or read: Unavailable signer_unavailable.
func Open(o Options) (*Signer, error) {
	if o.Production {
		return nil, fault.New(fault.Forbidden, "file_signer_in_production",
			"signing keys in files are for development, and this is production").
			Curable("name a key management service by BERTH_KMS_URL")
	}
	root, err := openDirectory(filepath.Clean(o.Dir))
	if err != nil {
		return nil, err
	}
	s := &Signer{dir: filepath.Clean(o.Dir), root: root}
	keys, err := s.inspect()
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	logger := o.Logger
	if logger == nil {
		logger = slog.Default()
	}
	logger.Warn("SIGNING KEYS ARE KEPT IN PLAIN FILES: for development only, never for production",
		"directory", s.dir, "keys", keys)
	return s, nil
}

// Close lets go of the directory. No key is lost.
func (s *Signer) Close() error { return s.root.Close() }

// Sign signs with the key in the file that the reference names.
func (s *Signer) Sign(ctx context.Context, ref signer.KeyRef, message []byte) ([]byte, error) {
	private, err := s.private(ctx, ref)
	if err != nil {
		return nil, err
	}
	if err := signer.CheckMessage(message); err != nil {
		return nil, err
	}
	return ed25519.Sign(private, message), nil
}

// Create makes a key file. Its name is the purpose and 128 random bits.
func (s *Signer) Create(ctx context.Context, purpose signer.Purpose) (signer.KeyRef, ed25519.PublicKey, error) {
	if err := signer.Ended(ctx); err != nil {
		return "", nil, err
	}
	if err := signer.CheckPurpose(purpose); err != nil {
		return "", nil, err
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", nil, signer.Unreachable(err)
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // documented never to fail: it ends the process instead
	name := string(purpose) + "-" + hex.EncodeToString(random[:])
	if err := s.write(name, private); err != nil {
		return "", nil, signer.Unreachable(err)
	}
	return signer.KeyRef(scheme + name), public, nil
}

// Public returns the public half of the key in the file that the reference names.
func (s *Signer) Public(ctx context.Context, ref signer.KeyRef) (ed25519.PublicKey, error) {
	private, err := s.private(ctx, ref)
	if err != nil {
		return nil, err
	}
	return ed25519.PublicKey(private[ed25519.PrivateKeySize-ed25519.PublicKeySize:]), nil
}

// Destroy removes the file.
func (s *Signer) Destroy(ctx context.Context, ref signer.KeyRef) error {
	if err := signer.Ended(ctx); err != nil {
		return err
	}
	name, ok := nameOf(ref)
	if !ok {
		return signer.KeyNotFound()
	}
	if err := s.remove(name); err != nil {
		return signer.Unreachable(err)
	}
	return nil
}

// Ping returns nil where the directory is still there and still closed to others.
func (s *Signer) Ping(ctx context.Context) error {
	if err := signer.Ended(ctx); err != nil {
		return err
	}
	if err := stillThere(s.dir, s.root); err != nil {
		return signer.Unreachable(err)
	}
	return nil
}

func (s *Signer) private(ctx context.Context, ref signer.KeyRef) (ed25519.PrivateKey, error) {
	if err := signer.Ended(ctx); err != nil {
		return nil, err
	}
	name, ok := nameOf(ref)
	if !ok {
		return nil, signer.KeyNotFound()
	}
	private, err := s.read(name)
	switch {
	case err == nil:
		return private, nil
	case absent(err):
		return nil, signer.KeyNotFound()
	default:
		return nil, signer.Unreachable(err)
	}
}

// nameOf returns the file that a reference names, without its extension. Names are ids, so that none is a path.
func nameOf(ref signer.KeyRef) (string, bool) {
	name, ok := strings.CutPrefix(string(ref), scheme)
	return name, ok && ident.Check("ref", name) == nil
}
