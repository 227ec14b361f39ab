package delivery_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/delivery"
	"berth/domain/fault"
)

var digestText = "sha256:" + strings.Repeat("0a", 32)

// An image reference names its registry and a tag or a digest: nothing is guessed.
func TestImageReferences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]delivery.ImageReference{
		"registry.example.com/team/app:1.2.3":       {Host: "registry.example.com", Repository: "team/app", Tag: "1.2.3"},
		"10.0.0.5:5000/app@" + digestText:           {Host: "10.0.0.5:5000", Repository: "app", Digest: digestText},
		"localhost/a/b/c_d-e.f__g:v1@" + digestText: {Host: "localhost", Repository: "a/b/c_d-e.f__g", Tag: "v1", Digest: digestText},
		"[2001:db8::1]:5000/app:1":                  {Host: "[2001:db8::1]:5000", Repository: "app", Tag: "1"},
		"registry:5000/a---b:_x.Y-z":                {Host: "registry:5000", Repository: "a---b", Tag: "_x.Y-z"},
		"docker.io/library/nginx:1.27":              {Host: "docker.io", Repository: "library/nginx", Tag: "1.27"},
	} {
		got, err := delivery.ParseImage(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "nginx", "nginx:1.27", "library/nginx:1.27", "registry/app:1", "registry.example.com/app", "registry.example.com/:1", "registry.example.com:1",
		"https://registry.example.com/app:1", "Registry.example.com/app:1", "registry.example.com/App:1", "registry.example.com/app:", "registry.example.com/app:-1",
		"registry.example.com/app:a b", "registry.example.com/app@sha256:00", "registry.example.com/app@sha256:" + strings.Repeat("0A", 32),
		"registry.example.com/app@md5:" + strings.Repeat("0a", 32), "registry.example.com/app:1@", "registry.example.com/app@" + digestText + "@" + digestText,
		"registry.example.com/a//b:1", "registry.example.com/a/:1", "registry.example.com/-a:1", "registry.example.com/a-:1", "registry.example.com/a..b:1",
		"registry.example.com/a___b:1", "registry.example.com/a._b:1", "registry.example.com/../b:1", "registry.example.com/app:" + strings.Repeat("1", 129),
		"registry.example.com/" + strings.Repeat("a", 256) + ":1", "registry.example.com/app:1\n", " registry.example.com/app:1", "registry.example.com/app:1:2",
		"docker.io/nginx:1.27", "index.docker.io/nginx:1.27", "registry.example.com:99999/app:1", "user@registry.example.com/app:1", "${image}",
	} {
		if _, err := delivery.ParseImage(text); err == nil || err.Slug != "image_reference_invalid" || err.Cure == "" {
			t.Errorf("%q is accepted", text)
		}
	}
}

// What is read is written as it was.
func FuzzImage(f *testing.F) {
	f.Add("registry.example.com/team/app:1.2.3")
	f.Add("[::1]:5000/app@" + digestText)
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := delivery.ParseImage(text); err == nil && r.String() != text {
			t.Fatalf("%q is written %q", text, r)
		}
	})
}

func authority(t *testing.T) string {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// Registries are registered by operators, and every part that is wrong is named.
func TestRegistries(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 6789, time.FixedZone("x", 3600))
	ca := authority(t)
	for _, r := range []delivery.Registry{
		{Host: "registry.example.com"}, {Host: "localhost:5000", PlainHTTP: true}, {Host: "127.0.0.1:5000", MirrorOf: "docker.io"}, {Host: "[::1]:5000"}, {Host: "r:1"},
		{Host: "registry.example.com:443", CA: ca + "\n" + ca, CredentialsRef: "file:/etc/berth/registry.json"},
	} {
		got, err := delivery.NewRegistry(r, now)
		r.CreatedAt = now.UTC().Truncate(time.Microsecond)
		if err != nil || got != r {
			t.Errorf("%+v: %+v, %v", r, got, err)
		}
	}
	for _, host := range []string{
		"", "registry", "https://registry.example.com", "registry.example.com/", "registry.example.com/path", "Registry.Example.com", "registry.example.com:0",
		"registry.example.com:65536", "registry.example.com:080", "registry.example.com:", ":5000", "::1", "[::1", "::1]:5", "[::ffff:1.2.3.4%eth0]:1", "[1.2.3.4]:1",
		"[0:0::1]:1", "a b.c", "-a.example", "a..b", ".a.b", "a.b.", "a_b.example", strings.Repeat("a.", 130) + "b", "registry.example.com\n", "user@registry.example.com",
	} {
		wantFault(t, second(delivery.NewRegistry(delivery.Registry{Host: host}, now)), "registry_host_invalid host")
	}
	host := "registry.example.com"
	key := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}))
	for _, bad := range []string{"x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", ca + key, ca + "trailing", strings.Repeat(ca, 200), strings.ReplaceAll(ca, "CERTIFICATE", "X")} {
		wantFault(t, second(delivery.NewRegistry(delivery.Registry{Host: host, CA: bad}, now)), "ca_invalid ca")
	}
	wantFault(t, second(delivery.NewRegistry(delivery.Registry{Host: host, CA: ca, PlainHTTP: true}, now)), "ca_invalid ca")
	for _, ref := range []string{"env:X", "/etc/x", "file:", "file:relative", "file:/a/../b", "file:/a\n", "file://host/a", "file:/" + strings.Repeat("a", 512), "file:/\xff"} {
		wantFault(t, second(delivery.NewRegistry(delivery.Registry{Host: host, CredentialsRef: ref}, now)), "credentials_ref_invalid credentials_ref")
	}
	for _, of := range []string{host, "nonsense", "https://x.y"} {
		wantFault(t, second(delivery.NewRegistry(delivery.Registry{Host: host, MirrorOf: of}, now)), "registry_mirror_invalid mirror_of")
	}
	wantFault(t, second(delivery.NewRegistry(delivery.Registry{Host: "x", CredentialsRef: "y", CA: "z", MirrorOf: "x"}, now)),
		"registry_host_invalid host", "credentials_ref_invalid credentials_ref", "ca_invalid ca", "registry_mirror_invalid mirror_of")
}

func second[T any](_ T, err error) error { return err }

func wantFault(t *testing.T, err error, want ...string) {
	t.Helper()
	f, ok := fault.As(err)
	var got []string
	switch {
	case !ok:
	case len(f.Errors) > 0:
		got = named(f.Errors)
	default:
		got = named([]*fault.Error{f})
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q: %v", got, want, err)
	}
}

// A mirror answers for the host that references name; a host that nobody registered is asked nothing.
func TestRegistryOfAHost(t *testing.T) {
	t.Parallel()
	own, mirrored, mirror := delivery.Registry{Host: "own.example"}, delivery.Registry{Host: "docker.io"}, delivery.Registry{Host: "mirror.example", MirrorOf: "docker.io"}
	for _, registries := range [][]delivery.Registry{{own, mirrored, mirror}, {mirror, mirrored, own}, {mirror, own}} {
		for host, want := range map[string]string{"own.example": "own.example", "docker.io": "mirror.example", "mirror.example": "mirror.example"} {
			if r, err := delivery.RegistryOf(registries, host); err != nil || r.Host != want {
				t.Errorf("%s is asked of %s (%v), want %s", host, r.Host, err, want)
			}
		}
		for _, host := range []string{"", "other.example", "own.example:443", "OWN.example", "x.own.example"} {
			if _, err := delivery.RegistryOf(registries, host); err == nil || err.Slug != "registry_unknown" || err.Cure == "" {
				t.Errorf("%q is asked", host)
			}
		}
	}
}

// The same content has the same digest, whatever the order that it was written in; each change of it changes the digest;
// app, version, images and time do not.
func TestDigestOfARelease(t *testing.T) {
	t.Parallel()
	base := delivery.Release{
		App: "shop", Version: "1.2.3", Kind: delivery.SourceManifests, Source: strings.Repeat("0a", 32),
		Parameters: []param{{Name: "a", Type: "int", Default: "1", HasDefault: true}, {Name: "b", Type: "enum", Values: []string{"x", "y"}}},
		Requires:   []delivery.Requirement{{App: "db", Versions: "^1.0.0"}, {App: "mq"}}, Externals: []string{"Secret/login", "ConfigMap/ca"},
		Images: []string{"r.example/b:1", "r.example/a:1", "r.example/a:1"},
	}
	digest := func(change func(*delivery.Release), at int64) string {
		r := base
		r.Parameters, r.Requires, r.Externals = slices.Clone(r.Parameters), slices.Clone(r.Requires), slices.Clone(r.Externals)
		change(&r)
		got, err := delivery.NewRelease(r, time.Unix(at, 0))
		if err != nil {
			t.Fatal(err)
		}
		return got.Digest
	}
	first := digest(func(*delivery.Release) {}, 1)
	for name, same := range map[string]func(*delivery.Release){
		"order": func(r *delivery.Release) {
			slices.Reverse(r.Parameters)
			slices.Reverse(r.Requires)
			r.Externals = []string{"ConfigMap/ca", "Secret/login", "ConfigMap/ca"}
		},
		"app":     func(r *delivery.Release) { r.App = "other" },
		"version": func(r *delivery.Release) { r.Version = "2.0.0" },
		"images":  func(r *delivery.Release) { r.Images = nil },
		"empty":   func(r *delivery.Release) { r.Parameters[0].Values = []string{} },
	} {
		if digest(same, 2) != first {
			t.Errorf("%s changes the digest", name)
		}
	}
	seen := map[string]string{first: "nothing"}
	for name, change := range map[string]func(*delivery.Release){
		"kind": func(r *delivery.Release) { r.Kind = delivery.SourceHelm }, "source": func(r *delivery.Release) { r.Source = strings.Repeat("0b", 32) },
		"gate": func(r *delivery.Release) { r.SchemaGate = true }, "requirement": func(r *delivery.Release) { r.Requires[1].Versions = "*" },
		"externals": func(r *delivery.Release) { r.Externals = nil }, "requires": func(r *delivery.Release) { r.Requires = nil },
		"no default": func(r *delivery.Release) { r.Parameters[0].HasDefault = false }, "default": func(r *delivery.Release) { r.Parameters[0].Default = "2" },
		"required": func(r *delivery.Release) { r.Parameters[0].Required = true }, "settable": func(r *delivery.Release) { r.Parameters[0].CustomerSettable = true },
		"values": func(r *delivery.Release) { r.Parameters[1].Values = []string{"y", "x"} }, "name": func(r *delivery.Release) { r.Parameters[0].Name = "c" },
		"pattern": func(r *delivery.Release) { r.Parameters[1] = param{Name: "b", Type: "string", Pattern: "x"} },
		"secret":  func(r *delivery.Release) { r.Parameters[1] = param{Name: "b", Type: "string", Secret: true} },
		"type":    func(r *delivery.Release) { r.Parameters[1] = param{Name: "b", Type: "string"} },
	} {
		d := digest(change, 1)
		if other, taken := seen[d]; taken {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[d] = name
	}
}

// What is wrong with a release is named, all of it.
func TestReleasesAreSound(t *testing.T) {
	t.Parallel()
	now := time.Unix(1, 0)
	good := delivery.Release{App: "shop", Version: "1.0.0", Kind: delivery.SourceHelm, Source: strings.Repeat("0a", 32)}
	for want, change := range map[string]func(*delivery.Release){
		"invalid_id app":                                  func(r *delivery.Release) { r.App = "Shop" },
		"version_invalid version":                         func(r *delivery.Release) { r.Version = "1.0" },
		"source_kind_unknown source.kind":                 func(r *delivery.Release) { r.Kind = "kustomize" },
		"source_digest_invalid source":                    func(r *delivery.Release) { r.Source = "x" },
		"requirement_invalid requires.0.app":              func(r *delivery.Release) { r.Requires = []delivery.Requirement{{App: "shop"}} },
		"requirement_invalid requires.1.app":              func(r *delivery.Release) { r.Requires = []delivery.Requirement{{App: "db"}, {App: "db"}} },
		"invalid_id requires.0.app":                       func(r *delivery.Release) { r.Requires = []delivery.Requirement{{App: "../db"}} },
		"constraint_invalid requires.0.versions":          func(r *delivery.Release) { r.Requires = []delivery.Requirement{{App: "db", Versions: "?"}} },
		"constraint_invalid requires.0.versions ":         func(r *delivery.Release) { r.Requires = []delivery.Requirement{{App: "db", Versions: " 1.x"}} },
		"requirements_too_many requires":                  func(r *delivery.Release) { r.Requires = make([]delivery.Requirement, 33) },
		"externals_too_many externals":                    func(r *delivery.Release) { r.Externals = make([]string, 33) },
		"external_invalid externals.0":                    func(r *delivery.Release) { r.Externals = []string{"Namespace/x"} },
		"external_invalid externals.0 ":                   func(r *delivery.Release) { r.Externals = []string{"Secret/Not_A_Name"} },
		"external_invalid externals.0  ":                  func(r *delivery.Release) { r.Externals = []string{"Secret"} },
		"parameter_declaration_invalid parameters.0.type": func(r *delivery.Release) { r.Parameters = []param{{Name: "a", Type: "x"}} },
	} {
		r := good
		change(&r)
		wantFault(t, second(delivery.NewRelease(r, now)), strings.TrimSpace(want))
	}
	wantFault(t, second(delivery.NewRelease(delivery.Release{Version: "1"}, now)),
		"invalid_id app", "version_invalid version", "source_kind_unknown source.kind", "source_digest_invalid source")
	if r, err := delivery.NewRelease(good, time.Unix(1, 1999).In(time.FixedZone("x", 60))); err != nil || r.CreatedAt != time.Unix(1, 1000).UTC() {
		t.Errorf("%v, %v", r.CreatedAt, err)
	}
}

// An app has an id and a name that a person can read.
func TestApps(t *testing.T) {
	t.Parallel()
	if a, err := delivery.NewApp("shop", "Der Laden", time.Unix(1, 0)); err != nil || a != (delivery.App{ID: "shop", Name: "Der Laden", CreatedAt: time.Unix(1, 0).UTC()}) {
		t.Errorf("%+v, %v", a, err)
	}
	for _, name := range []string{"", strings.Repeat("x", 129), "a\nb", "a\x00", "\xff"} {
		wantFault(t, second(delivery.NewApp("shop", name, time.Unix(1, 0))), "text_out_of_bounds name")
	}
	wantFault(t, second(delivery.NewApp("", "", time.Unix(1, 0))), "invalid_id id", "text_out_of_bounds name")
}

// A host is accepted as a registry's exactly where a reference can name it.
func TestHostsOfReferencesAreHostsOfRegistries(t *testing.T) {
	t.Parallel()
	host := rapid.OneOf(rapid.StringMatching(`[a-z0-9.:\[\]-]{1,20}`), rapid.StringMatching(`[a-z]{1,5}(\.[a-z]{1,5})?(:[0-9]{1,5})?`))
	rapid.Check(t, func(t *rapid.T) {
		h := host.Draw(t, "host")
		_, refused := delivery.NewRegistry(delivery.Registry{Host: h}, time.Unix(1, 0))
		r, err := delivery.ParseImage(h + "/app:1")
		if (refused == nil) != (err == nil) || err == nil && r.Host != h {
			t.Fatalf("%q: %v, %v", h, refused, err)
		}
	})
}
