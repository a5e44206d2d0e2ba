import type { Ip } from '../../../model/ip.ts'
import { recordType } from '../wire/codes.ts'
import type { WireName } from '../wire/name.ts'
import { addressRecord, type DnsRecord, makeRecord, srvData } from '../wire/record.ts'
import type { PlannedAnswer } from './answer-body.ts'

/** Where a port is served: one SRV record. */
export interface Target {
  readonly port: number
  readonly name: WireName
  readonly address: Ip
}

/** No message holds more, and of an answer that is longer the records that fit from the front on are sent. */
const longestAnswer = 65_535
/** A pointer to the owner, type, class, TTL and length. */
const leastHead = 12
const targetsInStep = 50

/** Priority 0; the weights of all targets come to 100, and none is 0 (as CoreDNS has them). */
export function* planSrv(
  name: WireName,
  targets: Iterable<Target>,
  count: number,
  ttl: number,
): Generator<void, PlannedAnswer> {
  const weight = Math.max(1, Math.floor(100 / count))
  const answer = new BoundedRecords()
  const additional = new BoundedRecords()
  let left = targetsInStep
  for (const { port, name: target, address } of targets) {
    const key = target.toString('latin1')
    answer.add(`${port} ${key}`, () => makeRecord(name, recordType.SRV, ttl, srvData(0, weight, port, target)))
    additional.add(`${address} ${key}`, () => addressRecord(target, ttl, address))
    if (answer.isFull) break
    left -= 1
    if (left > 0) continue
    left = targetsInStep
    yield
  }
  return { type: recordType.SRV, answer: answer.records, additional: additional.records }
}

/** Different records, until they are longer than an answer may be. */
class BoundedRecords {
  readonly #records = new Map<string, DnsRecord>()
  #bytes = 0

  get isFull(): boolean {
    return this.#bytes > longestAnswer
  }

  get records(): readonly DnsRecord[] {
    return [...this.#records.values()]
  }

  add(id: string, make: () => DnsRecord): void {
    if (this.isFull || this.#records.has(id)) return
    const record = make()
    this.#records.set(id, record)
    this.#bytes += leastHead + record.data.length
  }
}
