package contract

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Where devices connect, at their region's origin (R2). ConnectProtocol is the WebSocket subprotocol. A browser, which can
// set no header, offers its token behind ConnectTokenPrefix as a second one; only the first is ever chosen.
const (
	ConnectPath        = "/connect/v1"
	AttachmentsPath    = "/attachments/v1/"
	ConnectProtocol    = "berth.connect.v1"
	ConnectTokenPrefix = "berth.token."
)

// The operations of frames, and the members that each has besides op.
const (
	OpPublish      = "publish"      // device: handle, id, body; answered by ack
	OpAck          = "ack"          // id, seq
	OpSubscribe    = "subscribe"    // device: handle, after; answered by subscribed, then by messages
	OpSubscribed   = "subscribed"   // route, seq of the last message that there is
	OpUnsubscribe  = "unsubscribe"  // device: handle; answered by unsubscribed
	OpUnsubscribed = "unsubscribed" // route
	OpMessage      = "message"      // route, seq, id, from, at, body
	OpRevoke       = "revoke"       // device of an owner: principal; answered by revoked once that is committed
	OpRevoked      = "revoked"      // principal, revision
	OpRenew        = "renew"        // device: token, of the same device; answered by renewed
	OpRenewed      = "renewed"      // expires_at
	OpError        = "error"        // slug, detail, of (the operation that failed), what names it (id, handle or principal), and retry_after_ms where waiting helps
	OpGoaway       = "goaway"       // reason, retry_after_ms, url; the connection then closes
)

// The reasons of a goaway.
const (
	GoawayMoved       = "moved"       // the tenant is on another node by now
	GoawayRevoked     = "revoked"     // the device is revoked; it is not to come back
	GoawayDraining    = "draining"    // the node is being emptied
	GoawayShutdown    = "shutdown"    // the process ends
	GoawayExpired     = "expired"     // the token ran out; come back with another one
	GoawaySuspended   = "suspended"   // the tenant is suspended or closed
	GoawayUnavailable = "unavailable" // the node may not serve the tenant just now
	GoawayOverload    = "overload"    // the device does not read, or the node has too much to do
)

// The codes with which connections close (RFC 6455 §7.4.1; those from 4000 on are Berth's). A goaway's reason has one of
// its own, so that a browser's page that missed the frame knows as much.
const (
	CloseGoingAway   = 1001 // goaway shutdown
	CloseProtocol    = 1002 // what came is not as RFC 6455 has it
	CloseBinary      = 1003 // error frame_binary
	CloseMalformed   = 1007 // error of a frame's form
	ClosePolicy      = 1008 // error frame_too_slow, frame_fragmented, ping_flood
	CloseTooLarge    = 1009 // error frame_too_large
	CloseInternal    = 1011 // the node failed
	CloseRestart     = 1012 // goaway moved, draining
	CloseTryAgain    = 1013 // goaway unavailable, overload
	CloseExpired     = 4401 // goaway expired
	CloseRevoked     = 4403 // goaway revoked
	CloseSuspended   = 4423 // goaway suspended
	CloseReasonBytes = 123  // at most, of the reason of a close
)

// UploadOffset is the header that says how much there is of an attachment that is not whole.
const UploadOffset = "Berth-Upload-Offset"

// Frame is one text frame of the Connect protocol, in either direction. Which members an operation has is said at its
// name; a device's frame with any other is refused.
type Frame struct {
	Op           string         `json:"op"`
	Handle       string         `json:"handle,omitempty"`
	Route        string         `json:"route,omitempty"`
	Seq          int64          `json:"seq,omitzero"`
	ID           string         `json:"id,omitempty"`
	From         string         `json:"from,omitempty"`
	At           *time.Time     `json:"at,omitempty"`
	Body         jsontext.Value `json:"body,omitempty"`
	After        *int64         `json:"after,omitempty"`
	Principal    string         `json:"principal,omitempty"`
	Revision     int64          `json:"revision,omitzero"`
	Token        string         `json:"token,omitempty"`
	ExpiresAt    *time.Time     `json:"expires_at,omitempty"`
	Of           string         `json:"of,omitempty"`
	Slug         string         `json:"slug,omitempty"`
	Detail       string         `json:"detail,omitempty"`
	Reason       string         `json:"reason,omitempty"`
	RetryAfterMS int64          `json:"retry_after_ms,omitzero"`
	URL          string         `json:"url,omitempty"`
}
