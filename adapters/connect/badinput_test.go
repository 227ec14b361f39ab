package connect_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"berth/adapters/contract"
)

// malformedFrames are what no device may send as a frame, with what each is refused as.
func malformedFrames() map[string]string {
	return map[string]string{
		``:         "malformed_json",
		`nonsense`: "malformed_json",
		`{"op":`:   "malformed_json",
		`{"op":"subscribe","handle":"h","after":0}{}`: "malformed_json",
		`{"op":"subscribe","handle":"h","after":0} x`: "malformed_json",
		"{\"op\":\"renew\",\"token\":\"\xff\"}":       "malformed_json",
		"{\"op\":\"renew\",\"token\":\"a\nb\"}":       "malformed_json",
		`{"op":"renew","token":"\ud800"}`:             "malformed_json",
		`[]`:                                          "wrong_type",
		`"publish"`:                                   "wrong_type",
		`null`:                                        "wrong_type",
		`{}`:                                          "op_unknown",
		`{"op":"explode"}`:                            "op_unknown",
		`{"op":"ack","id":"x"}`:                       "op_unknown",
		`{"op":"message"}`:                            "op_unknown",
		`{"op":""}`:                                   "op_unknown",
		`{"op":1}`:                                    "wrong_type",
		`{"op":"renew","token":null}`:                 "wrong_type",
		`{"op":"renew","token":["a"]}`:                "wrong_type",
		`{"op":"subscribe","handle":"h","after":"0"}`:                       "wrong_type",
		`{"op":"subscribe","handle":"h","after":-1}`:                        "out_of_range",
		`{"op":"subscribe","handle":"h","after":1.5}`:                       "out_of_range",
		`{"op":"subscribe","handle":"h","after":1e2}`:                       "out_of_range",
		`{"op":"subscribe","handle":"h","after":9007199254740992}`:          "out_of_range",
		`{"op":"subscribe","handle":"h","after":99999999999999999999}`:      "out_of_range",
		`{"op":"subscribe","handle":"h"}`:                                   "required_field_missing",
		`{"op":"publish","handle":"h","id":"x"}`:                            "required_field_missing",
		`{"op":"renew"}`:                                                    "required_field_missing",
		`{"op":"renew","token":"a","token":"b"}`:                            "duplicate_field",
		`{"op":"publish","handle":"h","id":"x","body":{"a":1,"a":2}}`:       "duplicate_field",
		`{"OP":"renew","token":"a"}`:                                        "unknown_field",
		`{"op":"renew","Token":"a"}`:                                        "unknown_field",
		`{"op":"renew","token":"a","seq":1}`:                                "unknown_field",
		`{"op":"renew","token":"a","handle":"h"}`:                           "unknown_field",
		`{"op":"publish","handle":"h","id":"x","body":1,"route":""}`:        "unknown_field",
		`{"op":"renew","token":"a\u0000"}`:                                  "invalid_text",
		`{"op":"publish","handle":"h","id":"x","body":{"\u0000":1}}`:        "invalid_text",
		`{"op":"publish","handle":"h","id":"x","body":` + nested(32) + `}`:  "frame_too_deep",
		strings.Repeat("[", 60<<10):                                         "frame_too_deep",
		`{"op":"publish","handle":"h","id":"x","body":"` + "\\" + `u00zz"}`: "malformed_json",
	}
}

func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// A frame whose form is wrong is answered by an error that names what, and ends the connection: whoever sent it does not
// speak this protocol. Nothing is stored, and another connection of the same tenant goes on.
func TestMalformedFrames(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	other := s.connect("acme.other")
	other.works("other-main", "before", 1)
	n := 1
	for frame, slug := range malformedFrames() {
		alice := s.connect("acme.alice")
		alice.say("%s", frame)
		if got := alice.hear(); got.Op != contract.OpError || got.Slug != slug || got.Detail == "" {
			t.Errorf("%.80q is answered %+v, want %s", frame, got, slug)
			continue
		}
		alice.closes(contract.CloseMalformed, slug)
		n++
		other.works("other-main", fmt.Sprint("m", n), int64(n))
	}
	if got := s.handler.Counts().Malformed; got != int64(n-1) {
		t.Errorf("%d were counted of %d", got, n-1)
	}
}

// The deepest body that is allowed is taken as it is.
func TestDepthIsExact(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	alice := s.connect("acme.alice")
	alice.say(`{"op":"publish","handle":"alice-main","id":"x","body":%s}`, nested(31))
	alice.expect(contract.Frame{Op: contract.OpAck, ID: "x", Seq: 1})
	alice.say(`{"op":"publish","handle":"alice-main","id":"y","body":"%s"}`, strings.Repeat(`[{\\u0000`, 100))
	alice.expect(contract.Frame{Op: contract.OpAck, ID: "y", Seq: 2})
}

// A frame of exactly the limit is read; one byte more is refused, whether it comes as one piece or in many, and the rest
// of what the device is sending does not lose the answer on its way.
func TestFramesHaveALimit(t *testing.T) {
	t.Parallel()
	l := limits()
	s := newSite(t, l)
	other := s.connect("acme.other")
	sized := func(n int) []byte {
		f := `{"op":"publish","handle":"alice-main","id":"x","body":""}`
		return []byte(f[:len(f)-2] + strings.Repeat("a", n-len(f)) + f[len(f)-2:])
	}
	exact := s.connect("acme.alice")
	exact.raw(masked(whole|opText, sized(l.Frame)))
	exact.expect(contract.Frame{Op: contract.OpError, Of: "publish", ID: "x", Slug: "body_too_large"})
	exact.works("alice-main", "m1", 1)
	for _, send := range []func(p *phone){
		func(p *phone) { p.raw(masked(whole|opText, sized(l.Frame+1))) },
		func(p *phone) {
			p.raw(masked(opText, sized(l.Frame)))
			p.raw(masked(whole|opContinue, []byte("a")))
		},
		func(p *phone) { p.raw(masked(whole|opText, sized(512<<10))) },
	} {
		p := s.connect("acme.alice")
		send(p)
		p.expect(contract.Frame{Op: contract.OpError, Slug: "frame_too_large"})
		p.closes(contract.CloseTooLarge, "frame_too_large")
	}
	other.works("other-main", "m1", 2)
}

// Binary messages are refused, with the code that WebSocket has for it.
func TestBinaryFramesAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	other, alice := s.connect("acme.other"), s.connect("acme.alice")
	alice.raw(masked(whole|opBinary, []byte(`{"op":"publish","handle":"alice-main","id":"x","body":1}`)))
	alice.expect(contract.Frame{Op: contract.OpError, Slug: "frame_binary"})
	alice.closes(contract.CloseBinary, "frame_binary")
	other.works("other-main", "m1", 1)
}

// A message may come in pieces, with a ping between them.
func TestFragmentsAreJoined(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	alice := s.connect("acme.alice")
	frame := []byte(`{"op":"publish","handle":"alice-main","id":"x","body":1}`)
	alice.raw(masked(opText, frame[:10]))
	alice.raw(masked(whole|opPing, []byte("still there")))
	if op, payload, err := alice.frame(); op != opPong || string(payload) != "still there" {
		t.Fatalf("got %x %q %v", op, payload, err)
	}
	for _, c := range frame[10:] {
		alice.raw(masked(opContinue, []byte{c}))
	}
	alice.raw(masked(whole|opContinue, nil))
	alice.expect(contract.Frame{Op: contract.OpAck, ID: "x", Seq: 1})
}

// A message in fragments without end is ended after so many of them, empty ones too.
func TestFragmentsHaveAnEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	other, alice := s.connect("acme.other"), s.connect("acme.alice")
	alice.raw(masked(opText, []byte(`{"op":"publish"`)))
	empty := bytes.Repeat(masked(opContinue, nil), 4096)
	go func() {
		for range 64 {
			if _, err := alice.Write(empty); err != nil {
				return
			}
		}
	}()
	alice.expect(contract.Frame{Op: contract.OpError, Slug: "frame_fragmented"})
	alice.closes(contract.ClosePolicy, "frame_fragmented")
	other.works("other-main", "m1", 1)
}

// A message that does not come whole in its time is given up, also where it goes on byte by byte.
func TestSlowFramesAreGivenUp(t *testing.T) {
	t.Parallel()
	l := limits()
	l.FrameTime = 200 * time.Millisecond
	s := newSite(t, l)
	other, alice := s.connect("acme.other"), s.connect("acme.alice")
	frame := masked(whole|opText, []byte(`{"op":"renew","token":"`+strings.Repeat("a", 8000)+`"}`))
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for _, c := range frame {
			select {
			case <-tick.C:
			case <-stop:
				return
			}
			if _, err := alice.Write([]byte{c}); err != nil {
				return
			}
		}
	}()
	alice.expect(contract.Frame{Op: contract.OpError, Slug: "frame_too_slow"})
	alice.closes(contract.ClosePolicy, "frame_too_slow")
	other.works("other-main", "m1", 1)
}

// Between two messages nothing is timed: a device that is quiet for longer than a frame may take goes on.
func TestPausesAreNotSlow(t *testing.T) {
	t.Parallel()
	l := limits()
	l.FrameTime = 50 * time.Millisecond
	s := newSite(t, l)
	alice := s.connect("acme.alice")
	large := strings.Repeat("a", 8000) // in pieces, so that a deadline is set
	for i := range 3 {
		alice.say(`{"op":"publish","handle":"alice-main","id":"m%d","body":"%s"}`, i, large)
		alice.expect(contract.Frame{Op: contract.OpAck, ID: fmt.Sprint("m", i), Seq: int64(i + 1)})
		<-time.After(2 * l.FrameTime)
	}
	alice.works("alice-main", "m9", 4)
}

// What is against RFC 6455 is closed as such.
func TestProtocolViolations(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	other := s.connect("acme.other")
	for name, b := range map[string][]byte{
		"reserved bits":          masked(0xC0|opText, []byte("{}")),
		"a reserved operation":   masked(whole|0x3, nil),
		"a fragmented ping":      masked(opPing, nil),
		"a ping too long":        masked(whole|opPing, make([]byte, 126)),
		"continuing nothing":     masked(whole|opContinue, nil),
		"two messages at a time": append(masked(opText, []byte("{")), masked(whole|opText, []byte("{}"))...),
		"unmasked":               {whole | opText, 2, '{', '}'},
		"a negative length":      {whole | opText, 0x80 | 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4},
	} {
		p := s.connect("acme.alice")
		p.raw(b)
		code := 0
		for {
			op, payload, err := p.frame()
			if err != nil {
				break
			}
			if op == opClose {
				code = int(payload[0])<<8 | int(payload[1])
			}
		}
		if code != contract.CloseProtocol {
			t.Errorf("%s: closed with %d", name, code)
		}
	}
	other.works("other-main", "m1", 1)
}

// Pings are answered; a flood of them, or of pongs that nobody asked for, ends the connection.
func TestControlFloods(t *testing.T) {
	t.Parallel()
	l := limits()
	s := newSite(t, l)
	other := s.connect("acme.other")
	for _, op := range []byte{opPing, opPong} {
		p := s.connect("acme.alice")
		go func() {
			flood := bytes.Repeat(masked(whole|op, []byte("x")), 4096)
			_, _ = p.Write(flood)
		}()
		for {
			got, payload, err := p.frame()
			if err != nil {
				t.Fatal(err)
			}
			if got == opPong {
				continue
			}
			if f := decoded(t, payload); f.Slug != "ping_flood" {
				t.Fatalf("got %+v", f)
			}
			break
		}
		p.closes(contract.ClosePolicy, "ping_flood")
	}
	if got := s.handler.Counts().Flooding; got != 2 {
		t.Errorf("%d floods were counted", got)
	}
	other.works("other-main", "m1", 1)
}
