package ociregistry

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"berth/domain/delivery"
	"berth/e2e/lab"
	"berth/ports/registry/registrytest"
)

// pushing makes a suite's subject of a client and of whoever writes to the registry.
func pushing(b bench, r delivery.Registry, p lab.Pusher, broken func(testing.TB, bool)) registrytest.Subject {
	return registrytest.Subject{
		Images: b.client, Charts: b.client, Registry: r, Break: broken, Forget: b.forget,
		Put: func(tb testing.TB, repository, tag string, platforms ...string) string {
			tb.Helper()
			if len(platforms) == 1 {
				return p.Image(repository, tag, lab.Scratch(tb, platforms[0], repository))
			}
			return p.Image(repository, tag, lab.Index(tb, repository, platforms...))
		},
		PutChart: func(tb testing.TB, repository, tag string, packaged []byte) string {
			tb.Helper()
			return p.Image(repository, tag, lab.Chart(tb, packaged))
		},
		Remove: func(tb testing.TB, repository, tag string) { tb.Helper(); p.Remove(repository, tag) },
	}
}

// The client keeps every law at go-containerregistry's own registry.
func TestConformsInProcess(t *testing.T) {
	t.Parallel()
	registrytest.Run(t, func(tb testing.TB) registrytest.Subject {
		works := inProcess()
		h := &fickle{h: works}
		s := serve(tb, h)
		return pushing(newBench(tb), s.registry(), pusher(tb, s.Host), func(_ testing.TB, broken bool) {
			if broken {
				h.set(answer(http.StatusInternalServerError))
			} else {
				h.set(works)
			}
		})
	})
}

// The client keeps every law at a real registry, over TLS with a CA of its own and with basic authentication, and without.
func TestConformsAtARealRegistry(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]lab.RegistryOptions{
		"plain":                        {},
		"TLS":                          {TLS: true},
		"TLS and basic authentication": {TLS: true, Username: "berth", Password: "a word"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			registrytest.Run(t, func(tb testing.TB) registrytest.Subject {
				r := lab.OCIRegistry(tb, o)
				d := delivery.Registry{Host: r.Host, CA: r.CA, PlainHTTP: !o.TLS}
				if o.Username != "" {
					d.CredentialsRef = "file:" + login(tb, o.Username, o.Password)
				}
				return pushing(newBench(tb), d, r.Push(), func(tb testing.TB, broken bool) {
					tb.Helper()
					if broken {
						r.Stop()
					} else {
						r.Start()
					}
				})
			})
		})
	}
}

// login writes a credentials file.
func login(tb testing.TB, username, password string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "login.json")
	text := `{"username": "` + username + `", "password": "` + password + `"}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}
