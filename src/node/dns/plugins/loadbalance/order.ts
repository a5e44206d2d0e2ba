import { type Cidr, cidrContains, hostCidr, type Ip, parseIp } from '../../../../model/ip.ts'
import { rcode, recordType } from '../../wire/codes.ts'
import type { MessageLayout, RecordLocation } from '../../wire/message.ts'
import { foldName, nameText, readNameText } from '../../wire/name.ts'
import type { DnsRecord } from '../../wire/record.ts'
import { addressText } from '../../wire/record.ts'
import type { Reply } from '../../wire/response.ts'

/** Returns numbers from 0 up to 1, like `Math.random`. */
export type Random = () => number

/**
 * Rotates the addresses of each name in a message in `out`, whose records `layout` gives, up to `length`. Only the data of records changes
 * places, so every pointer stays right.
 */
export function rotateAddresses(out: Buffer, length: number, layout: MessageLayout, random: Random): void {
  const addresses = layout.records.filter(({ type, end }) => isAddress(type) && end <= length)
  for (const group of Map.groupBy(addresses, (record) => ownerKey(out, record)).values()) {
    if (group.length > 1) rotateGroup(out, group, Math.floor(random() * group.length))
  }
}

/** Returns a key for records with the same owner, type and section. */
function ownerKey(out: Buffer, { section, type, start, ttlAt }: RecordLocation): string {
  return `${section} ${type} ${out.toString('latin1', start, ttlAt)}`
}

function rotateGroup(out: Buffer, group: readonly RecordLocation[], by: number): void {
  const data = group.map(({ dataAt, end }) => Buffer.from(out.subarray(dataAt, end)))
  for (const [index, { dataAt, end }] of group.entries()) {
    const moved = data[(index + by) % group.length]
    if (moved?.length === end - dataAt) moved.copy(out, dataAt)
  }
}

/** The weights of a file: a name on a line of its own, below it lines of `ADDRESS WEIGHT`. */
export type Weights = ReadonlyMap<string, ReadonlyMap<Ip, number>>

const maxWeight = 255

/** Reads weights. Other lines are left out. */
export function readWeights(text: string): Weights {
  const weights = new Map<string, Map<Ip, number>>()
  let current: Map<Ip, number> | undefined
  for (const line of text.split('\n')) {
    const [first = '', second, ...rest] = line.replace(/#.*/, '').trim().split(/\s+/)
    const address = parseIp(first)
    if (first === '' || rest.length > 0) continue
    if (second === undefined && address === undefined) {
      const name = readNameText(first)
      current = new Map()
      if (name !== undefined) weights.set(nameText(foldName(name)), current)
    } else if (address !== undefined && Number(second) >= 1 && Number(second) <= maxWeight) {
      current?.set(address, Number(second))
    }
  }
  return weights
}

export interface OrderOptions {
  readonly prefer: readonly Cidr[]
  /** The weights of the `weighted` policy, by which the first address is drawn; undefined is `round_robin`. */
  readonly weights?: Weights
}

/** Orders the records of each section of a NOERROR answer: aliases, other records, addresses in random order, mail servers in random order. */
export function orderReply(reply: Reply, options: OrderOptions, random: Random): Reply {
  if (reply.rcode !== rcode.NOERROR) return reply
  const order = (records: readonly DnsRecord[]) => orderRecords(records, options, random)
  return {
    ...reply,
    answer: order(reply.answer),
    authority: order(reply.authority),
    additional: order(reply.additional),
  }
}

function orderRecords(records: readonly DnsRecord[], options: OrderOptions, random: Random): readonly DnsRecord[] {
  const ranks = { alias: 0, rest: 1, address: 2, mail: 3 }
  const rankOf = ({ type }: DnsRecord) => {
    if (type === recordType.CNAME) return ranks.alias
    if (type === recordType.MX) return ranks.mail
    return isAddress(type) ? ranks.address : ranks.rest
  }
  const at = (rank: number) => records.filter((record) => rankOf(record) === rank)
  const addresses = byPreference(weigh(shuffle(at(ranks.address), random), options.weights, random), options.prefer)
  return [...at(ranks.alias), ...at(ranks.rest), ...addresses, ...shuffle(at(ranks.mail), random)]
}

/** Shuffles records (Fisher-Yates). */
function shuffle(records: readonly DnsRecord[], random: Random): readonly DnsRecord[] {
  const shuffled = [...records]
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    const [a, b] = [shuffled[last], shuffled[other]]
    if (a !== undefined && b !== undefined) [shuffled[last], shuffled[other]] = [b, a]
  }
  return shuffled
}

/** Moves one address to the front, drawn by the weights of its name. An address without a weight counts 1. */
function weigh(records: readonly DnsRecord[], weights: Weights | undefined, random: Random): readonly DnsRecord[] {
  const [any] = records
  const ofName = any === undefined ? undefined : weights?.get(nameText(foldName(any.name)))
  if (ofName === undefined) return records
  const weightOf = ({ data }: DnsRecord) => ofName.get(addressText(data)) ?? 1
  let left = random() * records.reduce((sum, record) => sum + weightOf(record), 0)
  const first = records.findIndex((record) => {
    left -= weightOf(record)
    return left < 0
  })
  const chosen = records[first]
  return chosen === undefined ? records : [chosen, ...records.filter((record) => record !== chosen)]
}

/** Sorts addresses by the first preferred network that holds them; addresses in none come last. */
function byPreference(records: readonly DnsRecord[], prefer: readonly Cidr[]): readonly DnsRecord[] {
  if (prefer.length === 0) return records
  const rank = ({ data }: DnsRecord) => {
    const found = prefer.findIndex((network) => cidrContains(network, hostCidr(addressText(data))))
    return found === -1 ? prefer.length : found
  }
  const ranked = records.map((record) => ({ record, rank: rank(record) }))
  return ranked.toSorted((a, b) => a.rank - b.rank).map(({ record }) => record)
}

function isAddress(type: number): boolean {
  return type === recordType.A || type === recordType.AAAA
}
