package child

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// pure are the functions of sprig whose answer follows from their arguments alone. Every other one is refused when it is
// called, also one that a later version of sprig brings.
//
// What has to do with dates is not among them: each of those reads the clock, for a time that it can not read, or the
// machine's time zone.
//
//nolint:gochecknoglobals // an immutable table
var pure = strings.Fields(`
	abbrev abbrevboth add add1 add1f addf adler32sum all any append atoi b32dec b32enc b64dec b64enc base biggest
	buildCustomCert camelcase cat ceil chunk clean coalesce compact concat contains decryptAES deepCopy deepEqual default
	derivePassword dict dig dir div divf duration empty ext fail first float64 floor fromJson get has hasKey hasPrefix
	hasSuffix hello indent initial initials int int64 isAbs join kebabcase kindIs kindOf last list lower max maxf merge
	mergeOverwrite min minf mod mul mulf mustAppend mustChunk mustCompact mustDeepCopy mustFirst mustFromJson mustHas
	mustInitial mustLast mustMerge mustMergeOverwrite mustPrepend mustPush mustRegexFind mustRegexFindAll mustRegexMatch
	mustRegexReplaceAll mustRegexReplaceAllLiteral mustRegexSplit mustRest mustReverse mustSlice mustToJson mustToPrettyJson
	mustToRawJson mustUniq mustWithout nindent nospace omit osBase osClean osDir osExt osIsAbs pick pluck plural prepend
	push quote regexFind regexFindAll regexMatch regexQuoteMeta regexReplaceAll regexReplaceAllLiteral regexSplit repeat
	replace rest reverse round semver semverCompare seq set sha1sum sha256sum sha512sum slice snakecase sortAlpha split
	splitList splitn squote sub subf substr swapcase ternary title toDecimal toJson toPrettyJson toRawJson toString
	toStrings trim trimAll trimPrefix trimSuffix trimall trunc tuple typeIs typeIsLike typeOf uniq unset until untilStep
	untitle upper urlJoin urlParse without wrap wrapWith
`)

// ordered are those that would answer in the order of a map, which is none, and answer in that of its keys here.
func ordered() template.FuncMap {
	return template.FuncMap{
		"keys": func(dicts ...map[string]any) []string {
			all := []string{}
			for _, dict := range dicts {
				all = append(all, slices.Sorted(maps.Keys(dict))...)
			}
			return all
		},
		"values": func(dict map[string]any) []any {
			all := []any{}
			for _, key := range slices.Sorted(maps.Keys(dict)) {
				all = append(all, dict[key])
			}
			return all
		},
	}
}

// impurity is the first function that was called and that is not pure. The engine passes on only the text of an error.
type impurity struct{ name string }

// functions replaces those of the engine that are not pure.
func (i *impurity) functions() template.FuncMap {
	replaced := ordered()
	for name := range sprig.TxtFuncMap() {
		if _, ok := replaced[name]; ok || slices.Contains(pure, name) {
			continue
		}
		replaced[name] = func(...any) (any, error) {
			if i.name == "" {
				i.name = name
			}
			return nil, fmt.Errorf("%s is not pure", name)
		}
	}
	return replaced
}
