import type { DatagramSweep } from '../../../../host/datagrams/index.ts'
import { Deadlines } from '../../../../loop/deadlines.ts'
import { ipFamily } from '../../../../model/ip.ts'
import { readUint16, writeUint16 } from '../../wire/bytes.ts'
import { flag, rcode, recordType } from '../../wire/codes.ts'
import { encodeName } from '../../wire/name.ts'
import { headerLength } from '../../wire/query.ts'
import { CaseRandomization, type CaseVerdict, isEcho, randomizeCase } from './case-randomization.ts'
import { promiseReply, type ReplySink, settleReply } from './pending-queries.ts'
import { RandomNumbers } from './random-numbers.ts'
import type { ConnectionSettings, ForwardSettings, UpstreamTarget, UpstreamTransport } from './settings.ts'
import { StreamConnections } from './stream-connection.ts'
import { UdpSockets } from './udp-sockets.ts'
import { UpstreamError } from './upstream-error.ts'

const probeTimeoutMs = 1_000

/** Makes new messages of one query. */
export interface QueryMaker {
  /** Makes a message, with an OPT record or without. */
  makeQuery(withEdns: boolean): Buffer
}

export interface UpstreamEvents {
  /** Receives the seconds that the answer took, and its rcode. */
  readonly onReply: (upstream: Upstream, seconds: number, rcodeValue: number) => void
  readonly onProbeFailure: (upstream: Upstream) => void
  readonly onConnection: (upstream: Upstream, transport: UpstreamTransport, kept: boolean) => void
  /** Receives an upstream that counts as down now, or as up again. */
  readonly onChange: (upstream: Upstream) => void
  /** Reads the sockets of the thread; absent: each upstream reads its own. */
  readonly sweep?: DatagramSweep | undefined
}

/** One server with its connections and its health. Failures in a row start health checks, and any answer to a check ends them. */
export class Upstream {
  readonly name: string
  readonly #target: UpstreamTarget
  readonly #settings: ForwardSettings
  readonly #events: UpstreamEvents
  readonly #random = new RandomNumbers()
  readonly #caseRandomization = new CaseRandomization()
  readonly #udp: UdpSockets
  readonly #stream: StreamConnections
  #fails = 0
  #probe: NodeJS.Timeout | undefined
  #disabledBecause: string | undefined
  #closed = false

  constructor(target: UpstreamTarget, settings: ForwardSettings, events: UpstreamEvents) {
    this.name = describeTarget(target)
    this.#target = target
    this.#settings = settings
    this.#events = events
    const onConnection = (transport: UpstreamTransport, kept: boolean) => events.onConnection(this, transport, kept)
    const deadlines = new Deadlines()
    const { sweep } = events
    const connections = {
      ...connectionSettings(target, settings),
      random: this.#random,
      deadlines,
      sweep,
      onConnection,
    }
    this.#udp = new UdpSockets(target, connections)
    this.#stream = new StreamConnections(target, connections)
  }

  get isDown(): boolean {
    return this.#settings.maxFails > 0 && this.#fails > this.#settings.maxFails
  }

  /** The reason why the upstream is not asked at all, for example that it leads back to this server. */
  get disabledBecause(): string | undefined {
    return this.#disabledBecause
  }

  disable(because: string | undefined): void {
    this.#disabledBecause = because
  }

  /**
   * Makes one attempt. A truncated answer is asked for again over TCP. The sink receives the reply or an UpstreamError.
   */
  ask(maker: QueryMaker, overTcp: boolean, sink: ReplySink): void {
    if (this.#isOverStream(overTcp) || !this.#caseRandomization.isUsed)
      this.#settleLater({ sink, startedMs: performance.now() }, this.#askWithEdns(maker, overTcp))
    else this.#askOverUdp(maker, sink)
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#probe)
    this.#udp.close()
    this.#stream.close()
  }

  /** Most answers come this way, which has no promises: over UDP, in the case they were asked in, and whole. */
  #askOverUdp(maker: QueryMaker, sink: ReplySink): void {
    const asked = randomizeCase(maker.makeQuery(true), this.#random)
    this.#udp.ask(asked, this.#settings.readTimeoutMs, new UdpAttempt(this.#onUdp, { maker, sink, asked }))
  }

  /** Receives the end of each attempt over UDP. */
  readonly #onUdp: UdpOutcome = {
    onReply: (attempt, reply) => {
      const verdict = this.#caseRandomization.judge(attempt.asked, reply)
      if (verdict === 'kept' && !isTruncated(reply) && !isRefusal(reply)) this.#accept(attempt, reply)
      else this.#settleLater(attempt, this.#askOn(attempt.maker, verdict, reply))
    },
    onFailure: (attempt, error) => {
      this.#noteSilence(error)
      this.#giveUp(attempt, error)
    },
  }

  #settleLater(attempt: Attempt, reply: Promise<Buffer>): void {
    settleReply(reply, {
      onReply: (message) => this.#accept(attempt, message),
      onFailure: (error) => this.#giveUp(attempt, error),
    })
  }

  #accept({ sink, startedMs }: Attempt, reply: Buffer): void {
    this.#setFails(0)
    this.#events.onReply(this, (performance.now() - startedMs) / 1000, rcodeOf(reply))
    sink.onReply(reply)
  }

  #giveUp({ sink }: Attempt, error: unknown): void {
    if (!this.#closed) this.#onFailure()
    sink.onFailure(error)
  }

  #exchangeOverUdp(query: Buffer, timeoutMs = this.#settings.readTimeoutMs): Promise<Buffer> {
    return promiseReply((sink) => this.#udp.ask(query, timeoutMs, sink))
  }

  async #askOn(maker: QueryMaker, verdict: CaseVerdict, reply: Buffer): Promise<Buffer> {
    const make = () => maker.makeQuery(true)
    const complete = await this.#untruncated(make, await this.#settleCase(make, verdict, reply))
    return isRefusal(complete) ? this.#exchange(() => maker.makeQuery(false), false) : complete
  }

  /** Asks with EDNS. A server that does not know EDNS answers FORMERR or NOTIMP, and is asked without (RFC 6891 7). */
  async #askWithEdns(maker: QueryMaker, overTcp: boolean): Promise<Buffer> {
    const reply = await this.#exchange(() => maker.makeQuery(true), overTcp)
    return isRefusal(reply) ? this.#exchange(() => maker.makeQuery(false), overTcp) : reply
  }

  async #exchange(make: () => Buffer, overTcp: boolean): Promise<Buffer> {
    if (this.#isOverStream(overTcp)) return this.#stream.exchange(make(), this.#settings.readTimeoutMs)
    const reply = this.#caseRandomization.isUsed ? await this.#askInRandomCase(make) : await this.#askPlain(make)
    return this.#untruncated(make, reply)
  }

  #isOverStream(overTcp: boolean): boolean {
    return overTcp || this.#target.tls !== undefined
  }

  /** Asks over TCP for what was cut. Without TCP on the upstream, the client gets the truncated answer and may ask over TCP itself. */
  async #untruncated(make: () => Buffer, reply: Buffer): Promise<Buffer> {
    if (!isTruncated(reply)) return reply
    return this.#stream.exchange(make(), this.#settings.readTimeoutMs).catch(() => reply)
  }

  async #askPlain(make: () => Buffer): Promise<Buffer> {
    try {
      const reply = await this.#exchangeOverUdp(make())
      this.#caseRandomization.notePlain(true)
      return reply
    } catch (error) {
      this.#caseRandomization.notePlain(false)
      throw error
    }
  }

  async #askInRandomCase(make: () => Buffer): Promise<Buffer> {
    const asked = randomizeCase(make(), this.#random)
    const reply = await this.#exchangeOverUdp(asked).catch((error: unknown) => {
      this.#noteSilence(error)
      throw error
    })
    return this.#settleCase(make, this.#caseRandomization.judge(asked, reply), reply)
  }

  async #settleCase(make: () => Buffer, verdict: CaseVerdict, reply: Buffer): Promise<Buffer> {
    if (verdict === 'kept') return reply
    return verdict === 'changed' ? this.#askAgain(make) : this.#compare(make, reply)
  }

  #noteSilence(error: unknown): void {
    if (error instanceof UpstreamError && error.code === 'timeout') this.#caseRandomization.noteSilence()
  }

  /** Asks again after an answer in another case, which may be forged. An answer over TCP cannot be forged, nor can two from different ports. */
  async #askAgain(make: () => Buffer): Promise<Buffer> {
    const { readTimeoutMs } = this.#settings
    const asked = randomizeCase(make(), this.#random)
    const overTcp = await this.#stream.exchange(asked, readTimeoutMs).catch(() => undefined)
    const reply = overTcp ?? (await this.#exchangeOverUdp(randomizeCase(asked, this.#random)))
    if (!isEcho(asked, reply)) this.#caseRandomization.giveUp()
    else if (overTcp === undefined) this.#caseRandomization.judge(asked, reply)
    return reply
  }

  /** Asks in the client's case after a denial. A server that distinguishes upper and lower case denies names that it knows. */
  async #compare(make: () => Buffer, denied: Buffer): Promise<Buffer> {
    const plain = await this.#exchangeOverUdp(make()).catch(() => denied)
    const knowsMore = readUint16(plain, 6) > 0 || rcodeOf(denied) !== rcodeOf(plain)
    if (knowsMore) this.#caseRandomization.giveUp()
    return plain
  }

  #onFailure(): void {
    this.#setFails(this.#fails + 1)
    if (this.#settings.maxFails > 0) this.#probe ??= this.#probeLater()
  }

  #setFails(fails: number): void {
    const wasDown = this.isDown
    this.#fails = fails
    if (wasDown !== this.isDown) this.#events.onChange(this)
  }

  #probeLater(): NodeJS.Timeout {
    return setTimeout(() => void this.#probeOnce(), this.#settings.healthCheck.intervalMs).unref()
  }

  async #probeOnce(): Promise<void> {
    const answered = await this.#isAnswering()
    this.#probe = undefined
    if (this.#closed) return
    if (answered) return this.#setFails(0)
    this.#events.onProbeFailure(this)
    this.#setFails(this.#fails + 1)
    this.#probe = this.#probeLater()
  }

  async #isAnswering(): Promise<boolean> {
    const query = makeProbe(this.#settings.healthCheck)
    const overStream = this.#settings.forceTcp || this.#target.tls !== undefined
    const exchange = overStream
      ? this.#stream.exchange(query, probeTimeoutMs)
      : this.#exchangeOverUdp(query, probeTimeoutMs)
    return exchange.then(
      () => true,
      () => false,
    )
  }
}

/** An attempt that waits for its reply. */
type Attempt = Pick<UdpAttempt, 'sink' | 'startedMs'>

interface UdpOutcome {
  readonly onReply: (attempt: UdpAttempt, reply: Buffer) => void
  readonly onFailure: (attempt: UdpAttempt, error: unknown) => void
}

/** One attempt over UDP, in random case. */
class UdpAttempt implements ReplySink {
  readonly maker: QueryMaker
  readonly sink: ReplySink
  readonly asked: Buffer
  readonly startedMs = performance.now()
  readonly #outcome: UdpOutcome

  constructor(outcome: UdpOutcome, { maker, sink, asked }: Pick<UdpAttempt, 'maker' | 'sink' | 'asked'>) {
    this.#outcome = outcome
    this.maker = maker
    this.sink = sink
    this.asked = asked
  }

  onReply(reply: Buffer): void {
    this.#outcome.onReply(this, reply)
  }

  onFailure(error: unknown): void {
    this.#outcome.onFailure(this, error)
  }
}

function rcodeOf(reply: Buffer): number {
  return readUint16(reply, 2) & 0xf
}

function isTruncated(reply: Buffer): boolean {
  return (readUint16(reply, 2) & flag.TC) !== 0
}

function isRefusal(reply: Buffer): boolean {
  const code = rcodeOf(reply)
  return code === rcode.FORMERR || code === rcode.NOTIMP
}

function connectionSettings(
  { address }: UpstreamTarget,
  { expireMs, maxAgeMs, sourceAddress }: ForwardSettings,
): Omit<ConnectionSettings, 'random' | 'deadlines' | 'sweep'> {
  const isOfFamily = sourceAddress !== undefined && ipFamily(sourceAddress) === ipFamily(address)
  return { expireMs, maxAgeMs, ...(isOfFamily && { sourceAddress }) }
}

function makeProbe({ domain, recursion }: ForwardSettings['healthCheck']): Buffer {
  const name = encodeName(domain)
  const message = Buffer.alloc(headerLength + name.length + 4)
  writeUint16(message, 2, recursion ? flag.RD : 0)
  writeUint16(message, 4, 1)
  name.copy(message, headerLength)
  writeUint16(message, headerLength + name.length, recordType.NS)
  writeUint16(message, headerLength + name.length + 2, 1)
  return message
}

/** Returns the name of an upstream in CoreDNS' metrics: `192.0.2.53:53`. */
export function describeTarget({ address, port, tls }: UpstreamTarget): string {
  const where = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
  return tls ? `tls://${where}` : where
}
