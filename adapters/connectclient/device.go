package connectclient

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/ports/tokens"
)

// Device is a paired device: who it is, and the two secrets that it keeps, its key and its route handles. It prints as
// neither.
type Device struct {
	API       string // base URL of the control plane's API, which its assertions name
	Tenant    string
	Principal string
	Name      string
	Kind      string
	Connect   string            // wss URL of its region's origin
	Handles   map[string]string // by route
	key       ed25519.PrivateKey
}

// Pairing spends pairing codes; apiclient.Device is one.
type Pairing interface {
	Pair(ctx context.Context, in contract.NewDevice) (contract.Device, error)
}

// Pair makes a key and pairs a device by a code. Faults: those of the API.
func Pair(ctx context.Context, with Pairing, code string, d Device) (*Device, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	made, err := with.Pair(ctx, contract.NewDevice{
		PairingCode: code, Name: d.Name, Kind: d.Kind, PublicKey: base64.RawURLEncoding.EncodeToString(public),
	})
	if err != nil {
		return nil, err
	}
	d.key, d.Principal, d.Tenant, d.Connect = private, made.Principal, made.Tenant, made.ConnectURL
	d.Handles = map[string]string{}
	for _, h := range made.RouteHandles {
		d.Handles[h.Route] = h.Handle
	}
	return &d, nil
}

// String is the principal; the secrets are never shown.
func (d *Device) String() string { return "device " + d.Principal }

// GoString is String.
func (d *Device) GoString() string { return d.String() }

// Handle is the device's handle of a route. Fault: NotFound route_unknown.
func (d *Device) Handle(route string) (string, error) {
	if h, ok := d.Handles[route]; ok {
		return h, nil
	}
	return "", fault.New(fault.NotFound, "route_unknown", "the device was given no handle of a route %q", route)
}

// PublicKey is the public half of the device's key.
func (d *Device) PublicKey() ed25519.PublicKey {
	return ed25519.PublicKey(d.key[ed25519.SeedSize:]) // as crypto/ed25519 lays a key out
}

const assertionLife = 30 * time.Second

// Assertion proves the device's key to the API, once (A7).
func (d *Device) Assertion(now time.Time) (string, error) {
	head, err := json.Marshal(struct {
		Algorithm string `json:"alg"`
		Type      string `json:"typ"`
	}{"EdDSA", tokens.DeviceAssertionType})
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(struct {
		Subject  string `json:"sub"`
		Audience string `json:"aud"`
		ID       string `json:"jti"`
		Issued   int64  `json:"iat"`
		Expires  int64  `json:"exp"`
	}{d.Principal, d.API + "/v1/devices/token", rand.Text(), now.Unix(), now.Add(assertionLife).Unix()})
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(claims)
	return text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(d.key, []byte(text))), nil
}

// file is a device as it lies on the disk.
type file struct {
	API       string            `json:"api"`
	Tenant    string            `json:"tenant"`
	Principal string            `json:"principal"`
	Name      string            `json:"name"`
	Kind      string            `json:"kind"`
	Connect   string            `json:"connect_url"`
	Handles   map[string]string `json:"route_handles"`
	Key       []byte            `json:"key"` // the Ed25519 seed
}

// Reserve makes an empty file of mode 0600 for a device that is to be paired, so that no code is spent in vain. Faults:
// AlreadyExists device_file_exists; Unavailable device_file_unusable.
func Reserve(path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fault.New(fault.AlreadyExists, "device_file_exists", "there is a file %s already", path).
			Curable("name another file for another device")
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, unusable(path, err)
	}
	return func() { _ = os.Remove(path) }, nil
}

// Save writes the device into a file of mode 0600, whole or not at all. Fault: Unavailable device_file_unusable.
func (d *Device) Save(path string) error {
	text, err := json.Marshal(file{
		d.API, d.Tenant, d.Principal, d.Name, d.Kind, d.Connect, d.Handles, d.key.Seed(),
	}, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".") // mode 0600
	if err != nil {
		return unusable(path, err)
	}
	_, err = temp.Write(append(text, '\n'))
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return unusable(path, err)
	}
	return nil
}

// Load reads a device. Faults: NotFound device_file_missing; Unavailable device_file_unusable; Invalid device_file_unsafe where others may read it,
// device_file_malformed.
func Load(path string) (*Device, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "device_file_missing", "there is no file %s", path).
			Curable("name the file of a paired device, or pair one: berthctl connect pair")
	}
	if err != nil {
		return nil, unusable(path, err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fault.New(fault.Invalid, "device_file_unsafe", "others may read %s, which holds a key", path).Curable("chmod 600 %s", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, unusable(path, err)
	}
	var f file
	if json.Unmarshal(text, &f) != nil || len(f.Key) != ed25519.SeedSize || f.Principal == "" || f.API == "" { // an error's text may repeat the key
		return nil, fault.New(fault.Invalid, "device_file_malformed", "%s holds no paired device", path)
	}
	return &Device{
		API: f.API, Tenant: f.Tenant, Principal: f.Principal, Name: f.Name, Kind: f.Kind, Connect: f.Connect, Handles: f.Handles,
		key: ed25519.NewKeyFromSeed(f.Key),
	}, nil
}

func unusable(path string, err error) error {
	return fault.New(fault.Unavailable, "device_file_unusable", "%s can not be used", path).Because(err)
}
