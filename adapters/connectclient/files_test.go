package connectclient_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"berth/adapters/connectclient"
	"berth/adapters/contract"
	"berth/domain/fault"
)

// store takes and gives one attachment, and breaks in the middle of it as often as it is told.
type store struct {
	t      *testing.T
	breaks int
	has    []byte
	whole  bool
	log    []string
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.log = append(s.log, strings.TrimSpace(r.Method+" "+r.Header.Get("Content-Range")+r.Header.Get("Range")))
	switch {
	case r.Header.Get("Authorization") != "Bearer t":
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method == http.MethodPut:
		s.take(w, r)
	case r.Method == http.MethodHead && !s.whole:
		w.Header().Set("Berth-Upload-Offset", fmt.Sprint(len(s.has)))
		w.WriteHeader(http.StatusNotFound)
	case !s.whole:
		w.Header().Set("Content-Type", contract.ProblemType)
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"type":"urn:berth:problem:attachment_missing"}`)
	case r.Method == http.MethodGet && s.breaks > 0:
		s.breaks--
		w.Header().Set("Content-Length", fmt.Sprint(len(s.has)))
		_, _ = w.Write(s.has[:len(s.has)/3])
		panic(http.ErrAbortHandler)
	default:
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.has))
	}
}

func (s *store) take(w http.ResponseWriter, r *http.Request) {
	var from, to, size int64
	if _, err := fmt.Sscanf(r.Header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &size); err == nil && from != int64(len(s.has)) {
		s.t.Errorf("it goes on at %d, and %d are there", from, len(s.has))
	}
	if s.breaks > 0 {
		s.breaks--
		got := make([]byte, r.ContentLength/3)
		_, _ = io.ReadFull(r.Body, got)
		s.has = append(s.has, got...)
		panic(http.ErrAbortHandler)
	}
	rest, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	s.has, s.whole = append(s.has, rest...), true
	w.WriteHeader(http.StatusCreated)
}

func files(t *testing.T, h http.Handler) *connectclient.Files {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	f := connectclient.NewFiles(connectclient.Options{URL: "wss" + server.URL[len("https"):] + "/connect/v1", TLS: trusting(server), Tokens: lasting{}})
	t.Cleanup(f.Close)
	return f
}

// An upload and a download that break go on where they broke, and arrive as they were; what is there is not sent again.
func TestAttachmentsResume(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("0123456789"), 300_000)
	s := &store{t: t, breaks: 2}
	f := files(t, s)
	digest, err := f.Attach(t.Context(), bytes.NewReader(content))
	if err != nil || digest != sha256.Sum256(content) || !bytes.Equal(s.has, content) {
		t.Fatalf("%v; %d of %d bytes arrived over %v", err, len(s.has), len(content), s.log)
	}
	s.log = nil
	if _, err := f.Attach(t.Context(), bytes.NewReader(content)); err != nil || len(s.log) != 1 {
		t.Errorf("again: %v, over %v", err, s.log)
	}
	s.breaks = 1
	var got bytes.Buffer
	if n, err := f.Fetch(t.Context(), digest, &got); err != nil || n != int64(len(content)) || !bytes.Equal(got.Bytes(), content) {
		t.Errorf("%d bytes, %v, over %v", n, err, s.log)
	}
	if last := s.log[len(s.log)-1]; !strings.HasPrefix(last, "GET bytes=") {
		t.Errorf("the download was begun anew: %v", s.log)
	}
}

// What is not what its address says is refused, and what is not there is said so, by the origin's slug.
func TestFetchIsChecked(t *testing.T) {
	t.Parallel()
	s := &store{t: t}
	f := files(t, s)
	_, err := f.Fetch(t.Context(), sha256.Sum256([]byte("a")), io.Discard)
	if fault.SlugOf(err) != "attachment_missing" || fault.KindOf(err) != fault.NotFound {
		t.Errorf("%v", err)
	}
	s.has, s.whole = []byte("b"), true
	if _, err := f.Fetch(t.Context(), sha256.Sum256([]byte("a")), io.Discard); fault.SlugOf(err) != "attachment_digest_differs" {
		t.Errorf("%v", err)
	}
}
