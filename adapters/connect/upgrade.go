package connect

import (
	"bufio"
	"encoding/base64"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/coder/websocket"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// checkUpgrade refuses, as a problem, whatever is not the opening handshake of this protocol (RFC 6455 §4.2.1), before
// anything is taken up for it. Faults: Invalid method_not_allowed, upgrade_required, websocket_version, websocket_key,
// body_unexpected, subprotocol_missing.
func checkUpgrade(r *http.Request, offers []string) error {
	bad := func(status int, slug, detail string) *statusFault {
		return withStatus(status, fault.New(fault.Invalid, slug, "%s", detail))
	}
	has := func(name, token string) bool {
		return slices.ContainsFunc(listed(r.Header, name), func(v string) bool { return strings.EqualFold(v, token) })
	}
	switch {
	case r.Method != http.MethodGet:
		return methodNotAllowed(http.MethodGet)
	case !r.ProtoAtLeast(1, 1) || !has("Connection", "upgrade") || !has("Upgrade", "websocket"):
		return bad(http.StatusUpgradeRequired, "upgrade_required", "this is a WebSocket").with("Upgrade", "websocket")
	case len(r.Header["Sec-Websocket-Version"]) != 1 || r.Header.Get("Sec-Websocket-Version") != "13":
		return bad(http.StatusUpgradeRequired, "websocket_version", "the WebSocket version is 13").with("Sec-WebSocket-Version", "13")
	case !goodKey(r.Header["Sec-Websocket-Key"]):
		return bad(http.StatusBadRequest, "websocket_key", "Sec-WebSocket-Key is not 16 bytes in base64")
	case r.ContentLength != 0 || len(r.TransferEncoding) != 0:
		return bad(http.StatusBadRequest, "body_unexpected", "an upgrade has no body")
	case !slices.Contains(offers, contract.ConnectProtocol):
		return bad(http.StatusBadRequest, "subprotocol_missing", "the subprotocol is "+contract.ConnectProtocol)
	}
	return nil
}

func goodKey(values []string) bool {
	if len(values) != 1 {
		return false
	}
	key, err := base64.StdEncoding.DecodeString(values[0])
	return err == nil && len(key) == 16
}

const subprotocols = "Sec-Websocket-Protocol"

// connect makes a request a connection. It returns when that has begun: net/http's goroutine, with its stack grown by the
// handshake, and its buffers go.
func (h *Handler) connect(w http.ResponseWriter, r *http.Request) {
	offers := listed(r.Header, subprotocols)
	if err := checkUpgrade(r, offers); err != nil {
		h.reject(w, r, err)
		return
	}
	device, err := h.identify(r, offers)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	passed, release := h.untilStop(r)
	defer release()
	switch here, err := h.settle(w, passed, device); {
	case err != nil:
		h.refuse(w, r, err)
		return
	case !here:
		return
	}
	c := newConn(h, device)
	if err := h.crowd.admit(c); err != nil {
		h.refuse(w, r, err)
		return
	}
	session, err := h.plane.Enter(r.Context(), device, c)
	if err != nil {
		h.crowd.forget(c)
		h.refuse(w, r, err)
		return
	}
	c.session = session
	if err := c.upgrade(w, r); err != nil {
		h.o.Log.Debug("a connection could not be upgraded", "error", err)
		session.Leave()
		h.crowd.forget(c)
		return
	}
	h.counts.opened.Add(1)
	go c.read() //nolint:gosec // it outlives the request that began it
}

// upgrade switches protocols. Any page may connect (a token is no cookie: a page must have been given it), and nothing is
// compressed: that would cost memory for each connection.
func (c *conn) upgrade(w http.ResponseWriter, r *http.Request) (err error) {
	c.ws, err = websocket.Accept(&taken{ResponseWriter: w, c: c}, r, &websocket.AcceptOptions{
		Subprotocols: []string{contract.ConnectProtocol}, InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled,
		OnPingReceived: c.pinged, OnPongReceived: c.ponged,
	})
	if err != nil {
		c.cut()
		return err
	}
	c.ws.SetReadLimit(-1) // the reader's own, so that it can say why
	return nil
}

const (
	readBuffer    = 512 // of a connection: enough for a small frame
	controlBuffer = 256 // a control frame has at most 127 bytes, and leaves as one piece
)

// taken hands a connection over below a wire, with small buffers for net/http's.
type taken struct {
	http.ResponseWriter
	c *conn
}

// Hijack is http.Hijacker's.
func (t *taken) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	raw, rw, err := http.NewResponseController(t.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	early, _ := rw.Reader.Peek(rw.Reader.Buffered()) // what is buffered can be peeked at
	w := newWire(raw, early, &t.c.h.o.Limits)
	t.c.wired(w)
	return w, bufio.NewReadWriter(bufio.NewReaderSize(w, readBuffer), bufio.NewWriterSize(w, controlBuffer)), nil
}
