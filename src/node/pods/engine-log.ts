import { type EngineClient, EngineError } from '../../host/index.ts'

interface EngineLogOptions {
  readonly follow: boolean
  readonly tail?: number | undefined
  /** Ends the reading with an AbortError. */
  readonly signal?: AbortSignal
}

/** Reads the output of an engine's container, standard output and error in order of arrival; with `follow` until the container ends. */
export async function* readEngineLog(
  engine: Pick<EngineClient, 'stream' | 'socketPath'>,
  container: string,
  { follow, tail, signal }: EngineLogOptions,
): AsyncGenerator<Buffer> {
  const query = { stdout: 'true', stderr: 'true', follow: String(follow), tail: String(tail ?? 'all') }
  yield* readFrames(await engine.stream(`/containers/${container}/logs`, query, signal), engine.socketPath)
}

const headerBytes = 8

/**
 * Extracts the payloads of Docker's multiplexed stream ("Attach to a container" in its API). A frame is a header of 8 bytes (stream, three
 * zeros, big-endian length) and its payload. Throws EngineError `bad-answer`.
 */
async function* readFrames(chunks: AsyncIterable<Buffer>, object: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  let missing = 0
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    while (missing > 0 ? rest.length > 0 : rest.length >= headerBytes) {
      if (missing === 0) {
        missing = readHeader(rest, object)
        rest = rest.subarray(headerBytes)
        continue
      }
      const payload = rest.subarray(0, missing)
      missing -= payload.length
      rest = rest.subarray(payload.length)
      yield payload
    }
  }
}

function readHeader(header: Buffer, object: string): number {
  const [stream = 0, ...zeros] = header.subarray(0, 4)
  if (stream > 2 || zeros.some((byte) => byte !== 0))
    throw new EngineError('bad-answer', 'expected a log in frames, as Docker and Podman write it', { object })
  return header.readUInt32BE(4)
}
