package connect

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/ports/engine"
)

// text appends a frame of the protocol, framed.
func text(b []byte, f contract.Frame) []byte {
	payload, _ := json.Marshal(f) // of what is built here nothing can not be written
	return frame(b, frameText, payload)
}

// quoted appends a string as JSON. What is no UTF-8 was refused when it came in.
func quoted(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s)
	return b
}

// ack appends the answer to a publish: as text has it, without the cost of the general.
func ack(b []byte, id string, seq int64) []byte {
	var payload [128]byte
	p := append(payload[:0], `{"op":"ack","seq":`...)
	p = strconv.AppendInt(p, seq, 10)
	p = append(p, `,"id":`...)
	p = append(quoted(p, id), '}')
	return frame(b, frameText, p)
}

// message appends a message, the same way. Its body is JSON text already.
func message(b []byte, m *engine.Message) []byte {
	var payload [256]byte
	p := append(payload[:0], `{"op":"message","route":`...)
	p = append(quoted(p, m.Route), `,"seq":`...)
	p = strconv.AppendInt(p, m.Seq, 10)
	p = append(p, `,"id":`...)
	p = append(quoted(p, m.ID), `,"from":`...)
	p = append(quoted(p, m.From), `,"at":"`...)
	p = m.At.UTC().AppendFormat(p, time.RFC3339Nano)
	p = append(p, `","body":`...)
	b = header(b, frameText, len(p)+len(m.Body)+1)
	return append(append(append(b, p...), m.Body...), '}')
}

// refusal is the error frame for what failed. What is Internal is shown as nothing but that.
func refusal(of request, err error) contract.Frame {
	p := contract.FromFault(err)
	f := contract.Frame{
		Op: contract.OpError, Of: of.op, Slug: p.Slug(), Detail: p.Detail, ID: of.id, Handle: of.handle, Principal: of.principal,
		RetryAfterMS: waitOf(err).Milliseconds(),
	}
	if fault.KindOf(err) == fault.Internal {
		f.Detail = "the node failed; its log says more"
	}
	if of.id != "" {
		f.Handle = "" // the id names it
	}
	return f
}
