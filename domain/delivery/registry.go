package delivery

import (
	"crypto/x509"
	"encoding/pem"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"berth/domain/fault"
	"berth/domain/ident"
)

// Bounds of registries, in bytes.
const (
	maxHost        = 240
	maxCA          = 64 << 10
	maxCredentials = 512
)

// NewRegistry registers a place that images and charts may come from. Invalid, each problem named: registry_host_invalid,
// credentials_ref_invalid, ca_invalid, registry_mirror_invalid.
func NewRegistry(r Registry, now time.Time) (Registry, error) {
	var errs []*fault.Error
	if err := checkHost(r.Host); err != nil {
		errs = append(errs, err.At("host"))
	}
	if r.CredentialsRef != "" && !validCredentialsRef(r.CredentialsRef) {
		errs = append(errs, invalid("credentials_ref_invalid", "credentials are named by file: and an absolute path").At("credentials_ref").
			Curable("write the credentials to a file that the server can read, and name it like file:/etc/berth/registry.json"))
	}
	if err := checkCA(r); err != nil {
		errs = append(errs, err.At("ca"))
	}
	if r.MirrorOf != "" && (r.MirrorOf == r.Host || checkHost(r.MirrorOf) != nil) {
		errs = append(errs, invalid("registry_mirror_invalid", "a registry is a mirror of another host").At("mirror_of"))
	}
	r.CreatedAt = ident.Instant(now)
	return r, fault.All(errs...)
}

func validCredentialsRef(ref string) bool {
	file, ok := strings.CutPrefix(ref, "file:")
	return ok && len(ref) <= maxCredentials && path.IsAbs(file) && path.Clean(file) == file && utf8.ValidString(ref) &&
		!strings.ContainsFunc(ref, unicode.IsControl)
}

// checkCA accepts certificates in PEM and nothing beside them.
func checkCA(r Registry) *fault.Error {
	refused := invalid("ca_invalid", "this is not one or more CA certificates in PEM, of at most %d bytes together", maxCA)
	rest := []byte(r.CA)
	switch {
	case len(rest) == 0:
		return nil
	case r.PlainHTTP:
		return invalid("ca_invalid", "a registry that is spoken to without TLS has no CA")
	case len(rest) > maxCA:
		return refused
	}
	for len(strings.TrimSpace(string(rest))) > 0 {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != "CERTIFICATE" {
			return refused
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return refused
		}
	}
	return nil
}

// checkHost accepts host[:port] as image references name it: a DNS name in lower case with a dot or a port, localhost, or
// an IP address, an IPv6 one in brackets.
func checkHost(text string) *fault.Error {
	if validHost(text) {
		return nil
	}
	return invalid("registry_host_invalid", "a registry is named by host[:port], as image references name it").
		Curable("write it like registry.example.com or 10.0.0.5:5000, without scheme and path")
}

func validHost(text string) bool {
	host, port := text, ""
	ported := false
	if i := strings.LastIndexByte(text, ':'); i > strings.LastIndexByte(text, ']') {
		host, port, ported = text[:i], text[i+1:], true
	}
	if len(text) > maxHost || ported && !validPort(port) {
		return false
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		address, closed := strings.CutSuffix(inner, "]")
		a, err := netip.ParseAddr(address)
		return closed && err == nil && a.Is6() && a.Zone() == "" && a.String() == address
	}
	return dnsName(host) && (ported || host == "localhost" || strings.ContainsRune(host, '.'))
}

func validPort(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n >= 1 && n <= 65535 && strconv.Itoa(n) == text
}

// dnsName accepts lower-case labels parted by dots (RFC 1123), 253 bytes at most.
func dnsName(text string) bool {
	if len(text) > 253 {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		if ident.Check("", label) != nil {
			return false
		}
	}
	return true
}

// RegistryOf returns the registry that is asked for what references name by a host: its mirror where there is one, else
// itself. Fault: Invalid registry_unknown.
func RegistryOf(registries []Registry, host string) (Registry, *fault.Error) {
	var found *Registry
	for i, r := range registries {
		if host != "" && (r.MirrorOf == host || r.Host == host && found == nil) {
			found = &registries[i]
		}
	}
	if found == nil {
		return Registry{}, invalid("registry_unknown", "%q is no registry that an operator registered", host).
			Curable("register it: POST /api/v1/registries")
	}
	return *found, nil
}
