package connect

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"berth/adapters/contract"
	"berth/application/relay"
	"berth/domain/fault"
)

const (
	attachmentMethods = "GET, HEAD, PUT, OPTIONS"
	digestDigits      = 64
)

// digestIn reads the digest at the end of an attachment's path: 64 lower-case hexadecimal digits, written as such.
func digestIn(path string) (digest [32]byte, ok bool) {
	name := path[len(contract.AttachmentsPath):]
	if len(name) != digestDigits || strings.ToLower(name) != name {
		return digest, false
	}
	_, err := hex.Decode(digest[:], []byte(name))
	return digest, err == nil
}

// exchange is a request for an attachment.
type exchange struct {
	h      *Handler
	w      http.ResponseWriter
	r      *http.Request
	ctx    context.Context //nolint:containedctx // of the request, until the transfer is cut
	digest [32]byte
	files  Files
	x      *transfer
}

// attachments answers GET, HEAD and PUT of an attachment by the digest of its content, and the question of a page in a
// browser whether it may ask.
func (h *Handler) attachments(w http.ResponseWriter, r *http.Request, path string) {
	digest, ok := digestIn(path)
	allowPages(w.Header())
	switch {
	case !ok:
		h.reject(w, r, pathUnknown())
		return
	case r.Method == http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPut:
		h.reject(w, r, methodNotAllowed(attachmentMethods))
		return
	}
	device, err := h.identify(r, nil)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	ctx, x, err := h.transfers.begin(r.Context(), device, w)
	if err != nil {
		h.refuse(w, r, err)
		return
	}
	defer x.end()
	r = r.WithContext(ctx)
	r.Body = x.upload(ctx, r)
	e := &exchange{h: h, w: &download{w, x, ctx}, r: r, ctx: ctx, digest: digest, x: x}
	if err := e.serve(device); err != nil {
		h.refuse(w, r, err)
	}
}

// allowPages lets any page in a browser ask: a token is no cookie, so that a page must have been given it.
func allowPages(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", attachmentMethods)
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Range, Content-Type, If-None-Match, If-Range, Range")
	h.Set("Access-Control-Expose-Headers", "Content-Range, ETag, Retry-After, "+contract.UploadOffset)
	h.Set("Access-Control-Max-Age", "600")
}

func (e *exchange) serve(d relay.Device) (err error) {
	var part relay.Upload
	put := e.r.Method == http.MethodPut
	if put { // what is wrong with the request is no peer's to say
		if part, err = e.part(); err != nil {
			return err
		}
	}
	here, err := e.h.settle(e.w, e.r, d)
	if err != nil || !here {
		return err
	}
	if e.files, err = e.h.plane.Files(e.ctx, d); err != nil {
		return err
	}
	defer e.files.Close()
	go e.x.attend(e.ctx, e.files)
	if put {
		return e.put(part)
	}
	return e.get()
}

// get answers with the content or a range of it. Of what is not whole it says how much of it this device uploaded.
func (e *exchange) get() error {
	if _, err := e.files.Stat(e.ctx, e.digest); err != nil {
		if fault.KindOf(err) == fault.NotFound {
			if uploaded, failed := e.files.Uploaded(e.ctx, e.digest); failed == nil {
				e.offset(uploaded)
			}
		}
		return err
	}
	content, err := e.files.Content(e.ctx, e.digest)
	if err != nil {
		return err
	}
	defer content.Close()
	h := e.w.Header()
	h.Set("ETag", `"`+hex.EncodeToString(e.digest[:])+`"`)
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", "attachment") // it is a device's, on the origin of all of them
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache") // who may read it is asked each time
	http.ServeContent(e.w, e.r, "", time.Time{}, content)
	return nil
}

func (e *exchange) offset(n int64) {
	e.w.Header().Set(contract.UploadOffset, strconv.FormatInt(n, 10))
}

// put takes an attachment, or a part of it.
func (e *exchange) put(part relay.Upload) error {
	switch _, err := e.files.Stat(e.ctx, e.digest); {
	case err == nil:
		e.w.WriteHeader(http.StatusOK) // what is there is not read again
		return nil
	case fault.KindOf(err) != fault.NotFound:
		return err
	}
	whole, err := e.files.Upload(e.ctx, part, e.r.Body)
	if err != nil {
		return e.uploadFailed(err)
	}
	if whole {
		e.w.WriteHeader(http.StatusCreated)
		return nil
	}
	e.offset(part.Offset + part.Length)
	e.w.WriteHeader(http.StatusAccepted)
	return nil
}

// uploadFailed says why, and from where the upload goes on.
func (e *exchange) uploadFailed(err error) error {
	if uploaded, failed := e.files.Uploaded(e.ctx, e.digest); failed == nil {
		e.offset(uploaded)
	}
	if _, known := fault.As(err); known {
		return err
	}
	if why := e.files.Permitted(); why != nil { // it was cut for that
		return why
	}
	bad := func(status int, slug, detail string) error {
		return withStatus(status, fault.New(fault.Invalid, slug, "%s", detail).Curable("go on from %s", contract.UploadOffset))
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return bad(http.StatusRequestTimeout, "body_too_slow", "the body came too slowly")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return bad(http.StatusBadRequest, "body_truncated", "the body ended before its length")
	case e.ctx.Err() != nil:
		return errStopping()
	}
	return err
}

// part reads which part of an attachment a request brings. Faults: Invalid length_required, media_type_unsupported,
// content_range_malformed, content_range_differs, attachment_too_large.
func (e *exchange) part() (relay.Upload, error) {
	bad := func(status int, slug, detail string) error {
		return withStatus(status, fault.New(fault.Invalid, slug, "%s", detail))
	}
	p := relay.Upload{Digest: e.digest, Length: e.r.ContentLength, Size: e.r.ContentLength}
	ranges := e.r.Header["Content-Range"]
	switch {
	case e.r.ContentLength < 0:
		return p, bad(http.StatusLengthRequired, "length_required", "a part says how long it is")
	case len(e.r.Header["Content-Encoding"]) > 0:
		return p, bad(http.StatusUnsupportedMediaType, "media_type_unsupported", "an attachment is sent as it is, without an encoding")
	case len(ranges) == 1:
		last, ok := readRange(ranges[0], &p)
		if !ok {
			return p, bad(http.StatusBadRequest, "content_range_malformed", "Content-Range is not bytes first-last/size")
		}
		if last-p.Offset+1 != p.Length {
			return p, bad(http.StatusBadRequest, "content_range_differs", "Content-Range is not as long as the body")
		}
	case len(ranges) > 1:
		return p, bad(http.StatusBadRequest, "content_range_malformed", "there is more than one Content-Range")
	}
	if p.Size > e.h.o.Limits.Attachment {
		return p, withStatus(http.StatusRequestEntityTooLarge,
			fault.New(fault.Invalid, "attachment_too_large", "an attachment has at most %d bytes", e.h.o.Limits.Attachment))
	}
	return p, nil
}

// readRange reads a Content-Range (RFC 9110 §14.4) of which all is known.
func readRange(value string, p *relay.Upload) (last int64, ok bool) {
	rest, unit := strings.CutPrefix(value, "bytes ")
	span, size, sized := strings.Cut(rest, "/")
	from, to, spans := strings.Cut(span, "-")
	if !unit || !sized || !spans {
		return 0, false
	}
	if p.Offset, ok = digits(from); !ok {
		return 0, false
	}
	if last, ok = digits(to); !ok {
		return 0, false
	}
	if p.Size, ok = digits(size); !ok {
		return 0, false
	}
	return last, p.Offset <= last && last < p.Size
}

// digits reads a whole number that is nothing but digits.
func digits(s string) (int64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
