package identity_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"berth/domain/fault"
	"berth/domain/identity"
)

// What String writes is what ParseSPIFFEID reads (I1).
func TestSPIFFEIDRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := drawSPIFFEID(t)
		got, err := identity.ParseSPIFFEID(id.String())
		if err != nil || got != id {
			t.Fatalf("%q was read as %v, %v", id.String(), got, err)
		}
	})
	id := relayID(t, "eu", "n1")
	if id.String() != "spiffe://berth.example/relay/eu/n1" || id.TrustDomain() != "berth.example" ||
		id.Region() != "eu" || id.Node() != "n1" || id.IsZero() {
		t.Errorf("the parts of %v are wrong", id)
	}
	if zero := (identity.SPIFFEID{}); !zero.IsZero() || zero.String() != "" {
		t.Error("the zero value names somebody")
	}
}

// Only the one spelling is read; everything near it is refused (I4).
func TestSPIFFEIDIsStrict(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "spiffe://", "spiffe://berth.example", "spiffe://berth.example/relay/eu", "spiffe://berth.example/relay//n1",
		"spiffe://berth.example/relay/eu/", "spiffe://berth.example/relay/eu/n1/", "spiffe://berth.example/relay/eu/n1/x",
		"spiffe://berth.example//relay/eu/n1", "spiffe://berth.example/Relay/eu/n1", "spiffe://berth.example/x/relay/eu/n1",
		"SPIFFE://berth.example/relay/eu/n1", "spiffe:/berth.example/relay/eu/n1", "https://berth.example/relay/eu/n1",
		"spiffe://Berth.example/relay/eu/n1", "spiffe://berth.example:443/relay/eu/n1", "spiffe://u@berth.example/relay/eu/n1",
		"spiffe://u:p@berth.example/relay/eu/n1", "spiffe:///relay/eu/n1", "spiffe://berth.example/relay/eu/n1?q",
		"spiffe://berth.example/relay/eu/n1#f", "spiffe://berth.example/relay/eu/n%31", "spiffe://berth%2eexample/relay/eu/n1",
		"spiffe://berth.example/relay/EU/n1", "spiffe://berth.example/relay/eu/n_1", "spiffe://berth.example/relay/./n1",
		"spiffe://berth.example/relay/../n1", "spiffe://berth.example/relay/eu/..", "spiffe://bérth.example/relay/eu/n1",
		" spiffe://berth.example/relay/eu/n1", "spiffe://berth.example/relay/eu/n1 ", "spiffe://berth.example/relay/eu/n1\x00",
		"spiffe://berth.example/relay/eu/n1\n", "spiffe://[::1]/relay/eu/n1", "spiffe://berth.example/relay/eu/-n1",
		"spiffe://" + strings.Repeat("a", 256) + "/relay/eu/n1", "spiffe://a/relay/eu/" + strings.Repeat("a", 64),
		"spiffe://a/relay/eu/" + strings.Repeat("a", 3000),
	} {
		id, err := identity.ParseSPIFFEID(text)
		if fault.SlugOf(err) != "spiffe_id_malformed" || fault.KindOf(err) != fault.Invalid || !id.IsZero() {
			t.Errorf("%q was read as %v, %v", text, id, err)
		}
	}
	must(t, errOf(identity.ParseSPIFFEID("spiffe://"+strings.Repeat("a", 255)+"/relay/eu/n1")))
}

func errOf[T any](_ T, err error) error { return err }

// Every part of an identity that is out of form is named at once.
func TestRelayIDNamesEveryProblem(t *testing.T) {
	t.Parallel()
	_, err := identity.RelayID("Berth", "EU", "")
	f, ok := fault.As(err)
	if !ok || len(f.Errors) != 3 || f.Errors[0].Field != "trust_domain" || f.Errors[2].Field != "node" {
		t.Fatalf("got %+v", f)
	}
}

// A fingerprint is the digest of the certificate in lower-case hex, and nothing else passes for one.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	good := identity.FingerprintOf(nil)
	if good != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" ||
		identity.CheckFingerprint("fingerprint", good) != nil {
		t.Fatalf("the fingerprint of nothing is %s", good)
	}
	for _, bad := range []string{"", good[1:], good + "0", strings.ToUpper(good), good[1:] + "g", good[1:] + "/", good[1:] + ":"} {
		if f := identity.CheckFingerprint("fp", bad); f == nil || f.Slug != "fingerprint_malformed" || f.Field != "fp" {
			t.Errorf("%q: %v", bad, f)
		}
	}
}

// A node may speak only under its own name, and nobody under none (I4).
func TestCheckPathNode(t *testing.T) {
	t.Parallel()
	caller := identity.Caller{Node: "n1", Region: "eu"}
	must(t, identity.CheckPathNode(caller, "n1"))
	for _, node := range []string{"n2", "", "N1", "n1 ", "n1/"} {
		wantFault(t, identity.CheckPathNode(caller, node), fault.Forbidden, "node_mismatch")
	}
	wantFault(t, identity.CheckPathNode(identity.Caller{}, ""), fault.Forbidden, "node_mismatch")
}
