package connect

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// request is a device's frame.
type request struct {
	op        string
	handle    string
	id        string
	body      []byte // JSON text; its own memory
	after     int64
	principal string
	token     string
}

// member is one of a device's frame.
type member uint8

const (
	memberHandle member = 1 << iota
	memberID
	memberBody
	memberAfter
	memberPrincipal
	memberToken
)

// members are those that the frame of an operation has, and all of them.
var members = map[string]member{ //nolint:gochecknoglobals // an immutable table
	contract.OpPublish:     memberHandle | memberID | memberBody,
	contract.OpSubscribe:   memberHandle | memberAfter,
	contract.OpUnsubscribe: memberHandle,
	contract.OpRevoke:      memberPrincipal,
	contract.OpRenew:       memberToken,
}

const mostNumber = 1<<53 - 1 // as JavaScript counts

// parse reads a device's frame, strictly: one JSON object, with each member of its operation once and no other. Faults:
// Invalid frame_too_deep, invalid_text, malformed_json, duplicate_field, unknown_field, wrong_type, out_of_range,
// required_field_missing, op_unknown.
func parse(data []byte, depth int) (request, error) {
	if err := scan(data, depth); err != nil {
		return request{}, err
	}
	p := parser{dec: jsontext.NewDecoder(bytes.NewBuffer(data))}
	if err := p.object(); err != nil {
		return request{op: p.op}, err
	}
	want, known := members[p.op]
	switch {
	case !known:
		return request{}, invalid("op_unknown", "the operation is none of a device's")
	case p.has&^want != 0:
		return request{op: p.op}, invalid("unknown_field", "the operation does not have one of the members")
	case p.has != want:
		return request{op: p.op}, invalid("required_field_missing", "a member of the operation is missing")
	}
	return p.request, nil
}

func invalid(slug, detail string) error { return fault.New(fault.Invalid, slug, "%s", detail) }

type parser struct {
	request
	dec *jsontext.Decoder
	has member
}

func (p *parser) object() error {
	if p.dec.PeekKind() != '{' {
		if _, err := p.dec.ReadValue(); err != nil {
			return malformed(err)
		}
		return invalid("wrong_type", "a frame is an object")
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return malformed(err)
	}
	for p.dec.PeekKind() == '"' {
		name, err := p.dec.ReadToken()
		if err != nil {
			return malformed(err)
		}
		if err := p.member(name.String()); err != nil {
			return err
		}
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return malformed(err)
	}
	if _, err := p.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return malformed(err)
	}
	return nil
}

func malformed(err error) error {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return invalid("duplicate_field", "a member is given twice")
	}
	return invalid("malformed_json", "the frame is not one JSON value")
}

func (p *parser) member(name string) error {
	text := func(m member, to *string) error {
		p.has |= m
		token, err := p.dec.ReadToken()
		if err != nil {
			return malformed(err)
		}
		if token.Kind() != '"' {
			return invalid("wrong_type", "a member is not a string")
		}
		*to = token.String()
		return nil
	}
	switch name {
	case "op":
		return text(0, &p.op)
	case "handle":
		return text(memberHandle, &p.handle)
	case "id":
		return text(memberID, &p.id)
	case "principal":
		return text(memberPrincipal, &p.principal)
	case "token":
		return text(memberToken, &p.token)
	case "after":
		p.has |= memberAfter
		return p.number()
	case "body":
		p.has |= memberBody
		value, err := p.dec.ReadValue()
		if err != nil {
			return malformed(err)
		}
		p.body = bytes.Clone(value)
		return nil
	}
	return invalid("unknown_field", "a member is unknown, or not written exactly as the protocol has it")
}

func (p *parser) number() (err error) {
	value, err := p.dec.ReadValue()
	if err != nil {
		return malformed(err)
	}
	if value.Kind() != '0' {
		return invalid("wrong_type", "after is not a number")
	}
	p.after, err = strconv.ParseInt(string(value), 10, 64)
	if err != nil || p.after < 0 || p.after > mostNumber {
		return invalid("out_of_range", "after is not a whole number from 0 to 2^53-1")
	}
	return nil
}

// scan refuses what is nested too deeply, before anything is held of it, and strings that hold a NUL, which no store
// keeps. Of what is not JSON it may say either.
func scan(data []byte, most int) error {
	depth, text := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case text && c == '\\':
			if bytes.HasPrefix(data[i:], []byte(`\u0000`)) {
				return invalid("invalid_text", "a string holds a NUL character")
			}
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			if depth++; depth > most {
				return invalid("frame_too_deep", "the frame is nested too deeply")
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}
