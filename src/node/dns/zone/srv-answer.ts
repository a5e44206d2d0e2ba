import type { Ip } from '../../../model/ip.ts'
import { recordType } from '../wire/codes.ts'
import type { WireName } from '../wire/name.ts'
import { addressRecord, type DnsRecord, makeRecord, srvData } from '../wire/record.ts'
import type { PlannedAnswer } from './answer-body.ts'

/** The data of one SRV record: where a port is served. */
export interface Target {
  readonly port: number
  readonly name: WireName
  readonly address: Ip
}

/** The most bytes of an answer: no message holds more, and of a longer answer only the records that fit from the front are sent. */
const longestAnswer = 65_535
/** The bytes of a record before its data: a pointer to the owner, type, class, TTL and length. */
const minHead = 12
const targetsInStep = 50

/** Makes the SRV records of a name. The priority is 0; the weights of all targets add up to 100, and none is 0 (as CoreDNS has them). */
export function* planSrv(
  name: WireName,
  targets: Iterable<Target>,
  count: number,
  ttl: number,
): Generator<void, PlannedAnswer> {
  if (count === 1) return planOnlySrv(name, targets, ttl)
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

/** Most names of endpoints have one target: no record is repeated, and the answer is short. */
function planOnlySrv(name: WireName, targets: Iterable<Target>, ttl: number): PlannedAnswer {
  const answer: DnsRecord[] = []
  const additional: DnsRecord[] = []
  for (const { port, name: target, address } of targets) {
    answer.push(makeRecord(name, recordType.SRV, ttl, srvData(0, 100, port, target)))
    additional.push(addressRecord(target, ttl, address))
  }
  return { type: recordType.SRV, answer, additional }
}

/** Returns the distinct records, until they are longer than an answer may be. */
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
    this.#bytes += minHead + record.data.length
  }
}
