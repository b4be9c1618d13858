// weir-gortsplib-peer: an RTSP client for the end-to-end tests, made of gortsplib.
//
//	weir-gortsplib-peer play URL WAY SECONDS
//	weir-gortsplib-peer relay FROM TO WAY SECONDS
//
// WAY is tcp, udp, multicast or tunnel (RTSP through HTTP). `relay` plays FROM over TCP and publishes it as TO by that way.
// A line of JSON at the end says what came.
package main

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/base"
	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/pion/rtp"
)

// report is what the last line says.
type report struct {
	Video     int     `json:"video"`      // frames: packets with a marker
	Audio     int     `json:"audio"`      // packets
	Lost      uint64  `json:"lost"`       // packets
	Errors    int     `json:"errors"`     // that gortsplib could not read
	Secure    bool    `json:"secure"`     // RTP/SAVP
	WallClock float64 `json:"wall_clock"` // seconds from the first packet to the first time of day; -1: none came
	Apart     float64 `json:"apart"`      // seconds: how far time of day and time of presentation of a track move apart, at most
}

func client(url *base.URL, way string) (*gortsplib.Client, error) {
	c := &gortsplib.Client{
		Scheme:    url.Scheme,
		Host:      url.Host,
		TLSConfig: &tls.Config{InsecureSkipVerify: true}, // the test's own certificate
	}
	set := func(p gortsplib.Protocol) { c.Protocol = &p }
	switch way {
	case "tcp":
		set(gortsplib.ProtocolTCP)
	case "tunnel":
		set(gortsplib.ProtocolTCP)
		c.Tunnel = gortsplib.TunnelHTTP
	case "udp":
		set(gortsplib.ProtocolUDP)
	case "multicast":
		set(gortsplib.ProtocolUDPMulticast)
	default:
		return nil, fmt.Errorf("no such way: %q", way)
	}
	return c, nil
}

// player counts what it gets, and gives it on.
type player struct {
	*gortsplib.Client
	mutex sync.Mutex
	said  report
	first time.Time
	began map[*description.Media]time.Time // time of day less time of presentation, of the first packet that has both
	sink  func(*description.Media, *rtp.Packet)
}

func (p *player) take(media *description.Media, kind format.Format, packet *rtp.Packet) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	now := time.Now()
	if p.first.IsZero() {
		p.first = now
	}
	if media.Type == description.MediaTypeAudio {
		p.said.Audio++
	} else if packet.Marker {
		p.said.Video++
	}
	pts, hasPts := p.PacketPTS(media, packet)
	ntp, hasNtp := p.PacketNTP(media, packet)
	if hasNtp && p.said.WallClock < 0 {
		p.said.WallClock = now.Sub(p.first).Seconds()
	}
	if hasNtp && hasPts {
		ticks := time.Duration(pts) * time.Second / time.Duration(kind.ClockRate())
		began := ntp.Add(-ticks)
		if p.began[media].IsZero() {
			p.began[media] = began
		}
		p.said.Apart = max(p.said.Apart, began.Sub(p.began[media]).Abs().Seconds())
	}
	if p.sink != nil {
		p.sink(media, packet)
	}
}

func play(address, way string) (*player, *description.Session, error) {
	url, err := base.ParseURL(address)
	if err != nil {
		return nil, nil, err
	}
	c, err := client(url, way)
	if err != nil {
		return nil, nil, err
	}
	p := &player{Client: c, said: report{WallClock: -1}, began: map[*description.Media]time.Time{}}
	c.OnDecodeError = func(error) {
		p.mutex.Lock()
		p.said.Errors++
		p.mutex.Unlock()
	}
	if err := c.Start(); err != nil {
		return nil, nil, err
	}
	desc, _, err := c.Describe(url)
	if err != nil {
		return nil, nil, err
	}
	if err := c.SetupAll(desc.BaseURL, desc.Medias); err != nil {
		return nil, nil, err
	}
	c.OnPacketRTPAny(p.take)
	return p, desc, nil
}

func (p *player) run(seconds int) (*report, error) {
	if _, err := p.Play(nil); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	select {
	case err := <-ended:
		return nil, fmt.Errorf("it ended: %w", err)
	case <-time.After(time.Duration(seconds) * time.Second):
	}
	p.said.Lost = p.Stats().Session.RTPPacketsLost
	if transport := p.Transport(); transport.Session != nil {
		p.said.Secure = transport.Session.Profile != 0
	}
	p.Close()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return &p.said, nil
}

func relay(from, to, way string, seconds int) (*report, error) {
	p, desc, err := play(from, "tcp")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	url, err := base.ParseURL(to)
	if err != nil {
		return nil, err
	}
	publisher, err := client(url, way)
	if err != nil {
		return nil, err
	}
	given := &description.Session{}
	tracks := map[*description.Media]*description.Media{}
	for _, media := range desc.Medias {
		tracks[media] = &description.Media{Type: media.Type, Formats: media.Formats}
		given.Medias = append(given.Medias, tracks[media])
	}
	if err := publisher.StartRecording(to, given); err != nil {
		return nil, fmt.Errorf("%s: %w", to, err)
	}
	defer publisher.Close()
	var failed error
	p.sink = func(media *description.Media, packet *rtp.Packet) {
		if err := publisher.WritePacketRTP(tracks[media], packet); err != nil && failed == nil {
			failed = err
		}
	}
	said, err := p.run(seconds)
	return said, errors.Join(err, failed)
}

func run(words []string) (*report, error) {
	seconds, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return nil, err
	}
	if words[0] == "relay" {
		return relay(words[1], words[2], words[3], seconds)
	}
	p, _, err := play(words[1], words[2])
	if err != nil {
		return nil, err
	}
	return p.run(seconds)
}

func main() {
	words := os.Args[1:]
	if !(len(words) == 4 && words[0] == "play") && !(len(words) == 5 && words[0] == "relay") {
		fmt.Fprintln(os.Stderr, "usage: weir-gortsplib-peer play URL WAY SECONDS | relay FROM TO WAY SECONDS")
		os.Exit(2)
	}
	said, err := run(words)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	line, _ := json.Marshal(said)
	fmt.Println(string(line))
}
