package dev

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"berth/adapters/contract"
	"berth/cmd/internal/secretfile"
)

// told is dev.json. What there is none of yet is empty.
type told struct {
	API           string   `json:"api"`
	Internal      string   `json:"internal"`
	Enroll        string   `json:"enroll"`
	Connect       string   `json:"connect"`
	Metrics       string   `json:"metrics"`
	OperatorToken string   `json:"operator_token"`
	Tenant        string   `json:"tenant"`
	Region        string   `json:"region"`
	Nodes         []string `json:"nodes"`
	Customer      string   `json:"customer"`
	LicenseKey    string   `json:"license_key"`
	InstallID     string   `json:"install_id"`
}

// tell writes dev.json and curl's file, and prints what a person wants to know, and "ready" for scripts.
func (r *running) tell(s *seeds) error {
	t := told{
		API: r.url(), Internal: named(r.ingressAt), Enroll: named(r.enroll), Metrics: "https://" + r.metrics, OperatorToken: s.token,
		Customer: customer, LicenseKey: s.licenseKey, InstallID: s.install,
		Tenant: tenant, Region: region, Connect: "wss" + strings.TrimPrefix(s.origin, "https") + contract.ConnectPath,
	}
	for _, n := range r.nodes {
		t.Nodes = append(t.Nodes, n.id)
	}
	text, err := json.Marshal(t, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	if err := secretfile.Write(r.path("dev.json"), append(text, '\n')); err != nil {
		return err
	}
	if err := secretfile.Write(r.path("curl"), r.curlFile("an operator", "Authorization: Bearer "+s.token)); err != nil {
		return err
	}
	platform := r.curlFile("a customer's platform", "Berth-Install-Id: "+s.install, "Berth-License-Key: "+s.licenseKey)
	if err := secretfile.Write(r.path("platform"), platform); err != nil {
		return err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "Berth runs. Ctrl-C stops it; %s keeps its state.\n\n", shorter(r.dir))
	for _, note := range r.notes {
		fmt.Fprintf(&out, "  note: %s\n", note)
	}
	fmt.Fprintf(&out, "  API       %s/api/v1 (reference: %s/api/v1/docs)\n", r.url(), r.url())
	fmt.Fprintf(&out, "  ingress   %s\n", t.Internal)
	fmt.Fprintf(&out, "  enrolment %s\n", t.Enroll)
	fmt.Fprintf(&out, "  devices   %s\n", t.Connect)
	fmt.Fprintf(&out, "  market    %s/v1/market (reference: %s/v1/market/docs)\n", r.url(), r.url())
	fmt.Fprintf(&out, "  registry  http://%s\n", r.shelf.host())
	for _, n := range r.nodes {
		fmt.Fprintf(&out, "  node %s   https://%s/debug/tenants\n", n.id, n.metrics)
	}
	fmt.Fprintf(&out, "  metrics   %s/metrics\n", t.Metrics)
	fmt.Fprintf(&out, "  CA        %s\n", shorter(r.ca.File()))
	fmt.Fprintf(&out, "  token     %s\n\n", s.token)
	fmt.Fprintf(&out, "To look around, in another terminal here (%s holds the token, so that no command line does):\n\n",
		shorter(r.path("curl")))
	for _, line := range r.walk(s) {
		out.WriteString(strings.TrimRight("  "+line, " ") + "\n")
	}
	fmt.Fprintf(&out, "\nready\n")
	_, err = fmt.Fprint(r.options.Out, out.String())
	return err
}

// curlFile is what curl -K reads.
func (p *place) curlFile(who string, headers ...string) []byte {
	text := fmt.Appendf(nil, "# for curl -K: the CA of berthd dev, and what proves %s\nsilent\nshow-error\ncacert = %q\n", who, p.ca.File())
	for _, h := range append(headers, "Content-Type: application/json") {
		text = fmt.Appendf(text, "header = %q\n", h)
	}
	return append(text, "write-out = \"\\n\"\n"...)
}

// walk are lines for a shell, which move the tenant to the other node and revoke a phone.
func (r *running) walk(s *seeds) []string {
	other := r.nodes[0].id
	if s.holder == other {
		other = r.nodes[1].id
	}
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err) // documented never to happen with this reader
	}
	phone := base64.RawURLEncoding.EncodeToString(public)
	curl, platform := "curl -K "+shorter(r.path("curl")), "curl -K "+shorter(r.path("platform"))
	lines := []string{
		"B=" + r.url() + "  T=$B/api/v1/tenants/" + tenant,
		curl + " $B/api/v1/nodes                   # the two nodes",
		curl + " $T                                # the tenant: where it is, and its revision",
		"",
		"# move it to the other node, and watch each step",
		"M=$(" + curl + ` $T/migrations -d '{"target_node":"` + other + `"}' | sed -n 's/.*"id":"\(mig_[^"]*\)".*/\1/p')`,
		"for i in 1 2 3 4 5 6; do " + curl + ` "$T/migrations/$M?wait=30s" | grep -o '"state":"[a-z]*"'; done`,
		"",
		"# pair a phone, and revoke it: the revision grows",
		"C=$(" + curl + ` $T/pairing-codes -d '{"role":"owner"}' | sed -n 's/.*"code":"\([^"]*\)".*/\1/p')`,
		"P=$(" + curl + ` $B/v1/devices -d '{"pairing_code":"'$C'","name":"phone","kind":"phone","public_key":"` + phone +
			`"}' | sed -n 's/.*"principal":"\([^"]*\)".*/\1/p')`,
		curl + " $T/principals",
		curl + " -X POST $T/principals/$P/revoke",
		curl + " $T",
		"",
		"# be a customer's platform: see the apps on its license, and have one installed; the desired state goes on a revision",
		"D=$B/api/v1/deployments/" + s.install,
		platform + " $B/v1/market/apps",
		platform + ` $B/v1/market/apps/shop/intents -d '{"action":"install","version":"1.0.0"}'`,
		curl + ` "$D/desired-state"`,
		curl + ` "$D/desired-state/history"`,
		"",
		"# every change is in the audit log, whose chain is whole",
		curl + ` "$B/api/v1/audit?subject=tenant/` + tenant + `"`,
		curl + " $B/api/v1/audit/verify",
	}
	if berthctl := r.programs["berthctl"]; berthctl != "" {
		lines = append(lines, "", "# be a desktop or a phone: the README has the lines", shorter(berthctl)+" connect --help")
	}
	return lines
}
