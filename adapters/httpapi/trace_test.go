package httpapi

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"

	"berth/adapters/contract"
)

const (
	theirTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	theirSpan  = "00f067aa0ba902b7"
	ourTrace   = "07070707070707070707070707070707"
	ourSpan    = "0707070707070707"
)

// A request goes on with its caller's trace, in the log and in the answer; where the caller names none that is exactly in
// form, a trace begins.
func TestTraceContext(t *testing.T) {
	begun, joined := "00-"+ourTrace+"-"+ourSpan+"-02", "00-"+theirTrace+"-"+ourSpan
	for _, c := range []struct {
		name  string
		given []string
		want  string
	}{
		{"none", nil, begun},
		{"sampled", []string{"00-" + theirTrace + "-" + theirSpan + "-01"}, joined + "-01"},
		{"not sampled", []string{"00-" + theirTrace + "-" + theirSpan + "-00"}, joined + "-00"},
		{"random", []string{"00-" + theirTrace + "-" + theirSpan + "-03"}, joined + "-03"},
		{"flags that nobody knows", []string{"00-" + theirTrace + "-" + theirSpan + "-ff"}, joined + "-03"},
		{"a later version", []string{"cc-" + theirTrace + "-" + theirSpan + "-01-more"}, joined + "-01"},
		{"a later version, no longer", []string{"cc-" + theirTrace + "-" + theirSpan + "-01"}, joined + "-01"},
		{"a later version run together", []string{"cc-" + theirTrace + "-" + theirSpan + "-01more"}, begun},
		{"version 00, longer", []string{"00-" + theirTrace + "-" + theirSpan + "-01-more"}, begun},
		{"version ff", []string{"ff-" + theirTrace + "-" + theirSpan + "-01"}, begun},
		{"two", []string{"00-" + theirTrace + "-" + theirSpan + "-01", "00-" + ourTrace + "-" + theirSpan + "-01"}, begun},
		{"upper case", []string{"00-" + strings.ToUpper(theirTrace) + "-" + theirSpan + "-01"}, begun},
		{"no trace", []string{"00-" + strings.Repeat("0", 32) + "-" + theirSpan + "-01"}, begun},
		{"no span", []string{"00-" + theirTrace + "-" + strings.Repeat("0", 16) + "-01"}, begun},
		{"short", []string{"00-" + theirTrace + "-" + theirSpan + "-1"}, begun},
		{"dashes elsewhere", []string{"00-" + theirSpan + "-" + theirTrace + "-01"}, begun},
		{"empty", []string{""}, begun},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			e := tracing(&log)
			r := httptest.NewRequest("GET", "/here", nil)
			r.Header[contract.HeaderTraceparent] = c.given
			w := httptest.NewRecorder()
			e.ServeHTTP(w, r)
			if got := w.Header().Get(contract.HeaderTraceparent); got != c.want {
				t.Errorf("the answer names %q, want %q", got, c.want)
			}
			if want := "trace=" + c.want[3:35]; !strings.Contains(log.String(), want) {
				t.Errorf("the log lacks %s: %s", want, log.String())
			}
		})
	}
}

func tracing(log *bytes.Buffer) *gin.Engine {
	return NewEngine(EngineOptions{
		Audience: "test", Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), Observer: &counted{},
		NewID:  func() string { return "req_1" },
		Random: func(size int) []byte { return bytes.Repeat([]byte{7}, size) },
	})
}

// Refusals carry their place in the trace, too, and ids differ from request to request.
func TestTraceOfARefusal(t *testing.T) {
	h, _ := serve(t, fine)
	first, second := do(h, "GET", "/none", ""), do(h, "GET", "/none", "")
	a, b := first.Header().Get(contract.HeaderTraceparent), second.Header().Get(contract.HeaderTraceparent)
	if first.Code != 404 || len(a) != parentSize || a == b {
		t.Errorf("%d: %q, then %q", first.Code, a, b)
	}
}

func FuzzTraceparent(f *testing.F) {
	f.Add("00-" + theirTrace + "-" + theirSpan + "-01")
	f.Add("cc-" + theirTrace + "-" + theirSpan + "-01-more")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		id, flags, ok := parseTraceparent(text)
		if !ok {
			return
		}
		again, same, ok := parseTraceparent(trace{id, ourSpan, flags}.String())
		if !ok || again != id || same != flags || len(id) != 2*traceSize {
			t.Errorf("%q reads as %s %x, and then as %s %x", text, id, flags, again, same)
		}
	})
}
