package connect_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"berth/adapters/contract"

	"berth/domain/fault"
)

func digestOf(content string) string {
	d := sha256.Sum256([]byte(content))
	return hex.EncodeToString(d[:])
}

func hexDigest(digits string) (d [32]byte, err error) {
	_, err = hex.Decode(d[:], []byte(digits))
	return d, err
}

func attachment(name string) string { return contract.AttachmentsPath + name }

func record(tb testing.TB, h http.Handler, r *http.Request) answer {
	tb.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return readAnswer(tb, w.Result(), nil)
}

// do asks over the wire. headers are name, value, name, value …
func (s *site) do(tb testing.TB, method, path, token string, body io.Reader, headers ...string) answer {
	tb.Helper()
	r, err := http.NewRequest(method, "https://"+s.address+path, body)
	if err != nil {
		tb.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	got, err := s.client.Do(r)
	return readAnswer(tb, got, err)
}

// read reads an answer that has a content, and its status.
func read(tb testing.TB, r answer, status int) string {
	tb.Helper()
	if r.StatusCode != status {
		tb.Fatalf("answered %s %q, want %d", r.Status, r.Body, status)
	}
	return r.Body
}

// An attachment is put whole, is there for every device of its tenant, whole or in ranges, and for no other tenant's.
func TestAttachments(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	content := strings.Repeat("0123456789", 10_000)
	path := attachment(digestOf(content))
	read(t, s.do(t, http.MethodPut, path, "acme.alice", strings.NewReader(content)), 201)
	read(t, s.do(t, http.MethodPut, path, "acme.bob", strings.NewReader(content)), 200) // it was there
	r := s.do(t, http.MethodGet, path, "acme.bob", nil)
	if got := read(t, r, 200); got != content {
		t.Errorf("got %d bytes", len(got))
	}
	for name, want := range map[string]string{
		"ETag": `"` + digestOf(content) + `"`, "Content-Type": "application/octet-stream", "Content-Disposition": "attachment",
		"X-Content-Type-Options": "nosniff", "Accept-Ranges": "bytes", "Access-Control-Allow-Origin": "*",
		"Cache-Control": "private, no-cache",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	r = s.do(t, http.MethodHead, path, "acme.bob", nil)
	if read(t, r, 200); r.ContentLength != int64(len(content)) {
		t.Errorf("HEAD says %d bytes", r.ContentLength)
	}
	for want, headers := range map[string][]string{
		"3456":  {"Range", "bytes=3-6"},
		"89":    {"Range", "bytes=-2"},
		"56789": {"Range", "bytes=99995-", "If-Range", `"` + digestOf(content) + `"`},
	} {
		r := s.do(t, http.MethodGet, path, "acme.bob", nil, headers...)
		if got := read(t, r, 206); got != want {
			t.Errorf("%v is %q", headers, got)
		}
	}
	read(t, s.do(t, http.MethodGet, path, "acme.bob", nil, "Range", "bytes=3-6", "If-Range", `"other"`), 200)
	read(t, s.do(t, http.MethodGet, path, "acme.bob", nil, "If-None-Match", `"`+digestOf(content)+`"`), 304)
	read(t, s.do(t, http.MethodGet, path, "acme.bob", nil, "Range", "bytes=100000-"), 416)
	refused(t, s.do(t, http.MethodGet, path, "other.bob", nil), 404, "attachment_missing")
	read(t, s.do(t, http.MethodPut, attachment(digestOf("")), "acme.alice", http.NoBody), 201)
	if got := read(t, s.do(t, http.MethodGet, attachment(digestOf("")), "acme.bob", nil), 200); got != "" {
		t.Errorf("nothing is %q", got)
	}
}

// An upload goes on from where it ended, which is asked for with HEAD, and told by every answer on the way.
func TestUploadsResume(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	content := strings.Repeat("abcdefgh", 1000)
	path := attachment(digestOf(content))
	at := func() string {
		r := s.do(t, http.MethodHead, path, "acme.alice", nil)
		read(t, r, 404)
		return r.Header.Get(contract.UploadOffset)
	}
	put := func(from, to int) answer {
		return s.do(t, http.MethodPut, path, "acme.alice", strings.NewReader(content[from:to]),
			"Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to-1, len(content)))
	}
	if got := at(); got != "0" {
		t.Errorf("nothing is at %q", got)
	}
	r := put(0, 3000)
	if read(t, r, 202); r.Header.Get(contract.UploadOffset) != "3000" || at() != "3000" {
		t.Errorf("a part is answered %v", r.Header)
	}
	r = put(2000, 4000)
	if refused(t, r, 409, "upload_offset"); r.Header.Get(contract.UploadOffset) != "3000" {
		t.Errorf("a part too early is answered %v", r.Header)
	}
	c := s.dial() // a part that is broken off in the middle
	fmt.Fprintf(c, "PUT %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer acme.alice\r\nContent-Range: bytes 3000-%d/%d\r\nContent-Length: %d\r\n\r\n%s",
		path, len(content)-1, len(content), len(content)-3000, content[3000:5000])
	_ = c.Close()
	eventually(t, "what came is kept", func() bool { return at() == "5000" })
	read(t, put(5000, len(content)), 201)
	if got := read(t, s.do(t, http.MethodGet, path, "acme.bob", nil), 200); got != content {
		t.Errorf("got %d bytes", len(got))
	}
}

// Whatever is wrong with an upload has a name, nothing of it is to be read, and a good one goes through after it.
func TestBadUploads(t *testing.T) {
	t.Parallel()
	l := limits()
	l.Attachment = 4096
	s := newSite(t, l)
	s.tenant("acme").quota = 3000
	content := strings.Repeat("x", 1000)
	path := attachment(digestOf(content))
	chunked := struct{ io.Reader }{strings.NewReader(content)}
	for _, c := range []struct {
		body    io.Reader
		headers []string
		status  int
		slug    string
	}{
		{strings.NewReader(content[1:] + "y"), nil, 422, "attachment_digest_differs"},
		{strings.NewReader(strings.Repeat("x", 4097)), nil, 413, "attachment_too_large"},
		{strings.NewReader("x"), []string{"Content-Range", "bytes 0-0/4097"}, 413, "attachment_too_large"},
		{strings.NewReader(strings.Repeat("x", 3001)), nil, 429, "tenant_quota_exceeded"},
		{chunked, nil, 411, "length_required"},
		{strings.NewReader(content), []string{"Content-Encoding", "gzip"}, 415, "media_type_unsupported"},
		{strings.NewReader(content), []string{"Content-Range", "bytes 0-1000/2000"}, 400, "content_range_differs"},
		{strings.NewReader(content), []string{"Content-Range", "bytes 0-999/999"}, 400, "content_range_malformed"},
		{strings.NewReader(content), []string{"Content-Range", "bytes 0-999/*"}, 400, "content_range_malformed"},
		{strings.NewReader(content), []string{"Content-Range", "bytes */1000"}, 400, "content_range_malformed"},
		{strings.NewReader(content), []string{"Content-Range", "bytes +0-999/1000"}, 400, "content_range_malformed"},
		{strings.NewReader(content), []string{"Content-Range", "bytes 999-0/1000"}, 400, "content_range_malformed"},
		{strings.NewReader(content), []string{"Content-Range", "bytes=0-999/1000"}, 400, "content_range_malformed"},
		{strings.NewReader(content), []string{"Content-Range", "bytes 0-99999999999999999999/99999999999999999999"}, 400, "content_range_malformed"},
		{strings.NewReader(content), []string{"Content-Range", "bytes 0-999/1000", "Content-Range", "bytes 0-999/1000"}, 400, "content_range_malformed"},
	} {
		refused(t, s.do(t, http.MethodPut, path, "acme.alice", c.body, c.headers...), c.status, c.slug)
		refused(t, s.do(t, http.MethodGet, path, "acme.alice", nil), 404, "attachment_missing")
	}
	read(t, s.do(t, http.MethodPut, path, "acme.alice", strings.NewReader(content)), 201)
}

// The name of an attachment is 64 lower-case hexadecimal digits, written as such. Nothing else is looked for anywhere.
func TestPathTricks(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	content := "hello"
	digest := digestOf(content)
	read(t, s.do(t, http.MethodPut, attachment(digest), "acme.alice", strings.NewReader(content)), 201)
	for _, name := range []string{
		"", "/", ".", "..", "../" + digest, "%2e%2e/" + digest, digest[:63], digest + "0", digest + "/", digest + "/..", "/" + digest,
		strings.ToUpper(digest), "%" + fmt.Sprintf("%x", digest[0]) + digest[1:], digest[:62] + "zz", digest[:63] + "\\", "acme/" + digest,
		strings.Repeat("0", 10_000), digest[:32] + "%00" + digest[32:61], digest + "%00", "..%2f..%2fengine.db",
	} {
		_, r := s.attempt("GET " + attachment(name) + " HTTP/1.1\r\nHost: x\r\n" + alice + "\r\n\r\n")
		refused(t, r, 404, "path_unknown")
	}
	read(t, s.do(t, http.MethodGet, attachment(digest)+"?", "acme.alice", nil), 200)
}

// Other methods are refused; a page in a browser may ask whether it may.
func TestMethodsOfAttachments(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	path := attachment(digestOf("x"))
	for _, method := range []string{http.MethodPost, http.MethodDelete, http.MethodPatch, "PROPFIND"} {
		r := s.do(t, method, path, "acme.alice", nil)
		if refused(t, r, 405, "method_not_allowed"); r.Header.Get("Allow") != "GET, HEAD, PUT, OPTIONS" {
			t.Errorf("allowed is %q", r.Header.Get("Allow"))
		}
	}
	r := s.do(t, http.MethodOptions, path, "", nil, "Origin", "https://elsewhere.example", "Access-Control-Request-Method", "PUT")
	if read(t, r, 204); !strings.Contains(r.Header.Get("Access-Control-Allow-Headers"), "Content-Range") {
		t.Errorf("answered %v", r.Header)
	}
	refused(t, s.do(t, http.MethodGet, path, "", nil), 401, "token_missing")
}

// A body that stops moving is given up, and what came of it stays.
func TestSlowUploadsAreGivenUp(t *testing.T) {
	t.Parallel()
	l := limits()
	l.TransferStall = 100 * time.Millisecond
	s := newSite(t, l)
	content := strings.Repeat("x", 1000)
	c := s.dial()
	fmt.Fprintf(c, "PUT %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer acme.alice\r\nContent-Length: 1000\r\n\r\n%s",
		attachment(digestOf(content)), content[:500])
	_ = c.SetReadDeadline(time.Now().Add(patience))
	answer, err := io.ReadAll(c)
	if err != nil || !bytes.Contains(answer, []byte("body_too_slow")) || !bytes.Contains(answer, []byte("Berth-Upload-Offset: 500")) {
		t.Errorf("answered %s %v", answer, err)
	}
	eventually(t, "the transfer is over", func() bool { return s.handler.Counts().Transfers == 0 })
}

// A transfer whose device may not go on is cut at once, whether it is one that sends nothing or one that reads nothing (A5).
func TestDeniedTransfersAreCut(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	content := strings.Repeat("x", 64<<20)
	s.tenant("acme").files[sha256.Sum256([]byte(content))] = []byte(content)
	var phones []net.Conn
	for _, request := range []string{
		"PUT %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer acme.alice\r\nContent-Length: 1000\r\n\r\n",
		"GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer acme.alice\r\n\r\n",
	} {
		path := attachment(digestOf("x"))
		if request[0] == 'G' {
			path = attachment(digestOf(content))
		}
		phones = append(phones, s.dial())
		fmt.Fprintf(phones[len(phones)-1], request, path)
	}
	eventually(t, "both have begun", func() bool { return s.handler.Counts().Transfers == 2 })
	s.mu.Lock()
	s.denying = fault.New(fault.Forbidden, "principal_revoked", "the device is revoked")
	s.mu.Unlock()
	eventually(t, "both are cut", func() bool { return s.handler.Counts().Transfers == 0 })
	_ = phones[0].SetReadDeadline(time.Now().Add(patience))
	if answer, err := io.ReadAll(phones[0]); err != nil || !bytes.Contains(answer, []byte("principal_revoked")) {
		t.Errorf("the one that sends nothing is answered %s %v", answer, err)
	}
}

// So many transfers at a time are served, of one device and of all; those beyond are told to wait. A stop cuts what does
// not end.
func TestTransfersAreBounded(t *testing.T) {
	t.Parallel()
	l := limits()
	l.Transfers, l.TransfersPerDevice = 3, 2
	s := newSite(t, l)
	begin := func(token string) {
		n := s.handler.Counts().Transfers
		fmt.Fprintf(s.dial(), "PUT %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\n\r\n", attachment(digestOf("x")), token)
		eventually(t, "the upload has begun", func() bool { return s.handler.Counts().Transfers == n+1 })
	}
	begin("acme.alice")
	begin("acme.alice")
	r := s.do(t, http.MethodGet, attachment(digestOf("x")), "acme.alice", nil)
	if refused(t, r, 429, "too_many_transfers"); r.Header.Get("Retry-After") != strconv.Itoa(1) {
		t.Errorf("answered %v", r.Header)
	}
	begin("acme.bob")
	refused(t, s.do(t, http.MethodGet, attachment(digestOf("x")), "acme.carol", nil), 429, "too_many_transfers")
}
