package connect_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"berth/adapters/connect"
	"berth/adapters/contract"
	"berth/application/relay"
)

var update = flag.Bool("update", false, "write what docs/connect.md renders from the code, instead of comparing it")

const page = "../../docs/connect.md"

func diagram() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n  [*] --> opening\n")
	for _, e := range connect.Diagram() {
		fmt.Fprintf(&b, "  %s --> %s: %s\n", e.From, e.To, e.Event)
	}
	return b.String() + "  closed --> [*]\n"
}

// docs/connect.md has every operation, reason, close code, limit and slug that the code has, and draws the diagram that the
// code walks.
func TestDocumented(t *testing.T) { //nolint:paralleltest // it may write the page
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	head, rest, _ := strings.Cut(doc, "```mermaid\n")
	drawn, tail, _ := strings.Cut(rest, "```\n")
	if *update {
		if err := os.WriteFile(page, []byte(head+"```mermaid\n"+diagram()+"```\n"+tail), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if drawn != diagram() {
		t.Error("the diagram is not what the code has: run go test ./adapters/connect -run Documented -update")
	}
	for op := range connect.Members() {
		if !strings.Contains(doc, "\n| `"+op+"`") {
			t.Errorf("the operation %s is missing", op)
		}
	}
	for _, op := range []string{
		contract.OpAck, contract.OpSubscribed, contract.OpUnsubscribed, contract.OpRevoked, contract.OpRenewed,
		contract.OpMessage, contract.OpError, contract.OpGoaway,
	} {
		if !strings.Contains(doc, "| `"+op+"`") {
			t.Errorf("the operation %s is missing", op)
		}
	}
	for reason, code := range connect.Codes() {
		if !strings.Contains(doc, fmt.Sprintf("| `%s` | %d |", reason, code)) {
			t.Errorf("%s does not close with %d", reason, code)
		}
	}
	limits := reflect.ValueOf(connect.DefaultLimits())
	for i := range limits.NumField() {
		line := fmt.Sprintf("| `%s` | %v |", limits.Type().Field(i).Name, limits.Field(i).Interface())
		if !strings.Contains(doc, line) {
			t.Errorf("the limit %q is missing", line)
		}
	}
	for slug := range slugs(t) {
		if !strings.Contains(doc, "`"+slug+"`") {
			t.Errorf("the slug %s is missing", slug)
		}
	}
}

// slugs are those that the package's own code names.
func slugs(t *testing.T) map[string]bool {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	named := regexp.MustCompile(`(?:fault\.New\(fault\.\w+, |bad\(http\.\w+, |invalid\()"([a-z_]+)"`)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		code, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(code), -1) {
			found[m[1]] = true
		}
	}
	if len(found) < 30 {
		t.Fatalf("only %d slugs were found", len(found))
	}
	return found
}

// The reasons of the node and those of the wire are the same.
func TestReasonsAreTheContracts(t *testing.T) {
	t.Parallel()
	for reason, want := range map[relay.Reason]string{
		relay.Moved: contract.GoawayMoved, relay.Revoked: contract.GoawayRevoked, relay.Draining: contract.GoawayDraining,
		relay.Shutdown: contract.GoawayShutdown, relay.Expired: contract.GoawayExpired, relay.Suspended: contract.GoawaySuspended,
		relay.Unavailable: contract.GoawayUnavailable, relay.Overload: contract.GoawayOverload,
	} {
		if string(reason) != want {
			t.Errorf("%s is %s", reason, want)
		}
	}
}
