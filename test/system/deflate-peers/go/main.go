// Echoes messages as a server or a client of coder/websocket. The argument is JSON:
//
//	{"takeover": false, "streams": false}                       listens, and prints its port
//	{"connect": "ws://...", "takeover": true, "streams": true}  ends when it has been closed
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/coder/websocket"
)

var asked struct {
	Connect  string
	Takeover bool
	Streams  bool
}

func echo(socket *websocket.Conn) error {
	socket.SetReadLimit(-1)
	for {
		kind, reader, err := socket.Reader(context.Background())
		if websocket.CloseStatus(err) == websocket.StatusNormalClosure {
			return nil
		}
		if err != nil {
			return err
		}
		if err := echoMessage(socket, kind, reader); err != nil {
			return err
		}
	}
}

func echoMessage(socket *websocket.Conn, kind websocket.MessageType, reader io.Reader) error {
	if !asked.Streams {
		data, err := io.ReadAll(reader)
		if err != nil {
			return err
		}
		return socket.Write(context.Background(), kind, data)
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

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	check(json.Unmarshal([]byte(os.Args[1]), &asked))
	mode := websocket.CompressionNoContextTakeover
	if asked.Takeover {
		mode = websocket.CompressionContextTakeover
	}
	if asked.Connect != "" {
		socket, _, err := websocket.Dial(context.Background(), asked.Connect, &websocket.DialOptions{CompressionMode: mode})
		check(err)
		check(socket.Write(context.Background(), websocket.MessageText, []byte("ready")))
		check(echo(socket))
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	check(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		socket, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: mode})
		if err == nil {
			echo(socket)
		}
	})))
}
