package pgnotify

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"berth/ports/notify"
)

const someone = "0123456789abcdef"

// Whatever the topics are, empty, with separators, NUL, broken UTF-8, what is sent is short enough for Postgres, is ASCII
// without quotes, and comes out as it went in, in order.
func TestAnyTopicsGoThrough(t *testing.T) {
	t.Parallel()
	topic := rapid.Custom(func(t *rapid.T) notify.Topic {
		return notify.Topic(rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.Just('\x00'), 0, topicMax, topicMax),
			rapid.Just(""), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, topicMax), func(b []byte) string { return string(b) }),
			rapid.SampledFrom([]string{",", ":", "%", "%2C", "a,b", `"`, `\`, "tenant/acme", "ß/丈"})).Draw(t, "topic"))
	})
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOfN(topic, 0, 200).Draw(t, "topics")
		in = slices.DeleteFunc(in, func(t notify.Topic) bool { return len(t) > topicMax })
		number := uint64(0)
		var out []notify.Topic
		for _, p := range encodeTopics(someone, func() uint64 { number++; return number }, in) {
			if len(p.text) > payloadMax || strings.ContainsFunc(p.text, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
				t.Fatalf("can not be sent: %q", p.text)
			}
			m, ok := decode(p.text)
			if !ok || m.sender != someone || m.number > number || m.kind != topicsChanged {
				t.Fatalf("%q was read as %+v, %v", p.text, m, ok)
			}
			out = append(out, m.topics...)
		}
		if !slices.Equal(in, out) {
			t.Fatalf("%q became %q", in, out)
		}
	})
}

// Topics are packed: a payload is left open only where the next topic would not fit, or a thousand are in it.
func TestPayloadsArePacked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		topic   notify.Topic
		n, most int
	}{
		{"tenant/01jabcdefghjkmnpqrstvwxyz", 1000, 5}, // 33 bytes each
		{"", 2500, 3},
		{notify.Topic(strings.Repeat("\x00", topicMax)), 4, 2},
	} {
		if got := encodeTopics(someone, func() uint64 { return 1 }, slices.Repeat([]notify.Topic{c.topic}, c.n)); len(got) > c.most {
			t.Errorf("%d topics of %d bytes took %d payloads", c.n, len(c.topic), len(got))
		}
	}
}

// What others say on the channel is nobody's hint, however much it looks like one.
func TestForeignPayloadsAreRefused(t *testing.T) {
	t.Parallel()
	good := newPayload(someone, 255, topicsChanged).text
	for name, text := range map[string]string{
		"nothing":               "",
		"prose":                 "please look at table users",
		"version":               "b2" + good[2:] + ",a",
		"no topic":              good,
		"too short":             good[:headLen-1],
		"no first comma":        good + "a",
		"capital sender":        strings.ToUpper(good[:19]) + good[19:] + ",a",
		"sender not hex":        "b1:0123456789abcdeg" + good[19:] + ",a",
		"capital number":        strings.Replace(good, "ff:t", "FF:t", 1) + ",a",
		"number not hex":        strings.Replace(good, "ff:t", "-f:t", 1) + ",a",
		"other kind":            good[:headLen-1] + "x",
		"all with a body":       good[:headLen-1] + "a,a",
		"probe with a body":     good[:headLen-1] + "p ",
		"unescaped sign":        good + ",a b",
		"unescaped unicode":     good + ",ß",
		"cut escape":            good + ",%4",
		"escape of nothing":     good + ",%",
		"escape with lower hex": good + ",%2c",
		"needless escape":       good + ",%41",
		"a topic too long":      good + "," + strings.Repeat("a", topicMax+1),
		"too many topics":       good + strings.Repeat(",", topicsMax+1),
		"a million topics":      good + strings.Repeat(",a", 1_000_000),
		"trailing NUL":          good + ",a\x00",
	} {
		if m, ok := decode(text); ok {
			t.Errorf("%s was read as %+v", name, m)
		}
	}
}

// The decoder never panics, gives no more topics than a payload may have, and reads only what the encoder writes.
func FuzzDecode(f *testing.F) {
	good := newPayload(someone, 1, topicsChanged).text
	for _, seed := range []string{"", good, good + ",tenant/acme,node/%00%FF,", newPayload(someone, 1, allChanged).text,
		newPayload(someone, 1<<63, probe).text, good + strings.Repeat(",", topicsMax), good + ",%2C%2c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, ok := decode(text)
		if !ok {
			return
		}
		if len(m.topics) > topicsMax || (m.kind == topicsChanged) == (len(m.topics) == 0) {
			t.Fatalf("%q has %d topics", text, len(m.topics))
		}
		again := newPayload(m.sender, m.number, m.kind).text
		if m.kind == topicsChanged {
			again = encodeTopics(m.sender, func() uint64 { return m.number }, m.topics)[0].text
		}
		if again != text {
			t.Fatalf("%q is written %q", text, again)
		}
	})
}
