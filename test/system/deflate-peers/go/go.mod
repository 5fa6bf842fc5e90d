module framemask/deflate-peer

go 1.21

require github.com/coder/websocket v1.8.13
