package tokens_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"testing"

	"berth/ports/tokens"
)

// The thumbprint is that of RFC 8037, appendix A.3.
func TestThumbprint(t *testing.T) {
	t.Parallel()
	key, err := base64.RawURLEncoding.DecodeString("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
	if err != nil {
		t.Fatal(err)
	}
	if got := tokens.Thumbprint(ed25519.PublicKey(key)); got != "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k" {
		t.Fatalf("the thumbprint is %s", got)
	}
}
