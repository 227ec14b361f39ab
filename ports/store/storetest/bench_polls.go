package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/ports/store"
)

// AgentName is that of an agent that the benches enroll.
func AgentName(i int) string { return fmt.Sprintf("agt_%06d", i) }

// InstallName is that of its deployment.
func InstallName(i int) string { return fmt.Sprintf("ins_%06d", i) }

// Enroll makes a deployment under one license, with a desired state at its first revision and an agent.
func Enroll(ctx context.Context, r *store.Roles, agent, install string) error {
	return errors.Join(r.Deployments.Create(ctx, deploymentOf(install, "license")),
		r.DesiredStates.Create(ctx, headOf(install, "license", entitlement.Usage{Apps: 1})), r.Agents.Create(ctx, agentOf(agent, install)))
}

// BenchPolls lets 256 agents of 10,000 poll, whose heads hold twenty apps each.
func BenchPolls(b *testing.B, open Opener) {
	b.Helper()
	const agents, each = 10_000, 500
	s := open(b)
	for from := 0; from < agents; from += each {
		if err := s.Atomically(b.Context(), func(ctx context.Context, r *store.Roles) error {
			for i := from; i < from+each; i++ {
				if err := enrollLoaded(ctx, r, i); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	among(b, callers, func(i int) error {
		_, err := s.Poll(b.Context(), AgentName(i*7919%agents))
		return err
	})
}

// BenchPollHistory lets one agent poll whose desired state has so many revisions behind it.
func BenchPollHistory(b *testing.B, open Opener, revisions int) {
	b.Helper()
	const each = 500
	s := open(b)
	if err := s.Atomically(b.Context(), func(ctx context.Context, r *store.Roles) error { return enrollLoaded(ctx, r, 0) }); err != nil {
		b.Fatal(err)
	}
	for from := 0; from < revisions; from += each {
		if err := s.Atomically(b.Context(), func(ctx context.Context, r *store.Roles) error {
			for i := from; i < from+each; i++ {
				v := delivery.Revision{InstallID: InstallName(0), Revision: int64(i + 1), At: noon, Reason: "load", Apps: loadedApps(2)}
				if err := r.Revisions.Append(ctx, v); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Poll(b.Context(), AgentName(0)); err != nil {
			b.Fatal(err)
		}
	}
}

func enrollLoaded(ctx context.Context, r *store.Roles, i int) error {
	head := delivery.RestoreDesired(delivery.DesiredRecord{
		InstallID: InstallName(i), License: "license", Revision: 7, Digest: strings.Repeat("d", 64), At: noon,
		Apps: loadedApps(20), Token: strings.Repeat("t", 8<<10),
	})
	return errors.Join(r.Deployments.Create(ctx, deploymentOf(InstallName(i), "license")), r.DesiredStates.Create(ctx, head),
		r.Agents.Create(ctx, agentOf(AgentName(i), InstallName(i))))
}

func loadedApps(n int) []delivery.DesiredApp {
	apps := make([]delivery.DesiredApp, 0, n)
	for i := range n {
		apps = append(apps, delivery.DesiredApp{
			App: fmt.Sprint("app-", i), Version: "1.2.3", Release: strings.Repeat("a", 64),
			Manifests: delivery.Blob{SHA256: strings.Repeat("b", 64), Size: 4096},
			Images:    []string{"registry.example/team/app@sha256:" + strings.Repeat("c", 64)}, RunUntil: noon,
		})
	}
	return apps
}
