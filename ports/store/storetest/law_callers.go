package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func callerLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("a caller is found by fingerprint, with its node's status", callerFound),
		promise("an unknown caller is NotFound among known ones", callerUnknown),
		promise("a caller sees what was committed before the call", callersFresh),
		promise("callers share nothing", callersApart),
	}
}

func callerFound(k *kit) {
	for status := placement.NodeJoining; status <= placement.NodeRetired; status++ {
		want := full[identity.CredentialRecord](k.maker)
		want.Fingerprint, want.Node = "fp-"+status.String(), status.String()
		k.mustDo(func(ctx context.Context, r *store.Roles) error {
			node := placement.RestoreNode(placement.NodeRecord{ID: want.Node, Status: status})
			return errors.Join(r.Nodes.Create(ctx, node), r.Credentials.Create(ctx, identity.RestoreCredential(want)))
		})
		got, at, err := k.store.Caller(k.ctx, want.Fingerprint)
		k.must(err)
		same(k, "the credential", got.Record(), want)
		if at != status {
			k.Fatalf("the node is %s, want %s", at, status)
		}
	}
}

func (k *kit) callers(n int) {
	k.Helper()
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for i := range n {
			if err := errors.Join(haveNode(ctx, r, nodeName(i)), r.Credentials.Create(ctx, credential("fp-"+nodeName(i), nodeName(i)))); err != nil {
				return err
			}
		}
		return nil
	})
}

func callerUnknown(k *kit) {
	const many = 32
	k.callers(many)
	errs := together(2*many, func(i int) error {
		c, _, err := k.store.Caller(k.ctx, "fp-"+nodeName(i))
		if err == nil && c.Record().Node != nodeName(i) {
			err = fmt.Errorf("%s was answered %s", nodeName(i), c.Record().Node)
		}
		return err
	})
	if got := k.count(errs, fault.NotFound, "credential_not_found"); got != many {
		k.Fatalf("%d callers were found, want %d", got, many)
	}
}

// While others ask all the time, each revokes its own and must see that at once.
func callersFresh(k *kit) {
	k.callers(crowd)
	k.inTurns(func(worker, round int) error {
		fingerprint, at := "fp-"+nodeName(worker), noon.Add(time.Duration(round)*time.Second)
		if err := k.do(func(ctx context.Context, r *store.Roles) error {
			c, err := r.Credentials.Get(ctx, fingerprint)
			if err != nil {
				return err
			}
			record := c.Record()
			record.State, record.RevokedAt = identity.CredentialRevoked, at
			return r.Credentials.Save(ctx, identity.RestoreCredential(record))
		}); err != nil {
			return err
		}
		c, _, err := k.store.Caller(k.ctx, fingerprint)
		if err == nil && !c.Record().RevokedAt.Equal(at.Truncate(time.Microsecond)) {
			err = fmt.Errorf("a caller after revocation %d saw %v", round, c.Record().RevokedAt)
		}
		return err
	})
}

func callersApart(k *kit) {
	k.callers(1)
	got := make([]*identity.Credential, crowd)
	k.mustAll(crowd, func(i int) (err error) {
		got[i], _, err = k.store.Caller(k.ctx, "fp-n000")
		return err
	})
	for i, c := range got {
		if c.State() != identity.CredentialCurrent {
			k.Fatalf("caller %d was given what another changed", i)
		}
		*c = *identity.RestoreCredential(identity.CredentialRecord{})
	}
	again, _, err := k.store.Caller(k.ctx, "fp-n000")
	k.must(err)
	same(k, "the credential", again.Record(), credential("fp-n000", "n000").Record())
}
