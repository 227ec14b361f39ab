package trust

import (
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
)

const maxCertificate = 16 << 10 // bytes of PEM

// readCertificate reads one PEM certificate of a node and nothing else, and refuses one that is over or valid for longer
// than most.
func readCertificate(text []byte, most time.Duration, now time.Time) (identity.NodeCertificate, error) {
	if len(text) > maxCertificate {
		return identity.NodeCertificate{}, certificateFault("certificate_malformed", "it is longer than 16 KiB")
	}
	der, ok := identity.OnlyBlock("CERTIFICATE", text)
	if !ok {
		return identity.NodeCertificate{}, certificateFault("certificate_malformed", "it is not one PEM block of the type CERTIFICATE")
	}
	c, err := identity.ReadNodeCertificate(der)
	if fault.SlugOf(err) == "certificate_spiffe_id" {
		return identity.NodeCertificate{}, certificateFault("certificate_of_another_node", "the URI that it names is no node's").Because(err)
	}
	if err != nil {
		return identity.NodeCertificate{}, err
	}
	switch {
	case !now.Before(c.NotAfter):
		return identity.NodeCertificate{}, certificateFault("certificate_expired", "it ended on %s", c.NotAfter.Format(time.RFC3339))
	case c.NotAfter.Sub(c.NotBefore) > most:
		return identity.NodeCertificate{}, certificateFault("certificate_life_too_long", "it is valid for longer than %s", most)
	}
	return c, nil
}

func certificateFault(slug, format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, slug, "the certificate is refused: "+format, args...).At("certificate")
}
