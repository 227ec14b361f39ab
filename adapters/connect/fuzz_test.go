package connect_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"berth/adapters/connect"
	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/ports/engine"
)

// slugsOfForm are all that a frame's form is refused as.
func slugsOfForm() []string {
	return []string{
		"frame_too_deep", "invalid_text", "malformed_json", "duplicate_field", "unknown_field", "wrong_type", "out_of_range",
		"required_field_missing", "op_unknown",
	}
}

// Whatever comes is either refused by one of those names, or is what encoding/json reads too: one object of a known
// operation, exactly with its members, bounded in depth, and without NUL.
func FuzzFrame(f *testing.F) {
	for frame := range malformedFrames() {
		f.Add([]byte(frame))
	}
	f.Add([]byte(`{"op":"publish","handle":"h","id":"x","body":{"a":[1,2.5e3,"\u00fc\\u0000",null,true]}}`))
	f.Add([]byte(`{ "after" : 9007199254740991 , "op" : "subscribe" , "handle" : "" }`))
	f.Add([]byte(`{"op":"revoke","principal":"p"}`))
	members := map[string][]string{
		"publish": {"op", "handle", "id", "body"}, "subscribe": {"op", "handle", "after"}, "unsubscribe": {"op", "handle"},
		"revoke": {"op", "principal"}, "renew": {"op", "token"},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const depth = 8
		got, err := connect.Parse(data, depth)
		if err != nil {
			if fault.KindOf(err) != fault.Invalid || !slices.Contains(slugsOfForm(), fault.SlugOf(err)) {
				t.Fatalf("%q is refused as %v", data, err)
			}
			return
		}
		var fields map[string]json.RawMessage
		var frame contract.Frame
		if err := json.Unmarshal(data, &fields); err != nil || !utf8.Valid(data) {
			t.Fatalf("%q is taken: %v", data, err)
		}
		if err := json.Unmarshal(data, &frame); err != nil {
			t.Fatalf("%q is taken: %v", data, err)
		}
		want := members[got.Op]
		if len(fields) != len(want) {
			t.Fatalf("%q has other members than %v", data, want)
		}
		for _, name := range want {
			if _, ok := fields[name]; !ok {
				t.Fatalf("%q has no %s", data, name)
			}
		}
		after := int64(0)
		if frame.After != nil {
			after = *frame.After
		}
		if frame.Op != got.Op || frame.Handle != got.Handle || frame.ID != got.ID || frame.Principal != got.Principal ||
			frame.Token != got.Token || after != got.After || !bytes.Equal(bytes.TrimSpace(frame.Body), got.Body) {
			t.Fatalf("%q is read as %+v, not %+v", data, got, frame)
		}
		if level(t, data) > depth {
			t.Fatalf("%q is too deep", data)
		}
	})
}

// level is how deeply JSON is nested.
func level(t *testing.T, data []byte) (most int) {
	dec := json.NewDecoder(bytes.NewReader(data))
	for now := 0; ; {
		token, err := dec.Token()
		if err != nil {
			return most
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				now++
			} else {
				now--
			}
			most = max(most, now)
		case string:
			if strings.ContainsRune(token, 0) {
				t.Fatalf("%q holds a NUL", data)
			}
		}
	}
}

// Whatever is sent as an upgrade's header: what is taken for the token is the only credential there is, looks like a JWS,
// and stands in the header as such; and nothing else than an opening handshake of this protocol passes as one.
func FuzzUpgrade(f *testing.F) {
	f.Add("Sec-WebSocket-Protocol: berth.connect.v1\r\nAuthorization: Bearer a.b.c")
	f.Add("Sec-WebSocket-Protocol: berth.connect.v1, berth.token.a.b.c")
	f.Add("Sec-WebSocket-Protocol: berth.connect.v1\r\nSec-WebSocket-Protocol: berth.token.a\r\nSec-WebSocket-Protocol: berth.token.b")
	f.Add("Authorization: bearer  a")
	f.Add("Authorization: Bearer a\r\n b")
	f.Add("Authorization: Basic eDp5\r\nAuthorization: Bearer a")
	f.Add("Sec-WebSocket-Protocol: ,,berth.token.,berth.token.\xff")
	f.Add("Connection: close\r\nUpgrade: websocket")
	f.Add("Transfer-Encoding: chunked")
	f.Add("Content-Length: 1")
	f.Fuzz(func(t *testing.T, header string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(upgradeRequest(header))))
		if err != nil {
			return
		}
		if token, err := connect.TokenOf(r); err != nil {
			if fault.KindOf(err) != fault.Unauthenticated || !strings.HasPrefix(fault.SlugOf(err), "token_") {
				t.Fatalf("refused as %v", err)
			}
		} else {
			all := strings.Join(append(r.Header["Authorization"], r.Header["Sec-Websocket-Protocol"]...), ",")
			credentials := len(r.Header["Authorization"]) + strings.Count(","+strings.NewReplacer(" ", "", "\t", "").
				Replace(strings.Join(r.Header["Sec-Websocket-Protocol"], ",")), ","+contract.ConnectTokenPrefix)
			if token == "" || strings.Trim(token, jws) != "" || !strings.Contains(all, token) || credentials != 1 {
				t.Fatalf("%q is taken of %q", token, all)
			}
		}
		if connect.CheckUpgrade(r) == nil {
			offers := strings.Join(r.Header["Sec-Websocket-Protocol"], ",")
			if r.Method != http.MethodGet || !strings.Contains(offers, contract.ConnectProtocol) || r.ContentLength != 0 ||
				!strings.Contains(strings.ToLower(strings.Join(r.Header["Upgrade"], ",")), "websocket") {
				t.Fatalf("%v passes", r.Header)
			}
		}
	})
}

const jws = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

// What is written by hand is what the contract says, for whatever strings and times there are.
func TestFramesAreAsTheContractSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		m := engine.Message{
			Route: text.Draw(t, "route"), Seq: rapid.Int64Range(1, 1<<53-1).Draw(t, "seq"), ID: text.Draw(t, "id"), From: text.Draw(t, "from"),
			At:   time.UnixMicro(rapid.Int64Range(0, 1<<52).Draw(t, "at")).UTC(),
			Body: []byte(`"` + strings.Repeat("b", rapid.IntRange(0, 70_000).Draw(t, "body")) + `"`),
		}
		for _, c := range []struct {
			got  []byte
			want contract.Frame
		}{
			{connect.Ack(m.ID, m.Seq), contract.Frame{Op: contract.OpAck, ID: m.ID, Seq: m.Seq}},
			{connect.Message(&m), contract.Frame{
				Op: contract.OpMessage, Route: m.Route, Seq: m.Seq, ID: m.ID, From: m.From, At: &m.At, Body: m.Body,
			}},
		} {
			in := bufio.NewReader(bytes.NewReader(c.got))
			op, payload, err := readFrame(in)
			if err != nil || op != opText || in.Buffered() != 0 {
				t.Fatalf("%q is no frame: %v", c.got, err)
			}
			var got contract.Frame
			if err := json.Unmarshal(payload, &got); err != nil {
				t.Fatalf("%q: %v", payload, err)
			}
			wanted, _ := json.Marshal(c.want)
			again, _ := json.Marshal(got)
			if !bytes.Equal(wanted, again) {
				t.Fatalf("got %s, want %s", again, wanted)
			}
		}
	})
}
