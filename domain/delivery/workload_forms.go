package delivery

import (
	"encoding/base64"
	"path"
	"strings"
)

// The forms of text in objects.
//
//nolint:gochecknoglobals // immutable tables
var (
	anyText   = text{func(string) bool { return true }, "text"}
	nameText  = text{dnsName, "a name: labels of a-z, 0-9 and '-', parted by dots"}
	labelText = text{func(s string) bool { return dnsName(s) && !strings.Contains(s, ".") }, "a name of up to 63 of a-z, 0-9 and '-'"}
	filePath  = text{inside, "a path without '..'"}
	rooted    = text{func(s string) bool { return path.IsAbs(s) && inside(s) }, "an absolute path without '..'"}
	urlPath   = text{validURLPath, "a path of letters, digits and any of -._~/%, that begins with '/'"}
	encoded   = text{validBase64, "base64"}
	labelled  = text{validLabelValue, "up to 63 letters, digits, '-', '_' and '.'"}
	plainNote = text{func(s string) bool { return len(s) <= 4096 }, "text of up to 4096 bytes"}
	shortNote = text{validShortNote, "up to 32 letters, digits and dots"}
	portName  = text{func(s string) bool { return dnsName(s) && len(s) <= 15 }, "a port's number or name"}
	portion   = text{validPortion, "a number or a percentage"}
)

func inside(s string) bool {
	for part := range strings.SplitSeq(s, "/") {
		if part == ".." {
			return false
		}
	}
	return s != "" && len(s) <= 4096 && !strings.ContainsRune(s, 0)
}

func validURLPath(s string) bool {
	return strings.HasPrefix(s, "/") && len(s) <= 1024 && consists(s, "-._~/%")
}

func validShortNote(s string) bool { return s != "" && len(s) <= 32 && consists(s, ".") }

func validPortion(s string) bool {
	n, ok := strings.CutSuffix(s, "%")
	return ok && len(n) <= 3 && n != "" && strings.Trim(n, "0123456789") == ""
}

func validBase64(s string) bool {
	_, err := base64.StdEncoding.DecodeString(s)
	return err == nil
}

// consists tells whether a text is made of ASCII letters, digits and some other characters.
func consists(s, others string) bool {
	for i := range len(s) {
		if c := s[i]; !letter(c) && (c < '0' || c > '9') && !strings.ContainsRune(others, rune(c)) {
			return false
		}
	}
	return true
}

// validLabelValue accepts the values of labels.
func validLabelValue(s string) bool {
	return s == "" || len(s) <= 63 && consists(s, "-_.") && consists(s[:1]+s[len(s)-1:], "")
}

// validKey accepts the keys of labels and annotations: a name, and a DNS name as its prefix.
func validKey(s string) bool {
	prefix, name, prefixed := strings.Cut(s, "/")
	if !prefixed {
		return s != "" && validLabelValue(s)
	}
	return dnsName(prefix) && name != "" && validLabelValue(name)
}

// validDataKey accepts the keys of Secrets and ConfigMaps.
func validDataKey(s string) bool {
	return s != "" && len(s) <= 253 && consists(s, "-_.") && s != "." && !strings.HasPrefix(s, "..")
}

func validEnvName(s string) bool {
	return s != "" && len(s) <= 253 && consists(s, "-_.") && (s[0] < '0' || s[0] > '9')
}
