package contract

import (
	"net/http"
	"strings"
)

// readingPosts are the nodes' operations that change nothing although they are POST: what they ask about is too long for a
// target.
//
//nolint:gochecknoglobals // an immutable table
var readingPosts = [...]string{"/internal/v1/nodes/{node}/authorization/poll"}

// Reads tells whether a request of a node changes nothing, by its method and its target as it stands in the request line:
// it may be broken off, and asked again, at any time.
func Reads(method, target string) bool {
	switch method {
	case http.MethodGet, http.MethodHead:
		return true
	case http.MethodPost:
		path, _, _ := strings.Cut(target, "?")
		for _, template := range readingPosts {
			if fits(template, path) {
				return true
			}
		}
	}
	return false
}

// fits compares a path with a template, of which a segment in braces stands for any that is not empty.
func fits(template, path string) bool {
	for {
		want, wants, more := strings.Cut(template, "/")
		got, gets, has := strings.Cut(path, "/")
		if strings.HasPrefix(want, "{") && got != "" {
			want = got
		}
		if want != got || more != has {
			return false
		}
		if !more {
			return true
		}
		template, path = wants, gets
	}
}
