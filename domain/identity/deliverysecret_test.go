package identity_test

import (
	"bytes"
	"testing"

	"berth/domain/fault"
	"berth/domain/identity"
)

// What is written is read, and by its own purpose only.
func TestSecretsOfTheDeliveryHalf(t *testing.T) {
	t.Parallel()
	purposes := map[identity.SecretPurpose]identity.SecretPurpose{
		identity.EnrolmentToken: identity.PackageLink, identity.PackageLink: identity.EnrolmentToken,
	}
	for purpose, other := range purposes {
		text, err := identity.FormatSecret(purpose, bytes.Repeat([]byte{7}, identity.DeliverySecretBytes))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := identity.CanonicalSecret(purpose, text); err != nil || got != text {
			t.Fatalf("%s: %q %v", purpose, got, err)
		}
		for _, bad := range []string{"", text[3:], text + "a", text[:len(text)-1], text[:len(text)-1] + "1", " " + text, text[:3] + text} {
			if _, err := identity.CanonicalSecret(purpose, bad); fault.SlugOf(err) != string(purpose)+"_malformed" {
				t.Errorf("%s: %q: %v", purpose, bad, err)
			}
		}
		if _, err := identity.CanonicalSecret(other, text); err == nil {
			t.Errorf("%s is read as %s", purpose, other)
		}
		if _, err := identity.FormatSecret(purpose, []byte{1}); err == nil {
			t.Errorf("%s of one byte", purpose)
		}
	}
	if _, err := identity.FormatSecret(identity.JoinToken, make([]byte, identity.DeliverySecretBytes)); fault.SlugOf(err) != "secret_purpose_unknown" {
		t.Error(err)
	}
	if _, err := identity.CanonicalSecret(identity.JoinToken, "abcdefghijklmnopqrstuvwxyz234567"); err == nil {
		t.Error("a secret of another sort is read")
	}
}
