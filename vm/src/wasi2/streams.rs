//! `wasi:io/streams`.

use super::interface::{Context, Interface, drop_it};
use super::{input, output};
use crate::Result;
use crate::component::Linker;

pub fn define<T: 'static>(linker: &mut Linker<T>, context: impl Context<T>) -> Result<()> {
    let mut all = Interface::new(linker, "wasi:io/streams", context)?;
    all.resource::<input::InputStream>("input-stream", drop_it)?;
    all.resource("output-stream", output::drop)?;
    all.streamed("[method]input-stream.read", input::read_now)?;
    all.streamed("[method]input-stream.blocking-read", input::blocking_read)?;
    all.streamed("[method]input-stream.skip", input::skip)?;
    all.streamed("[method]input-stream.blocking-skip", input::blocking_skip)?;
    all.func("[method]input-stream.subscribe", input::subscribe)?;
    all.streamed("[method]output-stream.check-write", output::check_write)?;
    all.streamed("[method]output-stream.write", output::write)?;
    all.streamed("[method]output-stream.blocking-write-and-flush", output::blocking_write_and_flush)?;
    all.streamed("[method]output-stream.flush", output::flush)?;
    all.streamed("[method]output-stream.blocking-flush", output::blocking_flush)?;
    all.func("[method]output-stream.subscribe", output::subscribe)?;
    all.streamed("[method]output-stream.write-zeroes", output::write_zeroes)?;
    let zeroes = "[method]output-stream.blocking-write-zeroes-and-flush";
    all.streamed(zeroes, output::blocking_write_zeroes_and_flush)?;
    all.streamed("[method]output-stream.splice", output::splice)?;
    all.streamed("[method]output-stream.blocking-splice", output::blocking_splice)
}
