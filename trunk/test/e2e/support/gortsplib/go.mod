module weir-gortsplib-peer

go 1.24.0

require (
	github.com/bluenviron/gortsplib/v5 v5.0.0
	github.com/pion/rtp v1.8.22
)

require (
	github.com/bluenviron/mediacommon/v2 v2.4.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/gorilla/websocket v1.5.3 // indirect
	github.com/pion/logging v0.2.4 // indirect
	github.com/pion/randutil v0.1.0 // indirect
	github.com/pion/rtcp v1.2.15 // indirect
	github.com/pion/sdp/v3 v3.0.16 // indirect
	github.com/pion/srtp/v3 v3.0.7 // indirect
	github.com/pion/transport/v3 v3.0.7 // indirect
	golang.org/x/net v0.44.0 // indirect
	golang.org/x/sys v0.36.0 // indirect
)
