package httpapi

import (
	"encoding/pem"
	"strings"

	"berth/adapters/contract"
	"berth/application/trust"
	"berth/domain/identity"
)

// Enrolled is a node's new certificate as the contract shows it.
func Enrolled(e trust.Enrolled) contract.Enrolled {
	return contract.Enrolled{
		Node: e.Node, SPIFFEID: e.SPIFFEID, Fingerprint: e.Fingerprint, Certificate: certificates(e.Certificate),
		Chain: certificates(e.Chain...), TrustBundle: TrustBundle(e.Bundle).PEM, ExpiresAt: e.ExpiresAt, RenewAfter: e.RenewAfter,
		ServerTime: e.ServerTime,
	}
}

// external is the state of a root of another CA, which does not follow the windows of Berth's own.
const external = "external"

// TrustBundle is the roots as the contract shows them.
func TrustBundle(b trust.Bundle) contract.TrustBundle {
	out := contract.TrustBundle{TrustDomain: b.TrustDomain, Roots: []contract.TrustBundleRoot{}}
	for _, r := range b.Roots {
		out.PEM += certificates(r.Certificate)
		out.Roots = append(out.Roots, contract.TrustBundleRoot{
			KID: r.KID, State: string(r.State), Fingerprint: identity.FingerprintOf(r.Certificate), ExpiresAt: r.VerifyUntil,
		})
	}
	for _, r := range b.External {
		out.PEM += certificates(r.Certificate)
		out.Roots = append(out.Roots, contract.TrustBundleRoot{
			KID: r.KID(), State: external, Fingerprint: r.Fingerprint, ExpiresAt: r.NotAfter,
		})
	}
	return out
}

func certificates(all ...[]byte) string {
	var text strings.Builder
	for _, der := range all {
		_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: der}) // a builder takes everything
	}
	return text.String()
}
