// Echoes messages as a client or a server of coder/websocket. A line of JSON on stdin asks for
// either:
//
//	{"id": 1, "listen": true, "takeover": false, "streams": false}  ->  {"id": 1, "port": 40000}
//	{"id": 2, "connect": "ws://...", "takeover": true, "streams": true}  ->  {"id": 2} when it has been closed
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/coder/websocket"
)

type command struct {
	Id       int
	Listen   bool
	Connect  string
	Takeover bool
	Streams  bool
}

type answer struct {
	Id    int    `json:"id"`
	Port  int    `json:"port,omitempty"`
	Error string `json:"error,omitempty"`
}

func echo(socket *websocket.Conn, streams bool) error {
	echoMessage := echoWhole
	if streams {
		echoMessage = echoStream
	}
	socket.SetReadLimit(-1)
	for {
		err := echoMessage(socket)
		if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func echoWhole(socket *websocket.Conn) error {
	kind, data, err := socket.Read(context.Background())
	if err != nil {
		return err
	}
	return socket.Write(context.Background(), kind, data)
}

func echoStream(socket *websocket.Conn) error {
	kind, reader, err := socket.Reader(context.Background())
	if err != nil {
		return err
	}
	writer, err := socket.Writer(context.Background(), kind)
	if err != nil {
		return err
	}
	if _, err := io.Copy(writer, reader); err != nil {
		return err
	}
	return writer.Close()
}

func modeOf(takeover bool) websocket.CompressionMode {
	if takeover {
		return websocket.CompressionContextTakeover
	}
	return websocket.CompressionNoContextTakeover
}

func listen(takeover, streams bool) (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: modeOf(takeover)})
		if err == nil {
			echo(socket, streams)
		}
	}))
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func connect(url string, takeover, streams bool) error {
	options := &websocket.DialOptions{CompressionMode: modeOf(takeover)}
	socket, _, err := websocket.Dial(context.Background(), url, options)
	if err != nil {
		return err
	}
	if err := socket.Write(context.Background(), websocket.MessageText, []byte("ready")); err != nil {
		return err
	}
	return echo(socket, streams)
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	var output sync.Mutex
	for lines.Scan() {
		var asked command
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		go func() {
			reply := answer{Id: asked.Id}
			var err error
			if asked.Listen {
				reply.Port, err = listen(asked.Takeover, asked.Streams)
			} else {
				err = connect(asked.Connect, asked.Takeover, asked.Streams)
			}
			if err != nil {
				reply.Error = err.Error()
			}
			output.Lock()
			json.NewEncoder(os.Stdout).Encode(reply)
			output.Unlock()
		}()
	}
}
