package identity

import "time"

// RenewAt is when a node asks for its next certificate (I5): at half of the certificate's life, or by up to a tenth of
// its life earlier, as the node's own share from 0 to 1 says, so that nodes enrolled together do not renew together.
func (c NodeCertificate) RenewAt(share float64) time.Time {
	life := c.NotAfter.Sub(c.NotBefore)
	return c.NotBefore.Add(life/2 - time.Duration(share*float64(life/10)))
}

// InForce says whether the certificate is valid at an instant.
func (c NodeCertificate) InForce(at time.Time) bool {
	return !at.Before(c.NotBefore) && at.Before(c.NotAfter)
}
