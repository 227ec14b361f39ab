package ociregistry

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"berth/domain/delivery"
	"berth/e2e/lab"
)

// towards redirects to the same path at another host.
func towards(host string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+host+r.URL.Path, http.StatusTemporaryRedirect)
	}
}

// challenge asks for a token of a realm, unless one is shown.
func challenge(realm string, next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer good" {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer realm=%q,service="s"`, realm))
		w.WriteHeader(http.StatusUnauthorized)
	}
}

// byName is the address of a server of this machine by the machine's name: another host than its number, though the same
// server.
func byName(host string) string { return strings.Replace(host, "127.0.0.1", "localhost", 1) }

// Whatever an answer leads to, a host that is not registered sees no request, and the person learns which one it was.
func TestNoAnswerLeadsElsewhere(t *testing.T) {
	t.Parallel()
	works := inProcess()
	source := serve(t, works)
	pusher(t, source.Host).Image("shop", "1.0", lab.Scratch(t, "linux/amd64", "shop"))
	pusher(t, source.Host).Image("chart", "1.0", lab.Chart(t, []byte("a chart")))
	for name, lead := range map[string]func(elsewhere string) http.Handler{
		"redirect of the greeting": func(e string) http.Handler { return towards(e) },
		"redirect of the manifest": func(e string) http.Handler { return over("/manifests/", towards(e), works) },
		"redirect of a blob":       func(e string) http.Handler { return over("/blobs/", towards(e), works) },
		"redirect of GET":          func(e string) http.Handler { return over("/manifests/", only("GET", towards(e), works), works) },
		"redirect by another name": func(e string) http.Handler { return over("/manifests/", towards(byName(e)), works) },
		"a realm":                  func(e string) http.Handler { return challenge("http://"+byName(e)+"/token", works) },
		"a realm by number":        func(e string) http.Handler { return challenge("http://"+e+"/token", works) },
		"a realm of a manifest": func(e string) http.Handler {
			return over("/manifests/", challenge("http://"+byName(e)+"/t", works), works)
		},
		"a user in front of the host": func(e string) http.Handler { return over("/manifests/", towards("registry@"+e), works) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			elsewhere := serve(t, works)
			s := serve(t, lead(elsewhere.Host))
			b := newBench(t)
			f := b.refuses(s.Host+"/shop:1.0", "image_check_unavailable", s.registry())
			_, err := b.client.Chart(t.Context(), []delivery.Registry{s.registry()}, "oci://"+s.Host+"/chart:1.0")
			if n := elsewhere.asked.Load(); n != 0 || err == nil {
				t.Errorf("the host that is not registered saw %d requests; %v, %v", n, f, err)
			}
		})
	}
}

// To whom an answer leads is told with what to do about it.
func TestAnUnregisteredHostIsNamed(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, inProcess())
	s := serve(t, challenge("http://"+byName(elsewhere.Host)+"/token", inProcess()))
	f := newBench(t).refuses(s.Host+"/shop:1.0", "image_check_unavailable", s.registry())
	if !strings.Contains(f.Detail, byName(elsewhere.Host)) || !strings.Contains(f.Cure, byName(elsewhere.Host)) {
		t.Errorf("%q, %q", f.Detail, f.Cure)
	}
}

// A registered host may be led to, and sees no credentials of the one that led to it.
func TestAnswersMayLeadToRegisteredHosts(t *testing.T) {
	t.Parallel()
	works := inProcess()
	var shown atomic.Int64
	store := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			shown.Add(1)
		}
		works.ServeHTTP(w, r)
	}))
	pusher(t, store.Host).Image("shop", "1.0", lab.Scratch(t, "linux/amd64", "shop"))
	front := serve(t, over("/blobs/", towards(byName(store.Host)), over("/manifests/", towards(byName(store.Host)), basic("berth", "a word", works))))
	r := front.registry()
	r.CredentialsRef = "file:" + login(t, "berth", "a word")
	b := newBench(t)
	b.refuses(front.Host+"/shop:1.0", "image_check_unavailable", r)
	image, err := b.client.Resolve(t.Context(), []delivery.Registry{r, {Host: byName(store.Host), PlainHTTP: true}}, front.Host+"/shop:1.0")
	if err != nil || !strings.HasPrefix(image.Pinned, front.Host+"/shop@") || shown.Load() != 0 {
		t.Errorf("%+v, %v; credentials were shown %d times", image, err, shown.Load())
	}
}

// An authorization server that is registered is given the credentials; its token is then the registry's.
func TestRegisteredAuthorizationServersAreAsked(t *testing.T) {
	t.Parallel()
	auth := serve(t, basic("berth", "a word", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"token": "good"}`))
	})))
	works := inProcess()
	direct := serve(t, works)
	pusher(t, direct.Host).Image("shop", "1.0", lab.Scratch(t, "linux/amd64", "shop"))
	s := serve(t, challenge("http://"+byName(auth.Host)+"/token", works))
	r := s.registry()
	r.CredentialsRef = "file:" + login(t, "berth", "a word")
	b := newBench(t)
	b.refuses(s.Host+"/shop:1.0", "image_check_unavailable", r)
	if _, err := b.client.Resolve(t.Context(), []delivery.Registry{r, {Host: byName(auth.Host), PlainHTTP: true}}, s.Host+"/shop:1.0"); err != nil {
		t.Error(err)
	}
}

// A registry is asked by the scheme that it is registered with only: credentials never go out without TLS by mistake, and
// no redirect takes it off.
func TestTheSchemeIsTheRegistered(t *testing.T) {
	t.Parallel()
	s := serve(t, inProcess())
	pusher(t, s.Host).Image("shop", "1.0", lab.Scratch(t, "linux/amd64", "shop"))
	before := s.asked.Load()
	b := newBench(t)
	b.refuses(s.Host+"/shop:1.0", "image_check_unavailable", delivery.Registry{Host: s.Host})
	b.refuses(byName(s.Host)+"/shop:1.0", "image_check_unavailable", delivery.Registry{Host: byName(s.Host)})
	if n := s.asked.Load() - before; n != 0 {
		t.Errorf("without TLS it saw %d requests", n)
	}
}

// The gate knows a host by what a connection to it would be.
func TestTheGateComparesConnections(t *testing.T) {
	t.Parallel()
	g := newGate(newTransports(), []delivery.Registry{
		{Host: "Registry.Example"}, {Host: "[2001:db8::1]:5000", PlainHTTP: true}, {Host: "[::1]"}, {Host: "docker.io"},
	})
	for text, want := range map[string]bool{
		"https://registry.example":      true,
		"https://registry.example:443":  true,
		"https://REGISTRY.example":      true,
		"http://registry.example":       false,
		"https://registry.example:8443": false,
		"https://registry.example.":     false,
		"https://sub.registry.example":  false,
		"http://[2001:db8::1]:5000":     true,
		"http://[2001:db8::1]":          false,
		"https://[::1]:443":             true,
		"https://[::1]":                 true,
		"https://[::2]":                 false,
		"https://index.docker.io":       true,
		"https://auth.docker.io":        false,
		"https://169.254.169.254":       false,
		"file://registry.example":       false,
	} {
		scheme, host, _ := strings.Cut(text, "://")
		if _, ok := g.open[origin(scheme, host)]; ok != want {
			t.Errorf("%s is open: %v", text, ok)
		}
	}
}

// A name for the host within the request that differs from where the request goes is not sent.
func TestTheGateReadsTheHostOfARequest(t *testing.T) {
	t.Parallel()
	s := serve(t, answer(http.StatusOK))
	g := newGate(newTransports(), []delivery.Registry{s.registry()})
	in, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Host+"/v2/", nil)
	in.Host = "other.example"
	if response, err := g.RoundTrip(in); err == nil {
		_ = response.Body.Close()
		t.Error("it was sent")
	}
	if s.asked.Load() != 0 {
		t.Error("it arrived")
	}
}

// basic asks for a login.
func basic(username, password string, next http.Handler) http.Handler {
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(username+":"+password))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != want {
			w.Header().Set("WWW-Authenticate", `Basic realm="r"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
