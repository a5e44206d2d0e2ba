// Run by port-zero.test.ts in namespaces of its own: a server that gets datagrams from port 0, as only who forges them sends.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { runProgram } from '../../../../src/host/index.ts'
import { recordType } from '../../../../src/node/dns/wire/codes.ts'
import { makeQuery } from '../../../helpers/dns-messages.ts'
import { TestDnsServer } from '../../../helpers/dns-server.ts'
import { untilAsync } from '../../../helpers/until.ts'

const timeoutMs = 10_000
const forged = 50
const query = makeQuery('web.default.svc.cluster.local', recordType.A)

/** Datagrams to that port leave with source port 0, and are counted as they come in. */
function forgingRules(port: number): string {
  return `table ip forge {
    chain leave {
      type filter hook output priority -300
      udp dport ${port} udp sport set 0
    }
    chain come {
      type filter hook input priority 0
      udp dport ${port} udp sport 0 counter
    }
  }
`
}

async function arrived(): Promise<number> {
  const { stdout } = await runProgram('nft', ['list', 'chain', 'ip', 'forge', 'come'], { timeoutMs })
  return Number(/counter packets (\d+)/.exec(stdout)?.[1])
}

async function observe() {
  const server = await new TestDnsServer().start()
  await runProgram('nft', ['-f', '-'], { input: forgingRules(server.port), timeoutMs })
  const socket = createSocket('udp4')
  socket.connect(server.port, '127.0.0.1')
  await once(socket, 'connect')
  for (let count = 0; count < forged; count += 1) socket.send(query)
  await untilAsync('they have come', async () => (await arrived()) >= forged, 30_000)
  const count = await arrived()
  await runProgram('nft', ['delete', 'table', 'ip', 'forge'], { timeoutMs })
  const answered = (await server.ask(query)) !== undefined
  socket.close()
  await server.stop()
  return { arrived: count, answered, trouble: server.lines.filter((line) => /^(error|warn) /.test(line)) }
}

const seen = await observe()
process.stdout.write(`${JSON.stringify(seen)}\n`)
process.exit(0)
