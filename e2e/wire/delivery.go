package wire

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"

	"filippo.io/age"

	"berth/e2e/lab"
)

// stock starts a registry with the image app:1, and returns its host.
func stock(t testing.TB) string {
	t.Helper()
	r := lab.OCIRegistry(t, lab.RegistryOptions{})
	r.Push().Image("app", "1", lab.Scratch(t, "linux/amd64", "app"))
	return r.Host
}

// uses says whether a story has a placeholder.
func (s *Story) uses(placeholder string) bool {
	for _, step := range s.Steps {
		if strings.Contains(show(step.Body), placeholder) {
			return true
		}
	}
	return false
}

// read is an answer as JSON.
func read(contentType string, data []byte) (any, error) {
	switch contentType {
	case "application/jose":
		return string(data), nil
	case "application/gzip":
		return unpack(data)
	}
	return decode(data)
}

func unpack(archive []byte) (map[string]any, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	files := map[string]any{}
	for r := tar.NewReader(zipped); ; {
		entry, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		files[entry.Name] = strings.TrimSpace(string(content))
	}
}

// recipient is an age key of a name, to seal to.
func (v *values) recipient(name string) (string, error) {
	made, ok := v.made["age "+name]
	if !ok {
		identity, err := age.GenerateX25519Identity()
		if err != nil {
			return "", err
		}
		made = []byte(identity.Recipient().String())
		v.made["age "+name] = made
	}
	return string(made), nil
}

// sealKey is the signature by which an agent of version 1 says that a recipient is its own.
func (v *values) sealKey(key, name string) (string, error) {
	recipient, err := v.recipient(name)
	signature := ed25519.Sign(v.key(key), []byte("berth/agent-seal-key/v1\x00"+recipient))
	return base64.RawURLEncoding.EncodeToString(signature), err
}
