// weir-pion-peer: a WebRTC client for the end-to-end tests, made of pion.
//
//	weir-pion-peer publish URL -video FILE.h264 -audio FILE.ogg -seconds N
//	weir-pion-peer play    URL -video OUT.h264  -audio OUT.ogg  -seconds N
//	weir-pion-peer send    URL -rtp FILE                    RTP packets as they are (see sendPackets)
//	weir-pion-peer serve   HOST:PORT -video FILE.h264 -audio FILE.ogg -seconds N   (WHEP at http://HOST:PORT/whep)
//
// -times OUT of play: the RTP time of each picture and of each audio packet, and the times of sender reports, a line each.
// -loss SHARE loses that share of the media packets that it sends or receives, resent ones too. A line of JSON at the
// end says what happened; "connected" on a line of its own when it is.
package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v3"
	"github.com/pion/webrtc/v3/pkg/media"
	"github.com/pion/webrtc/v3/pkg/media/h264reader"
	"github.com/pion/webrtc/v3/pkg/media/oggreader"
	"github.com/pion/webrtc/v3/pkg/media/oggwriter"
	"github.com/pion/webrtc/v3/pkg/media/samplebuilder"
)

const frameRate = 25

// report is what the last line says.
type report struct {
	ConnectedMS  int64 `json:"connected_ms"`
	FirstMS      int64 `json:"first_ms"` // to the first whole picture
	VideoPackets int64 `json:"video_packets"`
	AudioPackets int64 `json:"audio_packets"`
	Frames       int64 `json:"frames"`
	Missing      int64 `json:"missing"` // packets of pictures that could not be put together
	Dropped      int64 `json:"dropped"` // by -loss
	KeyRequests  int64 `json:"key_requests"`
	Left         int64 `json:"left"` // players of a server that said goodbye
}

// lossy loses packets next to the network: what NACK asks for is lost as well.
type lossy struct {
	interceptor.NoOp
	share   float64
	dropped *int64
	mutex   sync.Mutex
	random  *rand.Rand
}

func (l *lossy) NewInterceptor(string) (interceptor.Interceptor, error) { return l, nil }

func (l *lossy) lose() bool {
	if l.share == 0 {
		return false
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.random.Float64() >= l.share {
		return false
	}
	atomic.AddInt64(l.dropped, 1)
	return true
}

func (l *lossy) BindLocalStream(_ *interceptor.StreamInfo, writer interceptor.RTPWriter) interceptor.RTPWriter {
	return interceptor.RTPWriterFunc(
		func(header *rtp.Header, payload []byte, attributes interceptor.Attributes) (int, error) {
			if l.lose() {
				return len(payload), nil
			}
			return writer.Write(header, payload, attributes)
		})
}

func (l *lossy) BindRemoteStream(_ *interceptor.StreamInfo, reader interceptor.RTPReader) interceptor.RTPReader {
	return interceptor.RTPReaderFunc(
		func(buffer []byte, attributes interceptor.Attributes) (int, interceptor.Attributes, error) {
			for {
				size, attributes, err := reader.Read(buffer, attributes)
				if err != nil || !l.lose() {
					return size, attributes, err
				}
			}
		})
}

type peer struct {
	connection *webrtc.PeerConnection
	began      time.Time
	connected  chan struct{}
	once       sync.Once
	failed     chan error
	resource   string
	report     report
	times      *lines
}

// lines is a text that several tracks write. Null: nothing is written.
type lines struct {
	mutex sync.Mutex
	out   io.Writer
}

func (l *lines) add(format string, values ...any) {
	if l == nil {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	fmt.Fprintf(l.out, format+"\n", values...)
}

func newPeer(loss float64) (*peer, error) {
	p := &peer{began: time.Now(), connected: make(chan struct{}), failed: make(chan error, 8)}
	engine := &webrtc.MediaEngine{}
	if err := engine.RegisterDefaultCodecs(); err != nil {
		return nil, err
	}
	registry := &interceptor.Registry{}
	registry.Add(&lossy{share: loss, dropped: &p.report.Dropped, random: rand.New(rand.NewSource(7))})
	if err := webrtc.RegisterDefaultInterceptors(engine, registry); err != nil {
		return nil, err
	}
	settings := webrtc.SettingEngine{}
	settings.SetIncludeLoopbackCandidate(true)
	api := webrtc.NewAPI(webrtc.WithMediaEngine(engine), webrtc.WithInterceptorRegistry(registry),
		webrtc.WithSettingEngine(settings))
	connection, err := api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return nil, err
	}
	p.connection = connection
	connection.OnConnectionStateChange(func(state webrtc.PeerConnectionState) {
		switch state {
		case webrtc.PeerConnectionStateConnected:
			p.once.Do(func() {
				p.report.ConnectedMS = time.Since(p.began).Milliseconds()
				fmt.Println("connected")
				close(p.connected)
			})
		case webrtc.PeerConnectionStateFailed, webrtc.PeerConnectionStateClosed:
			p.failed <- errors.New("connection " + state.String())
		}
	})
	return p, nil
}

// negotiate sends the offer to a WHIP or WHEP address.
func (p *peer) negotiate(url string) error {
	offer, err := p.connection.CreateOffer(nil)
	if err != nil {
		return err
	}
	gathered := webrtc.GatheringCompletePromise(p.connection)
	if err := p.connection.SetLocalDescription(offer); err != nil {
		return err
	}
	<-gathered
	client := http.Client{Timeout: 10 * time.Second}
	answer, err := client.Post(url, "application/sdp", bytes.NewBufferString(p.connection.LocalDescription().SDP))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusCreated {
		return fmt.Errorf("status %d: %s", answer.StatusCode, text)
	}
	location, err := answer.Location()
	if err != nil {
		return err
	}
	p.resource = location.String()
	return p.connection.SetRemoteDescription(
		webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: string(text)})
}

func (p *peer) waitConnected() error {
	select {
	case <-p.connected:
		return nil
	case err := <-p.failed:
		return err
	case <-time.After(15 * time.Second):
		return errors.New("not connected within 15 s")
	}
}

// leave ends the session as RFC 9725 wants it.
func (p *peer) leave() {
	request, err := http.NewRequest(http.MethodDelete, p.resource, nil)
	if err == nil {
		client := http.Client{Timeout: 5 * time.Second}
		if answer, err := client.Do(request); err == nil {
			answer.Body.Close()
		}
	}
	p.connection.Close()
}

// ---- publishing ----

// pictures are the access units of a file of H.264: what comes before a slice belongs to it.
func pictures(path string) ([][]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	reader, err := h264reader.NewReader(file)
	if err != nil {
		return nil, err
	}
	var found [][]byte
	var unit []byte
	for {
		nal, err := reader.NextNAL()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		unit = append(append(unit, 0, 0, 0, 1), nal.Data...)
		if nal.UnitType == h264reader.NalUnitTypeCodedSliceNonIdr || nal.UnitType == h264reader.NalUnitTypeCodedSliceIdr {
			found = append(found, unit)
			unit = nil
		}
	}
}

type page struct {
	data     []byte
	duration time.Duration
}

func pages(path string) ([]page, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	reader, _, err := oggreader.NewWith(file)
	if err != nil {
		return nil, err
	}
	var found []page
	var last uint64
	for {
		data, header, err := reader.ParseNextPage()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		if bytes.HasPrefix(data, []byte("OpusTags")) {
			continue
		}
		length := time.Duration(header.GranulePosition-last) * time.Second / 48000
		last = header.GranulePosition
		found = append(found, page{data, length})
	}
}

// drain takes the feedback of a sender, which the interceptors work on.
func (p *peer) drain(sender *webrtc.RTPSender) {
	for {
		packets, _, err := sender.ReadRTCP()
		if err != nil {
			return
		}
		for _, packet := range packets {
			switch packet.(type) {
			case *rtcp.PictureLossIndication, *rtcp.FullIntraRequest:
				atomic.AddInt64(&p.report.KeyRequests, 1)
			}
		}
	}
}

// pace calls send(i) when number i is due, until the end.
func pace(begin, end time.Time, due func(number int) time.Duration, send func(number int) error) error {
	for number := 0; ; number++ {
		at := begin.Add(due(number))
		if at.After(end) {
			return nil
		}
		time.Sleep(time.Until(at))
		if err := send(number); err != nil {
			return err
		}
	}
}

// clip is what is sent, again and again.
type clip struct {
	frames [][]byte
	sound  []page
}

func readClip(videoPath, audioPath string) (*clip, error) {
	frames, err := pictures(videoPath)
	if err != nil {
		return nil, err
	}
	sound, err := pages(audioPath)
	return &clip{frames, sound}, err
}

func newTracks() (video, audio *webrtc.TrackLocalStaticSample, err error) {
	video, err = webrtc.NewTrackLocalStaticSample(
		webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeH264}, "video", "pion")
	if err == nil {
		audio, err = webrtc.NewTrackLocalStaticSample(
			webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus}, "audio", "pion")
	}
	return video, audio, err
}

func publish(url, videoPath, audioPath string, loss float64, length time.Duration) (*report, error) {
	what, err := readClip(videoPath, audioPath)
	if err != nil {
		return nil, err
	}
	p, err := newPeer(loss)
	if err != nil {
		return nil, err
	}
	video, audio, err := newTracks()
	if err != nil {
		return nil, err
	}
	for _, track := range []webrtc.TrackLocal{audio, video} {
		transceiver, err := p.connection.AddTransceiverFromTrack(track,
			webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
		if err != nil {
			return nil, err
		}
		go p.drain(transceiver.Sender())
	}
	if err := p.negotiate(url); err != nil {
		return nil, err
	}
	if err := p.waitConnected(); err != nil {
		return nil, err
	}
	if err := p.send(what, video, audio, length); err != nil {
		return nil, err
	}
	p.leave()
	return &p.report, nil
}

// send paces both tracks for that long.
func (p *peer) send(what *clip, video, audio *webrtc.TrackLocalStaticSample, length time.Duration) error {
	frames, sound := what.frames, what.sound
	begin := time.Now()
	end := begin.Add(length)
	done := make(chan error, 2)
	go func() {
		done <- pace(begin, end,
			func(number int) time.Duration { return time.Duration(number) * time.Second / frameRate },
			func(number int) error {
				atomic.AddInt64(&p.report.Frames, 1)
				return video.WriteSample(media.Sample{Data: frames[number%len(frames)], Duration: time.Second / frameRate})
			})
	}()
	go func() {
		var sent time.Duration
		done <- pace(begin, end,
			func(int) time.Duration { return sent },
			func(number int) error {
				one := sound[number%len(sound)]
				sent += one.duration
				atomic.AddInt64(&p.report.AudioPackets, 1)
				return audio.WriteSample(media.Sample{Data: one.data, Duration: one.duration})
			})
	}()
	for i := 0; i < 2; i++ {
		if err := <-done; err != nil {
			return err
		}
	}
	return nil
}

// ---- packets as they are ----

// sendPackets sends the RTP packets of a file when they are due: each record has the time from the beginning in microseconds
// (8 bytes), 0 for audio or 1 for video (1 byte), the length of the packet (2 bytes) and the packet. Its SSRC and payload
// type become those of the session.
func sendPackets(url, path string) (*report, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p, err := newPeer(0)
	if err != nil {
		return nil, err
	}
	var tracks []*webrtc.TrackLocalStaticRTP
	for _, one := range []struct{ mime, name string }{{webrtc.MimeTypeOpus, "audio"}, {webrtc.MimeTypeH264, "video"}} {
		track, err := webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{MimeType: one.mime}, one.name, "pion")
		if err != nil {
			return nil, err
		}
		sender, err := p.connection.AddTransceiverFromTrack(track,
			webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionSendonly})
		if err != nil {
			return nil, err
		}
		go p.drain(sender.Sender())
		tracks = append(tracks, track)
	}
	if err := p.negotiate(url); err != nil {
		return nil, err
	}
	if err := p.waitConnected(); err != nil {
		return nil, err
	}
	begin := time.Now()
	for len(data) >= 11 {
		due := time.Duration(binary.BigEndian.Uint64(data)) * time.Microsecond
		size := int(binary.BigEndian.Uint16(data[9:]))
		time.Sleep(time.Until(begin.Add(due)))
		if _, err := tracks[data[8]].Write(data[11 : 11+size]); err != nil {
			return nil, err
		}
		data = data[11+size:]
	}
	p.leave()
	return &p.report, nil
}

// ---- a server of WHEP ----

// server sends the clip to each player, as long as that one stays.
type server struct {
	media  *clip
	loss   float64
	length time.Duration
	mutex  sync.Mutex
	peers  map[string]*peer
	total  report
	number int
}

func (s *server) answer(text string) (path, answer string, err error) {
	p, err := newPeer(s.loss)
	if err != nil {
		return "", "", err
	}
	if err := p.connection.SetRemoteDescription(
		webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: text}); err != nil {
		return "", "", err
	}
	video, audio, err := newTracks()
	if err != nil {
		return "", "", err
	}
	for _, track := range []webrtc.TrackLocal{audio, video} {
		sender, err := p.connection.AddTrack(track)
		if err != nil {
			return "", "", err
		}
		go p.drain(sender)
	}
	made, err := p.connection.CreateAnswer(nil)
	if err != nil {
		return "", "", err
	}
	gathered := webrtc.GatheringCompletePromise(p.connection)
	if err := p.connection.SetLocalDescription(made); err != nil {
		return "", "", err
	}
	<-gathered
	go func() {
		if err := p.waitConnected(); err == nil {
			_ = p.send(s.media, video, audio, s.length)
		}
	}()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.number++
	path = fmt.Sprintf("/session/%d", s.number)
	s.peers[path] = p
	return path, p.connection.LocalDescription().SDP, nil
}

func (s *server) forget(path string) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	p := s.peers[path]
	if p == nil {
		return false
	}
	delete(s.peers, path)
	s.total.Frames += atomic.LoadInt64(&p.report.Frames)
	s.total.AudioPackets += atomic.LoadInt64(&p.report.AudioPackets)
	s.total.KeyRequests += atomic.LoadInt64(&p.report.KeyRequests)
	s.total.Dropped += atomic.LoadInt64(&p.report.Dropped)
	p.connection.Close()
	return true
}

func (s *server) ServeHTTP(out http.ResponseWriter, request *http.Request) {
	switch {
	case request.Method == http.MethodDelete && s.forget(request.URL.Path):
		out.WriteHeader(http.StatusOK)
		s.mutex.Lock()
		s.total.Left++
		s.mutex.Unlock()
	case request.Method == http.MethodPost && request.URL.Path == "/whep":
		text, err := io.ReadAll(io.LimitReader(request.Body, 1<<20))
		if err != nil {
			return
		}
		path, answer, err := s.answer(string(text))
		if err != nil {
			http.Error(out, err.Error(), http.StatusBadRequest)
			return
		}
		out.Header().Set("Content-Type", "application/sdp")
		out.Header().Set("Location", path)
		out.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(out, answer)
	default:
		http.NotFound(out, request)
	}
}

// serve answers offers at http://ADDRESS/whep until the time is over.
func serve(address, videoPath, audioPath string, loss float64, length time.Duration) (*report, error) {
	what, err := readClip(videoPath, audioPath)
	if err != nil {
		return nil, err
	}
	s := &server{media: what, loss: loss, length: length, peers: map[string]*peer{}}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	fmt.Println("listening")
	go func() { _ = http.Serve(listener, s) }()
	time.Sleep(length)
	s.mutex.Lock()
	paths := make([]string, 0, len(s.peers))
	for path := range s.peers {
		paths = append(paths, path)
	}
	s.mutex.Unlock()
	for _, path := range paths {
		s.forget(path)
	}
	return &s.total, nil
}

// ---- playing ----

func (p *peer) takeVideo(track *webrtc.TrackRemote, out io.Writer) {
	// Packets that come late have a second.
	builder := samplebuilder.New(500, &codecs.H264Packet{}, track.Codec().ClockRate,
		samplebuilder.WithMaxTimeDelay(time.Second))
	whole := true // since the last loss a key frame came
	for {
		packet, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		atomic.AddInt64(&p.report.VideoPackets, 1)
		builder.Push(packet)
		for sample := builder.Pop(); sample != nil; sample = builder.Pop() {
			if sample.PrevDroppedPackets > 0 && p.report.Frames > 0 {
				p.report.Missing += int64(sample.PrevDroppedPackets)
				whole = false
				p.report.KeyRequests++
				_ = p.connection.WriteRTCP([]rtcp.Packet{
					&rtcp.PictureLossIndication{MediaSSRC: uint32(track.SSRC())}})
			}
			if bytes.Contains(sample.Data, []byte{0, 0, 0, 1, 0x67}) {
				whole = true
			}
			if !whole {
				continue
			}
			if p.report.Frames == 0 {
				p.report.FirstMS = time.Since(p.began).Milliseconds()
			}
			p.report.Frames++
			p.times.add("video %d", sample.PacketTimestamp)
			if _, err := out.Write(sample.Data); err != nil {
				return
			}
		}
	}
}

func (p *peer) takeAudio(track *webrtc.TrackRemote, out *oggwriter.OggWriter) {
	for {
		packet, _, err := track.ReadRTP()
		if err != nil {
			return
		}
		p.report.AudioPackets++
		p.times.add("audio %d", packet.Timestamp)
		if err := out.WriteRTP(packet); err != nil {
			return
		}
	}
}

// takeReports keeps what sender reports say: how the RTP times of the tracks belong together (RFC 3550 6.4.1).
// A compound packet has those of both tracks.
func (p *peer) takeReports(track *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
	for {
		packets, _, err := receiver.ReadRTCP()
		if err != nil {
			return
		}
		for _, packet := range packets {
			if report, ok := packet.(*rtcp.SenderReport); ok && report.SSRC == uint32(track.SSRC()) {
				p.times.add("report-%s %d %d", track.Kind(), report.RTPTime, report.NTPTime)
			}
		}
	}
}

func play(url, videoPath, audioPath, timesPath string, loss float64, length time.Duration) (*report, error) {
	p, err := newPeer(loss)
	if err != nil {
		return nil, err
	}
	if timesPath != "" {
		times, err := os.Create(timesPath)
		if err != nil {
			return nil, err
		}
		defer times.Close()
		p.times = &lines{out: times}
	}
	video, err := os.Create(videoPath)
	if err != nil {
		return nil, err
	}
	defer video.Close()
	audio, err := oggwriter.New(audioPath, 48000, 2)
	if err != nil {
		return nil, err
	}
	defer audio.Close()
	var readers sync.WaitGroup
	p.connection.OnTrack(func(track *webrtc.TrackRemote, receiver *webrtc.RTPReceiver) {
		go p.takeReports(track, receiver)
		readers.Add(1)
		defer readers.Done()
		if track.Kind() == webrtc.RTPCodecTypeVideo {
			p.takeVideo(track, video)
		} else {
			p.takeAudio(track, audio)
		}
	})
	for _, kind := range []webrtc.RTPCodecType{webrtc.RTPCodecTypeAudio, webrtc.RTPCodecTypeVideo} {
		if _, err := p.connection.AddTransceiverFromKind(kind,
			webrtc.RTPTransceiverInit{Direction: webrtc.RTPTransceiverDirectionRecvonly}); err != nil {
			return nil, err
		}
	}
	if err := p.negotiate(url); err != nil {
		return nil, err
	}
	if err := p.waitConnected(); err != nil {
		return nil, err
	}
	select {
	case <-time.After(length):
	case err := <-p.failed:
		return nil, err
	}
	p.leave()
	readers.Wait()
	return &p.report, nil
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: weir-pion-peer publish|play|send URL or serve HOST:PORT -video FILE -audio FILE [-seconds N] [-loss SHARE]")
		os.Exit(2)
	}
	flags := flag.NewFlagSet("weir-pion-peer", flag.ExitOnError)
	video := flags.String("video", "", "a file of H.264")
	audio := flags.String("audio", "", "an Ogg file of Opus")
	times := flags.String("times", "", "a file for the times of what is played")
	packets := flags.String("rtp", "", "a file of packets to send")
	seconds := flags.Float64("seconds", 5, "how long, from when it is connected")
	loss := flags.Float64("loss", 0, "share of media packets to lose, 0 to 1")
	_ = flags.Parse(os.Args[3:])
	work := map[string]func(string, string, string, float64, time.Duration) (*report, error){
		"publish": publish,
		"play": func(url, video, audio string, loss float64, length time.Duration) (*report, error) {
			return play(url, video, audio, *times, loss, length)
		},
		"send": func(url, _, _ string, _ float64, _ time.Duration) (*report, error) {
			return sendPackets(url, *packets)
		},
		"serve": serve}[os.Args[1]]
	if work == nil {
		fmt.Fprintln(os.Stderr, "weir-pion-peer: publish, play, send or serve?")
		os.Exit(2)
	}
	result, err := work(os.Args[2], *video, *audio, *loss, time.Duration(*seconds*float64(time.Second)))
	if err != nil {
		fmt.Fprintln(os.Stderr, "weir-pion-peer:", err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(result)
}
