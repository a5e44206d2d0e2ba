// Messages between serving threads. Each field of a batch is a list of its own and the bytes of all messages stand one after the other: cloning a
// list of objects costs several times as much.
import type { Ip } from '../../../model/ip.ts'
import type { ResolveRequest, ResolveResult } from '../plugins/forward/resolve-request.ts'
import type { CachedCopy } from '../plugins/handler.ts'

/** Bytes of several messages, one after the other; -1 is the length of an absent one. */
interface PackedMessages {
  readonly bytes: Uint8Array
  readonly lengths: readonly number[]
}

export interface RequestBatch extends PackedMessages {
  readonly ids: readonly number[]
  readonly blocks: readonly string[]
  readonly clients: readonly string[]
  readonly overTcp: readonly boolean[]
  readonly limits: readonly number[]
  readonly wantsCopy: readonly boolean[]
}

export interface ResultBatch extends PackedMessages {
  readonly ids: readonly number[]
  readonly plugins: readonly ResolveResult['plugin'][]
  readonly agesMs: readonly number[]
  readonly copies: readonly (CachedCopy | undefined)[]
}

/** Datagrams that the thread with the resolver answers itself, from its socket with the same address. */
export interface HandedDatagrams {
  readonly place: DatagramPlace
  /** Datagrams as a `DatagramPack` gives them. */
  readonly packed: Uint8Array
}

/** The first message of a serving thread: memory that both threads share. */
export interface SharedProgress {
  /** One number: the bytes of handed datagrams that have been taken, modulo 2^32. */
  readonly taken: Int32Array<SharedArrayBuffer>
}

/** The address and port that received datagrams. */
export interface DatagramPlace {
  readonly address: Ip
  readonly port: number
}

/** Where the thread with the resolver listens: it answers no datagrams of other places. */
export interface ListeningPlaces {
  readonly places: readonly DatagramPlace[]
}

/** Returns the place alone, of something that has more. */
export function placeOf({ address, port }: DatagramPlace): DatagramPlace {
  return { address, port }
}

export function isSamePlace(a: DatagramPlace, b: DatagramPlace): boolean {
  return a.address === b.address && a.port === b.port
}

/** A copy of a cached answer for the thread that handed its question over. */
export interface HandedCopy {
  /** The id of the server block. */
  readonly block: string
  readonly question: Uint8Array
  readonly copy: CachedCopy
}

/** Sends the copy to the thread that handed its question over. */
export type GiveCopy = (handed: HandedCopy) => void

/** Copies the questions. */
export function packRequests(requests: readonly ResolveRequest[]): RequestBatch {
  return {
    ids: requests.map(({ id }) => id),
    blocks: requests.map(({ block }) => block),
    clients: requests.map(({ client }) => client),
    overTcp: requests.map(({ overTcp }) => overTcp),
    limits: requests.map(({ limit }) => limit),
    wantsCopy: requests.map(({ wantsCopy }) => wantsCopy),
    ...packMessages(requests.map(({ question }) => question)),
  }
}

/** The questions are views of the batch. */
export function unpackRequests(batch: RequestBatch): readonly ResolveRequest[] {
  const questions = unpackMessages(batch)
  return batch.ids.map((id, index) => ({
    id,
    block: batch.blocks[index] ?? '',
    client: batch.clients[index] ?? '',
    overTcp: batch.overTcp[index] === true,
    limit: batch.limits[index] ?? 0,
    wantsCopy: batch.wantsCopy[index] === true,
    question: questions[index] ?? new Uint8Array(0),
  }))
}

/** Copies the answers. */
export function packResults(results: readonly ResolveResult[]): ResultBatch {
  return {
    ids: results.map(({ id }) => id),
    plugins: results.map(({ plugin }) => plugin),
    agesMs: results.map(({ ageMs }) => ageMs),
    copies: results.map(({ copy }) => copy && packCopy(copy)),
    ...packMessages(results.map(({ message }) => message)),
  }
}

/** The answers are views of the batch. */
export function unpackResults(batch: ResultBatch): readonly ResolveResult[] {
  const messages = unpackMessages(batch)
  return batch.ids.map((id, index) => {
    const copy = batch.copies[index]
    const result = { id, plugin: batch.plugins[index] ?? '', ageMs: batch.agesMs[index] ?? 0, message: messages[index] }
    return copy === undefined ? result : { ...result, copy }
  })
}

/** Copies the question and the answer. */
export function packHandedCopy({ block, question, copy }: HandedCopy): HandedCopy {
  return { block, question: new Uint8Array(question), copy: packCopy(copy) }
}

/** A view would be sent with all of the memory behind it. */
function packCopy(copy: CachedCopy): CachedCopy {
  return { ...copy, message: new Uint8Array(copy.message) }
}

function packMessages(messages: readonly (Uint8Array | undefined)[]): PackedMessages {
  const bytes = new Uint8Array(messages.reduce((sum, message) => sum + (message?.length ?? 0), 0))
  let at = 0
  for (const message of messages) {
    if (message === undefined) continue
    bytes.set(message, at)
    at += message.length
  }
  return { bytes, lengths: messages.map((message) => message?.length ?? -1) }
}

function unpackMessages({ bytes, lengths }: PackedMessages): readonly (Uint8Array | undefined)[] {
  let at = 0
  return lengths.map((length) => {
    if (length === -1) return undefined
    at += length
    return bytes.subarray(at - length, at)
  })
}
