package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"berth/adapters/connectclient"
	"berth/cmd/internal/cli"
)

func newAttach(s streams, f *connectFlags) *cobra.Command {
	return timed(s.own(f, &cobra.Command{
		Use: "attach FILE", Short: "Upload a file as an attachment, and print its address, the SHA-256 of its content",
		Args: one("a file"),
	}, func(ctx context.Context, p *paired, args []string) error {
		content, err := os.Open(args[0])
		if err != nil {
			return cli.Usage("%w", err)
		}
		defer func() { _ = content.Close() }()
		files := connectclient.NewFiles(p.options)
		defer files.Close()
		digest, err := files.Attach(ctx, content)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(s.out, hex.EncodeToString(digest[:]))
		return err
	}))
}

func newFetch(s streams, f *connectFlags) *cobra.Command {
	var out string
	cmd := s.own(f, &cobra.Command{
		Use: "fetch ADDRESS", Short: "Download an attachment by its address, and check that it is that", Args: one("an attachment's address"),
	}, func(ctx context.Context, p *paired, args []string) error {
		raw, err := hex.DecodeString(args[0])
		if err != nil || len(raw) != sha256.Size {
			return cli.Usage("an attachment's address is 64 hexadecimal digits")
		}
		files := connectclient.NewFiles(p.options)
		defer files.Close()
		if out == "-" {
			_, err = files.Fetch(ctx, [sha256.Size]byte(raw), s.out)
			return err
		}
		return intoFile(out, func(to io.Writer) error {
			_, err := files.Fetch(ctx, [sha256.Size]byte(raw), to)
			return err
		})
	})
	cmd.Flags().StringVar(&out, "out", "-", "file to write, which is there whole or not at all; - for standard output")
	return timed(cmd)
}

// intoFile writes a file whole or not at all.
func intoFile(path string, write func(io.Writer) error) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".")
	if err != nil {
		return cli.Usage("%w", err)
	}
	err = write(temp)
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}
