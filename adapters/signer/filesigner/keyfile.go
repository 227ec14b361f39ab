package filesigner

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"berth/domain/fault"
)

const (
	extension  = ".pem"
	unfinished = ".new-" // what a key file is called until it is whole
	pemType    = "PRIVATE KEY"
	maxFile    = 4096 // a true one has about 120 bytes
)

// read returns the key in a file that is safe to read; an error for which absent holds where there is none.
func (s *Signer) read(name string) (ed25519.PrivateKey, error) {
	path := name + extension
	before, err := s.root.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, refuse(path, "is a link or no file at all", "put the key file itself in its place")
	}
	f, err := s.root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // not to hang where a pipe took its place
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(before, info) {
		return nil, refuse(path, "was replaced while it was read", "try again")
	}
	if err := private(path, info, 0o600); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	key, err := decode(text)
	if err != nil {
		return nil, fault.New(fault.Invalid, "key_file_malformed", "%s: %v", path, err).
			Curable("restore it or remove it")
	}
	return key, nil
}

// write makes the file of a new key: whole and durable under its name, or not there at all.
func (s *Signer) write(name string, key ed25519.PrivateKey) (err error) {
	text, err := encode(key)
	if err != nil {
		return err
	}
	part := unfinished + name
	f, err := s.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = s.root.Remove(part)
		}
	}()
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err = s.root.Rename(part, name+extension); err != nil {
		return err
	}
	return s.sync()
}

func (s *Signer) remove(name string) error {
	if err := ignoreAbsent(s.root.Remove(name + extension)); err != nil {
		return err
	}
	return s.sync()
}

// sync makes the names in the directory durable.
func (s *Signer) sync() error {
	d, err := s.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func encode(key ed25519.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}), nil
}

// decode reads exactly one PKCS#8 Ed25519 key. Its errors hold nothing of the text.
func decode(text []byte) (ed25519.PrivateKey, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("longer than %d bytes", maxFile)
	}
	if !bytes.HasPrefix(text, []byte("-----BEGIN")) {
		return nil, errors.New("does not start as PEM")
	}
	block, rest := pem.Decode(text)
	switch {
	case block == nil:
		return nil, errors.New("no PEM")
	case len(bytes.TrimSpace(rest)) > 0:
		return nil, errors.New("more than one PEM block")
	case block.Type != pemType || len(block.Headers) > 0:
		return nil, errors.New("no unencrypted PKCS#8 key")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("no PKCS#8 key")
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("no Ed25519 key")
	}
	return key, nil
}
