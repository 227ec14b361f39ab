package upstream

import "strconv"

// Field is one line of a header.
type Field struct{ Name, Value string }

// Request is a request as it is sent: its parts are written as they are, so they must hold no CR, LF or NUL.
type Request struct {
	Method  string
	Target  string // raw, in origin form
	Host    string
	Fields  []Field // without Host, Content-Length, Connection and Upgrade
	Body    []byte
	Upgrade string // the protocol asked for; empty for none
}

// appendHead writes the request line and the header.
func (q *Request) appendHead(b []byte) []byte {
	b = append(b, q.Method...)
	b = append(b, ' ')
	b = append(b, q.Target...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, q.Host...)
	for _, f := range q.Fields {
		b = append(b, "\r\n"...)
		b = append(b, f.Name...)
		b = append(b, ": "...)
		b = append(b, f.Value...)
	}
	if q.Upgrade != "" {
		b = append(b, "\r\nConnection: Upgrade\r\nUpgrade: "...)
		b = append(b, q.Upgrade...)
	}
	if len(q.Body) > 0 || q.Method == "POST" || q.Method == "PUT" || q.Method == "PATCH" {
		b = append(b, "\r\nContent-Length: "...)
		b = strconv.AppendInt(b, int64(len(q.Body)), 10)
	}
	return append(b, "\r\n\r\n"...)
}
