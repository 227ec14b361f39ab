package connectclient_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"berth/adapters/connectclient"
	"berth/adapters/contract"
	"berth/domain/fault"
)

// api pairs and gives tokens, and remembers what it was asked.
type api struct {
	paired     contract.NewDevice
	assertions []string
	err        error
}

func (a *api) Pair(_ context.Context, in contract.NewDevice) (contract.Device, error) {
	a.paired = in
	return contract.Device{
		Principal: "prn_1", Tenant: "demo", RouteHandles: []contract.RouteHandle{{Route: "main", Handle: "hnd_secret"}},
		ConnectURL: "wss://localhost:1/connect/v1",
	}, a.err
}

func (a *api) Token(_ context.Context, assertion string) (contract.AccessToken, error) {
	a.assertions = append(a.assertions, assertion)
	return contract.AccessToken{AccessToken: fmt.Sprint("t", len(a.assertions)), ExpiresAt: time.Now().Add(10 * time.Minute)}, a.err
}

func paired(t *testing.T, a *api) *connectclient.Device {
	t.Helper()
	d, err := connectclient.Pair(t.Context(), a, "code", connectclient.Device{API: "https://api.test", Name: "a phone", Kind: "phone"})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A device comes back from its file as it was, with its key; the file is for nobody else, and nothing prints the secrets.
func TestDeviceFile(t *testing.T) {
	t.Parallel()
	a := &api{}
	d := paired(t, a)
	path := filepath.Join(t.TempDir(), "phone.json")
	if _, err := connectclient.Reserve(path); err != nil {
		t.Fatal(err)
	}
	if _, err := connectclient.Reserve(path); fault.SlugOf(err) != "device_file_exists" {
		t.Errorf("a second time: %v", err)
	}
	if _, err := connectclient.Load(path); fault.SlugOf(err) != "device_file_malformed" {
		t.Errorf("an empty one: %v", err)
	}
	if err := d.Save(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	back, err := connectclient.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if h, err := back.Handle("main"); h != "hnd_secret" || err != nil || back.Tenant != "demo" || back.Connect != "wss://localhost:1/connect/v1" {
		t.Errorf("%q %v %+v", h, err, back)
	}
	if _, err := back.Handle("other"); fault.SlugOf(err) != "route_unknown" {
		t.Errorf("an unknown route: %v", err)
	}
	if text := fmt.Sprintf("%v %+v %#v", back, back, back); strings.Contains(text, "hnd_secret") {
		t.Errorf("it prints as %s", text)
	}
	text, err := back.Assertion(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	proves(t, a.paired.PublicKey, text)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := connectclient.Load(path); fault.SlugOf(err) != "device_file_unsafe" {
		t.Errorf("a file for others: %v", err)
	}
	if _, err := connectclient.Load(path + ".none"); fault.SlugOf(err) != "device_file_missing" {
		t.Errorf("no file: %v", err)
	}
}

// proves checks an assertion as the API does: its form, its claims, and the key that was paired.
func proves(t *testing.T, publicKey, text string) {
	t.Helper()
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		t.Fatalf("it is %q", text)
	}
	decode := func(s string) []byte {
		b, err := base64.RawURLEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var claims struct {
		Sub, Aud, Jti string
		Iat, Exp      int64
	}
	if err := json.Unmarshal(decode(parts[1]), &claims); err != nil {
		t.Fatal(err)
	}
	if claims.Sub != "prn_1" || claims.Aud != "https://api.test/v1/devices/token" || len(claims.Jti) < 16 || claims.Exp-claims.Iat != 30 {
		t.Errorf("it claims %+v", claims)
	}
	if string(decode(parts[0])) != `{"alg":"EdDSA","typ":"berth-device-assertion+jwt"}` {
		t.Errorf("its header is %s", decode(parts[0]))
	}
	if !ed25519.Verify(decode(publicKey), []byte(parts[0]+"."+parts[1]), decode(parts[2])) {
		t.Error("it is not signed by the key that was paired")
	}
}

// A token is fetched once and used until a quarter of its life is left, or until it is refused; no assertion is used twice.
func TestTokens(t *testing.T) {
	t.Parallel()
	a := &api{}
	tokens := connectclient.NewTokens(paired(t, a), a)
	now := time.Now()
	tokens.At(func() time.Time { return now })
	get := func(want string) {
		t.Helper()
		if got, err := tokens.Token(t.Context()); err != nil || got.AccessToken != want {
			t.Errorf("%v %v, want %s", got, err, want)
		}
	}
	get("t1")
	now = now.Add(7 * time.Minute)
	get("t1")
	now = now.Add(time.Minute)
	get("t2")
	tokens.Forget("t1")
	get("t2")
	tokens.Forget("t2")
	get("t3")
	if a.assertions[0] == a.assertions[1] || a.assertions[1] == a.assertions[2] {
		t.Error("an assertion was used twice")
	}
	a.err = errors.New("away")
	tokens.Forget("t3")
	if _, err := tokens.Token(t.Context()); !errors.Is(err, a.err) {
		t.Errorf("the API's refusal: %v", err)
	}
}
