module weir-gortmplib-peer

go 1.24.0

require (
	github.com/bluenviron/gortmplib v0.1.0
	github.com/bluenviron/gortsplib/v5 v5.0.0
)

require (
	github.com/abema/go-mp4 v1.4.1 // indirect
	github.com/bluenviron/mediacommon/v2 v2.4.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/pion/randutil v0.1.0 // indirect
	github.com/pion/rtp v1.8.22 // indirect
	github.com/pion/sdp/v3 v3.0.16 // indirect
)
