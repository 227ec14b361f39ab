package config

import (
	"encoding/hex"
	"io/fs"
	"strconv"
)

// judgeListeners looks at the addresses and at what protects each: TLS, or that only this machine can connect.
func (c Config) judgeListeners(f *findings) {
	f.oneOf("internal_socket_mode", c.InternalSocketMode, "0600", "0660")
	secured := c.TLSCertFile != ""
	f.open("listen", c.Listen, secured)
	if c.MetricsListen != Off {
		f.open("metrics_listen", c.MetricsListen, secured)
	}
	if c.EnrollListen != "" {
		f.open("enroll_listen", c.EnrollListen, secured)
	}
	c.judgeInternal(f)
	c.judgeShared(f)
}

// open judges a listener that is safe behind TLS, or where only this machine can connect.
func (f *findings) open(key, text string, secured bool) {
	a, err := ParseAddress(text)
	if err != nil {
		f.take(err, called(key))
		return
	}
	if !a.Local() && !secured {
		f.add(key, "anybody could read along: this address is not loopback, and there is no certificate",
			"give tls_cert_file and tls_key_file, or listen on loopback")
	}
}

// judgeInternal: whoever reaches the internal listener and knows the ingress secret speaks for every node, so that it
// takes pinned client keys even on loopback.
func (c Config) judgeInternal(f *findings) {
	if c.InternalListen == "" {
		f.add("internal_listen", "is missing", "name a socket, such as unix:/run/berth/internal.sock")
		return
	}
	a, err := ParseAddress(c.InternalListen)
	if err != nil {
		f.take(err, called("internal_listen"))
		return
	}
	for _, pin := range c.InternalClientPins {
		if sum, err := hex.DecodeString(pin); err != nil || len(sum) != 32 {
			f.add("internal_client_pins", "each pin is the SHA-256 of a public key (SPKI) in 64 hex digits", "")
			break
		}
	}
	if a.Network == "unix" {
		return
	}
	if c.InternalTLSCertFile == "" {
		f.add("internal_tls_cert_file", "is missing: the internal listener has TLS wherever it is no Unix socket",
			"give it a certificate and its key, or use unix:PATH")
	}
	if len(c.InternalClientPins) == 0 {
		f.add("internal_client_pins", "is missing: only the ingress may connect", "pin its key, or use unix:PATH")
	}
}

// judgeShared refuses two listeners at one address.
func (c Config) judgeShared(f *findings) {
	taken := map[string]string{"": "", Off: ""}
	for _, l := range []struct{ key, text string }{
		{"listen", c.Listen}, {"internal_listen", c.InternalListen}, {"enroll_listen", c.EnrollListen},
		{"metrics_listen", c.MetricsListen},
	} {
		other, ok := taken[l.text]
		if ok && other != "" && portOf(l.text) != ":0" {
			f.add(l.key, "is the address of "+other+" already", "give each listener its own")
		}
		if !ok {
			taken[l.text] = l.key
		}
	}
}

// SocketMode is the mode of Unix sockets.
func (c Config) SocketMode() fs.FileMode {
	n, err := strconv.ParseUint(c.InternalSocketMode, 8, 9)
	if err != nil {
		return 0o600
	}
	return fs.FileMode(n)
}
