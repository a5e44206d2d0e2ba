import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { ResolvedBlock } from '../../src/node/dns/plugins/resolved-block.ts'
import type { ServedBlock } from '../../src/node/dns/plugins/served-block.ts'
import type { ServingSettings } from '../../src/node/dns/serve/settings.ts'
import { DnsThreads } from '../../src/node/dns/threads/dns-threads.ts'
import { FrameReader, frameMessage } from '../../src/node/dns/wire/frames.ts'
import { encodeName } from '../../src/node/dns/wire/name.ts'
import { ClusterZone } from '../../src/node/dns/zone/cluster-zone.ts'
import type { ServiceView } from '../../src/node/dns/zone/service-records.ts'
import type { ZoneSettings } from '../../src/node/dns/zone/settings.ts'
import type { Tracer } from '../../src/observe/index.ts'
import { cidrOf, ipOf } from './addresses.ts'
import { type ResolverShape, resolverSettings } from './block-resolvers.ts'
import { zoneSettings } from './dns-zone.ts'
import { findFreePort } from './free-port.ts'
import { createRecordingLogger } from './recording-logger.ts'

export interface ServerShape {
  readonly tracer?: Tracer
  readonly zone?: Partial<ZoneSettings>
  readonly resolver?: ResolverShape
  readonly access?: 'all' | 'cluster'
  readonly clusterSources?: readonly string[]
  readonly maxConnections?: number
  readonly servingThreads?: number
}

/** A block for every name, with only the plugins of `details`. */
export function servedBlock(details: Pick<ServedBlock, 'cache' | 'forwards'>): ServedBlock {
  return {
    id: '.:53',
    zones: [encodeName('.')],
    server: 'dns://:53',
    log: [],
    loadbalance: undefined,
    rewrite: [],
    template: [],
    hosts: undefined,
    kubernetes: { table: 0 },
    ...details,
  }
}

/** The threads on a port of the loopback, with a zone that a test fills. */
export class TestDnsServer {
  readonly zone: ClusterZone
  readonly lines: string[]
  readonly threads: DnsThreads
  port = 0
  #shape: ServerShape

  constructor(shape: ServerShape = {}) {
    const { log, lines } = createRecordingLogger()
    this.lines = lines
    this.#shape = shape
    this.threads = new DnsThreads({ servingThreads: shape.servingThreads ?? 2, tracer: shape.tracer, log })
    this.zone = new ClusterZone(zoneSettings(shape.zone), (table) => this.threads.changeTable(0, table))
    this.zone.setNamespace('default', true)
  }

  async start(views: readonly ServiceView[] = []): Promise<this> {
    for (const view of views) this.zone.setService(view.service.key, view)
    this.zone.markSynced()
    this.port = await findFreePort()
    const failures = await this.#configure()
    if (failures.length > 0) throw new Error(JSON.stringify(failures))
    return this
  }

  /** As a reload does it. */
  async change(shape: ServerShape): Promise<void> {
    this.#shape = shape
    await this.#configure()
  }

  stop(): Promise<void> {
    return this.threads.stop()
  }

  /** One question over UDP; undefined where no answer comes in `waitMs`. */
  ask(message: Buffer, waitMs = 30_000): Promise<Buffer | undefined> {
    return askUdp(message, this.port, waitMs)
  }

  /** Questions on one connection, sent in one go; the answers in the order in which they came. */
  askOverTcp(messages: readonly Buffer[], onCount: (count: number) => void = () => {}): Promise<readonly Buffer[]> {
    return askTcp(messages, this.port, onCount)
  }

  #configure() {
    const { resolver, access = 'all', clusterSources = [], maxConnections = 100 } = this.#shape
    const resolvers: readonly ResolvedBlock[] = resolver ? [resolverSettings(resolver)] : []
    const serving: ServingSettings = {
      blocks: [
        servedBlock({
          cache: resolvers[0]?.cache && {
            zones: resolvers[0].cache.zones,
            keepTtl: resolvers[0].cache.settings.keepTtl,
          },
          forwards: resolver !== undefined,
        }),
      ],
      addresses: [{ address: ipOf('127.0.0.1'), port: this.port, access, blocks: [0] }],
      clusterSources: clusterSources.map(cidrOf),
      maxConnections,
    }
    return this.threads.configure({ serving, resolvers }, [this.zone.table])
  }
}

export async function askUdp(
  message: Buffer,
  port: number,
  waitMs: number,
  address = '127.0.0.1',
): Promise<Buffer | undefined> {
  const socket = createSocket('udp4')
  const answer = once(socket, 'message').then(([bytes]: Buffer[]) => bytes)
  socket.send(message, port, address)
  const { promise: late, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => resolve(undefined), waitMs)
  const first = await Promise.race([answer, late])
  clearTimeout(timer)
  socket.close()
  return first
}

async function askTcp(
  messages: readonly Buffer[],
  port: number,
  onCount: (count: number) => void,
): Promise<readonly Buffer[]> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const frames = new FrameReader()
  const answers: Buffer[] = []
  socket.write(Buffer.concat(messages.map(frameMessage)))
  for await (const chunk of socket) {
    answers.push(...frames.push(chunk as Buffer))
    onCount(answers.length)
    if (answers.length >= messages.length) break
  }
  socket.destroy()
  return answers
}
