//! An echo server on yawc, in one thread. It compresses all messages, and prints its port.

use std::net::Ipv4Addr;

use futures_util::{FutureExt, SinkExt, StreamExt};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{spawn, unconstrained};
use yawc::{CompressionLevel, DeflatePool, OpCode, Options, Result, UpgradeFut, WebSocket};

const MIB: usize = 1024 * 1024;

async fn echo(upgrade: UpgradeFut) -> Result<()> {
    let mut socket = upgrade.await?;
    while let Some(message) = socket.next().await {
        // `next` does not write what was fed, as that of tokio-websockets does. So one write sends
        // the replies to all messages of a read.
        let mut next = Some(message);
        while let Some(message) = next {
            if matches!(message.opcode(), OpCode::Text | OpCode::Binary) {
                socket.feed(message).await?;
            }
            next = socket.next().now_or_never().flatten();
        }
        socket.flush().await?;
    }
    Ok(())
}

async fn accept(stream: TcpStream, options: Options) -> hyper::Result<()> {
    let service = service_fn(|mut request| {
        let upgraded = WebSocket::upgrade_with_options(&mut request, options.clone());
        async {
            let (response, upgrade) = upgraded?;
            // As its own example does: otherwise tokio ends the turn of a task after 128 reads.
            spawn(unconstrained(echo(upgrade)));
            Result::Ok(response)
        }
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    connection.with_upgrades().await
}

async fn serve() -> Result<()> {
    // The buffers are as large as in its own benchmark. One thread uses one compressor at a time.
    // Measured: without the pool a message takes 1.1 to 1.3 times the processor time.
    let options = Options::default()
        .with_compression_level(CompressionLevel::new(6))
        .server_no_context_takeover()
        .client_no_context_takeover()
        .with_deflate_pool(DeflatePool::new(1))
        .with_limits(8 * MIB, 16 * MIB)
        .with_read_buffer_capacity(MIB / 8)
        .with_backpressure_boundary(MIB / 16)
        .with_utf8();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("{}", listener.local_addr()?.port());
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        spawn(accept(stream, options.clone()));
    }
}

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    runtime.block_on(serve())
}
