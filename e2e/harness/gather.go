package harness

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"berth/e2e/lab"
)

// Secrets are all secrets that a site and its nodes have now: call it before and after they are rotated.
func (s *Site) Secrets(into *Secrets, nodes ...*Relay) {
	s.tb.Helper()
	into.AddText("the bootstrap token", Bootstrap)
	into.AddText("an operator's token", s.Replicas[0].Token)
	into.Add("an ingress secret", s.secret.Key)
	for what, name := range map[string]string{"the key of the server's certificate": "tls.key", "the database's password": "password"} {
		text, err := os.ReadFile(filepath.Join(s.dir, name))
		must(s.tb, err)
		if into.AddKeys(what, text) == 0 {
			into.AddText(what, string(text))
		}
	}
	into.AddKeys("the key of the ingress's certificate", []byte(s.ingress.pem.key))
	s.keysOf(into, "a key in the KMS", filepath.Join(s.dir, "keys"))
	for _, n := range nodes {
		into.AddText("a join token", n.JoinToken())
		s.keysOf(into, "a node's key", n.Path("data/identity"))
	}
}

// keysOf collects the private keys in the files of a directory, of which there is one at least.
func (s *Site) keysOf(into *Secrets, what, dir string) {
	s.tb.Helper()
	found := 0
	must(s.tb, filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		found += into.AddKeys(what, text)
		return err
	}))
	if found == 0 {
		s.tb.Fatalf("there is no private key in %s", dir)
	}
}

// Dump is everything that is in the database, table by table, as text; bytes are in hex.
func (s *Site) Dump() string { s.tb.Helper(); return dump(s.Database) }

func dump(database *lab.PostgresServer) string {
	var out strings.Builder
	tables := database.SQL("SELECT quote_ident(schemaname)||'.'||quote_ident(tablename) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog','information_schema')")
	for table := range strings.FieldsSeq(tables) {
		out.WriteString(table + "\n" + database.SQL("COPY (SELECT * FROM "+table+") TO STDOUT") + "\n")
	}
	return out.String()
}

// PageText is what a page shows, in the form asked for.
func PageText(base *http.Client, url, accept string) (string, error) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", accept)
	a := send(base, req)
	return string(a.Body), a.Err
}

// Enrols sends a body to the enrolment listener as it is.
func (s *Site) Enrols(body string) Answer {
	s.tb.Helper()
	req, err := http.NewRequest(http.MethodPost, s.Enroll.URL()+"/enroll/v1/nodes", strings.NewReader(body))
	must(s.tb, err)
	req.Header.Set("Content-Type", "application/json")
	a := send(&http.Client{Transport: &http.Transport{TLSClientConfig: s.server.trusting("127.0.0.1"), DisableKeepAlives: true}}, req)
	must(s.tb, a.Err)
	return a
}

// Text is what a page of the node shows, in the form asked for.
func (r *Relay) Text(path, accept string) string {
	r.tb.Helper()
	text, err := PageText(r.client, r.Metrics+path, accept)
	must(r.tb, err)
	return text
}
