package desired

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/pack"
	"berth/ports/tokens"
)

// archive puts a package together: what is in it, a manifest of it, and the manifest's signature.
func (d *Desired) archive(ctx context.Context, c contents, now time.Time) ([]byte, error) {
	files := []pack.File{
		{Name: "README.md", Content: []byte(readme(c))},
		{Name: delivery.PackageDesiredState, Content: []byte(c.head.Token)},
		{Name: delivery.PackageTrustAnchors, Content: anchorsFile(c.anchors)},
	}
	for _, name := range slices.Sorted(maps.Keys(c.objects)) {
		files = append(files, pack.File{Name: delivery.PackageObjects + name, Content: c.objects[name]})
	}
	if c.token != "" {
		files = append(files, pack.File{Name: delivery.PackageEnrolmentToken, Content: []byte(c.token + "\n")})
	}
	manifest := delivery.PackageManifest{InstallID: c.head.InstallID, Revision: c.head.Revision, MadeAt: now}
	for _, f := range files {
		manifest.Files = append(manifest.Files, delivery.PackageFile{Name: f.Name, Blob: delivery.BlobOf(f.Content)})
	}
	list, seal, err := manifest.Encode()
	if err != nil {
		return nil, err
	}
	signature, err := d.Crypto.Documents.SignDocument(ctx, c.key, tokens.PackageType, seal)
	if err != nil {
		return nil, err
	}
	files = append(files, pack.File{Name: delivery.PackageManifestName, Content: list},
		pack.File{Name: delivery.PackageSignature, Content: []byte(signature)})
	return d.Archiver.Write(files)
}

// anchorsFile is the form in which trust anchors are handed out, as at the enrolment.
func anchorsFile(anchors []TrustAnchor) []byte {
	type key struct {
		KID         string              `json:"kid"`
		Purpose     identity.KeyPurpose `json:"purpose"`
		PublicKey   []byte              `json:"public_key"`
		VerifyUntil time.Time           `json:"verify_until"`
	}
	form := struct {
		Keys []key `json:"keys"`
	}{[]key{}}
	for _, a := range anchors {
		form.Keys = append(form.Keys, key(a))
	}
	out, err := json.MarshalIndent(form, "", "  ")
	if err != nil { // texts, bytes and times only
		panic(fault.New(fault.Internal, "trust_anchors_unwritable", "the trust anchors can not be written").Because(err))
	}
	return append(out, '\n')
}

func readme(c contents) string {
	var b strings.Builder
	b.WriteString("# Delivery package\n\nOf the deployment " + c.head.InstallID + ", revision " + number(c.head.Revision) + ".\n\n")
	b.WriteString("Check it before you use it: `berthctl package verify FILE --trust trust-anchors.json`, with trust anchors\n")
	b.WriteString("that you have from elsewhere. `manifest.json` lists every file with its SHA-256; `manifest.jws` signs that list.\n\n")
	if c.token != "" {
		b.WriteString("`enrolment-token` lets one agent enrol, together with the license key, which is not in here.\n\n")
	}
	b.WriteString("Apps:\n\n")
	for _, app := range c.head.Apps {
		if !app.Removed {
			b.WriteString("- " + app.App + " " + app.Version + "\n")
		}
	}
	return b.String()
}
