import { createSocket } from 'node:dgram'
import { writeFileSync } from 'node:fs'
import { addAddress, runProgram } from '../../../src/host/index.ts'
import { flag, rcode, recordType } from '../../../src/node/dns/wire/codes.ts'
import { encodeName, nameText } from '../../../src/node/dns/wire/name.ts'
import { Query } from '../../../src/node/dns/wire/query.ts'
import { addressRecord, type DnsRecord, makeRecord, srvData } from '../../../src/node/dns/wire/record.ts'
import { writeReply } from '../../../src/node/dns/wire/response.ts'
import { ipOf } from '../../helpers/addresses.ts'
import type { HandWrittenCluster } from './hand-written-cluster.ts'

const clusterDns = ipOf('10.96.0.10')

/** 10.96.0.10 as the only name server that anybody here knows: the names of a cluster without a server of its own. */
export async function serveNames(cluster: HandWrittenCluster): Promise<void> {
  await addAddress({ name: 'lo' }, { ip: clusterDns, prefixLength: 32 })
  const file = '/run/resolv.conf'
  writeFileSync(file, `nameserver ${clusterDns}\nsearch default.svc.cluster.local\n`)
  // The mounts of this namespace are private.
  await runProgram('mount', ['--bind', file, '/etc/resolv.conf'], { timeoutMs: 5000 })
  const socket = createSocket('udp4')
  socket.on('message', (question, from) => socket.send(answer(question, cluster), from.port, from.address))
  socket.bind(53, clusterDns).unref()
}

function answer(question: Buffer, cluster: HandWrittenCluster): Buffer {
  const query = new Query()
  query.parse(question, question.length)
  const record = findRecord(query, cluster)
  const isKnown = record !== undefined || cluster.addressOf(nameText(query.name).replace(/\.$/, '')) !== undefined
  const reply = {
    rcode: isKnown ? rcode.NOERROR : rcode.NXDOMAIN,
    flags: flag.AA,
    answer: record === undefined ? [] : [record],
    authority: [],
    additional: [],
  }
  const out = Buffer.alloc(512)
  return out.subarray(0, writeReply(query, reply, out, out.length))
}

function findRecord({ name: asked, type }: Query, cluster: HandWrittenCluster): DnsRecord | undefined {
  const name = Buffer.from(asked)
  const text = nameText(name).replace(/\.$/, '')
  const target = text.replace(/^_http\._tcp\./, '')
  const address = cluster.addressOf(target)
  const pointed = cluster.hostNameOf(text.replace('.in-addr.arpa', '').split('.').reverse().join('.'))
  if (type === recordType.PTR && pointed !== undefined) return makeRecord(name, type, 30, encodeName(pointed))
  if (address === undefined) return undefined
  if (type === recordType.SRV) return makeRecord(name, type, 30, srvData(0, 100, 80, encodeName(target)))
  return type === recordType.A ? addressRecord(name, 30, ipOf(address)) : undefined
}
