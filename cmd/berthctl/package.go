package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"berth/adapters/contract"
	"berth/adapters/pack/tarpack"
	"berth/adapters/token"
	"berth/cmd/internal/cli"
	"berth/domain/delivery"
	"berth/domain/identity"
	"berth/ports/pack"
	"berth/ports/tokens"
)

func newPackage(s streams) *cobra.Command {
	c := &cobra.Command{Use: "package", Short: "Look into delivery packages"}
	var trust string
	verify := &cobra.Command{
		Use:   "verify FILE --trust FILE",
		Short: "Check every file of a package, and that it was signed",
		Long: "Check that a delivery package holds exactly the files that its manifest lists, by their SHA-256, that the manifest was\n" +
			"signed by a key of the trust file, and that its desired state was, too. The trust file is one that you have from\n" +
			"elsewhere: an agent is given it at its enrolment. That of the package itself proves nothing.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.verifyPackage(cmd.Context(), args[0], trust)
		},
	}
	verify.Flags().StringVar(&trust, "trust", "", "the trust anchors, as JSON")
	c.AddCommand(verify)
	return c
}

const (
	maxPackage = pack.MaxTotal + 16<<20 // bytes of a package that no compression made smaller
	maxAnchors = 1 << 20
)

func (s streams) verifyPackage(_ context.Context, path, trustPath string) error {
	if trustPath == "" {
		return cli.Usage("--trust names the file with the trust anchors")
	}
	anchors, err := readAnchors(trustPath)
	if err != nil {
		return undone{err}
	}
	archive, err := readAtMost(path, maxPackage)
	if err != nil {
		return undone{err}
	}
	m, err := checkPackage(archive, anchors, time.Now())
	if err != nil {
		fmt.Fprintln(s.err, err)
		return errNotAsItMust
	}
	fmt.Fprintf(s.out, "%s: revision %d, %d files, made at %s: as it was signed\n", m.InstallID, m.Revision, len(m.Files), m.MadeAt.Format(time.RFC3339))
	return nil
}

func readAnchors(path string) (contract.TrustAnchors, error) {
	var anchors contract.TrustAnchors
	data, err := readAtMost(path, maxAnchors)
	if err != nil {
		return anchors, err
	}
	if err := json.Unmarshal(data, &anchors); err != nil {
		return anchors, fmt.Errorf("%s holds no trust anchors: %w", path, err)
	}
	return anchors, nil
}

// readAtMost reads a file that somebody else may have made, and no more of it than there can be.
func readAtMost(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return data, err
}

// checkPackage checks a package by trust anchors from elsewhere.
func checkPackage(archive []byte, anchors contract.TrustAnchors, now time.Time) (delivery.PackageManifest, error) {
	unpacked, err := tarpack.Archiver{}.Read(archive)
	if err != nil {
		return delivery.PackageManifest{}, err
	}
	files := map[string][]byte{}
	for _, f := range unpacked {
		files[f.Name] = f.Content
	}
	seal, _, err := token.DocumentVerifier{}.VerifyDocument(string(files[delivery.PackageSignature]), tokens.PackageType,
		keysOf(anchors, identity.KeyForPackages), now)
	if err != nil {
		return delivery.PackageManifest{}, err
	}
	m, err := delivery.ReadPackage(files, seal)
	if err != nil {
		return m, err
	}
	payload, _, err := token.DocumentVerifier{}.VerifyDocument(string(files[delivery.PackageDesiredState]), tokens.DesiredStateType,
		keysOf(anchors, identity.KeyForDesiredState), now)
	if err != nil {
		return m, err
	}
	return m, m.Holds(files, payload)
}

func keysOf(anchors contract.TrustAnchors, purpose identity.KeyPurpose) tokens.KeySet {
	keys := tokens.KeySet{}
	for _, a := range anchors.Keys {
		if a.Purpose == string(purpose) {
			keys[a.KID] = tokens.VerificationKey{PublicKey: a.PublicKey, VerifyUntil: a.VerifyUntil}
		}
	}
	return keys
}
