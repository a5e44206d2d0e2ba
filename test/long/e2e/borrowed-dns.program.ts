// Run by borrowed-dns.test.ts in namespaces of its own: a server and two agents, each in its own network namespace, on one network. The
// second serves no DNS at first; later it does, and is killed under load. Prints what was seen as one line of JSON.
import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { runProgram } from '../../../src/host/index.ts'
import { connectNode, createLan, startAgent } from '../../helpers/lan-node.ts'
import { checkoutLauncher } from '../../helpers/program.ts'
import { untilAsync } from '../../helpers/until.ts'

const name = 'kube-dns.kube-system.svc.cluster.local'
const patientMs = 60_000
const timeoutMs = 20_000
const secondsOfLoad = 4

/** What the second node is answered at the cluster's DNS address. */
async function ask(): Promise<string> {
  const args = ['@10.96.0.10', '+short', '+time=1', '+tries=1', name]
  const { stdout } = await runProgram('dig', args, { netns: 'plt-node-2', timeoutMs }).catch(() => ({ stdout: '' }))
  return stdout.trim()
}

async function answersItself(): Promise<boolean> {
  return (await runProgram('nft', ['list', 'tables'], { netns: 'plt-node-2', timeoutMs })).stdout.includes(
    'platnet-dns',
  )
}

/** Whether the rules of the second node lead queries to the first one, and to whom else. */
async function fallbacks(): Promise<string> {
  const { stdout } = await runProgram('iptables-save', ['-t', 'nat'], { netns: 'plt-node-2', timeoutMs })
  const targets = [...stdout.matchAll(/-p udp .*--to-destination (192\.0\.2\.\d+):53\b/g)].map((match) => match[1])
  return [...new Set(targets)].sort().join()
}

await createLan()
await connectNode(1)
await connectNode(2)
await runProgram(checkoutLauncher, ['server', '--data-dir', '/run/server', '--log-level', 'warn'], {
  background: true,
  stdout: 2,
  stderr: 2,
})
await untilAsync('the server has written it', async () => existsSync('/run/server/admin.kubeconfig'), patientMs)
await startAgent(1, { components: 'proxy,dns,registration' })
const withoutDns = await startAgent(2, { components: 'proxy,registration' })
await untilAsync('the second node borrows the DNS of the first', async () => (await ask()) === '10.96.0.10', patientMs)
const borrowed = { answersItself: await answersItself(), fallbacks: await fallbacks() }

withoutDns.kill('SIGTERM')
await withoutDns.exited
const withDns = await startAgent(2, { components: 'proxy,dns,registration' })
await untilAsync('the second node answers itself', answersItself, patientMs)
await untilAsync('and would fall back to the first', async () => (await fallbacks()) === '192.0.2.11', patientMs)

writeFileSync('/run/queries', `${name} A\n`)
const load = ['-s', '10.96.0.10', '-d', '/run/queries', '-Q', '500', '-q', '5000', '-t', '1', '-l', `${secondsOfLoad}`]
const measured = runProgram('dnsperf', load, { netns: 'plt-node-2', timeoutMs: 60_000 })
await sleep(secondsOfLoad * 500)
withDns.kill('SIGKILL')
await withDns.exited
const { stdout } = await measured
const count = (what: string) => Number(new RegExp(`Queries ${what}: +(\\d+)`).exec(stdout)?.[1] ?? Number.NaN)
const killed = { sent: count('sent'), completed: count('completed'), lost: count('lost') }
process.stdout.write(`${JSON.stringify({ borrowed, killed, tableAfter: await answersItself() })}\n`)
process.exit(0)
