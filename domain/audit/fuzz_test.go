package audit_test

import (
	"bytes"
	"testing"
	"time"

	"berth/domain/audit"
)

// Whatever an entry holds, it verifies as sealed, and not once one of its texts or its time differs.
func FuzzSealVerify(f *testing.F) {
	f.Add("operator", "tok_1", "192.0.2.1", "tenant.created", "tenant/acme", "region", "eu", int64(1_700_000_000), int64(1000))
	f.Add("", "", "", "", "", "", "", int64(0), int64(0))
	f.Fuzz(func(t *testing.T, kind, id, source, action, subject, key, value string, second, nanos int64) {
		draft := audit.Draft{
			At: time.Unix(second%(1<<40), nanos%1_000_000_000), Action: action, Subject: subject,
			Actor:  audit.Actor{Kind: audit.ActorKind(kind), ID: id, Source: source},
			Detail: map[string]string{key: value},
		}
		first := audit.Seal(audit.Head{}, draftOf(1))
		e := audit.Seal(first.Head(), draft)
		chain := []audit.Entry{first, e}
		mustVerify(t, e.Head(), chain)
		for i, change := range []func(*audit.Entry){
			func(e *audit.Entry) { e.Actor.ID += "x" },
			func(e *audit.Entry) { e.Action += "x" },
			func(e *audit.Entry) { e.At = e.At.Add(time.Nanosecond) },
			func(e *audit.Entry) { e.Detail = map[string]string{key + "x": value} },
			func(e *audit.Entry) { e.Detail = map[string]string{key: value + "x"} },
		} {
			altered := e
			change(&altered)
			if audit.Verify(e.Head(), []audit.Entry{first, altered}) == nil {
				t.Errorf("change %d of %+v went unseen", i, e)
			}
		}
	})
}

// Only what Bytes writes is read, and it is read as it was written.
func FuzzParseCheckpoint(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(audit.NewCheckpoint(audit.Head{Sequence: 7}, time.Unix(1_700_000_000, 0)).Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := audit.ParseCheckpoint(b)
		if err == nil && !bytes.Equal(c.Bytes(), b) {
			t.Errorf("%x was read as %+v", b, c)
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	draft := draftOf(1)
	b.ReportAllocs()
	var head audit.Head
	for b.Loop() {
		head = audit.Seal(head, draft).Head()
	}
}
