package secretfile

import (
	"time"

	"berth/domain/identity"
)

// ExternalRoots reads the roots of other CAs, as they are judged at a time. Faults: those of ReadTrusted and of
// identity.ReadExternalRoots.
func ExternalRoots(path string, now time.Time) ([]identity.ExternalRoot, error) {
	text, err := ReadTrusted(path)
	if err != nil {
		return nil, err
	}
	return identity.ReadExternalRoots(text, now)
}
