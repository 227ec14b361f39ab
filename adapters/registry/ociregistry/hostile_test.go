package ociregistry

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/types"

	"berth/domain/delivery"
	"berth/e2e/lab"
)

// greeted answers as a registry that asks for no login, and manifests as h does.
func greeted(h http.HandlerFunc) http.Handler {
	return over("/manifests/", h, answer(http.StatusOK))
}

// manifest answers with a body as a manifest, by HEAD and by GET.
func manifest(mediaType types.MediaType, body string) http.HandlerFunc {
	return manifestOf(mediaType, body, digestOf(body))
}

func manifestOf(mediaType types.MediaType, body, digest string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", string(mediaType))
		w.Header().Set("Docker-Content-Digest", digest)
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		if r.Method != http.MethodHead {
			_, _ = io.WriteString(w, body)
		}
	}
}

// Whatever status a registry answers with, at its door or when it is asked for the image, the image is not there; and
// only a 404 about the image itself says that it is missing.
func TestEveryStatusIsNoImage(t *testing.T) {
	t.Parallel()
	for _, status := range []int{201, 204, 301, 302, 307, 400, 401, 403, 404, 405, 408, 410, 418, 429, 500, 502, 503, 504, 599} {
		b := newBench(t)
		door := serve(t, answer(status))
		if status/100 != 2 || status == 201 {
			b.refuses(door.Host+"/shop:1.0", "image_check_unavailable", door.registry())
		}
		inside := serve(t, greeted(answer(status)))
		slug := "image_check_unavailable"
		if status == http.StatusNotFound {
			slug = "image_missing"
		}
		b.refuses(inside.Host+"/shop:1.0", slug, inside.registry())
		b.refuses(inside.Host+"/shop@"+digestOf("x"), slug, inside.registry())
		if _, err := b.client.Chart(t.Context(), []delivery.Registry{inside.registry()}, "oci://"+inside.Host+"/shop:1.0"); err == nil {
			t.Errorf("status %d has a chart", status)
		}
	}
}

// A registry asks to wait once: a lookup does not try again by itself.
func TestARefusalIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	s := serve(t, greeted(answer(http.StatusTooManyRequests)))
	newBench(t).refuses(s.Host+"/shop:1.0", "image_check_unavailable", s.registry())
	if n := s.asked.Load(); n != 2 {
		t.Errorf("it was asked %d times, where once for its greeting and once for the image is enough", n)
	}
}

// A registry that sends on to itself for ever is given up after a few requests, not after as many as there is time for.
func TestRedirectsEnd(t *testing.T) {
	t.Parallel()
	round := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	}
	for name, h := range map[string]http.Handler{"at the door": http.HandlerFunc(round), "inside": greeted(round)} {
		s := serve(t, h)
		newBench(t).refuses(s.Host+"/shop:1.0", "image_check_unavailable", s.registry())
		if n := s.asked.Load(); n > 30 {
			t.Errorf("%s: it was asked %d times", name, n)
		}
	}
}

// Nobody who does not answer, answers too slowly or never ends holds a lookup up for longer than its time.
func TestNoAnswerEndsInTime(t *testing.T) {
	t.Parallel()
	drip := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
		for r.Method == http.MethodGet && r.Context().Err() == nil {
			if _, err := io.WriteString(w, " "); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			<-time.After(5 * time.Millisecond)
		}
	}
	stands := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, h := range map[string]http.Handler{
		"silent at the door": http.HandlerFunc(stands), "silent": greeted(stands), "slow": greeted(drip),
		"slow at the door": http.HandlerFunc(drip),
		"slow at GET":      greeted(only(http.MethodGet, http.HandlerFunc(drip), manifest(types.OCIManifestSchema1, "{}")).ServeHTTP),
	} {
		b := hurried(t, 200*time.Millisecond)
		s := serve(t, h)
		began := time.Now()
		f := b.refuses(s.Host+"/shop:1.0", "image_check_unavailable", s.registry())
		if took := time.Since(began); took > 5*time.Second || !strings.Contains(f.Detail, "in time") {
			t.Errorf("%s: %q after %v", name, f.Detail, took)
		}
	}
}

// One who accepts no connection, or closes it, or speaks something else, has no image.
func TestWhatIsNoRegistryHasNoImage(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n")
			_ = c.Close()
		}
	}()
	b := newBench(t)
	for _, plain := range []bool{false, true} {
		b.refuses(l.Addr().String()+"/shop:1.0", "image_check_unavailable", delivery.Registry{Host: l.Addr().String(), PlainHTTP: plain})
	}
	_ = l.Close()
	b.refuses(l.Addr().String()+"/shop:1.0", "image_check_unavailable", delivery.Registry{Host: l.Addr().String()})
	b.refuses("registry.invalid/shop:1.0", "image_check_unavailable", delivery.Registry{Host: "registry.invalid"})
}

// An answer that is too large is not read: neither one that says so, nor one that does not, nor one without end.
func TestLargeAnswersAreNotRead(t *testing.T) {
	t.Parallel()
	endless := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", string(types.OCIManifestSchema1))
		part := strings.Repeat(" ", 64<<10)
		for r.Method == http.MethodGet && r.Context().Err() == nil {
			if _, err := io.WriteString(w, part); err != nil {
				return
			}
		}
	}
	hundredMB := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(100<<20))
		w.Header().Set("Docker-Content-Digest", digestOf("x"))
		endless(w, r)
	}
	small := manifest(types.OCIManifestSchema1, "{}")
	for name, h := range map[string]http.Handler{
		"100 MB by HEAD":     greeted(hundredMB),
		"100 MB by GET only": greeted(only(http.MethodHead, small, http.HandlerFunc(hundredMB)).ServeHTTP),
		"endless":            greeted(only(http.MethodHead, small, http.HandlerFunc(endless)).ServeHTTP),
	} {
		b := newBench(t)
		s := serve(t, h)
		if f := b.refuses(s.Host+"/shop:1.0", "image_check_unavailable", s.registry()); !strings.Contains(f.Detail, "too large") {
			t.Errorf("%s: %q", name, f.Detail)
		}
		if strings.HasSuffix(name, "by HEAD") && s.asked.Load() != 2 {
			t.Errorf("%s: it was asked %d times, where its greeting and HEAD are enough", name, s.asked.Load())
		}
	}
	door := serve(t, only(http.MethodGet, http.HandlerFunc(endless), answer(200)))
	hurried(t, 10*time.Second).refuses(door.Host+"/shop:1.0", "image_check_unavailable", door.registry())
}

// What can not be an image, or is something else than its digest or type says, is none.
func TestWhatMakesNoSenseIsNoImage(t *testing.T) {
	t.Parallel()
	oci, list := types.OCIManifestSchema1, types.OCIImageIndex
	child := `{"mediaType": "` + string(oci) + `", "size": 2, "digest": "` + digestOf("{}") + `", "platform": {"os": "linux", "architecture": "amd64"}}`
	schema1 := `{"schemaVersion": 1, "name": "shop", "tag": "1.0", "architecture": "amd64", "fsLayers": []}`
	for name, h := range map[string]http.HandlerFunc{
		"nothing":                   manifest(oci, ""),
		"no JSON":                   manifest(oci, "<html>"),
		"null":                      manifest(oci, "null"),
		"a list":                    manifest(oci, "[]"),
		"an empty object":           manifest(oci, "{}"),
		"an empty index":            manifest(list, `{"schemaVersion": 2, "manifests": []}`),
		"a page":                    manifest("text/html", "<html>"),
		"a type of no kind":         manifest("application/json", `{"schemaVersion": 2, "config": {}, "layers": []}`),
		"no type":                   manifest("", `{"schemaVersion": 2, "config": {}, "layers": []}`),
		"schema 1":                  manifest(types.DockerManifestSchema1, schema1),
		"schema 1, signed":          manifest(types.DockerManifestSchema1Signed, schema1),
		"an image called an index":  manifest(list, `{"schemaVersion": 2, "config": {}, "layers": []}`),
		"an index called an image":  manifest(oci, `{"schemaVersion": 2, "manifests": []}`),
		"both at once":              manifest(list, `{"schemaVersion": 2, "manifests": [], "layers": []}`),
		"another type within":       manifest(list, `{"schemaVersion": 2, "mediaType": "`+string(oci)+`", "manifests": [`+child+`]}`),
		"an image beside an index":  manifest(list, `{"schemaVersion": 2, "manifests": [`+child+`], "layers": []}`),
		"an artifact":               manifest(oci, `{"schemaVersion": 2, "config": {"mediaType": "application/vnd.oci.empty.v1+json", "digest": "`+digestOf("{}")+`", "size": 2}, "layers": []}`),
		"no configuration":          manifest(oci, `{"schemaVersion": 2, "layers": []}`),
		"a configuration of no hex": manifest(oci, `{"schemaVersion": 2, "config": {"mediaType": "`+string(types.OCIConfigJSON)+`", "digest": "sha256:../../x", "size": 2}, "layers": []}`),
		"another digest by HEAD":    manifestOf(oci, `{"schemaVersion": 2}`, digestOf("other")),
		"a digest of no hex":        manifestOf(oci, `{"schemaVersion": 2}`, "sha256:zz"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, greeted(h))
			newBench(t).refuses(s.Host+"/shop:1.0", "image_check_unavailable", s.registry())
		})
	}
}

// Content that is not what its digest says is refused: a manifest that is asked for by digest, and a configuration.
func TestContentIsHeldAgainstItsDigest(t *testing.T) {
	t.Parallel()
	works := inProcess()
	h := &fickle{h: works}
	s := serve(t, h)
	digest := pusher(t, s.Host).Image("shop", "1.0", lab.Scratch(t, "linux/amd64", "shop"))
	b := newBench(t)
	lie := manifestOf(types.OCIManifestSchema1, `{"schemaVersion": 2}`, digest)
	h.set(over("/manifests/", lie, works))
	b.refuses(s.Host+"/shop@"+digest, "image_check_unavailable", s.registry())
	h.set(over("/blobs/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"os": "linux", "architecture": "s390x"}`)
	}), works))
	b.refuses(s.Host+"/shop:1.0", "image_check_unavailable", s.registry())
	h.set(works)
	if _, err := b.client.Resolve(t.Context(), []delivery.Registry{s.registry()}, s.Host+"/shop@"+digest); err != nil {
		t.Errorf("told truly, it is refused: %v", err)
	}
}

// What goes into a log of an answer is brief, however long the answer is, and whoever gives it: a registry, or the server
// that was to give a token.
func TestLongAnswersAreNotLogged(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 60_000)
	token := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"no_token": "` + long + `"}`))
	}))
	for name, h := range map[string]http.Handler{
		"a registry": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write([]byte(long))
		}),
		"a token": challenge("http://"+byName(token.Host)+"/token", inProcess()),
	} {
		s := serve(t, h)
		f := newBench(t).refuses(s.Host+"/shop:1.0", "image_check_unavailable", s.registry(), delivery.Registry{Host: byName(token.Host), PlainHTTP: true})
		if f.Err == nil || len(f.Err.Error()) > 1000 {
			t.Errorf("%s: the cause has %d bytes", name, len(fmt.Sprint(f.Err)))
		}
	}
}
