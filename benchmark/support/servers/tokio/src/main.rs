//! An echo server on tokio-websockets, in one thread. It prints its port.

use std::net::Ipv4Addr;

use futures_util::{FutureExt, SinkExt, StreamExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_websockets::{Config, Error, Limits, ServerBuilder};

/// Measured: 4 messages of 16,000 bytes are better sent together, 4 of 64 KiB one by one.
const MOST_BYTES: usize = 64 * 1024;
const MOST_MESSAGES: usize = 128;

async fn echo(stream: TcpStream) -> Result<(), Error> {
    stream.set_nodelay(true)?;
    let config = Config::default()
        .frame_size(usize::MAX)
        .flush_threshold(usize::MAX);
    let builder = ServerBuilder::new()
        .config(config)
        .limits(Limits::unlimited());
    let (_request, mut socket) = builder.accept(stream).await?;
    // `next` first writes what was fed. So small messages are collected before they are fed, and one
    // write sends them all. Large ones would keep the decoder from using its memory again.
    let mut messages = Vec::new();
    while let Some(message) = socket.next().await {
        let mut next = Some(message?);
        let mut bytes = 0;
        while let Some(message) = next {
            bytes += message.as_payload().len();
            messages.push(message);
            if bytes >= MOST_BYTES || messages.len() == MOST_MESSAGES {
                break;
            }
            next = socket.next().now_or_never().flatten().transpose()?;
        }
        for message in messages.drain(..) {
            if message.is_text() || message.is_binary() {
                socket.feed(message).await?;
            }
        }
        socket.flush().await?;
    }
    Ok(())
}

async fn serve() -> Result<(), Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("{}", listener.local_addr()?.port());
    loop {
        let (stream, _) = listener.accept().await?;
        // As its own example does: otherwise tokio ends the turn of a task after 128 reads.
        tokio::spawn(tokio::task::unconstrained(echo(stream)));
    }
}

fn main() -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(serve())
}
