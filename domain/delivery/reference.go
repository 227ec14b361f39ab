package delivery

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"berth/domain/fault"
)

// ImageReference is what an image, or a chart in a registry, is called. Everything in it is spelt out: nothing is
// expanded, since what a short name means depends on the container runtime that reads it.
type ImageReference struct {
	Host       string // host[:port], in lower case: names of hosts know no case
	Repository string
	Tag        string // empty where only a digest is given
	Digest     string // sha256:…; it counts where both are given
}

const (
	maxReference  = 1024
	maxRepository = 255
	maxHostName   = 253
	quoted        = 120 // of a bad reference, in what is said about it
)

//nolint:gochecknoglobals // immutable expressions; Go's run in time linear in the text
var (
	repositoryForm = regexp.MustCompile(`\A[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*\z`)
	tagForm        = regexp.MustCompile(`\A[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}\z`)
	digestForm     = regexp.MustCompile(`\Asha256:[0-9a-f]{64}\z`)
	domainForm     = regexp.MustCompile(`\A[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*\z`)
	portForm       = regexp.MustCompile(`\A[1-9][0-9]{0,4}\z`)
)

// ParseImageReference reads host[:port]/repository, followed by :tag, @sha256:… or both. Fault: Invalid
// image_reference_invalid, also for one that leaves the host, Docker Hub's namespace or tag and digest to be guessed.
func ParseImageReference(text string) (ImageReference, error) {
	bad := func(cure, format string, args ...any) (ImageReference, error) {
		return ImageReference{}, fault.New(fault.Invalid, "image_reference_invalid", "%q is no image reference: "+format,
			append([]any{text[:min(len(text), quoted)]}, args...)...).Curable("%s", cure)
	}
	const whole = "write host/repository:tag or host/repository@sha256:…"
	if len(text) > maxReference {
		return bad(whole, "it is %d bytes long, and %d are allowed", len(text), maxReference)
	}
	name, digest, pinned := strings.Cut(text, "@")
	if pinned && !digestForm.MatchString(digest) {
		return bad("write @sha256: and 64 digits of lower-case hex", "its digest is no SHA-256 in lower-case hex")
	}
	name, tag, tagged := cutTag(name)
	if tagged && !tagForm.MatchString(tag) {
		return bad(whole, "its tag is none")
	}
	if !tagged && !pinned {
		return bad(whole, "it has neither tag nor digest")
	}
	first, repository, _ := strings.Cut(name, "/")
	if !strings.ContainsAny(first, ".:[") && first != "localhost" {
		return bad("write the registry's host too, such as docker.io/library/nginx:1.27", "it names no registry")
	}
	host, ok := ParseRegistryHost(first)
	if !ok {
		return bad(whole, "its host is none")
	}
	if len(repository) > maxRepository || !repositoryForm.MatchString(repository) {
		return bad(whole, "its repository is none")
	}
	if (host == "docker.io" || host == "index.docker.io") && !strings.Contains(repository, "/") {
		return bad("write "+host+"/library/…", "it leaves out Docker Hub's namespace")
	}
	return ImageReference{host, repository, tag, digest}, nil
}

// cutTag cuts off a tag; a colon before the last slash is a port's.
func cutTag(name string) (rest, tag string, ok bool) {
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		return name[:i], name[i+1:], true
	}
	return name, "", false
}

// ParseRegistryHost returns host[:port] in the form that references are compared by: a name, an IPv4 address or an IPv6
// address in brackets, in lower case.
func ParseRegistryHost(text string) (string, bool) {
	text = strings.ToLower(text)
	host, port := text, ""
	if i := strings.LastIndexByte(text, ':'); i > strings.LastIndexByte(text, ']') {
		host, port = text[:i], text[i+1:]
		if n, err := strconv.Atoi(port); err != nil || n > 65535 || !portForm.MatchString(port) {
			return "", false
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		a, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		return text, err == nil && a.Is6() && a.Zone() == "" && strings.HasSuffix(inner, "]")
	}
	return text, len(host) <= maxHostName && domainForm.MatchString(host)
}

// Identifier returns what stands for the image within its repository: the digest where there is one, else the tag.
func (r ImageReference) Identifier() string {
	if r.Digest != "" {
		return r.Digest
	}
	return r.Tag
}

// Pin returns the reference of exactly the content that a digest names.
func (r ImageReference) Pin(digest string) string { return r.Host + "/" + r.Repository + "@" + digest }

// Serving returns the registry that answers for a host that references name: its mirror where there is one, since that
// is what it was registered for.
func Serving(registries []Registry, host string) (Registry, bool) {
	for _, r := range registries {
		if r.MirrorOf != "" && sameHost(r.MirrorOf, host, false) {
			return r, true
		}
	}
	for _, r := range registries {
		if sameHost(r.Host, host, r.PlainHTTP) {
			return r, true
		}
	}
	return Registry{}, false
}

// sameHost compares as a connection would be made: case and a scheme's own port make no difference.
func sameHost(a, b string, plain bool) bool {
	port := ":443"
	if plain {
		port = ":80"
	}
	return strings.TrimSuffix(strings.ToLower(a), port) == strings.TrimSuffix(strings.ToLower(b), port)
}
