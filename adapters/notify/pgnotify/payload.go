package pgnotify

import (
	"encoding/hex"
	"strconv"
	"strings"

	"berth/ports/notify"
)

// A payload is one line of ASCII that a person can read:
//
//	b1:<sender, 16 hex digits>:<number, 16 hex digits>:<kind><topics>
//
// Each topic is preceded by a comma, and each of its bytes but letters, digits and a few signs is written as %XX. So it
// holds any topic, whatever the database's encoding, and there is exactly one payload for a message.
const (
	version    = "b1:"
	idDigits   = 16
	headLen    = len(version) + idDigits + 1 + idDigits + 1 + 1
	payloadMax = 7999 // Postgres refuses 8000 bytes
	topicMax   = 1024 // bytes; with every byte escaped it still fits a payload
	topicsMax  = 1000 // in one payload
	upperHex   = "0123456789ABCDEF"
)

type kind byte

const (
	topicsChanged kind = 't' // the topics that follow
	allChanged    kind = 'a' // anything may have
	probe         kind = 'p' // nothing: the sender listens for its own echo
)

// payload is a message as it is sent, and its number.
type payload struct {
	number uint64
	text   string
}

type message struct {
	sender string // idDigits lower-case hex digits
	number uint64 // of the sender's own counting
	kind   kind
	topics []notify.Topic
}

// encodeTopics packs all topics, in order, into as few payloads as there must be, numbered by next.
func encodeTopics(sender string, next func() uint64, topics []notify.Topic) []payload {
	var out []payload
	for len(topics) > 0 {
		var b strings.Builder
		p := newPayload(sender, next(), topicsChanged)
		b.WriteString(p.text)
		n := 0
		for n < len(topics) && n < topicsMax && b.Len()+1+escapedLen(topics[n]) <= payloadMax {
			b.WriteByte(',')
			escape(&b, topics[n])
			n++
		}
		p.text = b.String()
		out = append(out, p)
		topics = topics[n:] // n > 0, since a topic of topicMax bytes fits
	}
	return out
}

// newPayload names no topic.
func newPayload(sender string, number uint64, k kind) payload {
	digits := strconv.FormatUint(number, 16)
	text := version + sender + ":" + strings.Repeat("0", idDigits-len(digits)) + digits + ":" + string(k)
	return payload{number: number, text: text}
}

// decode reads what encodeTopics and newPayload write, and nothing else.
func decode(text string) (message, bool) {
	if len(text) > payloadMax || len(text) < headLen || text[:len(version)] != version {
		return message{}, false
	}
	rest := text[len(version):]
	m := message{sender: rest[:idDigits], kind: kind(text[headLen-1])}
	digits, body := rest[idDigits+1:2*idDigits+1], text[headLen:]
	number, err := strconv.ParseUint(digits, 16, 64)
	m.number = number
	if err != nil || !lowerHex(m.sender) || !lowerHex(digits) || rest[idDigits] != ':' || rest[2*idDigits+1] != ':' {
		return message{}, false
	}
	switch m.kind {
	case allChanged, probe:
		return m, body == ""
	case topicsChanged:
		topics, ok := decodeTopics(body)
		m.topics = topics
		return m, ok
	default:
		return message{}, false
	}
}

func decodeTopics(body string) ([]notify.Topic, bool) {
	n := strings.Count(body, ",")
	if n == 0 || n > topicsMax || body[0] != ',' {
		return nil, false
	}
	topics := make([]notify.Topic, 0, n)
	for text := range strings.SplitSeq(body[1:], ",") {
		topic, ok := unescape(text)
		if !ok {
			return nil, false
		}
		topics = append(topics, topic)
	}
	return topics, true
}

func lowerHex(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && strings.ToLower(s) == s
}

func plain(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	default:
		return c == '/' || c == '-' || c == '_' || c == '.' || c == ':' || c == '@'
	}
}

func escapedLen(t notify.Topic) int {
	n := len(t)
	for i := range len(t) {
		if !plain(t[i]) {
			n += 2
		}
	}
	return n
}

func escape(b *strings.Builder, t notify.Topic) {
	for i := range len(t) {
		if c := t[i]; plain(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
}

// unescape refuses what escape would have written otherwise.
func unescape(text string) (notify.Topic, bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' {
			if i+2 >= len(text) {
				return "", false
			}
			value, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
			c = byte(value)
			if err != nil || strings.ToUpper(text[i+1:i+3]) != text[i+1:i+3] || plain(c) {
				return "", false
			}
			i += 2
		} else if !plain(c) {
			return "", false
		}
		b.WriteByte(c)
	}
	return notify.Topic(b.String()), b.Len() <= topicMax
}
