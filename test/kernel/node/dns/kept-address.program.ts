// Run by kept-address.test.ts in namespaces of its own: other programs take the address of the cluster's DNS from a node that serves it.
import { writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { createVethPair, runProgram } from '../../../../src/host/index.ts'
import { DnsPlane } from '../../../../src/node/dns/plane/plane.ts'
import { recordType } from '../../../../src/node/dns/wire/codes.ts'
import { AppliedRevisions, LiveNodeState } from '../../../../src/node/state/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { makeQuery } from '../../../helpers/dns-messages.ts'
import { askUdp } from '../../../helpers/dns-server.ts'

const address = ipOf('10.96.0.10')
const corefile = '/run/Corefile'

/** The link with the address, and whether a query to it is answered. */
async function look() {
  const links = Object.entries(networkInterfaces())
  const link = links.find(([, held]) => held?.some((one) => one.address === address))?.[0]
  const answer = link !== undefined && (await askUdp(makeQuery('a.test', recordType.A), 53, 2_000, address))
  return { link, isAnswered: answer !== undefined && answer !== false }
}

async function observe() {
  writeFileSync(corefile, '.:53 {\n template IN A {\n answer "{{ .Name }} 60 IN A 192.0.2.1"\n }\n}\n')
  const state = new LiveNodeState(silentLogger)
  const settings = { clusterDns: [address], clusterDomain: 'cluster.local', corefile, nodeAddress: undefined }
  const plane = new DnsPlane({
    state,
    applied: new AppliedRevisions(state),
    settings: { ...settings, clusterCidrs: [], env: {} },
    log: silentLogger,
  })
  // A link of the name that a process left. Kernels without dummy links have veth pairs.
  await createVethPair({ name: 'plt-dns' }, { name: 'plt-peer' })
  await plane.start()
  const seen = { start: await look() }
  const after: Record<string, unknown> = {}
  for (const taken of ['address flush dev plt-dns', 'link set dev plt-dns down', 'link delete dev plt-dns']) {
    await runProgram('ip', taken.split(' '), { timeoutMs: 10_000 })
    const gone = await look()
    // What happens every 2 s.
    await plane.reload()
    after[taken] = { taken: gone.link, kept: await look() }
  }
  await plane.stop({ signal: AbortSignal.timeout(5_000) })
  return { ...seen, after, stopped: await look() }
}

process.stdout.write(`${JSON.stringify(await observe())}\n`)
