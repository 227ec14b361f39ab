package identity

import (
	"strings"

	"berth/domain/fault"
	"berth/domain/ident"
)

const (
	spiffeScheme = "spiffe://"
	relayPath    = "/relay/"

	maxTrustDomain = 255 // SPIFFE-ID §2.3; with the other parts' bounds no id comes near the standard's 2048 bytes
)

// SPIFFEID is the identity of a relay node, spiffe://<trust-domain>/relay/<region>/<node> (I1). It is comparable; the
// zero value is no identity.
type SPIFFEID struct{ trustDomain, region, node string }

// RelayID makes the identity of a node. It is refused as Invalid: spiffe_id_malformed for a trust domain that the
// SPIFFE-ID standard does not allow, invalid_id for a region or node that is out of form.
func RelayID(trustDomain, region, node string) (SPIFFEID, error) {
	var domainFault *fault.Error
	if !validTrustDomain(trustDomain) {
		domainFault = malformedSPIFFEID("the trust domain is 1 to 255 of a-z, 0-9, '-', '.' and '_'").At("trust_domain")
	}
	if err := fault.All(domainFault, ident.Check("region", region), ident.Check("node", node)); err != nil {
		return SPIFFEID{}, err
	}
	return SPIFFEID{trustDomain: trustDomain, region: region, node: node}, nil
}

// ParseSPIFFEID reads an identity strictly: exactly the text that String writes, with no port, user information, query,
// fragment, escape, trailing slash or upper case. Anything else is Invalid spiffe_id_malformed.
func ParseSPIFFEID(text string) (SPIFFEID, error) {
	rest, ok := strings.CutPrefix(text, spiffeScheme)
	if !ok {
		return SPIFFEID{}, malformedSPIFFEID("a SPIFFE id starts with %s", spiffeScheme)
	}
	trustDomain, path, ok := strings.Cut(rest, relayPath)
	if !ok {
		return SPIFFEID{}, malformedSPIFFEID("a node's SPIFFE id reads spiffe://<trust-domain>/relay/<region>/<node>")
	}
	region, node, _ := strings.Cut(path, "/")
	id, err := RelayID(trustDomain, region, node)
	if err != nil {
		return SPIFFEID{}, malformedSPIFFEID("a part of the SPIFFE id is out of form").Because(err)
	}
	return id, nil
}

// TrustDomain returns the name of the trust domain.
func (s SPIFFEID) TrustDomain() string { return s.trustDomain }

// Region returns the region that the node belongs to.
func (s SPIFFEID) Region() string { return s.region }

// Node returns the node's id.
func (s SPIFFEID) Node() string { return s.node }

// IsZero tells whether this is no identity at all.
func (s SPIFFEID) IsZero() bool { return s == SPIFFEID{} }

// String returns the identity as a URI; empty for the zero value.
func (s SPIFFEID) String() string {
	if s.IsZero() {
		return ""
	}
	return spiffeScheme + s.trustDomain + relayPath + s.region + "/" + s.node
}

func malformedSPIFFEID(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, "spiffe_id_malformed", format, args...).At("spiffe_id")
}

func validTrustDomain(name string) bool {
	if len(name) == 0 || len(name) > maxTrustDomain {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !lowerAlphanumeric(c) && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return true
}
