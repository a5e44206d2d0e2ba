import { type Ip, ipFamily } from '../../../model/ip.ts'
import { recordType } from '../wire/codes.ts'
import { below, type WireName } from '../wire/name.ts'
import { addressRecord, makeRecord, txtData } from '../wire/record.ts'
import { isReverse } from '../wire/reverse-name.ts'
import type { PlannedAnswer, PlannedName } from './answer-body.ts'
import { schemaVersion, versionTtl, type ZoneSettings } from './settings.ts'

/** Returns the names that a zone has in every cluster. */
export function planFixedNames(zone: WireName, settings: ZoneSettings): readonly PlannedName[] {
  const server = below(zone, 'ns', 'dns')
  const addresses = settings.nameServers.map((address) => addressRecord(server, settings.ttl, address))
  const apex: PlannedName = {
    name: zone,
    answers: [
      {
        type: recordType.NS,
        answer: [makeRecord(zone, recordType.NS, settings.ttl, server)],
        additional: addresses,
      },
    ],
  }
  if (isReverse(zone)) return [apex]
  const version = below(zone, 'dns-version')
  const text = makeRecord(version, recordType.TXT, versionTtl, txtData([Buffer.from(schemaVersion)]))
  return [
    apex,
    { name: version, answers: [{ type: recordType.TXT, answer: [text], additional: [] }] },
    { name: server, answers: planAddresses(settings.nameServers, settings.ttl) },
    ...['dns', 'svc', 'pod'].map((label) => ({ name: below(zone, label), answers: [] })),
  ]
}

/** Returns an answer for A and one for AAAA, where there are such addresses. */
export function planAddresses(addresses: readonly Ip[], ttl: number): readonly PlannedAnswer[] {
  const [v4, v6]: [Ip[], Ip[]] = [[], []]
  for (const address of new Set(addresses)) (ipFamily(address) === 'IPv4' ? v4 : v6).push(address)
  return [
    ...(v4.length > 0 ? [{ type: recordType.A, ttl, addresses: v4 }] : []),
    ...(v6.length > 0 ? [{ type: recordType.AAAA, ttl, addresses: v6 }] : []),
  ]
}
