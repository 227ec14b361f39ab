package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/adapters/pack/tarpack"
	"berth/adapters/token"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/pack"
	"berth/ports/signer"
	"berth/ports/signer/signertest"
	"berth/ports/tokens"
)

// packed is a package with one app, and the anchors that it is checked by.
func packed(t *testing.T, bend func(files []pack.File) []pack.File) (string, contract.TrustAnchors) {
	t.Helper()
	kms := signertest.NewMemory(1)
	signs := token.NewDocumentSigner(kms)
	now := time.Now().UTC().Truncate(time.Second)
	var anchors contract.TrustAnchors
	sign := func(purpose signer.Purpose, typ string, payload []byte) []byte {
		ref, public, err := kms.Create(t.Context(), purpose)
		must(t, err)
		kid := "key-" + string(purpose)
		anchors.Keys = append(anchors.Keys, contract.TrustAnchor{KID: kid, Purpose: string(purpose), PublicKey: public, VerifyUntil: now.Add(time.Hour)})
		text, err := signs.SignDocument(t.Context(), tokens.SigningKey{KID: kid, Ref: ref}, typ, payload)
		must(t, err)
		return []byte(text)
	}
	content := []byte(`{"objects":[]}`)
	payload, _, err := delivery.Payload{InstallID: "ins_1", IssuedAt: now, Revision: 3, Apps: []delivery.DesiredApp{{
		App: "db", Version: "1.0.0", Release: delivery.Digest([]byte("r")), Manifests: delivery.BlobOf(content),
	}}}.Encode()
	must(t, err)
	files := []pack.File{
		{Name: delivery.PackageDesiredState, Content: sign(signer.DesiredState, tokens.DesiredStateType, payload)},
		{Name: delivery.PackageObjects + delivery.Digest(content), Content: content},
	}
	m := delivery.PackageManifest{InstallID: "ins_1", Revision: 3, MadeAt: now}
	for _, f := range files {
		m.Files = append(m.Files, delivery.PackageFile{Name: f.Name, Blob: delivery.BlobOf(f.Content)})
	}
	list, seal, err := m.Encode()
	must(t, err)
	files = append(files, pack.File{Name: delivery.PackageManifestName, Content: list},
		pack.File{Name: delivery.PackageSignature, Content: sign(signer.Package, tokens.PackageType, seal)})
	archive, err := tarpack.Archiver{}.Write(bend(files))
	must(t, err)
	path := filepath.Join(t.TempDir(), "package.tar.gz")
	must(t, os.WriteFile(path, archive, 0o600))
	return path, anchors
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A package as it was made is accepted; one of which any file was changed, or that was signed by other keys, is not.
func TestPackageVerify(t *testing.T) {
	t.Parallel()
	as := func(files []pack.File) []pack.File { return files }
	path, anchors := packed(t, as)
	trust := filepath.Join(t.TempDir(), "trust.json")
	text, err := json.Marshal(anchors)
	must(t, err)
	must(t, os.WriteFile(trust, text, 0o600))
	var out strings.Builder
	s := streams{out: &out, err: &out}
	must(t, s.verifyPackage(t.Context(), path, trust))
	if !strings.Contains(out.String(), "ins_1: revision 3, 2 files") {
		t.Fatal(out.String())
	}
	for name, bend := range map[string]func([]pack.File) []pack.File{
		"changed": func(files []pack.File) []pack.File { files[1].Content = []byte(`{"objects":[1]}`); return files },
		"missing": func(files []pack.File) []pack.File { return append(files[:1], files[2:]...) },
		"more":    func(files []pack.File) []pack.File { return append(files, pack.File{Name: "x", Content: []byte("x")}) },
	} {
		path, anchors := packed(t, bend)
		archive, err := os.ReadFile(path)
		must(t, err)
		if _, err := checkPackage(archive, anchors, time.Now()); fault.SlugOf(err) != "package_invalid" {
			t.Errorf("%s: %v", name, err)
		}
	}
	path, anchors = packed(t, as)
	archive, err := os.ReadFile(path)
	must(t, err)
	anchors.Keys[0].Purpose, anchors.Keys[1].Purpose = anchors.Keys[1].Purpose, anchors.Keys[0].Purpose
	if _, err := checkPackage(archive, anchors, time.Now()); fault.SlugOf(err) != "document_key_unknown" {
		t.Errorf("by keys of another purpose: %v", err)
	}
}

// A file that is far larger than any package, or than any trust file, is refused before it is all read.
func TestPackageVerifyReadsNoMoreThanThereCanBe(t *testing.T) {
	t.Parallel()
	path, _ := packed(t, func(files []pack.File) []pack.File { return files })
	huge := filepath.Join(t.TempDir(), "huge")
	must(t, os.WriteFile(huge, nil, 0o600))
	must(t, os.Truncate(huge, 1<<42)) // a hole, which takes no room
	if _, err := readAnchors(huge); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("as trust anchors: %v", err)
	}
	if _, err := readAtMost(huge, 1<<20); err == nil {
		t.Error("it is read")
	}
	archive, err := readAtMost(path, maxPackage)
	must(t, err)
	if whole, err := os.ReadFile(path); err != nil || len(archive) != len(whole) {
		t.Errorf("%d bytes of a package with %d are read (%v)", len(archive), len(whole), err)
	}
}
