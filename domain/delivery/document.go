package delivery

import (
	"bytes"
	"encoding/json"
	"time"
	"unicode/utf8"

	"berth/domain/fault"
	"berth/domain/ident"
)

const (
	// MaxPayload is the longest payload that is signed, in bytes: with the longest header and in base64url it is within
	// what every signing service takes whole. A longer list of apps is an object, named by its digest.
	MaxPayload = 2880
	// MaxAppList is the longest list of apps, in bytes.
	MaxAppList = 8 << 20

	maxSeals = 64
)

// Payload is what is signed of a desired state, and what an agent reads (D1).
type Payload struct {
	InstallID string
	IssuedAt  time.Time // whole seconds
	Revision  int64
	Previous  string       // digest of the payload of the revision before; empty where this history has none
	Apps      []DesiredApp // only what is told to agents of each; nil where AppsAt names them
	AppsAt    *Blob        // the object that holds the list of apps, where it is too long to be signed whole
}

// PayloadOf is what is to be signed for a head.
func PayloadOf(d DesiredRecord, previous string) Payload {
	return Payload{
		InstallID: d.InstallID, IssuedAt: d.At.UTC().Truncate(time.Second), Revision: d.Revision, Previous: previous, Apps: d.Apps,
	}
}

type payloadForm struct {
	Audience string     `json:"aud"`
	IssuedAt int64      `json:"iat"`
	Revision int64      `json:"revision"`
	Previous string     `json:"previous"`
	Apps     *[]appForm `json:"apps,omitempty"`
	AppsAt   *blobForm  `json:"apps_at,omitempty"`
}

type blobForm struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

type appForm struct {
	App       string     `json:"app"`
	Version   string     `json:"version"`
	Release   string     `json:"release"`
	Manifests blobForm   `json:"manifests"`
	Images    []string   `json:"images"`
	Requires  []string   `json:"requires"`
	Seals     []sealForm `json:"seals"`
	Retry     int64      `json:"retry"`
	Suspended bool       `json:"suspended"`
	RunUntil  string     `json:"run_until,omitempty"`
	Removed   bool       `json:"removed,omitempty"`
}

type sealForm struct {
	Parameter string `json:"parameter"`
	Secret    string `json:"secret"`
	Key       string `json:"key"`
	SHA256    string `json:"sha256"`
}

// Encode returns the bytes to be signed, the same for the same payload, and the list of apps where it has to be an
// object of its own. Invalid desired_state_too_large.
func (p Payload) Encode() (payload, list []byte, err error) {
	form := payloadForm{Audience: p.InstallID, IssuedAt: p.IssuedAt.Unix(), Revision: p.Revision, Previous: p.Previous}
	if p.AppsAt != nil {
		form.AppsAt = &blobForm{p.AppsAt.SHA256, p.AppsAt.Size}
		payload, err = encode(form)
		return payload, nil, err
	}
	apps := formsOf(p.Apps)
	form.Apps = &apps
	if payload, err = encode(form); err != nil || len(payload) <= MaxPayload {
		return payload, nil, err
	}
	if list, err = encode(apps); err != nil {
		return nil, nil, err
	}
	if len(list) > MaxAppList {
		return nil, nil, fault.New(fault.Invalid, "desired_state_too_large", "the list of apps has more than %d bytes", MaxAppList)
	}
	form.Apps, form.AppsAt = nil, &blobForm{Digest(list), int64(len(list))}
	payload, err = encode(form)
	return payload, list, err
}

// BlobOf names an object.
func BlobOf(content []byte) Blob { return Blob{SHA256: Digest(content), Size: int64(len(content))} }

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fault.New(fault.Internal, "desired_state_unwritable", "the desired state can not be written").Because(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func formsOf(apps []DesiredApp) []appForm {
	forms := make([]appForm, 0, len(apps))
	for _, a := range apps {
		f := appForm{
			App: a.App, Version: a.Version, Release: a.Release, Manifests: blobForm(a.Manifests),
			Images: notNil(a.Images), Requires: notNil(a.Requires), Seals: make([]sealForm, 0, len(a.Seals)),
			Retry: a.Retry, Suspended: a.Suspended, Removed: a.Removed,
		}
		for _, s := range a.Seals {
			f.Seals = append(f.Seals, sealForm(s))
		}
		if !a.RunUntil.IsZero() {
			f.RunUntil = a.RunUntil.UTC().Format(time.RFC3339Nano)
		}
		forms = append(forms, f)
	}
	return forms
}

func notNil(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}

// ParsePayload reads what was signed, in exactly the form that Encode writes: what is unknown, missing, given twice,
// written otherwise or out of bounds is refused as Invalid desired_state_malformed, so that nothing is read in two ways.
func ParsePayload(raw []byte) (Payload, error) {
	var form payloadForm
	if err := decode(raw, MaxPayload, &form); err != nil {
		return Payload{}, err
	}
	p := Payload{
		InstallID: form.Audience, IssuedAt: time.Unix(form.IssuedAt, 0).UTC(), Revision: form.Revision, Previous: form.Previous,
	}
	if !form.valid() {
		return Payload{}, malformedState()
	}
	if form.AppsAt != nil {
		blob := Blob(*form.AppsAt)
		p.AppsAt = &blob
		return p, nil
	}
	apps, err := appsOf(*form.Apps)
	p.Apps = apps
	return p, err
}

// ParseApps reads a list of apps that Payload.AppsAt names; the caller compared size and digest. Invalid
// desired_state_malformed.
func ParseApps(raw []byte) ([]DesiredApp, error) {
	var forms []appForm
	if err := decode(raw, MaxAppList, &forms); err != nil {
		return nil, err
	}
	return appsOf(forms)
}

// decode reads JSON and writes it again: only what comes out as it went in is in the one form.
func decode[T any](raw []byte, most int, into *T) error {
	if len(raw) > most || !utf8.Valid(raw) {
		return malformedState()
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return malformedState().Because(err)
	}
	again, err := encode(*into)
	if err != nil || !bytes.Equal(raw, again) {
		return malformedState().Because(err)
	}
	return nil
}

func malformedState() *fault.Error {
	return fault.New(fault.Invalid, "desired_state_malformed", "this is no desired state in the form that is signed")
}

func (f payloadForm) valid() bool {
	switch {
	case f.Audience == "" || len(f.Audience) > ident.MaxName || f.IssuedAt <= 0 || f.IssuedAt > ident.MaxCounter:
		return false
	case f.Revision < 1 || f.Revision > ident.MaxCounter || f.Previous != "" && !validSHA256(f.Previous):
		return false
	case (f.Apps == nil) == (f.AppsAt == nil):
		return false
	}
	return f.AppsAt == nil || f.AppsAt.valid(MaxAppList)
}

func (f blobForm) valid(most int64) bool {
	return validSHA256(f.SHA256) && f.Size > 0 && f.Size <= most
}

func appsOf(forms []appForm) ([]DesiredApp, error) {
	if forms == nil || len(forms) > MaxDeploymentApps {
		return nil, malformedState()
	}
	apps := make([]DesiredApp, 0, len(forms))
	for i, f := range forms {
		a, ok := f.app()
		if !ok || i > 0 && forms[i-1].App >= f.App {
			return nil, malformedState()
		}
		apps = append(apps, a)
	}
	return apps, nil
}

func (f appForm) app() (DesiredApp, bool) {
	a := DesiredApp{
		App: f.App, Version: f.Version, Release: f.Release, Manifests: Blob(f.Manifests), Images: f.Images,
		Requires: f.Requires, Retry: f.Retry, Suspended: f.Suspended, Removed: f.Removed,
	}
	for _, s := range f.Seals {
		a.Seals = append(a.Seals, Seal(s))
	}
	if f.RunUntil != "" {
		at, err := time.Parse(time.RFC3339Nano, f.RunUntil)
		if err != nil || at.IsZero() || at.UTC().Format(time.RFC3339Nano) != f.RunUntil {
			return DesiredApp{}, false
		}
		a.RunUntil = at.UTC()
	}
	return a, f.valid(a)
}

func (f appForm) valid(a DesiredApp) bool {
	switch {
	case ident.Check("", f.App) != nil || f.Version == "" || len(f.Version) > MaxVersion:
		return false
	case f.Images == nil || f.Requires == nil || f.Seals == nil:
		return false
	case len(f.Images) > MaxAppImages || len(f.Requires) > MaxRequirements || len(f.Seals) > maxSeals:
		return false
	case f.Retry < 0 || f.Retry > ident.MaxCounter || ident.Instant(a.RunUntil) != a.RunUntil:
		return false
	case f.Removed:
		return f.Manifests == blobForm{} && len(f.Images)+len(f.Seals)+len(f.Requires) == 0 && !f.Suspended && f.RunUntil == ""
	}
	return validSHA256(f.Release) && f.Manifests.valid(MaxRendered) && f.validNames()
}

func (f appForm) validNames() bool {
	for _, image := range f.Images {
		if image == "" || len(image) > maxReference {
			return false
		}
	}
	for _, app := range f.Requires {
		if ident.Check("", app) != nil {
			return false
		}
	}
	for _, s := range f.Seals {
		if s.Parameter == "" || s.Secret == "" || s.Key == "" || s.SHA256 != "" && !validSHA256(s.SHA256) {
			return false
		}
	}
	return true
}
