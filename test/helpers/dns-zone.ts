import type { EndpointSlice } from '../../src/model/endpoint-slice.ts'
import type { Service } from '../../src/model/service.ts'
import { flag, rcodeName, recordType, typeName } from '../../src/node/dns/wire/codes.ts'
import { type DnsMessage, readMessage } from '../../src/node/dns/wire/message.ts'
import { encodeName, nameText } from '../../src/node/dns/wire/name.ts'
import type { DnsRecord } from '../../src/node/dns/wire/record.ts'
import { AnswerTable, noAnswer } from '../../src/node/dns/zone/answer-table.ts'
import { ClusterZone } from '../../src/node/dns/zone/cluster-zone.ts'
import type { SharedTable } from '../../src/node/dns/zone/layout.ts'
import { planServiceRecords, type ServiceRecords, type ServiceView } from '../../src/node/dns/zone/service-records.ts'
import type { ZoneSettings } from '../../src/node/dns/zone/settings.ts'
import { makeQuery, parsedQuery, type QueryDetails } from './dns-messages.ts'
import { ip, makeEndpoint, makePort, makeService, makeSlice } from './services.ts'

const clusterZone = encodeName('cluster.local')

export function zoneSettings(details: Partial<ZoneSettings> = {}): ZoneSettings {
  const reverse = [encodeName('in-addr.arpa'), encodeName('ip6.arpa')]
  return {
    zones: [clusterZone, ...reverse],
    ttl: 30,
    pods: 'insecure',
    endpointPodNames: false,
    ignoreEmptyServices: false,
    useEndpoints: true,
    fallthroughZones: reverse,
    nameServers: [ip('10.96.0.10')],
    ...details,
  }
}

/** All records of a Service. */
export function serviceRecords(view: ServiceView): ServiceRecords {
  const steps = planServiceRecords(view, clusterZone, zoneSettings())
  let step = steps.next()
  while (step.done !== true) step = steps.next()
  return step.value
}

/** So little that a test soon sees a table move. */
const smallRoom = { slots: 1 << 15, heapBytes: 1 << 22 }

/** A zone with a reader that always has its newest table. */
export class TestZone {
  readonly zone: ClusterZone
  #table: AnswerTable
  /** How many times the readers had to go over to a new table. */
  moves = 0

  constructor(settings: Partial<ZoneSettings> = {}, rotate = false) {
    const options = { rotate, seed: 7 }
    const onMoved = (table: SharedTable) => {
      this.moves += 1
      this.#table = new AnswerTable(table, options)
    }
    this.zone = new ClusterZone(zoneSettings(settings), onMoved, smallRoom)
    this.zone.setSerial(1_700_000_000)
    this.#table = new AnswerTable(this.zone.table, options)
  }

  get table(): AnswerTable {
    return this.#table
  }

  add(...views: readonly ServiceView[]): this {
    for (const view of views) this.zone.setService(view.service.key, view)
    return this
  }

  /** Everything was listed. */
  synced(): this {
    this.zone.markSynced()
    return this
  }

  /** The answer as bytes, or why there is none. */
  askRaw(name: string, type: number, details: QueryDetails = {}, limit = 65_535): Buffer | 'not ours' | 'alias' {
    const out = Buffer.allocUnsafe(65_535)
    const length = this.#table.answer(parsedQuery(makeQuery(name, type, details)), out, limit)
    if (length === noAnswer.nextPlugin) return 'not ours'
    return length === noAnswer.externalName ? 'alias' : out.subarray(0, length)
  }

  ask(name: string, type: number, details: QueryDetails = {}, limit = 65_535): DnsMessage {
    const answer = this.askRaw(name, type, details, limit)
    if (typeof answer === 'string') throw new Error(`${name}: ${answer}`)
    return readMessage(answer, answer.length)
  }

  /** The answer in one line: `NOERROR aa | answer | authority | additional`. */
  line(name: string, type: number): string {
    const answer = this.askRaw(name, type)
    return typeof answer === 'string' ? answer : messageLine(readMessage(answer, answer.length))
  }
}

export function messageLine(message: DnsMessage): string {
  const flags = Object.entries({ aa: flag.AA, tc: flag.TC, ra: flag.RA })
    .filter(([, bit]) => (message.flags & bit) !== 0)
    .map(([name]) => name)
  const sections = [message.answer, message.authority, message.additional].map((records) =>
    records.map(recordText).join(', '),
  )
  return [[rcodeName(message.rcode), ...flags].join(' '), ...sections].join(' | ').replace(/( \|\s*)+$/, '')
}

/** A record as a zone file has it, without its class; an SOA without its serial. */
export function recordText({ name, type, ttl, data }: DnsRecord): string {
  return `${nameText(name)} ${ttl} ${typeName(type)} ${dataText(type, data)}`
}

function dataText(type: number, data: Buffer): string {
  if (type === recordType.A) return data.join('.')
  if (type === recordType.AAAA) return addressText(data)
  if (type === recordType.TXT) return JSON.stringify(data.toString('latin1', 1))
  if (type === recordType.SRV) return `${[0, 2, 4].map((at) => data.readUInt16BE(at)).join(' ')} ${nameText(data, 6)}`
  if (type === recordType.SOA) return `${nameText(data)} minimum ${data.readUInt32BE(data.length - 4)}`
  return nameText(data)
}

function addressText(data: Buffer): string {
  return new URL(`http://[${data.toString('hex').match(/.{4}/g)?.join(':')}]`).hostname.slice(1, -1)
}

export function view(service: Service, ...slices: readonly EndpointSlice[]): ServiceView {
  return { service, slices }
}

/** A Service of each kind that makes names. */
export function exampleServices(): readonly ServiceView[] {
  const http = ['http', 'TCP', 8080] as const
  const headless = { headless: true, clusterIps: [] }
  return [
    view(
      makeService('default/web', '10.96.0.80', {
        clusterIps: [ip('10.96.0.80'), ip('fd00:96::80')],
        ports: [makePort('http', 'TCP', 80), makePort('dns', 'UDP', 53), makePort('dns-tcp', 'TCP', 53)],
      }),
      makeSlice('default/web', [http], ['10.244.0.1', makeEndpoint('10.244.0.9', { ready: false })]),
    ),
    view(makeService('default/plain', '10.96.0.81', { ports: [makePort('', 'TCP', 9000)] })),
    view(
      makeService('data/db', '10.96.0.1', { ...headless, ports: [makePort('sql', 'TCP', 5432)] }),
      makeSlice(
        'data/db',
        [['sql', 'TCP', 5432]],
        [
          makeEndpoint('10.244.1.1', { hostname: 'db-0', target: 'Pod data/db-0' }),
          makeEndpoint('10.244.1.2', { target: 'Pod data/db-x7k2p' }),
          makeEndpoint('10.244.1.3', { ready: false, hostname: 'db-2' }),
        ],
      ),
      makeSlice('data/db', [['sql', 'TCP', 5432]], [makeEndpoint('fd00:244::1', { hostname: 'db-0' })], 'v6'),
    ),
    view(makeService('data/none', '10.96.0.1', { ...headless })),
    view(
      makeService('ext/out', '10.96.0.1', { type: 'ExternalName', clusterIps: [], externalName: 'www.example.org' }),
    ),
    view(
      makeService('ext/in', '10.96.0.1', {
        type: 'ExternalName',
        clusterIps: [],
        externalName: 'web.default.svc.cluster.local',
      }),
    ),
    view(makeService('ext/bad', '10.96.0.1', { type: 'ExternalName', clusterIps: [], externalName: '10.0.0.1' })),
  ]
}
