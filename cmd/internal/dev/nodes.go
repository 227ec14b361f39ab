package dev

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/cmd/internal/devnode"
	"berth/domain/identity"
)

// nodes are the nodes that are played.
type nodes struct {
	all     []*devnode.Node
	clients []*apiclient.Client
	group   errgroup.Group
}

// play starts the nodes.
func (r *running) play(ctx context.Context, s *seeds) (*nodes, error) {
	vault, err := devnode.OpenVault(r.path("vault"))
	if err != nil {
		return nil, err
	}
	out := &nodes{}
	for _, id := range nodeIDs() {
		client, err := apiclient.New(apiclient.Options{Base: "unix:" + r.socket, Proof: r.assert(s, id)})
		if err != nil {
			return nil, err
		}
		out.clients = append(out.clients, client)
		g := r.process.Ground
		n, err := devnode.Open(devnode.Options{
			ID: id, Version: "berthd-dev", API: apiclient.NewNode(client, id), Clock: g.Clock, IDs: g.IDs, Log: r.log,
			Dir: filepath.Join(r.path("nodes"), id), Vault: vault, Pace: r.options.Pace,
		})
		if err != nil {
			return nil, err
		}
		out.all = append(out.all, n)
	}
	for _, n := range out.all {
		out.group.Go(func() error { return n.Run(ctx) })
	}
	return out, nil
}

// wait returns when every node has ended.
func (n *nodes) wait() error {
	err := n.group.Wait()
	for _, c := range n.clients {
		c.Close()
	}
	return err
}

const assertionLife = 10 * time.Second

// assert stands for the ingress: it says of each request that the node's certificate was shown.
func (r *running) assert(s *seeds, id string) apiclient.Assert {
	fingerprint := identity.FingerprintOf(s.certs[id].Certificate[0])
	return func(a identity.Arrived) (string, error) {
		name, err := identity.RelayID(trustDomain, region, id)
		if err != nil {
			return "", err
		}
		now := r.process.Ground.Clock.Now()
		return identity.Seal(r.process.Secrets.Current().Sealing(), identity.Payload{
			SPIFFEID: name, Fingerprint: fingerprint, Method: a.Method, Target: a.Target, Host: a.Host, BodySHA256: a.BodySHA256,
			IssuedAt: now, ExpiresAt: now.Add(assertionLife), Nonce: r.process.Ground.IDs.Secret(16),
		})
	}
}

// settle waits until the nodes serve and the tenant is on one of them.
func (r *running) settle(ctx context.Context, s *seeds, n *nodes) error {
	for _, one := range n.all {
		select {
		case <-one.Up():
		case <-ctx.Done():
			return errors.New("the nodes did not come up in time")
		}
	}
	t, err := s.api.CreateTenant(ctx, contract.NewTenant{ID: tenant, HomeRegion: region})
	if err := unlessThere(err, "tenant_exists"); err != nil {
		return err
	}
	const look = 50 * time.Millisecond
	for err != nil || t.Placement == nil {
		timer := r.process.Ground.Clock.NewTimer(look)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return errors.New("the tenant was not placed in time")
		}
		if t, err = s.api.Tenant(ctx, tenant); err != nil {
			return err
		}
	}
	s.holder = t.Placement.Node
	return nil
}
