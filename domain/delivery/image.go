package delivery

import (
	"strings"

	"berth/domain/fault"
)

// maxImage is the longest image reference, in bytes.
const maxImage = 512

// String writes the reference.
func (r ImageReference) String() string {
	s := r.Host + "/" + r.Repository
	if r.Tag != "" {
		s += ":" + r.Tag
	}
	if r.Digest != "" {
		s += "@" + r.Digest
	}
	return s
}

// ParseImage reads an image reference that names its registry, and a tag or a digest: nothing is guessed. Fault: Invalid
// image_reference_invalid.
func ParseImage(text string) (ImageReference, *fault.Error) {
	r, why := parseImage(text)
	if why == "" {
		return r, nil
	}
	return ImageReference{}, invalid("image_reference_invalid", "%s", why).
		Curable("write it like registry.example.com/team/app:1.2.3, or with @sha256:… for a tag")
}

func parseImage(text string) (ImageReference, string) {
	if len(text) > maxImage {
		return ImageReference{}, "an image reference is shorter"
	}
	rest, digest, digested := strings.Cut(text, "@")
	host, path, named := strings.Cut(rest, "/")
	if !named || checkHost(host) != nil {
		return ImageReference{}, "an image reference begins with the host of its registry"
	}
	repository, tag, tagged := strings.Cut(path, ":")
	switch {
	case !validRepository(repository):
		return ImageReference{}, "the repository is lower-case words, parted by '/'"
	case (host == "docker.io" || host == "index.docker.io") && !strings.Contains(repository, "/"): // runtimes add one
		return ImageReference{}, "an image of Docker Hub is named with its namespace, library for the official ones"
	case !tagged && !digested:
		return ImageReference{}, "an image reference has a tag or a digest"
	case tagged && !validTag(tag):
		return ImageReference{}, "a tag is 1 to 128 letters, digits, '_', '.' and '-', and begins with none of the last two"
	case digested && !validDigest(digest):
		return ImageReference{}, "a digest is sha256: and 64 hexadecimal digits in lower case"
	}
	return ImageReference{host, repository, tag, digest}, ""
}

func validRepository(text string) bool {
	if len(text) > 255 {
		return false
	}
	for part := range strings.SplitSeq(text, "/") {
		if !validComponent(part) {
			return false
		}
	}
	return true
}

// validComponent accepts words of a-z and 0-9, parted by one '.', one or two '_', or any number of '-'.
func validComponent(text string) bool {
	for text != "" {
		rest := strings.TrimLeft(text, "abcdefghijklmnopqrstuvwxyz0123456789")
		if rest == "" {
			return true
		}
		if rest == text {
			return false
		}
		text = strings.TrimLeft(rest, "._-")
		switch parted := rest[:len(rest)-len(text)]; {
		case parted == ".", parted == "_", parted == "__", strings.Trim(parted, "-") == "" && parted != "":
		default:
			return false
		}
	}
	return false
}

func validTag(text string) bool {
	if text == "" || len(text) > 128 || text[0] == '.' || text[0] == '-' {
		return false
	}
	for i := range len(text) {
		if c := text[i]; !letter(c) && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

func validDigest(text string) bool {
	hex, ok := strings.CutPrefix(text, "sha256:")
	return ok && validSHA256(hex)
}

func validSHA256(hex string) bool {
	return len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}
