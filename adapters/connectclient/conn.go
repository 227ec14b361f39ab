package connectclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// Conn is one connection of a device, and nothing that a client does about it: what Client is built on, and what tests and
// load use where they want to see it bare.
type Conn struct {
	ws      *websocket.Conn
	expires time.Time
	token   string // by which it began
}

// maxFrame is more than the server's largest frame.
const maxFrame = 128 << 10

// Connect connects once. Faults: those of the origin, by its problem; Unavailable origin_unreachable.
func Connect(ctx context.Context, o Options) (*Conn, error) {
	transport := o.transport()
	defer transport.CloseIdleConnections()
	return o.connect(ctx, o.client(transport))
}

func (o Options) connect(ctx context.Context, client *http.Client) (*Conn, error) {
	token, err := o.Tokens.Token(ctx)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(o.URL, "wss://") {
		return nil, errURL() // a token goes over nothing else
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeBound)
	defer cancel()
	ws, answer, err := websocket.Dial(ctx, o.URL, &websocket.DialOptions{ //nolint:bodyclose // Dial replaces the body by one in memory
		HTTPClient: client, Subprotocols: []string{contract.ConnectProtocol},
		HTTPHeader: http.Header{"Authorization": {"Bearer " + token.AccessToken}},
	})
	if err != nil {
		return nil, o.refused(token.AccessToken, answer, err)
	}
	if ws.Subprotocol() != contract.ConnectProtocol {
		_ = ws.CloseNow()
		return nil, fault.New(fault.Internal, "unexpected_answer", "the origin does not speak %s", contract.ConnectProtocol)
	}
	ws.SetReadLimit(maxFrame)
	return &Conn{ws: ws, expires: token.ExpiresAt, token: token.AccessToken}, nil
}

// refused is why there is no connection. A token that is refused is not used again.
func (o Options) refused(token string, answer *http.Response, err error) error {
	if answer == nil || answer.StatusCode == http.StatusSwitchingProtocols {
		return fault.New(fault.Unavailable, "origin_unreachable", "the origin does not answer").Because(err)
	}
	data, _ := io.ReadAll(io.LimitReader(answer.Body, maxProblem))
	refusal := problem(answer, data)
	if fault.KindOf(refusal) == fault.Unauthenticated {
		o.Tokens.Forget(token)
	}
	return refusal
}

const maxProblem = 64 << 10

// problem reads a refusal. What carries none came from something else than Berth, and its text is not repeated.
func problem(answer *http.Response, data []byte) error {
	p := contract.Problem{}
	if answer.Header.Get("Content-Type") != contract.ProblemType || json.Unmarshal(data, &p) != nil || p.Slug() == "" {
		p = contract.Problem{Type: contract.ProblemPrefix + "unexpected_answer"}
		p.Detail = "the answer is " + strconv.Itoa(answer.StatusCode) + " without a problem that says why"
	}
	p.Status = answer.StatusCode
	f := p.Fault()
	if f.Kind == fault.Internal && (p.Status == http.StatusBadGateway || p.Status == http.StatusGatewayTimeout) {
		f.Kind = fault.Unavailable
	}
	if n, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && n > 0 {
		f.RetryAfter = time.Duration(n) * time.Second
	}
	return f
}

// Send sends one frame. A context that ends in the middle of it ends the connection.
func (c *Conn) Send(ctx context.Context, f contract.Frame) error {
	text, err := json.Marshal(f)
	if err != nil {
		return fault.New(fault.Invalid, "frame_malformed", "the frame can not be written").Because(err)
	}
	return c.lost(c.ws.Write(ctx, websocket.MessageText, text))
}

// SendText sends a text frame as it is.
func (c *Conn) SendText(ctx context.Context, text []byte) error {
	return c.lost(c.ws.Write(ctx, websocket.MessageText, text))
}

// Receive waits for the next frame. Errors: a *Goaway, after which there is nothing more; Unavailable connection_lost. A
// context that ends ends the connection.
func (c *Conn) Receive(ctx context.Context) (contract.Frame, error) {
	var f contract.Frame
	kind, text, err := c.ws.Read(ctx)
	if err != nil {
		return f, c.lost(err)
	}
	if kind != websocket.MessageText || json.Unmarshal(text, &f) != nil {
		_ = c.ws.CloseNow()
		return f, fault.New(fault.Internal, "unexpected_answer", "the origin sent what is no frame")
	}
	if f.Op == contract.OpGoaway {
		_ = c.ws.CloseNow()
		return f, &Goaway{f.Reason, time.Duration(f.RetryAfterMS) * time.Millisecond, f.URL}
	}
	return f, nil
}

func (c *Conn) lost(err error) error {
	if err == nil {
		return nil
	}
	detail := "the connection broke"
	if closed, ok := errors.AsType[websocket.CloseError](err); ok {
		detail = "the origin closed the connection with " + strconv.Itoa(int(closed.Code))
	}
	return fault.New(fault.Unavailable, "connection_lost", "%s", detail).Because(err)
}

// CloseCode is the code with which the other end closed a connection, by its error; -1 where it did not.
func CloseCode(err error) int { return int(websocket.CloseStatus(err)) }

// Close ends the connection as a device that parts does.
func (c *Conn) Close() error { return c.ws.Close(websocket.StatusNormalClosure, "") }

// Abort ends it as one that loses the network does.
func (c *Conn) Abort() { _ = c.ws.CloseNow() }

// Goaway is the origin's last word on a connection.
type Goaway struct {
	Reason     string        // one of contract.Goaway…
	RetryAfter time.Duration // before the device may come back
	URL        string        // where to; empty for the same
}

// Error makes it an error.
func (g *Goaway) Error() string {
	if g.final() {
		return "the origin ended the connection: the device is revoked; pair it anew"
	}
	return "the origin ended the connection: " + g.Reason
}

// final says whether the device is not to come back.
func (g *Goaway) final() bool { return g.Reason == contract.GoawayRevoked }
