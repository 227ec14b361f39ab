package pgstore_test

import (
	"context"
	"strings"
	"testing"

	"berth/adapters/store/pgstore"
	"berth/domain/identity"
	"berth/ports/store"
)

// What a program of version 1 wrote is read after the upgrade to version 2, by which keys and secrets got a column each;
// and that program's statements work on beside it, and leave the columns as they are.
func TestUpgradeFromVersion1(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("ab", 32)
	ofVersion1 := []string{
		"INSERT INTO relay_signing_keys (kid, purpose, public_key, private_key_ref, state) VALUES ('k1', 'device-token', '\\xabababababababababababababababababababababababababababababababab', 'file:k1', 'active')",
		"INSERT INTO one_time_secrets (hash, id, purpose, subject, grants, used_at) VALUES ('" + hash + "', 's1', 'pairing_code', 'acme', 'owner', 1)",
	}
	dsn := database(t)
	earlier := bare(t, dsn, pgstore.Options{})
	pgstore.EarlierSteps(earlier, 1)
	if err := upgrade(t.Context(), earlier); err != nil {
		t.Fatal(err)
	}
	change(t, dsn, ofVersion1...)
	s := open(t, dsn)
	records := func() (key identity.SigningKeyRecord, secret identity.OneTimeSecretRecord) {
		t.Helper()
		if err := s.View(t.Context(), func(ctx context.Context, r *store.Roles) error {
			k, err := r.Keys.Get(ctx, "k1")
			if err != nil {
				return err
			}
			one, err := r.Secrets.Get(ctx, hash)
			if err != nil {
				return err
			}
			key, secret = k.Record(), one.Record()
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return key, secret
	}
	key, secret := records()
	if key.Ref != "file:k1" || len(key.Certificate) > 0 || secret.UsedAt.IsZero() || secret.UsedBy != [32]byte{} {
		t.Fatalf("version 1's are read as %+v and %+v", key, secret)
	}
	key.Certificate, secret.UsedBy = []byte("root"), [32]byte{7}
	if err := s.Atomically(t.Context(), func(ctx context.Context, r *store.Roles) error {
		if err := r.Keys.Save(ctx, identity.RestoreSigningKey(key)); err != nil {
			return err
		}
		return r.Secrets.Save(ctx, identity.RestoreOneTimeSecret(secret))
	}); err != nil {
		t.Fatal(err)
	}
	if err := earlier.Ping(t.Context()); err != nil {
		t.Fatal("the earlier program:", err)
	}
	change(t, dsn,
		"UPDATE relay_signing_keys SET purpose = 'ca', public_key = '\\xabababababababababababababababababababababababababababababababab', private_key_ref = 'file:k1', state = 'retiring' WHERE kid = 'k1'",
		"INSERT INTO relay_signing_keys (kid, purpose, public_key, private_key_ref, state) VALUES ('k2', 'device-token', '\\xabababababababababababababababababababababababababababababababab', 'file:k2', 'active')",
	)
	if key, secret := records(); key.State != identity.KeyRetiring || string(key.Certificate) != "root" || secret.UsedBy != [32]byte{7} {
		t.Errorf("after the earlier program wrote they are %+v and %+v", key, secret)
	}
}
