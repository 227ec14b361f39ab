package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"berth/cmd/internal/cli"
)

func newIngress(s streams) *cobra.Command {
	parent := &cobra.Command{Use: "ingress", Short: "Look at the ingress", Args: cli.None, RunE: cli.Help}
	parent.AddCommand(newVerify(s))
	return parent
}

// verifyFlags are the command line of ingress verify.
type verifyFlags struct {
	url, apiCA                string
	ingress, ingressCA        string
	enroll, internal, metrics string
	region, node              string
	caCert, caKey             string
	report, only              string
	asJSON, yes, strict       bool
	timeout                   time.Duration
	perNode                   int
}

const verifyLong = `Try every way past the ingress that is known, against a deployment as it stands, and keep the report.

It makes relay nodes of its own, named verify-…, without capacity and cordoned, gets them certificates, and retires all of
them in the end, also where it is stopped. What can not be tried says why and counts as not proven.

BERTH_TOKEN is an operator's token, with the role operator. The exit code is 0 where all that was tried is as it must be,
1 where something is not, 2 for a wrong command line, and 3 where it could not be carried out.`

func newVerify(s streams) *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use: "verify", Short: "Prove that nobody gets past the ingress", Long: verifyLong, Args: cli.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
			defer cancel()
			return s.verify(ctx, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.url, "url", "", "API of the control plane, https://host:port; BERTH_URL when empty")
	flags.StringVar(&f.apiCA, "api-ca", "", "who signs the certificates of API, enrolment and metrics, PEM; the system's when empty")
	flags.StringVar(&f.ingress, "ingress", "", "where nodes reach the ingress, host:port")
	flags.StringVar(&f.ingressCA, "ingress-ca", "", "who signs the certificate of the ingress, PEM; as --api-ca when empty")
	flags.StringVar(&f.enroll, "enroll", "", "where nodes enrol, https://host:port")
	flags.StringVar(&f.internal, "internal", "", "the control plane's internal listener, unix:PATH or https://host:port, to try to get in")
	flags.StringVar(&f.metrics, "metrics", "", "the control plane's metrics, http://host:port or https://host:port")
	flags.StringVar(&f.region, "region", "", "region of the nodes that are made; may be left out where there is one")
	flags.StringVar(&f.node, "node", "", "a node of the deployment, at whose path is tried to get in")
	flags.StringVar(&f.caCert, "hostile-ca-cert", "", "of a staging deployment: a CA that its ingress believes, PEM, to sign hostile certificates")
	flags.StringVar(&f.caKey, "hostile-ca-key", "", "its key, PEM")
	flags.IntVar(&f.perNode, "max-connections-per-node", 0, "as the ingress is set; more are tried where it is given")
	flags.StringVar(&f.report, "report", "", "file to write the report to, JSON")
	flags.StringVar(&f.only, "only", "", "regular expression of probes to run")
	flags.BoolVar(&f.asJSON, "json", false, "print the report as JSON in place of the table")
	flags.BoolVar(&f.yes, "yes", false, "do not ask before nodes are made")
	flags.BoolVar(&f.strict, "strict", false, "exit with 1 as well where something is not proven")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Minute, "for all of it, but for cleaning up")
	return cmd
}
