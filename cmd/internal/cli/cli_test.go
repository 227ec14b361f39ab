package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"berth/cmd/internal/cli"
	"berth/cmd/internal/settings"
	"berth/domain/fault"
)

// A person reads what went wrong and its cure, wherever in a chain the refusal stands; scripts see the program's code, but
// for what is a matter of usage.
func TestExit(t *testing.T) {
	t.Parallel()
	refused := fault.New(fault.Unavailable, "x", "it is so").Curable("do that").Because(errors.New("why"))
	for _, c := range []struct {
		err  error
		code int
		says string
	}{
		{nil, 0, ""},
		{errors.New("broken"), 7, "prog: broken\n"},
		{cli.Usage("no %s", "such flag"), 2, "prog: no such flag\n"},
		{fmt.Errorf("in: %w", cli.Usage("no")), 2, "prog: in: no\n"},
		{settings.Problems{{Key: "k", Detail: "is missing"}}, 2, "prog: one thing is wrong with the configuration:\n  k: is missing\n"},
		{fmt.Errorf("start: %w", refused), 7, "prog: start: it is so: why; do that\n"},
		{fault.New(fault.Unavailable, "y", "no").Because(fmt.Errorf("%w (late)", refused)), 7, "prog: no: it is so: why; do that (late)\n"},
	} {
		var out bytes.Buffer
		if code := cli.Exit(&out, "prog", c.err, func(error) int { return 7 }); code != c.code || out.String() != c.says {
			t.Errorf("%v: exit code %d, said %q", c.err, code, out.String())
		}
	}
}

type shown string

func (s shown) Show(w io.Writer) error { _, err := io.WriteString(w, string(s)); return err }

func execute(args ...string) (out string, err error) {
	var both bytes.Buffer
	root := cli.Root(&cobra.Command{Use: "prog"}, &both, &both)
	cli.VersionFlag(root, "v1")
	load := func(*cobra.Command) (shown, error) { return "a = b", nil }
	root.AddCommand(cli.Version(&both, "v1"), cli.Config(&both, func(f *pflag.FlagSet) { f.Bool("flag", false, "") }, load))
	root.SetArgs(args)
	err = root.Execute()
	return both.String(), err
}

// Commands print what they are for, and a wrong command line is told as one, by what is wrong and where to look.
func TestCommands(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"version": "prog v1 go", "--version": "prog v1 go", "config check --flag": "a = b", "config": "check", "": "version",
	} {
		if out, err := execute(strings.Fields(args)...); err != nil || !strings.Contains(out, want) {
			t.Errorf("%q: %q, %v", args, out, err)
		}
	}
	for args, want := range map[string]string{
		"--nonsense":       "unknown flag: --nonsense; prog --help lists the flags",
		"version now":      `prog version takes no argument "now"; prog version --help lists what there is`,
		"config check now": `prog config check takes no argument "now"; prog config check --help lists what there is`,
	} {
		out, err := execute(strings.Fields(args)...)
		if _, ok := errors.AsType[cli.UsageError](err); !ok || err.Error() != want || out != "" {
			t.Errorf("%q: %v, printed %q", args, err, out)
		}
	}
}

// A page is served until its context ends; one that is off is none.
func TestPage(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "page") })
	log := slog.New(slog.DiscardHandler)
	off, err := cli.OpenPage(t.Context(), cli.PageAt{Listen: settings.Off}, handler, log)
	if err != nil || off.URL != "" || off.Run(t.Context()) != nil {
		t.Fatalf("off: %+v, %v", off, err)
	}
	p, err := cli.OpenPage(t.Context(), cli.PageAt{Listen: "127.0.0.1:0"}, handler, log)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cli.OpenPage(t.Context(), cli.PageAt{Listen: strings.TrimPrefix(p.URL, "http://")}, handler, log); err == nil ||
		!strings.HasPrefix(err.Error(), "the metrics listener: ") {
		t.Errorf("a listener that is taken: %v", err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	got := make(chan string, 1)
	go func() {
		text := ""
		if a, err := client.Get(p.URL); err == nil {
			b, _ := io.ReadAll(a.Body)
			_ = a.Body.Close()
			text = string(b)
		}
		got <- text
	}()
	ran := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ran <- p.Run(ctx) }()
	if text := <-got; text != "page" {
		t.Errorf("the page is %q", text)
	}
	cancel()
	if err := <-ran; err != nil {
		t.Errorf("it ended with %v", err)
	}
}
