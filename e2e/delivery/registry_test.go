package delivery_test

import (
	"net/http"
	"net/http/httptest"
	"strings"

	"berth/e2e/harness"
)

// A registry that does not say whether an image is there: that is told, and never that it is. Nobody is asked at an address
// that is not registered, also not by redirect.
func registriesThatDoNotAnswer(w *world) {
	c, door, app := w.behindDoor()
	asked := make(chan string, 100)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	w.t.Cleanup(elsewhere.Close)
	status := func(code int, header ...string) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			for i := 0; i+1 < len(header); i += 2 {
				rw.Header().Set(header[i], header[i+1])
			}
			rw.WriteHeader(code)
		}
	}
	for what, how := range map[string]http.HandlerFunc{
		"401":            status(http.StatusUnauthorized, "WWW-Authenticate", `Basic realm="r"`),
		"401 with realm": status(http.StatusUnauthorized, "WWW-Authenticate", `Bearer realm="`+elsewhere.URL+`/token",service="s"`),
		"429":            status(http.StatusTooManyRequests, "Retry-After", "7"),
		"500":            status(http.StatusInternalServerError),
		"a redirect":     status(http.StatusTemporaryRedirect, "Location", elsewhere.URL+"/v2/x/manifests/1"),
		"nothing": func(rw http.ResponseWriter, _ *http.Request) {
			if conn, _, err := http.NewResponseController(rw).Hijack(); err == nil {
				_ = conn.Close()
			}
		},
	} {
		door.Answers(how)
		if got := c.Refused(app, install("")); len(got) != 1 || got[0] != "image_check_unavailable" {
			w.t.Errorf("%s: refused by %q", what, got)
		}
	}
	close(asked)
	for path := range asked {
		w.t.Errorf("somebody was asked who is not registered: %s", path)
	}
	w.unchanged(c)
	door.Answers(nil)
	c.Submits(app, "install", "")
}

// A tag that is moved after it was checked: what was found then is what runs, by its digest, until somebody asks again.
func tagThatMoves(w *world) {
	app := w.app("app")
	w.Publish(harness.Product{App: app, Version: "1.0.0"})
	c := w.NewCustomer(w.name)
	c.Entitle(app)
	c.Deploys()
	first, err := w.Operator().Release(w.t.Context(), app, "1.0.0")
	must(w.t, err)
	found := w.Push(app, "1.0.0", "linux/amd64", app+"1.0.0")
	c.Submits(app, "install", "")
	if moved := w.Push(app, "1.0.0", "linux/amd64", "something else"); moved == found {
		w.t.Fatal("the tag did not move")
	}
	a := c.Enrols()
	a.Until("it has the app", func() bool { return a.Says() == app+" 1.0.0" })
	told, _ := a.App(app)
	want := strings.SplitN(first.Images[0], ":1.0.0", 2)[0] + "@" + found
	if len(told.Images) != 1 || !strings.HasSuffix(told.Images[0], "@"+found) {
		w.t.Errorf("the agent is told %q, want %q", told.Images, want)
	}
	for _, doc := range a.Objects(app) {
		if text := string(encoded(w.t, doc.Object)); !strings.Contains(text, found) || strings.Contains(text, ":1.0.0\"") {
			w.t.Errorf("the objects do not name the digest: %s", text)
		}
	}
}
