import { type EngineClient, EngineError } from '../../host/index.ts'

/** What a container of an engine wrote, standard output and error as they came; with `follow` until the container ends. */
export async function* readEngineLog(
  engine: Pick<EngineClient, 'stream' | 'socketPath'>,
  container: string,
  { follow, tail }: { readonly follow: boolean; readonly tail?: number | undefined },
): AsyncGenerator<Buffer> {
  const query = { stdout: 'true', stderr: 'true', follow: String(follow), tail: String(tail ?? 'all') }
  yield* joinFrames(await engine.stream(`/containers/${container}/logs`, query), engine.socketPath)
}

const headBytes = 8

/**
 * The payloads of Docker's multiplexed streams ("Attach to a container" in its API): frames of a head of 8 bytes (which stream, three zeros,
 * how many bytes, big-endian) and as many bytes. Throws EngineError `bad-answer`.
 */
async function* joinFrames(chunks: AsyncIterable<Buffer>, object: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  let missing = 0
  for await (const chunk of chunks) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    while (missing > 0 ? rest.length > 0 : rest.length >= headBytes) {
      if (missing === 0) {
        missing = readHead(rest, object)
        rest = rest.subarray(headBytes)
        continue
      }
      const payload = rest.subarray(0, missing)
      missing -= payload.length
      rest = rest.subarray(payload.length)
      yield payload
    }
  }
}

function readHead(head: Buffer, object: string): number {
  const [stream = 0, ...zeros] = head.subarray(0, 4)
  if (stream > 2 || zeros.some((byte) => byte !== 0))
    throw new EngineError('bad-answer', 'expected a log in frames, as Docker and Podman write it', { object })
  return head.readUInt32BE(4)
}
