/** Thrown when a body is larger than permitted. */
export class TooLargeError extends Error {
  override readonly name = "TooLargeError";
}

/** Reads a body whole, at most so many bytes. */
export async function readBytes(body: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<Uint8Array> {
  if (!body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.byteLength;
      if (size > maxBytes) throw new TooLargeError(`the body has more than ${maxBytes} bytes`);
      chunks.push(value);
    }
  } catch (error) {
    // What is left is of no use; that it can't be cancelled neither.
    reader.cancel().catch(() => undefined);
    throw error;
  }
  return join(chunks, size);
}

/** Concatenates chunks whose sizes add up to size. */
export function join(chunks: Uint8Array[], size: number): Uint8Array {
  if (chunks.length === 1 && chunks[0]) return chunks[0];
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}

/**
 * Splits a stream into lines, which end with LF or CRLF. A line of more than
 * maxBytes is an error. The last line needs no end.
 */
export async function* readLines(body: ReadableStream<Uint8Array>, maxBytes: number): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let pending: Uint8Array[] = [];
  let size = 0;
  const finish = (last: Uint8Array): string => {
    const bytes = join([...pending, last], size + last.byteLength);
    pending = [];
    size = 0;
    return decoder.decode(bytes.at(-1) === 13 ? bytes.subarray(0, -1) : bytes);
  };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      let start = 0;
      for (let end = value.indexOf(10); end >= 0; end = value.indexOf(10, start)) {
        if (size + end - start > maxBytes) throw new TooLargeError(`a line has more than ${maxBytes} bytes`);
        yield finish(value.subarray(start, end));
        start = end + 1;
      }
      if (start < value.byteLength) {
        pending.push(value.subarray(start));
        size += value.byteLength - start;
      }
      if (size > maxBytes) throw new TooLargeError(`a line has more than ${maxBytes} bytes`);
    }
    if (size > 0) yield finish(new Uint8Array());
  } finally {
    reader.cancel().catch(() => undefined); // ends the connection if there is more
  }
}
