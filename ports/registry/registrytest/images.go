package registrytest

import (
	"slices"
	"strings"
	"testing"

	"berth/domain/delivery"
	"berth/domain/fault"
)

func pinsTags(tb testing.TB, s Subject) {
	digest := s.Put(tb, "team/shop", "1.0", "linux/amd64")
	image := s.found(tb, s.named("team/shop:1.0"))
	if image.Reference != s.named("team/shop:1.0") || image.Pinned != s.named("team/shop@"+digest) {
		tb.Fatalf("%+v, where the digest is %s", image, digest)
	}
	if pinned := s.found(tb, image.Pinned); pinned.Pinned != image.Pinned || !slices.Equal(pinned.Platforms, image.Platforms) {
		tb.Fatalf("pinned it is %+v, and was %+v", pinned, image)
	}
}

func prefersDigests(tb testing.TB, s Subject) {
	first := s.Put(tb, "shop", "1.0", "linux/amd64")
	second := s.Put(tb, "shop", "2.0", "linux/arm64")
	if image := s.found(tb, s.named("shop:2.0@"+first)); image.Pinned != s.named("shop@"+first) || image.Platforms[0] != "linux/amd64" {
		tb.Fatalf("%+v, where the digests are %s and %s", image, first, second)
	}
	if image := s.found(tb, s.named("shop:none@"+second)); image.Pinned != s.named("shop@"+second) {
		tb.Fatalf("beside a tag that is not there: %+v", image)
	}
}

func tellsPlatforms(tb testing.TB, s Subject) {
	s.Put(tb, "shop", "both", "linux/arm64", "linux/amd64")
	s.Put(tb, "shop", "one", "linux/arm64")
	for tag, want := range map[string][]string{"both": {"linux/amd64", "linux/arm64"}, "one": {"linux/arm64"}} {
		if got := s.found(tb, s.named("shop:"+tag)).Platforms; !slices.Equal(got, want) {
			tb.Fatalf("%s is for %v, not %v", tag, got, want)
		}
	}
}

func keepsPins(tb testing.TB, s Subject) {
	s.Put(tb, "shop", "1.0", "linux/amd64")
	before := s.found(tb, s.named("shop:1.0"))
	moved := s.Put(tb, "shop", "1.0", "linux/arm64")
	s.Forget()
	if after := s.found(tb, s.named("shop:1.0")); after.Pinned != s.named("shop@"+moved) || after.Pinned == before.Pinned {
		tb.Fatalf("the tag moved from %s to %s, and is answered with %s", before.Pinned, moved, after.Pinned)
	}
	if kept := s.found(tb, before.Pinned); kept.Pinned != before.Pinned || kept.Platforms[0] != "linux/amd64" {
		tb.Fatalf("the pin became %+v, and was %+v", kept, before)
	}
}

func missesImages(tb testing.TB, s Subject) {
	s.Put(tb, "shop", "1.0", "linux/amd64")
	for _, rest := range []string{"shop:2.0", "other:1.0", "shop@sha256:" + strings.Repeat("0", 64)} {
		_, err := s.resolve(tb, s.named(rest))
		refused(tb, rest, err, fault.NotFound, "image_missing")
	}
}

func remembersNoMiss(tb testing.TB, s Subject) {
	_, err := s.resolve(tb, s.named("shop:1.0"))
	refused(tb, "what was not pushed yet", err, fault.NotFound, "image_missing")
	s.Put(tb, "shop", "1.0", "linux/amd64")
	s.found(tb, s.named("shop:1.0"))
	s.Remove(tb, "shop", "1.0")
	s.Forget()
	_, err = s.resolve(tb, s.named("shop:1.0"))
	refused(tb, "what was removed", err, fault.NotFound, "image_missing")
}

func claimsNothing(tb testing.TB, s Subject) {
	s.Put(tb, "shop", "1.0", "linux/amd64")
	s.found(tb, s.named("shop:1.0"))
	s.Break(tb, true)
	s.Forget()
	for _, rest := range []string{"shop:1.0", "shop:2.0"} {
		_, err := s.resolve(tb, s.named(rest))
		refused(tb, rest+" of a broken registry", err, fault.Unavailable, "image_check_unavailable")
	}
}

func comesBack(tb testing.TB, s Subject) {
	digest := s.Put(tb, "shop", "1.0", "linux/amd64")
	s.Break(tb, true)
	if _, err := s.resolve(tb, s.named("shop:1.0")); err == nil {
		tb.Fatal("a broken registry has an image")
	}
	s.Break(tb, false)
	if image := s.found(tb, s.named("shop:1.0")); image.Pinned != s.named("shop@"+digest) {
		tb.Fatalf("%+v", image)
	}
}

func heedsContext(tb testing.TB, s Subject) {
	s.Put(tb, "shop", "1.0", "linux/amd64")
	_, err := s.Images.Resolve(ended(tb), s.registries(), s.named("shop:1.0"))
	refused(tb, "an image, with an ended context,", err, fault.Unavailable, "image_check_unavailable")
	_, err = s.Charts.Chart(ended(tb), s.registries(), "oci://"+s.named("shop:1.0"))
	refused(tb, "a chart, with an ended context,", err, fault.Unavailable, "chart_unavailable")
}

func asksRegistered(tb testing.TB, s Subject) {
	s.Put(tb, "shop", "1.0", "linux/amd64")
	s.Break(tb, true) // so that an answer of unavailable shows that it was asked
	other := delivery.Registry{Host: "other.example"}
	for _, registries := range [][]delivery.Registry{nil, {other}} {
		_, err := s.Images.Resolve(tb.Context(), registries, s.named("shop:1.0"))
		refused(tb, "an image of elsewhere", err, fault.Invalid, "registry_unknown")
		_, err = s.Charts.Chart(tb.Context(), registries, "oci://"+s.named("shop:1.0"))
		refused(tb, "a chart of elsewhere", err, fault.Invalid, "registry_unknown")
	}
}

func forgetsRegistries(tb testing.TB, s Subject) {
	s.Put(tb, "shop", "1.0", "linux/amd64")
	s.found(tb, s.named("shop:1.0"))
	_, err := s.Images.Resolve(tb.Context(), nil, s.named("shop:1.0"))
	refused(tb, "what is remembered of a registry that is none any more", err, fault.Invalid, "registry_unknown")
}

func mirrors(tb testing.TB, s Subject) {
	digest := s.Put(tb, "team/shop", "1.0", "linux/amd64")
	mirror := s.Registry
	mirror.MirrorOf = "vendor.example"
	image, err := s.Images.Resolve(tb.Context(), []delivery.Registry{{Host: "vendor.example"}, mirror}, "vendor.example/team/shop:1.0")
	if err != nil || image.Pinned != "vendor.example/team/shop@"+digest || image.Reference != "vendor.example/team/shop:1.0" {
		tb.Fatalf("%+v, %v", image, err)
	}
	s.PutChart(tb, "charts/shop", "1.0.0", packaged())
	if _, err := s.Charts.Chart(tb.Context(), []delivery.Registry{mirror}, "oci://vendor.example/charts/shop:1.0.0"); err != nil {
		tb.Fatalf("a mirrored chart: %v", err)
	}
}

func refusesReferences(tb testing.TB, s Subject) {
	host := s.Registry.Host
	for _, reference := range []string{
		"", "shop", "shop:1.0", "team/shop:1.0", host + "/shop", host + "/:1.0", host + "/shop:", host + "/Shop:1.0", host + "/shop@",
		host + "/shop@sha256:" + strings.Repeat("A", 64), host + "/shop@sha256:12", host + "/shop@md5:" + strings.Repeat("a", 32),
		"http://" + host + "/shop:1.0", "docker.io/shop:1.0", host + "/../shop:1.0", host + "/shop:1.0?x=y", host + "/shop:1.0#x",
		"user@" + host + "/shop:1.0", host + "/" + strings.Repeat("a", 10_000) + ":1.0", host + "/sh%6fp:1.0", host + "/shop:1 0",
	} {
		_, err := s.resolve(tb, reference)
		refused(tb, reference, err, fault.Invalid, "image_reference_invalid")
		_, err = s.chart(tb, reference)
		refused(tb, "oci://"+reference, err, fault.Invalid, "image_reference_invalid")
	}
}
