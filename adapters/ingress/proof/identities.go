package proof

import (
	"context"
	"encoding/base64"
	"fmt"
)

// otherIdentities are the headers by which other proxies say who a client is, or what it asked for.
func otherIdentities() []spoof {
	one := func(what, name string, value func(v, other string) string) spoof {
		return spoof{what: what, tries: name, lines: func(v, other string) []string { return []string{name + ": " + value(v, other)} }}
	}
	id := func(_, other string) string { return other }
	fixed := func(text string) func(string, string) string { return func(string, string) string { return text } }
	path := func(_, other string) string { return assignments(other) }
	der := fixed(":" + base64.StdEncoding.EncodeToString([]byte("a certificate")) + ":")
	return []spoof{
		one("xfcc", "X-Forwarded-Client-Cert", func(_, other string) string { return "By=x;Hash=00;URI=spiffe://x/relay/r/" + other }),
		one("client-cert", "Client-Cert", der), one("client-cert-chain", "Client-Cert-Chain", der), // RFC 9440
		one("client-cert-underscores", "Client_Cert", der),
		one("x-ssl-client-cert", "X-SSL-Client-Cert", der), one("x-ssl-client-verify", "X-SSL-Client-Verify", fixed("SUCCESS")),
		one("x-ssl-client-dn", "X-SSL-Client-S-DN", func(_, other string) string { return "CN=" + other }),
		one("ssl-client-cert", "SSL_CLIENT_CERT", der), one("x-client-cert", "X-Client-Cert", der),
		one("forwarded", "Forwarded", fixed("for=127.0.0.1;host=berth.internal;proto=https")),
		one("x-forwarded-for", "X-Forwarded-For", fixed("127.0.0.1")), one("x-forwarded-host", "X-Forwarded-Host", fixed("berth.internal")),
		one("x-forwarded-uri", "X-Forwarded-Uri", path), one("x-forwarded-method", "X-Forwarded-Method", fixed("DELETE")),
		one("x-real-ip", "X-Real-Ip", fixed("127.0.0.1")), one("x-forwarded-user", "X-Forwarded-User", id),
		one("remote-user", "Remote-User", id), one("x-remote-user", "X-Remote-User", id), one("x-spiffe-id", "X-Spiffe-Id", id),
		one("x-original-url", "X-Original-URL", path), one("x-rewrite-url", "X-Rewrite-URL", path),
		one("method-override", "X-HTTP-Method-Override", fixed("POST")),
		one("proxy-authorization", "Proxy-Authorization", fixed("Basic YTpi")), one("cookie", "Cookie", fixed("session=a")),
		one("max-forwards", "Max-Forwards", fixed("0")), one("range", "Range", fixed("bytes=0-0")),
		{what: "bearer", tries: "an operator's token", lines: func(string, string) []string { return []string{"Authorization: Bearer " + tokenMark} }},
	}
}

// trailerProbe sends the assertion's header behind a body.
func trailerProbe() Probe {
	return Probe{
		ID: identify(OnIngress, KindHeaders, "as-trailer"), Kind: KindHeaders, Listener: OnIngress,
		Tries: "the assertion's header as a trailer", Must: malformed(),
		run: func(ctx context.Context, s *Site) (Outcome, error) {
			e, err := s.endpoint(OnIngress)
			if err != nil {
				return Outcome{}, err
			}
			d := e.post(poll(s.First.ID), "").without("Content-Length").with("Transfer-Encoding: chunked", "Trailer: "+own)
			value, err := s.forged(e, d.target)
			if err != nil {
				return Outcome{}, err
			}
			d.body = fmt.Sprintf("%x\r\n%s\r\n0\r\n%s: %s\r\n\r\n", len(pollBody), pollBody, own, value)
			o, err := s.ask(ctx, e, d.String(), showing(s.First.Certificate))
			return o, err
		},
	}
}
