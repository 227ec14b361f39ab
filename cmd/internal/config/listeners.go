package config

import (
	"encoding/hex"
	"io/fs"
	"strconv"

	"berth/cmd/internal/settings"
)

// judgeListeners looks at the addresses and at what protects each: TLS, or that only this machine can connect.
func (c Config) judgeListeners(f *settings.Findings) {
	f.OneOf("internal_socket_mode", c.InternalSocketMode, "0600", "0660")
	const secure = "give tls_cert_file and tls_key_file, or listen on loopback"
	secured := c.TLSCertFile != ""
	f.Listener("listen", c.Listen, secured, secure)
	if c.MetricsListen != Off {
		f.Listener("metrics_listen", c.MetricsListen, secured, secure)
	}
	if c.EnrollListen != "" {
		f.Listener("enroll_listen", c.EnrollListen, secured, secure)
	}
	c.judgeInternal(f)
	c.judgeIngress(f)
	f.Apart(
		settings.Listening{Key: "listen", Address: c.Listen}, settings.Listening{Key: "internal_listen", Address: c.InternalListen},
		settings.Listening{Key: "enroll_listen", Address: c.EnrollListen},
		settings.Listening{Key: "ingress_listen", Address: c.IngressListen},
		settings.Listening{Key: "metrics_listen", Address: c.MetricsListen},
	)
}

// judgeInternal: whoever reaches the internal listener and knows the ingress secret speaks for every node, so that it
// takes pinned client keys even on loopback.
func (c Config) judgeInternal(f *settings.Findings) {
	if c.InternalListen == "" {
		f.Add("internal_listen", "is missing", "name a socket, such as unix:/run/berth/internal.sock")
		return
	}
	a, err := settings.ParseAddress(c.InternalListen)
	if err != nil {
		f.Take(err, settings.Called("internal_listen"))
		return
	}
	for _, pin := range c.InternalClientPins {
		if sum, err := hex.DecodeString(pin); err != nil || len(sum) != 32 {
			f.Add("internal_client_pins", "each pin is the SHA-256 of a public key (SPKI) in 64 hex digits", "")
			break
		}
	}
	if a.Network == "unix" {
		return
	}
	if c.InternalTLSCertFile == "" {
		f.Add("internal_tls_cert_file", "is missing: the internal listener has TLS wherever it is no Unix socket",
			"give it a certificate and its key, or use unix:PATH")
	}
	if len(c.InternalClientPins) == 0 {
		f.Add("internal_client_pins", "is missing: only the ingress may connect", "pin its key, or use unix:PATH")
	}
}

// judgeIngress: an ingress within this process reaches the control plane as any other does, over the internal listener;
// on one machine that is a socket.
func (c Config) judgeIngress(f *settings.Findings) {
	f.Pair("ingress_cert_file", c.IngressCertFile, "ingress_key_file", c.IngressKeyFile)
	if c.IngressListen == "" {
		return
	}
	f.Listener("ingress_listen", c.IngressListen, true, "")
	if c.IngressCertFile == "" && c.IngressKeyFile == "" {
		f.Add("ingress_cert_file", "is missing: nodes are served over TLS alone", "give the ingress a certificate and its key")
	}
	if a, err := settings.ParseAddress(c.InternalListen); err == nil && a.Network != "unix" {
		f.Add("ingress_listen", "an ingress within this process needs internal_listen to be a Unix socket",
			"use unix:PATH, or run berth-ingress")
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
