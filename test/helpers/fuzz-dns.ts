import { followAliases } from '../../src/node/dns/wire/aliases.ts'
import { recordType } from '../../src/node/dns/wire/codes.ts'
import { DnsFormatError } from '../../src/node/dns/wire/errors.ts'
import { hasReadableNames, readLayout, readMessage } from '../../src/node/dns/wire/message.ts'
import { encodeName } from '../../src/node/dns/wire/name.ts'
import { Query } from '../../src/node/dns/wire/query.ts'
import { writeRawReply } from '../../src/node/dns/wire/raw.ts'
import { addressRecord, makeRecord, srvData } from '../../src/node/dns/wire/record.ts'
import { writeError, writeReply } from '../../src/node/dns/wire/response.ts'
import { makeOption, makeQuery, parsedQuery } from './dns-messages.ts'
import { exampleServices, TestZone } from './dns-zone.ts'
import { ip } from './services.ts'

/** Gives well-formed messages with some bytes changed, cut or doubled: the same ones for the same seed. */
export function* mutateMessages(count: number, seed: number): Generator<Buffer> {
  const seeds = wellFormed()
  const random = randomNumbers(seed)
  for (let index = 0; index < count; index++) {
    const message = Buffer.from(seeds[index % seeds.length] ?? Buffer.alloc(12))
    const changes = 1 + (random() % 4)
    for (let change = 0; change < changes; change++) message[random() % message.length] = random() & 0xff
    if (random() % 4 === 0) yield message.subarray(0, random() % message.length)
    else if (random() % 8 === 0) yield Buffer.concat([message, message.subarray(random() % message.length)])
    else yield message
  }
}

/** Nothing that comes in may cost more; one look takes some 10 µs. */
const longestMs = 5

/** Runs every reader of messages, and the table of answers, over mutants; throws at the first that fails otherwise than by a format error, or is slow. */
export function fuzzParsers(count: number, seed: number): number {
  const read = messageReader()
  const timed = (mutant: Buffer) => {
    const startMs = performance.now()
    read(mutant)
    return performance.now() - startMs
  }
  let done = 0
  for (const mutant of mutateMessages(count, seed)) {
    // A message that is slow is so each time; what else this machine does is not.
    const isSlow =
      timed(mutant) > longestMs && Array.from({ length: 10 }, () => timed(mutant)).every((ms) => ms > longestMs)
    if (isSlow) throw new Error(`a message takes more than ${longestMs} ms: ${mutant.toString('hex')}`)
    done += 1
  }
  return done
}

function messageReader(): (message: Buffer) => void {
  const query = new Query()
  const zone = new TestZone().add(...exampleServices()).synced()
  const asked = parsedQuery(makeQuery('web.default.svc.cluster.local', recordType.A))
  const out = Buffer.alloc(65_535)
  return (message) => {
    const verdict = query.parse(message, message.length)
    if (verdict !== 'drop') readMessage(out, writeError(query, out, 1))
    if (verdict === 'ok') checkAnswer(zone.table.answer(query, out, query.udpSize), out, query.udpSize)
    orFormatError(() => readMessage(message, message.length))
    orFormatError(() => checkReadable(message))
    orFormatError(() => writeRawReply(asked, message, readLayout(message, message.length), out, { limit: 512 }))
  }
}

/** What is passed on as readable is read by a client without an error; aliases are followed to an end. */
function checkReadable(message: Buffer): void {
  const plan = readLayout(message, message.length)
  if (!hasReadableNames(message, plan)) return
  followAliases(message, plan)
  try {
    readMessage(message, message.length)
  } catch (cause) {
    throw new Error(`passed on, and cannot be read: ${message.toString('hex')}`, { cause })
  }
}

/** An answer has the size that is allowed and can be read. */
function checkAnswer(length: number, out: Buffer, limit: number): void {
  if (length > limit) throw new Error(`an answer of ${length} bytes where ${limit} were asked for`)
  if (length > 0) readMessage(out, length)
}

function orFormatError(read: () => unknown): void {
  try {
    read()
  } catch (error) {
    if (!(error instanceof DnsFormatError)) throw error
  }
}

function wellFormed(): readonly Buffer[] {
  const name = encodeName('web.default.svc.cluster.local')
  const cookie = makeOption(10, Buffer.from('12345678'))
  const asked = makeQuery('web.default.svc.cluster.local', recordType.SRV, { edns: { options: cookie } })
  const out = Buffer.alloc(4096)
  const reply = {
    rcode: 0,
    flags: 0,
    answer: [makeRecord(name, recordType.SRV, 30, srvData(0, 100, 80, encodeName('a.web.default.svc.cluster.local')))],
    authority: [makeRecord(encodeName('cluster.local'), recordType.NS, 30, encodeName('ns.dns.cluster.local'))],
    additional: [addressRecord(encodeName('a.web.default.svc.cluster.local'), 30, ip('10.0.0.1'))],
  }
  const answered = Buffer.from(out.subarray(0, writeReply(parsedQuery(asked), reply, out, 4096)))
  return [asked, makeQuery('x.', recordType.A), answered]
}

/** xorshift32. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return state >>> 0
  }
}
