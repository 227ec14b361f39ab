package delivery

// ImageReference is what an image, or a chart in a registry, is called. Everything in it is spelt out: nothing is
// expanded, since what a short name means depends on the container runtime that reads it.
type ImageReference struct {
	Host       string // host[:port]
	Repository string
	Tag        string // empty where only a digest is given
	Digest     string // sha256:…; it counts where both are given
}

// maxReference is the longest reference that is pinned, in bytes.
const maxReference = 1024

// Identifier returns what stands for the image within its repository: the digest where there is one, else the tag.
func (r ImageReference) Identifier() string {
	if r.Digest != "" {
		return r.Digest
	}
	return r.Tag
}

// Pin returns the reference of exactly the content that a digest names.
func (r ImageReference) Pin(digest string) string { return r.Host + "/" + r.Repository + "@" + digest }
