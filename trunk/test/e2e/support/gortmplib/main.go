// weir-gortmplib-peer: an RTMP client for the end-to-end tests, made of gortmplib.
//
//	weir-gortmplib-peer relay FROM TO SECONDS
//
// Plays one stream and publishes it as another. gortmplib says everything of a URL that ends in "/" as the application
// and plays or publishes an empty stream name. A line of JSON at the end says what was passed on.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/bluenviron/gortmplib"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
)

const networkTimeout = 20 * time.Second

// report is what the last line says.
type report struct {
	Video int `json:"video"` // access units
	Audio int `json:"audio"`
}

func connect(address string, publish bool) (*gortmplib.Client, error) {
	where, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), networkTimeout)
	defer cancel()
	client := &gortmplib.Client{URL: where, Publish: publish}
	if err := client.Initialize(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return client, nil
}

func relay(from, to string, seconds int) (*report, error) {
	source, err := connect(from, false)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	if err := source.NetConn().SetReadDeadline(time.Now().Add(networkTimeout)); err != nil {
		return nil, err
	}
	reader := &gortmplib.Reader{Conn: source}
	if err := reader.Initialize(); err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	sink, err := connect(to, true)
	if err != nil {
		return nil, err
	}
	defer sink.Close()
	writer := &gortmplib.Writer{Conn: sink, Tracks: reader.Tracks()}
	if err := writer.Initialize(); err != nil {
		return nil, fmt.Errorf("%s: %w", to, err)
	}
	passed := &report{}
	var failed error
	keep := func(err error) {
		if failed == nil {
			failed = err
		}
	}
	for _, track := range reader.Tracks() {
		switch track := track.(type) {
		case *format.H264:
			reader.OnDataH264(track, func(pts, dts time.Duration, au [][]byte) {
				passed.Video++
				keep(writer.WriteH264(track, pts, dts, au))
			})
		case *format.MPEG4Audio:
			reader.OnDataMPEG4Audio(track, func(pts time.Duration, au []byte) {
				passed.Audio++
				keep(writer.WriteMPEG4Audio(track, pts, au))
			})
		}
	}
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for time.Now().Before(end) && failed == nil {
		if err := source.NetConn().SetReadDeadline(time.Now().Add(networkTimeout)); err != nil {
			return nil, err
		}
		if err := reader.Read(); err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
	}
	return passed, failed
}

func main() {
	if len(os.Args) != 5 || os.Args[1] != "relay" {
		fmt.Fprintln(os.Stderr, "usage: weir-gortmplib-peer relay FROM TO SECONDS")
		os.Exit(2)
	}
	seconds, err := strconv.Atoi(os.Args[4])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	passed, err := relay(os.Args[2], os.Args[3], seconds)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	line, _ := json.Marshal(passed)
	fmt.Println(string(line))
}
