import { BackendError } from './backend.ts'

/** A frame of a SPDY/3.1 server, as far as remote commands use them. The bytes of one message may come as several frames. */
export type SpdyFrame =
  | { readonly kind: 'data'; readonly stream: number; readonly bytes: Buffer; readonly isLast: boolean }
  | { readonly kind: 'reset'; readonly stream: number }
  | { readonly kind: 'ping'; readonly id: number }
  | { readonly kind: 'other' }

const headBytes = 8
const version = 3
const types = { synStream: 1, reset: 3, ping: 6 } as const
const lastFlag = 1
/** The longest control frame that is read; those of remote commands have less than a hundred bytes. */
const maxControlBytes = 64 * 1024
/** The length field has 24 bits; smaller frames let others between them. */
const maxDataBytes = 32 * 1024

/** The empty stored block that ends what a zlib stream is flushed with: Go's reader holds a block back until the next one begins. */
const flushed = Buffer.from([0x00, 0x00, 0x00, 0xff, 0xff])

/**
 * Returns the frames that open streams (SYN_STREAM), one for each headers, with the ids 1, 3, 5 and so on. Their header blocks
 * are one zlib stream that compresses nothing: each is a stored block, which every inflater reads (RFC 1951 section 3.2.4), and
 * is flushed.
 */
export function openStreams(headers: readonly Readonly<Record<string, string>>[]): Buffer {
  return Buffer.concat(headers.flatMap((each, index) => openStream(streamId(index), each, index === 0)))
}

/** Returns the id of the stream that is opened as the nth, counted from 0. */
export function streamId(index: number): number {
  return 2 * index + 1
}

function openStream(id: number, headers: Readonly<Record<string, string>>, isFirst: boolean): readonly Buffer[] {
  const stream = Buffer.alloc(10)
  stream.writeUInt32BE(id)
  const zlibHead = Buffer.from(isFirst ? [0x78, 0x01] : [])
  const block = headerBlock(headers)
  const stored = Buffer.alloc(5)
  stored.writeUInt16LE(block.length, 1)
  stored.writeUInt16LE(~block.length & 0xffff, 3)
  return controlFrame(types.synStream, [stream, zlibHead, stored, block, flushed])
}

function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const pairs = Object.entries(headers)
  const texts = pairs.flat().flatMap((text) => [number32(Buffer.byteLength(text)), Buffer.from(text)])
  return Buffer.concat([number32(pairs.length), ...texts])
}

/** Returns the frames of a stream's bytes; `isLast` ends this direction of the stream. */
export function dataFrames(stream: number, bytes: Buffer, isLast = false): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at === 0 || at < bytes.length; at += maxDataBytes) {
    const part = bytes.subarray(at, at + maxDataBytes)
    const ends = isLast && at + maxDataBytes >= bytes.length
    parts.push(number32(stream), flagsAndLength(ends ? lastFlag : 0, part.length), part)
  }
  return Buffer.concat(parts)
}

/** Returns the answer to a server's ping. */
export function pingAnswer(id: number): Buffer {
  return Buffer.concat(controlFrame(types.ping, [number32(id)]))
}

function controlFrame(type: number, payload: readonly Buffer[]): readonly Buffer[] {
  const length = payload.reduce((sum, part) => sum + part.length, 0)
  return [number32(((0x8000 | version) << 16) | type), flagsAndLength(0, length), ...payload]
}

function flagsAndLength(flags: number, length: number): Buffer {
  return number32((flags << 24) | length)
}

function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value >>> 0)
  return bytes
}

/** A data frame of which `left` bytes have not come. */
interface OpenFrame {
  readonly stream: number
  readonly endsStream: boolean
  left: number
}

/** Cuts what a server sends into frames. The bytes of a long data frame are given on as they come. */
export class SpdyFrameReader {
  #rest: Buffer = Buffer.alloc(0)
  #open: OpenFrame | undefined;

  /** Returns the frames that are complete with this chunk, and the part of a data frame. Throws BackendError. */
  *read(chunk: Buffer): Generator<SpdyFrame> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    while (true) {
      const frame = this.#open === undefined ? this.#next() : this.#data(this.#open)
      if (frame === undefined) return
      if (frame.kind !== 'other') yield frame
    }
  }

  #next(): SpdyFrame | undefined {
    if (this.#rest.length < headBytes) return undefined
    const first = this.#rest.readUInt32BE()
    const second = this.#rest.readUInt32BE(4)
    const length = second & 0xffffff
    if (first >>> 31 === 0) {
      this.#take(headBytes)
      this.#open = { stream: first, endsStream: ((second >>> 24) & lastFlag) !== 0, left: length }
      return { kind: 'other' }
    }
    if (length > maxControlBytes) throw new BackendError('malformed', `a SPDY control frame of ${length} bytes`)
    if (this.#rest.length < headBytes + length) return undefined
    return controlOf(first & 0xffff, this.#take(headBytes + length).subarray(headBytes))
  }

  #data(open: OpenFrame): SpdyFrame | undefined {
    if (this.#rest.length === 0 && open.left > 0) return undefined
    const bytes = this.#take(Math.min(open.left, this.#rest.length))
    open.left -= bytes.length
    if (open.left === 0) this.#open = undefined
    return { kind: 'data', stream: open.stream, bytes, isLast: open.left === 0 && open.endsStream }
  }

  #take(length: number): Buffer {
    const taken = this.#rest.subarray(0, length)
    this.#rest = this.#rest.subarray(length)
    return taken
  }
}

/** A reply to a stream, settings, windows and the like change nothing here: Kubernetes' SPDY has no flow control of its own. */
function controlOf(type: number, payload: Buffer): SpdyFrame {
  if (type !== types.reset && type !== types.ping) return { kind: 'other' }
  if (payload.length < 4)
    throw new BackendError('malformed', `a SPDY frame of type ${type} with ${payload.length} bytes`)
  const id = payload.readUInt32BE()
  return type === types.ping ? { kind: 'ping', id } : { kind: 'reset', stream: id }
}
