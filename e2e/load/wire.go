package load

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
)

// wire is one kept-alive connection that writes requests by hand, so that the client's share of the machine is small.
type wire struct {
	c   net.Conn
	in  *bufio.Reader
	out []byte
}

func dial(socket string) (*wire, error) {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	return &wire{c: c, in: bufio.NewReaderSize(c, 64<<10)}, nil
}

// post sends a request and returns the status and the body.
func (w *wire) post(host, target, header, value string, body []byte) (int, []byte, error) {
	w.out = fmt.Appendf(w.out[:0], "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%s: %s\r\nContent-Length: %s\r\n\r\n",
		target, host, header, value, strconv.Itoa(len(body)))
	w.out = append(w.out, body...)
	if _, err := w.c.Write(w.out); err != nil {
		return 0, nil, err
	}
	resp, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return 0, nil, err
	}
	data, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode, data, err
}
