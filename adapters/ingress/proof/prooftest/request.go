package prooftest

import (
	"bufio"
	"io"
	"net"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"berth/adapters/contract"
	"berth/domain/identity"
)

// request is one as it arrived.
type request struct {
	method, target, host string
	lines                [][2]string
	body                 []byte
	coded                bool // it has a transfer coding, too
	last                 bool // the connection ends with it
}

func (r request) values(name string) []string {
	var out []string
	for _, l := range r.lines {
		if strings.EqualFold(l[0], name) {
			out = append(out, l[1])
		}
	}
	return out
}

const tchar = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// read takes exactly what has one reading.
func (p *Proxy) read(conn net.Conn, in *bufio.Reader) (request, error) {
	var r request
	p.bound(conn)
	first, err := line(in)
	if err != nil {
		return r, err
	}
	parts := strings.Split(first, " ")
	if len(parts) != 3 || parts[2] != "HTTP/1.1" || parts[0] == "" || strings.Trim(parts[0], "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || len(parts[0]) > 16 {
		return r, refusal{400, "request_malformed"}
	}
	r.method, r.target = parts[0], parts[1]
	if err := r.readLines(in); err != nil {
		return r, err
	}
	if err := p.judge(&r); err != nil {
		return r, err
	}
	p.bound(conn)
	if _, err := io.ReadFull(in, r.body); err != nil {
		return r, refusal{408, "body_too_slow"}
	}
	return r, nil
}

const maxHead = 48 << 10

func (r *request) readLines(in *bufio.Reader) error {
	for size := 0; ; {
		text, err := line(in)
		switch {
		case err != nil:
			return err
		case text == "":
			return nil
		}
		if size += len(text); size > maxHead {
			return refusal{431, "head_too_large"}
		}
		name, value, ok := strings.Cut(text, ":")
		if !ok || name == "" || strings.Trim(name, tchar) != "" {
			return refusal{400, "header_malformed"}
		}
		r.lines = append(r.lines, [2]string{name, strings.Trim(value, " \t")})
	}
}

func line(in *bufio.Reader) (string, error) {
	text, err := in.ReadSlice('\n')
	if err != nil {
		return "", refusal{431, "line_unreadable"}
	}
	plain, ok := strings.CutSuffix(string(text), "\r\n")
	if !ok || strings.ContainsFunc(plain, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
		return "", refusal{400, "line_malformed"}
	}
	return plain, nil
}

// judge is everything about a head but its lines' form.
func (p *Proxy) judge(r *request) error {
	hosts, lengths := r.values("Host"), r.values("Content-Length")
	r.coded = len(r.values("Transfer-Encoding")) > 0
	switch {
	case len(hosts) != 1 || hosts[0] == "" || strings.ContainsAny(hosts[0], " /@,\"\\") || len(hosts[0]) > 261:
		return refusal{400, "host_malformed"}
	case len(r.values("Content-Encoding")) > 0 || len(r.values("Trailer")) > 0 || len(r.values("Expect")) > 0:
		return refusal{400, "encoding_refused"}
	case r.coded && !p.Leaks.ForwardsCoding:
		return refusal{411, "length_required"}
	case len(lengths) > 1 || len(lengths) == 0 && r.method == "POST" && !r.coded:
		return refusal{411, "length_required"}
	}
	r.host, r.last = hosts[0], slices.ContainsFunc(r.values("Connection"), func(v string) bool { return strings.EqualFold(v, "close") })
	if err := p.judgeTarget(r); err != nil {
		return err
	}
	return p.judgeLength(r, lengths)
}

func (p *Proxy) judgeTarget(r *request) error {
	if p.Leaks.NormalisesTarget {
		r.target = normalise(r.target)
	} else if err := identity.CheckTarget(r.target); err != nil {
		return refusal{400, "target_ambiguous"}
	}
	if !p.Leaks.ForwardsAny && !strings.HasPrefix(r.target, "/internal/v1/") {
		return refusal{404, "path_unknown"}
	}
	return nil
}

func (p *Proxy) judgeLength(r *request, lengths []string) error {
	if len(lengths) == 0 {
		return nil
	}
	if lengths[0] == "" || strings.Trim(lengths[0], "0123456789") != "" {
		return refusal{400, "length_malformed"}
	}
	n, err := strconv.Atoi(lengths[0])
	if err != nil || n > contract.MaxBody && !p.Leaks.NoBounds || n > 64<<20 {
		return refusal{413, "body_too_large"}
	}
	r.body = make([]byte, n)
	return nil
}

// canonical is how a CGI would have a name.
func canonical(name string) string {
	return textproto.CanonicalMIMEHeaderKey(strings.ReplaceAll(name, "_", "-"))
}
