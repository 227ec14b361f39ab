package httpapi

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"

	"berth/adapters/contract"
)

// trace is where a request stands in a trace (W3C Trace Context): the trace's id, the id of our own part of it, and the
// flags that go on with it.
type trace struct {
	id, span string
	flags    byte
}

const (
	traceSize, spanSize = 16, 8 // bytes
	parentSize          = 2 + 1 + 2*traceSize + 1 + 2*spanSize + 1 + 2

	flagSampled  = 0x01
	flagRandom   = 0x02 // the id is random in all of its bytes
	flagsCarried = flagSampled | flagRandom
)

// joinTrace goes on with the caller's trace. One that is given twice, or not exactly in form, is as good as none: a trace
// begins here then. Nothing is decided by what the caller says of it.
func joinTrace(header http.Header, random func(size int) []byte) trace {
	t := trace{span: hex.EncodeToString(random(spanSize))}
	if values := header.Values(contract.HeaderTraceparent); len(values) == 1 {
		if id, flags, ok := parseTraceparent(values[0]); ok {
			t.id, t.flags = id, flags&flagsCarried
			return t
		}
	}
	t.id, t.flags = hex.EncodeToString(random(traceSize)), flagRandom
	return t
}

// String is the traceparent that names our part of the trace.
func (t trace) String() string {
	return "00-" + t.id + "-" + t.span + "-" + hex.EncodeToString([]byte{t.flags})
}

// parseTraceparent reads a traceparent of any version as Trace Context §3.2 says: what a later version appends is passed
// over, version ff and ids of zeros are none.
func parseTraceparent(text string) (id string, flags byte, ok bool) {
	if len(text) < parentSize || len(text) > parentSize && (text[:2] == "00" || text[parentSize] != '-') {
		return "", 0, false
	}
	parts := strings.Split(text[:parentSize], "-")
	if len(parts) != 4 || len(parts[0]) != 2 || len(parts[1]) != 2*traceSize || len(parts[2]) != 2*spanSize {
		return "", 0, false
	}
	for _, part := range parts {
		if strings.Trim(part, "0123456789abcdef") != "" {
			return "", 0, false
		}
	}
	none := func(id string) bool { return strings.Trim(id, "0") == "" }
	if parts[0] == "ff" || none(parts[1]) || none(parts[2]) {
		return "", 0, false
	}
	bits, err := hex.DecodeString(parts[3])
	return parts[1], bits[0], err == nil
}

func randomBytes(size int) []byte {
	out := make([]byte, size)
	_, _ = rand.Read(out) // never fails
	return out
}
