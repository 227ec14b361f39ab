package connect

import (
	"net/http"

	"berth/adapters/contract"
	"berth/application/relay"
	"berth/ports/engine"
)

// Parsed is what parse finds in a frame.
type Parsed struct {
	Op, Handle, ID, Principal, Token string
	Body                             []byte
	After                            int64
}

// Parse reads a device's frame.
func Parse(data []byte, depth int) (Parsed, error) {
	r, err := parse(data, depth)
	return Parsed{r.op, r.handle, r.id, r.principal, r.token, r.body, r.after}, err
}

// TokenOf finds a request's token, as of an upgrade.
func TokenOf(r *http.Request) (string, error) { return tokenOf(r, listed(r.Header, subprotocols)) }

// CheckUpgrade refuses what is no opening handshake.
func CheckUpgrade(r *http.Request) error { return checkUpgrade(r, listed(r.Header, subprotocols)) }

// Ack, Message and Text are frames as they are written.
func Ack(id string, seq int64) []byte  { return ack(nil, id, seq) }
func Message(m *engine.Message) []byte { return message(nil, m) }
func Text(f contract.Frame) []byte     { return text(nil, f) }

// Codes are how connections close after a goaway.
func Codes() map[relay.Reason]int { return codes }

// Members are the operations of devices.
func Members() map[string]int {
	out := map[string]int{}
	for op, m := range members {
		out[op] = int(m)
	}
	return out
}
