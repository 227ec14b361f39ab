package delivery

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// The files of a package (K1). What is below PackageObjects is named by its SHA-256.
const (
	PackageManifestName   = "manifest.json"
	PackageSignature      = "manifest.jws"
	PackageDesiredState   = "desired-state.jws"
	PackageTrustAnchors   = "trust-anchors.json"
	PackageEnrolmentToken = "enrolment-token" //nolint:gosec // the name of a file
	PackageObjects        = "objects/"
)

// MaxPackage is the most that a package holds, in bytes.
const MaxPackage = 64 << 20

const (
	maxPackageFiles = 20_000
	maxPackageName  = 256
	maxManifest     = 8 << 20
)

// PackageFile is a file of a package, by its content.
type PackageFile struct {
	Name string
	Blob
}

// PackageManifest lists all that is in a package but for itself and its signature.
type PackageManifest struct {
	InstallID string
	Revision  int64
	MadeAt    time.Time // whole seconds
	Files     []PackageFile
}

type manifestForm struct {
	InstallID string     `json:"install_id"`
	Revision  int64      `json:"revision"`
	MadeAt    int64      `json:"made_at"`
	Files     []fileForm `json:"files"`
}

type fileForm struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// packageSealForm is what is signed of a manifest: which one it is, and of what.
type packageSealForm struct {
	Audience string   `json:"aud"`
	IssuedAt int64    `json:"iat"`
	Revision int64    `json:"revision"`
	Manifest blobForm `json:"manifest"`
}

// Encode returns the manifest, its files by name, and what is to be signed of it.
func (m PackageManifest) Encode() (list, seal []byte, err error) {
	form := manifestForm{InstallID: m.InstallID, Revision: m.Revision, MadeAt: m.MadeAt.Unix(), Files: []fileForm{}}
	for _, f := range m.Files {
		form.Files = append(form.Files, fileForm{f.Name, f.Size, f.SHA256})
	}
	slices.SortFunc(form.Files, func(a, b fileForm) int { return strings.Compare(a.Name, b.Name) })
	if list, err = encode(form); err != nil {
		return nil, nil, err
	}
	seal, err = encode(packageSealForm{m.InstallID, form.MadeAt, m.Revision, blobForm(BlobOf(list))})
	return list, seal, err
}

// ReadPackage checks that the files of a package are those that its manifest lists, and the manifest the one that was
// signed: seal is the payload of PackageSignature, whose signature the caller checked. Invalid package_invalid.
func ReadPackage(files map[string][]byte, seal []byte) (PackageManifest, error) {
	var signed packageSealForm
	if err := decode(seal, MaxPayload, &signed); err != nil {
		return PackageManifest{}, badPackage("its signature is of something else").Because(err)
	}
	list := files[PackageManifestName]
	if signed.Manifest != blobForm(BlobOf(list)) {
		return PackageManifest{}, badPackage("its manifest is not the one that was signed")
	}
	var form manifestForm
	if err := decode(list, maxManifest, &form); err != nil {
		return PackageManifest{}, badPackage("its manifest can not be read").Because(err)
	}
	if form.InstallID != signed.Audience || form.Revision != signed.Revision || form.MadeAt != signed.IssuedAt || form.Files == nil {
		return PackageManifest{}, badPackage("its manifest is of another package")
	}
	m := PackageManifest{InstallID: form.InstallID, Revision: form.Revision, MadeAt: time.Unix(form.MadeAt, 0).UTC()}
	for _, f := range form.Files {
		m.Files = append(m.Files, PackageFile{f.Name, Blob{f.SHA256, f.Size}})
	}
	return m, m.match(files)
}

func (m PackageManifest) match(files map[string][]byte) error {
	if len(m.Files) > maxPackageFiles || m.Revision < 1 || m.Revision > ident.MaxCounter {
		return badPackage("its manifest is out of bounds")
	}
	listed := map[string]bool{PackageManifestName: true, PackageSignature: true}
	for _, f := range m.Files {
		content, there := files[f.Name]
		switch {
		case listed[f.Name] || len(f.Name) > maxPackageName:
			return badPackage("its manifest lists a file that it can not")
		case !there:
			return badPackage("a file is missing: " + f.Name)
		case f.Blob != BlobOf(content):
			return badPackage("a file is another one than was signed: " + f.Name)
		}
		listed[f.Name] = true
	}
	for name := range files {
		if !listed[name] {
			return badPackage("there is a file that was not signed: " + name)
		}
	}
	return nil
}

func badPackage(detail string) *fault.Error {
	return fault.New(fault.Invalid, "package_invalid", "the package is refused: %s", detail)
}

// PayloadOfToken reads the payload of a compact JWS without checking who signed it: for what is one's own.
func PayloadOfToken(token string) (Payload, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return Payload{}, malformedState()
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return Payload{}, malformedState().Because(err)
	}
	return ParsePayload(raw)
}

// Holds checks that the desired state within is that of the package, and that every object which it names is there: what
// an agent needs to apply it without the control plane. Invalid package_invalid, desired_state_malformed.
func (m PackageManifest) Holds(files map[string][]byte, payload []byte) error {
	p, err := ParsePayload(payload)
	if err != nil {
		return err
	}
	if p.InstallID != m.InstallID || p.Revision != m.Revision {
		return badPackage("its desired state is of another deployment or revision")
	}
	if p.AppsAt != nil {
		list := files[PackageObjects+p.AppsAt.SHA256]
		if BlobOf(list) != *p.AppsAt {
			return badPackage("the list of apps is missing, or another one")
		}
		if p.Apps, err = ParseApps(list); err != nil {
			return err
		}
	}
	for _, app := range p.Apps {
		if !app.Removed && BlobOf(files[PackageObjects+app.Manifests.SHA256]) != app.Manifests {
			return badPackage("the objects of " + app.App + " are missing, or others")
		}
	}
	return nil
}
