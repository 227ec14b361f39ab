package ingress_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"berth/adapters/contract"
)

// request is a GET with further header lines.
func request(lines ...string) string {
	return "GET /internal/v1/peers HTTP/1.1\r\nHost: berth\r\n" + strings.Join(append(lines, ""), "\r\n") + "\r\n"
}

// post is a POST whose header ends with these lines, and what follows it.
func post(rest string, lines ...string) string {
	return "POST /internal/v1/x HTTP/1.1\r\nHost: berth\r\n" + strings.Join(append(lines, ""), "\r\n") + "\r\n" + rest
}

// smuggled is a request that must never be taken for one of its own.
const smuggled = "GET /internal/v1/smuggled HTTP/1.1\r\nHost: berth\r\n\r\n"

// What a client says of itself is taken out, in every spelling, and the one assertion is the ingress's own (I2, lesson 8).
// What a client asks to be taken out takes nothing out that the ingress wrote.
func TestIdentityHeadersAreTakenOut(t *testing.T) {
	t.Parallel()
	w := start(t)
	c := w.as("n1")
	forged := contract.HeaderAssertion + ": v1.Zm9yZ2Vk.AAAA"
	for _, lines := range [][]string{
		{forged}, {forged, forged}, {strings.ToLower(forged)}, {strings.ToUpper(forged)},
		{"Berth_Ingress_Assertion: x"}, {"berth-ingress_assertion: x"}, {"BERTH_INGRESS-ASSERTION: x"},
		{"Connection: " + contract.HeaderAssertion}, {"Connection: close, berth-ingress-assertion"},
		{"Connection: keep-alive, Content-Length, Host, Content-Type"},
		{forged, "Connection: " + contract.HeaderAssertion},
		{"Connection: content-type, If-None-Match", "Content-Type: a/b", "If-None-Match: x"},
		{"X-Forwarded-For: 1.2.3.4", "X-Forwarded-Client-Cert: x", "Forwarded: for=x", "X-Real-IP: x", "Via: 1.1 x"},
		{"X-SSL-Client-Verify: SUCCESS", "SSL-Client-Cert: x", "X-SPIFFE-ID: spiffe://berth.example/relay/eu/n2", "X_Spiffe_Id: x"},
		{"Authorization: Bearer x", "Cookie: a=b", "Proxy-Authorization: x", "Te: trailers", "Keep-Alive: x", "Range: bytes=0-1"},
		{"Accept-Encoding: gzip", "Proxy-Connection: x", "X-Http-Method-Override: DELETE", "X-Original-Url: /x", "X-Rewrite-Url: /y"},
	} {
		if strings.Contains(lines[0], "close") {
			c = w.as("n1")
		}
		before := len(w.back.all())
		if a := c.ask(request(lines...)); a.StatusCode != 200 {
			t.Errorf("%q: answered %d %s", lines, a.StatusCode, a.text)
			c = w.as("n1")
			continue
		}
		if strings.Contains(lines[0], "close") {
			c = w.as("n1")
		}
		got := w.back.all()[before:]
		if len(got) != 1 || len(got[0].assertions()) != 1 || got[0].Host != "berth" {
			t.Fatalf("%q arrived as %q", lines, got[0].raw)
		}
		if _, err := w.proven(got[0]); err != nil {
			t.Errorf("%q: %v", lines, err)
		}
		if left := strings.Count(got[0].raw, "\r\n"); left != 4 { // request line, Host, the assertion, and the end
			t.Errorf("%q: this went on: %q", lines, got[0].raw)
		}
	}
	if n := w.count("berth_ingress_identity_headers_total"); n < 15 {
		t.Errorf("%v identity headers were counted", n)
	}
}

// An answer's own assertion header, and what is about the connection to the control plane, goes to no client.
func TestAnswersAreCleansed(t *testing.T) {
	t.Parallel()
	w := start(t)
	c := w.as("n1")
	w.back.answers(says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nberth-ingress-ASSERTION: secret\r\nBerth_Ingress_Assertion: secret\r\n" +
		"Connection: X-Hop\r\nX-Hop: secret\r\nKeep-Alive: secret\r\nETag: \"1\"\r\n\r\n"))
	a := c.ask(get)
	if a.StatusCode != 200 || a.Header.Get("Etag") != `"1"` {
		t.Fatalf("answered %v", a.Response)
	}
	for name, values := range a.Header {
		if strings.Contains(strings.Join(values, ""), "secret") {
			t.Errorf("%s went back", name)
		}
	}
}

// Each way to be ambiguous or out of form is refused, is not passed on, and ends the connection, so that what follows on it
// is never read as a request (I2, lessons 8 and 9).
func TestRefusalsOfForm(t *testing.T) {
	t.Parallel()
	w := start(t)
	big := fmt.Sprint(contract.MaxBody + 1)
	for name, c := range map[string]struct {
		text   string
		status int
		slug   string // of the ingress's own refusals; net/http's have none
	}{
		"chunked":               {post("5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: chunked"), 411, "length_required"},
		"length and chunked":    {post("0\r\n\r\n", "Content-Length: 5", "Transfer-Encoding: chunked"), 411, "length_required"},
		"chunked and length":    {post("0\r\n\r\n", "Transfer-Encoding: chunked", "Content-Length: 5"), 411, "length_required"},
		"trailers":              {post("0\r\nA: b\r\n\r\n", "Transfer-Encoding: chunked", "Trailer: A"), 411, "length_required"},
		"announced trailer":     {post("hello", "Content-Length: 5", "Trailer: A"), 403, "encoding_refused"},
		"identity":              {post("", "Transfer-Encoding: identity"), 501, ""},
		"chunked, identity":     {post("0\r\n\r\n", "Transfer-Encoding: chunked, identity"), 501, ""},
		"identity, chunked":     {post("0\r\n\r\n", "Transfer-Encoding: identity, chunked"), 501, ""},
		"two encodings":         {post("0\r\n\r\n", "Transfer-Encoding: chunked", "Transfer-Encoding: identity"), 501, ""},
		"chunked twice":         {post("0\r\n\r\n", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), 501, ""},
		"xchunked":              {post("0\r\n\r\n", "Transfer-Encoding: xchunked"), 501, ""},
		"quoted":                {post("0\r\n\r\n", `Transfer-Encoding: "chunked"`), 501, ""},
		"space before colon":    {post("0\r\n\r\n", "Transfer-Encoding : chunked"), 400, ""},
		"folded encoding":       {post("0\r\n\r\n", "Transfer-Encoding:", " x", " chunked"), 501, ""},
		"length, folded":        {post("hello", "Content-Length: 5", " 5"), 400, ""},
		"two lengths":           {post("hello!", "Content-Length: 5", "Content-Length: 6"), 400, ""},
		"length +5":             {post("hello", "Content-Length: +5"), 400, ""},
		"length 0x5":            {post("hello", "Content-Length: 0x5"), 400, ""},
		"length list":           {post("hello", "Content-Length: 5, 5"), 400, ""},
		"length -1":             {post("", "Content-Length: -1"), 400, ""},
		"length with spaces":    {post("hello", "Content-Length: 5 0"), 400, ""},
		"length beyond numbers": {post("", "Content-Length: 99999999999999999999"), 400, ""},
		"empty length":          {post("", "Content-Length: "), 400, ""},
		"long body":             {post("x", "Content-Length: "+big), 413, "body_too_large"},
		"encoded body":          {post("hello", "Content-Length: 5", "Content-Encoding: gzip"), 403, "encoding_refused"},
		"identity encoding":     {post("hello", "Content-Length: 5", "Content-Encoding: identity"), 403, "encoding_refused"},
		"absolute form":         {"GET https://berth/internal/v1/peers HTTP/1.1\r\nHost: berth\r\n\r\n", 422, "target_ambiguous"},
		"absolute, other host":  {"GET http://other/internal/v1/peers HTTP/1.1\r\nHost: berth\r\n\r\n", 422, "target_ambiguous"},
		"authority form":        {"GET berth:443 HTTP/1.1\r\nHost: berth\r\n\r\n", 422, "target_ambiguous"},
		"CONNECT":               {"CONNECT berth:443 HTTP/1.1\r\nHost: berth\r\n\r\n", 405, "method_not_allowed"},
		"asterisk form":         {"OPTIONS * HTTP/1.1\r\nHost: berth\r\n\r\n", 405, "method_not_allowed"},
		"asterisk by GET":       {"GET * HTTP/1.1\r\nHost: berth\r\n\r\n", 422, "target_ambiguous"},
		"TRACE":                 {"TRACE /internal/v1/peers HTTP/1.1\r\nHost: berth\r\n\r\n", 405, "method_not_allowed"},
		"lower case method":     {"get /internal/v1/peers HTTP/1.1\r\nHost: berth\r\n\r\n", 405, "method_not_allowed"},
		"HTTP/1.0":              {"GET /internal/v1/peers HTTP/1.0\r\nHost: berth\r\n\r\n", 505, "http_version_unsupported"},
		"HTTP/1.2":              {"GET /internal/v1/peers HTTP/1.2\r\nHost: berth\r\n\r\n", 505, "http_version_unsupported"},
		"HTTP/2.0":              {"GET /internal/v1/peers HTTP/2.0\r\nHost: berth\r\n\r\n", 505, ""},
		"HTTP/0.9":              {"GET /internal/v1/peers\r\n\r\n", 400, ""},
		"HTTP/2 preface":        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "http_version_unsupported"},
		"http/1.1 in small":     {"GET /internal/v1/peers http/1.1\r\nHost: berth\r\n\r\n", 400, ""},
		"space in target":       {"GET /internal/v1/a b HTTP/1.1\r\nHost: berth\r\n\r\n", 400, ""},
		"two spaces":            {"GET  /internal/v1/peers HTTP/1.1\r\nHost: berth\r\n\r\n", 400, ""},
		"tab for space":         {"GET\t/internal/v1/peers HTTP/1.1\r\nHost: berth\r\n\r\n", 400, ""},
		"two hosts":             {"GET /internal/v1/peers HTTP/1.1\r\nHost: berth\r\nHost: berth\r\n\r\n", 400, ""},
		"no host":               {"GET /internal/v1/peers HTTP/1.1\r\n\r\n", 400, ""},
		"empty host":            {"GET /internal/v1/peers HTTP/1.1\r\nHost: \r\n\r\n", 400, "host_malformed"},
		"host with user":        {"GET /internal/v1/peers HTTP/1.1\r\nHost: a@berth\r\n\r\n", 400, ""},
		"host with path":        {"GET /internal/v1/peers HTTP/1.1\r\nHost: berth/x\r\n\r\n", 400, ""},
		"host with space":       {"GET /internal/v1/peers HTTP/1.1\r\nHost: be rth\r\n\r\n", 400, ""},
		"host list":             {"GET /internal/v1/peers HTTP/1.1\r\nHost: berth,other\r\n\r\n", 400, "host_malformed"},
		"host escape":           {"GET /internal/v1/peers HTTP/1.1\r\nHost: b%65rth\r\n\r\n", 400, "host_malformed"},
		"host port":             {"GET /internal/v1/peers HTTP/1.1\r\nHost: berth:x\r\n\r\n", 400, "host_malformed"},
		"NUL in value":          {request("A: a\x00b"), 400, ""},
		"NUL in name":           {request("A\x00: b"), 400, ""},
		"CR in value":           {request("A: a\rB: c"), 400, ""},
		"space in name":         {request("A B: c"), 400, ""},
		"space first":           {"GET /internal/v1/peers HTTP/1.1\r\n Host: berth\r\n\r\n", 400, ""},
		"no colon":              {request("Abc"), 400, ""},
		"empty name":            {request(": x"), 400, ""},
		"h2c":                   {request("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"), 400, "upgrade_refused"},
		"websocket and h2c":     {request("Connection: Upgrade", "Upgrade: websocket, h2c"), 400, "upgrade_refused"},
		"two upgrades":          {request("Connection: Upgrade", "Upgrade: websocket", "Upgrade: h2c"), 400, "upgrade_refused"},
		"upgrade, unconnected":  {request("Upgrade: websocket"), 400, "upgrade_refused"},
		"connection alone":      {request("Connection: upgrade"), 400, "upgrade_refused"},
		"websocket by POST":     {post("", "Connection: Upgrade", "Upgrade: websocket", "Content-Length: 0"), 400, "upgrade_refused"},
		"websocket with body":   {request("Connection: Upgrade", "Upgrade: websocket", "Content-Length: 5") + "hello", 400, "upgrade_refused"},
		"two content types":     {post("{}", "Content-Length: 2", "Content-Type: a/b", "Content-Type: c/d"), 422, "header_duplicated"},
		"two keys":              {post("{}", "Content-Length: 2", "Idempotency-Key: a", "Idempotency-Key: b"), 422, "header_duplicated"},
		"unknown expectation":   {post("{}", "Content-Length: 2", "Expect: more"), 417, ""},
		"header flood":          {request(strings.Repeat("A: b\r\n", 20_000) + "A: b"), 431, ""},
		"long header":           {request("A: " + strings.Repeat("b", 100_000)), 431, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := w.as("n1")
			_, _ = io.WriteString(conn, c.text+smuggled+smuggled) // it may be answered before all of it is written
			a, err := conn.read()
			if err != nil {
				t.Fatalf("no answer: %v", err)
			}
			if a.StatusCode != c.status || a.slug() != c.slug {
				t.Errorf("answered %d %s", a.StatusCode, a.text)
			}
			if !conn.closed() {
				t.Error("the connection goes on")
			}
		})
	}
	t.Cleanup(func() {
		if n := len(w.back.all()); n != 0 {
			t.Errorf("%d of them were passed on: %q", n, w.back.all()[0].raw)
		}
	})
}

// Forms that one reader bends into another are, where they are taken at all, passed on in one form only.
func TestLenientFormsArriveInOneForm(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"bare LF":            "GET /internal/v1/peers HTTP/1.1\nHost: berth\nContent-Type: a/b\n\n",
		"folded value":       "GET /internal/v1/peers HTTP/1.1\r\nHost: berth\r\nContent-Type: a/b;\r\n c=d\r\n\r\n",
		"equal lengths":      "POST /internal/v1/x HTTP/1.1\r\nHost: berth\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
		"tab before value":   "GET /internal/v1/peers HTTP/1.1\r\nHost:\tberth\t\r\n\r\n",
		"underscore in name": "GET /internal/v1/peers HTTP/1.1\r\nHost: berth\r\nContent_Length: 5\r\nTransfer_Encoding: chunked\r\n\r\n",
		"length with zeros":  "POST /internal/v1/x HTTP/1.1\r\nHost: berth\r\nContent-Length: 002\r\n\r\n{}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			c := w.as("n1")
			c.write(text + get)
			for range 2 {
				if a, err := c.read(); err != nil || a.StatusCode != 200 {
					t.Fatalf("answered %v %v", a.Response, err)
				}
			}
			all := w.back.all()
			if len(all) != 2 {
				t.Fatalf("%d requests arrived", len(all))
			}
			for _, got := range all {
				if _, err := w.proven(got); err != nil || strings.Contains(strings.ReplaceAll(got.raw, "\r\n", ""), "\n") ||
					strings.Count(got.raw, "Content-Length") > 1 || strings.Contains(got.raw, "\r\n ") || strings.Contains(got.raw, "Content_") || strings.Contains(got.raw, "Transfer_") {
					t.Errorf("arrived %q: %v", got.raw, err)
				}
			}
		})
	}
}

// Requests that were written in one go are each answered and each passed on once, in order, under an assertion of its own.
func TestPipelining(t *testing.T) {
	t.Parallel()
	w := start(t)
	c := w.as("n1")
	w.back.answers(func(b net.Conn, a arrived) bool {
		_, err := fmt.Fprintf(b, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(a.target()), a.target())
		return err == nil
	})
	var all strings.Builder
	for i := range 20 {
		fmt.Fprintf(&all, "POST /internal/v1/n/%d HTTP/1.1\r\nHost: berth\r\nContent-Length: 4\r\n\r\nGET ", i)
	}
	c.write(all.String())
	nonces := map[string]bool{}
	for i := range 20 {
		a, err := c.read()
		if want := fmt.Sprintf("/internal/v1/n/%d", i); err != nil || a.text != want {
			t.Fatalf("answer %d is %q, %v", i, a.text, err)
		}
	}
	for _, got := range w.back.all() {
		proof, err := w.proven(got)
		must(t, err)
		nonces[proof.Nonce] = true
	}
	if len(nonces) != 20 {
		t.Errorf("20 requests have %d nonces", len(nonces))
	}
}
