package market_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"berth/application/market"
	"berth/domain/delivery"
	"berth/ports/store"
)

// vault releases an app with secret parameters, of which customers may set one.
func (w *world) vault() {
	w.t.Helper()
	w.do(func(ctx context.Context, r *store.Roles) error {
		w.must(r.Apps.Create(ctx, delivery.App{ID: "vault", Name: "Vault", CreatedAt: noon}))
		made, err := delivery.NewRelease(delivery.Release{
			App: "vault", Version: "1.0.0", Kind: delivery.SourceManifests, Source: delivery.Digest([]byte(`{}`)),
			Parameters: []delivery.Parameter{
				{Name: "password", Type: delivery.ParameterString, Secret: true, CustomerSettable: true},
				{Name: "root", Type: delivery.ParameterString, Secret: true},
				{Name: "size", Type: delivery.ParameterInt, CustomerSettable: true},
			},
		}, noon)
		w.must(err)
		w.must(r.Releases.Create(ctx, made))
		w.entitle(ctx, r, license, "vault")
		return nil
	})
}

func (w *world) vaulted(action delivery.Action, parameters map[string]string, sealed map[string][]byte) error {
	w.t.Helper()
	_, err := w.SubmitIntent(w.ctx, market.SubmitRequest{
		Caller: w.caller(install, license), Sealed: sealed,
		Asked: delivery.Asked{App: "vault", Action: action, Parameters: parameters},
	})
	return err
}

// A secret that a customer gives is kept as ciphertext only, with the intent that gives it; nothing else holds it.
func TestSecretOfAnIntentIsTakenIntoCustody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vault()
	w.must(w.vaulted(delivery.Install, map[string]string{"password": "correct-horse", "size": "3"}, nil))
	asked := w.shelf.asked[0]
	if len(asked.Choice.Parameters) != 1 || asked.Choice.Parameters["size"] != "3" || len(asked.Secrets) != 1 {
		t.Errorf("rendered %+v", asked)
	}
	w.view(func(ctx context.Context, r *store.Roles) error {
		values, err := r.SecretValues.OfInstall(ctx, install)
		w.must(err)
		if len(values) != 1 || values[0].Parameter != "password" || values[0].Custody != delivery.CustodyControl || bytes.Contains(values[0].Text, []byte("horse")) {
			t.Errorf("kept %+v", values)
		}
		rev, err := r.Revisions.Get(ctx, install, 1)
		w.must(err)
		log, err := r.Audit.About(ctx, "deployment/"+install, 0, 100)
		w.must(err)
		if noted := w.log("intent.accepted")[0].Detail; noted["secrets"] != "password" {
			t.Errorf("noted %v", noted)
		}
		for _, text := range []string{fmt.Sprint(rev), fmt.Sprint(log), fmt.Sprint(w.head(install))} {
			if bytes.Contains([]byte(text), []byte("horse")) {
				t.Errorf("it is told in %s", text)
			}
		}
		return nil
	})
}

// A customer sets no secret that is not declared so, in the clear or sealed; after an agent enrolled nothing in the
// clear; and an uninstall takes none.
func TestSecretsThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vault()
	sealed := func(name string) map[string][]byte { return map[string][]byte{name: []byte("sealed")} }
	w.against(w.vaulted(delivery.Install, map[string]string{"root": "x"}, nil), "parameter_not_settable")
	w.against(w.vaulted(delivery.Install, nil, sealed("password")), "agent_not_enrolled")
	w.against(w.vaulted(delivery.Install, nil, sealed("root")), "agent_not_enrolled", "parameter_not_settable")
	w.do(func(ctx context.Context, r *store.Roles) error {
		return r.Agents.Create(ctx, delivery.RestoreAgent(delivery.AgentRecord{
			ID: "agt_1", InstallID: install, PublicKey: make([]byte, 32), SealKey: "age1", EnrolledAt: noon, SeenAt: noon,
		}))
	})
	w.against(w.vaulted(delivery.Install, map[string]string{"password": "x"}, nil), "secret_must_be_sealed")
	w.against(w.vaulted(delivery.Install, nil, sealed("size")), "parameter_unknown")
	w.against(w.vaulted(delivery.Install, nil, sealed("root")), "parameter_not_settable")
	w.must(w.vaulted(delivery.Install, nil, sealed("password")))
	w.ended(w.log("intent.accepted")[0].Detail["intent"])
	w.against(w.vaulted(delivery.Uninstall, nil, sealed("password")), "parameter_not_settable")
	w.view(func(ctx context.Context, r *store.Roles) error {
		values, err := r.SecretValues.OfInstall(ctx, install)
		if len(values) != 1 || values[0].Custody != delivery.CustodyAgent || values[0].Recipient != "age1" {
			t.Errorf("kept %+v", values)
		}
		return err
	})
}
