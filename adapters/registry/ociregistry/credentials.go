package ociregistry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/authn"

	"berth/domain/delivery"
)

const maxCredentials = 64 << 10

// credentials reads what a registry's reference names, anew for each lookup, so that a rotated file counts at once. They
// are sent to the registry, and to the authorization server that it names, if that is a registered registry too.
func credentials(r delivery.Registry) (authn.Authenticator, error) {
	if r.CredentialsRef == "" {
		return authn.Anonymous, nil
	}
	path, ok := strings.CutPrefix(r.CredentialsRef, "file:")
	if !ok {
		return nil, errors.New("credentials are in a file only, file:PATH")
	}
	text, err := private(path)
	if err != nil {
		return nil, err
	}
	var login struct {
		Username string `json:"username"`
		Password string `json:"password"`
	}
	if json.Unmarshal(text, &login) != nil || login.Username == "" || login.Password == "" { // its error would quote the file
		return nil, fmt.Errorf(`%s is not {"username": …, "password": …}`, path)
	}
	return authn.FromConfig(authn.AuthConfig{Username: login.Username, Password: login.Password}), nil
}

// private reads a regular file that nobody but its owner may.
func private(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // not to hang where it is a pipe
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s is no regular file of mode 0600", path)
	}
	if info.Size() > maxCredentials {
		return nil, fmt.Errorf("%s is too large", path)
	}
	return io.ReadAll(io.LimitReader(f, maxCredentials))
}
