package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"berth/adapters/ingress/proof"
	"berth/cmd/internal/cli"
)

func (s streams) verify(ctx context.Context, f verifyFlags) error {
	only, err := regexp.Compile(f.only)
	if err != nil {
		return cli.Usage("--only: %w", err)
	}
	if !slices.ContainsFunc(proof.Probes(), func(p proof.Probe) bool { return only.MatchString(p.ID) }) {
		return cli.Usage("--only: no probe's id matches %q", f.only)
	}
	t, err := s.open(f)
	if err != nil {
		return err
	}
	defer t.close()
	report := proof.Report{Version: version, StartedAt: time.Now().UTC().Truncate(time.Second), Targets: targets(&t.site)}
	cast, err := s.cast(ctx, t, f)
	if err != nil {
		return err
	}
	err = s.try(ctx, t, cast, only, &report)
	report.Nodes = cast.Nodes()
	report.LeftBehind = cast.Clean(ctx)
	report.EndedAt = time.Now().UTC().Truncate(time.Second)
	return errors.Join(err, s.tell(f, report))
}

// cast prepares the nodes to be made, once it was asked whether they may.
func (s streams) cast(ctx context.Context, t *target, f verifyFlags) (*proof.Cast, error) {
	region, err := t.region(ctx, f.region)
	if err != nil {
		return nil, carriedOut(err)
	}
	bundle, err := t.enrolment.TrustBundle(ctx)
	if err != nil {
		return nil, carriedOut(err)
	}
	t.site.TrustDomain = bundle.TrustDomain
	if !f.yes {
		if err := s.confirm(t, region); err != nil {
			return nil, err
		}
	}
	return proof.NewCast(t.operator, t.enrolment, region), nil
}

func carriedOut(err error) error {
	if _, ok := errors.AsType[cli.UsageError](err); ok || err == nil {
		return err
	}
	return undone{err}
}

func (s streams) confirm(t *target, region string) error {
	info, err := s.in.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return cli.Usage("it makes relay nodes, and there is no terminal to ask at; --yes says that it may")
	}
	fmt.Fprintf(s.err, "This makes relay nodes named verify-… in region %s of %s and tries to break in. Go on? [y/N] ", region, t.site.API.Address)
	line, _ := bufio.NewReader(s.in).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return undone{errors.New("it was not wanted")}
	}
	return nil
}

// try makes the nodes and runs the probes. What it found is in the report, also where it was stopped.
func (s streams) try(ctx context.Context, t *target, cast *proof.Cast, only *regexp.Regexp, report *proof.Report) error {
	if err := cast.Fill(ctx, &t.site); err != nil {
		report.Conclude(nil)
		return undone{fmt.Errorf("the nodes of the proof could not be made: %w", err)}
	}
	report.Conclude(proof.Run(ctx, &t.site, proof.Options{
		Only: func(p proof.Probe) bool { return only.MatchString(p.ID) }, Progress: s.progress(),
	}))
	if err := ctx.Err(); err != nil {
		return undone{errors.New("it was stopped, or its time was over, before all was tried")}
	}
	return nil
}

// targets are the addresses that were tried, for the report.
func targets(site *proof.Site) map[proof.Listener]string {
	out := make(map[proof.Listener]string)
	for l, e := range map[proof.Listener]*proof.Endpoint{
		proof.OnIngress: site.Ingress, proof.OnInternal: site.Internal, proof.OnAPI: site.API, proof.OnEnroll: site.Enroll, proof.OnMetrics: site.Metrics,
	} {
		if e != nil {
			out[l] = e.Network + ":" + e.Address
		}
	}
	return out
}

// tell prints and keeps the report, and says what it comes to.
func (s streams) tell(f verifyFlags, report proof.Report) error {
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return undone{err}
	}
	if f.report != "" {
		const private = 0o600
		if err := os.WriteFile(f.report, append(data, '\n'), private); err != nil {
			return undone{err}
		}
	}
	if f.asJSON {
		fmt.Fprintln(s.out, string(data))
	} else {
		s.table(report)
	}
	switch {
	case len(report.Probes) == 0:
		return nil // why is the error that stands beside it
	case report.Verdict == proof.Failed, len(report.LeftBehind) > 0, broken(report), f.strict && report.Verdict != proof.Proven:
		return errNotAsItMust
	}
	return nil
}

// broken says whether something that could have been tried was not: then what was tried is not all that is so.
func broken(report proof.Report) bool {
	for _, r := range report.Probes {
		if r.Verdict == proof.NotProven && !r.Unable {
			return true
		}
	}
	return false
}
