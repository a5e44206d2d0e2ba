import { ipFamily } from '../../../../model/ip.ts'
import { readUint16, writeUint16 } from '../../wire/bytes.ts'
import { flag, rcode, recordType } from '../../wire/codes.ts'
import { encodeName } from '../../wire/name.ts'
import { headerLength } from '../../wire/query.ts'
import { CaseRandomization, isEcho, randomizeCase } from './case-randomization.ts'
import { RandomNumbers } from './random-numbers.ts'
import type { ConnectionSettings, ForwardSettings, UpstreamTarget, UpstreamTransport } from './settings.ts'
import { StreamConnections } from './stream-connection.ts'
import { UdpSockets } from './udp-sockets.ts'
import { UpstreamError } from './upstream-error.ts'

const probeTimeoutMs = 1_000

export interface UpstreamEvents {
  /** Receives the seconds that the answer took, and its rcode. */
  readonly onReply: (upstream: Upstream, seconds: number, rcodeValue: number) => void
  readonly onProbeFailure: (upstream: Upstream) => void
  readonly onConnection: (upstream: Upstream, transport: UpstreamTransport, kept: boolean) => void
  /** Receives an upstream that counts as down now, or as up again. */
  readonly onChange: (upstream: Upstream) => void
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
    const connections = { ...connectionSettings(target, settings), random: this.#random, onConnection }
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

  /** Makes one attempt. A truncated answer is asked for again over TCP. `make` gives a new message for each query. Throws UpstreamError. */
  async ask(make: (withEdns: boolean) => Buffer, overTcp: boolean): Promise<Buffer> {
    const startedMs = performance.now()
    try {
      const reply = await this.#askWithEdns(make, overTcp)
      this.#setFails(0)
      this.#events.onReply(this, (performance.now() - startedMs) / 1000, readUint16(reply, 2) & 0xf)
      return reply
    } catch (error) {
      if (!this.#closed) this.#onFailure()
      throw error
    }
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#probe)
    this.#udp.close()
    this.#stream.close()
  }

  /** Asks with EDNS. A server that does not know EDNS answers FORMERR or NOTIMP, and is asked without (RFC 6891 7). */
  async #askWithEdns(make: (withEdns: boolean) => Buffer, overTcp: boolean): Promise<Buffer> {
    const reply = await this.#exchange(() => make(true), overTcp)
    const code = readUint16(reply, 2) & 0xf
    const isRefusal = code === rcode.FORMERR || code === rcode.NOTIMP
    return isRefusal ? this.#exchange(() => make(false), overTcp) : reply
  }

  async #exchange(make: () => Buffer, overTcp: boolean): Promise<Buffer> {
    const { readTimeoutMs } = this.#settings
    if (overTcp || this.#target.tls !== undefined) return this.#stream.exchange(make(), readTimeoutMs)
    const reply = this.#caseRandomization.isUsed ? await this.#askInRandomCase(make) : await this.#askPlain(make)
    const isTruncated = (readUint16(reply, 2) & flag.TC) !== 0
    if (!isTruncated) return reply
    // Without TCP on the upstream, the client gets the truncated answer and may ask over TCP itself.
    return this.#stream.exchange(make(), readTimeoutMs).catch(() => reply)
  }

  async #askPlain(make: () => Buffer): Promise<Buffer> {
    try {
      const reply = await this.#udp.exchange(make(), this.#settings.readTimeoutMs)
      this.#caseRandomization.notePlain(true)
      return reply
    } catch (error) {
      this.#caseRandomization.notePlain(false)
      throw error
    }
  }

  async #askInRandomCase(make: () => Buffer): Promise<Buffer> {
    const asked = randomizeCase(make(), this.#random)
    const reply = await this.#udp.exchange(asked, this.#settings.readTimeoutMs).catch((error: unknown) => {
      if (error instanceof UpstreamError && error.code === 'timeout') this.#caseRandomization.noteSilence()
      throw error
    })
    const verdict = this.#caseRandomization.judge(asked, reply)
    if (verdict === 'kept') return reply
    return verdict === 'changed' ? this.#askAgain(make) : this.#compare(make, reply)
  }

  /** Asks again after an answer in another case, which may be forged. An answer over TCP cannot be forged, nor can two from different ports. */
  async #askAgain(make: () => Buffer): Promise<Buffer> {
    const { readTimeoutMs } = this.#settings
    const asked = randomizeCase(make(), this.#random)
    const overTcp = await this.#stream.exchange(asked, readTimeoutMs).catch(() => undefined)
    const reply = overTcp ?? (await this.#udp.exchange(randomizeCase(asked, this.#random), readTimeoutMs))
    if (!isEcho(asked, reply)) this.#caseRandomization.giveUp()
    else if (overTcp === undefined) this.#caseRandomization.judge(asked, reply)
    return reply
  }

  /** Asks in the client's case after a denial. A server that distinguishes upper and lower case denies names that it knows. */
  async #compare(make: () => Buffer, denied: Buffer): Promise<Buffer> {
    const plain = await this.#udp.exchange(make(), this.#settings.readTimeoutMs).catch(() => denied)
    const knowsMore = readUint16(plain, 6) > 0 || (readUint16(denied, 2) & 0xf) !== (readUint16(plain, 2) & 0xf)
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
      : this.#udp.exchange(query, probeTimeoutMs)
    return exchange.then(
      () => true,
      () => false,
    )
  }
}

function connectionSettings(
  { address }: UpstreamTarget,
  { expireMs, maxAgeMs, sourceAddress }: ForwardSettings,
): Omit<ConnectionSettings, 'random'> {
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
