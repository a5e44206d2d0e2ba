// Run by borrowed-dns.test.ts in namespaces of its own: a server and two agents, each in its own network namespace, on one network. The
// second serves no DNS at first; later it does, and is killed under load. Prints what was seen as one line of JSON.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  addAddress,
  addRoute,
  attachToBridge,
  createBridge,
  createNetns,
  createVethPair,
  type RunningProgram,
  runInNetns,
  startInNetns,
  startProgram,
} from '../../../src/host/index.ts'
import { ipOf } from '../../helpers/addresses.ts'
import { untilAsync } from '../../helpers/until.ts'

const launcher = resolve(import.meta.dirname, '../../../scripts/platnet')
const name = 'kube-dns.kube-system.svc.cluster.local'
const patientMs = 60_000
const timeoutMs = 20_000
const secondsOfLoad = 4

async function connectNode(number: number): Promise<void> {
  const netns = `plt-node-${number}`
  await createNetns(netns)
  await createVethPair({ name: `plt-lan-${number}` }, { name: 'eth0', netns })
  await attachToBridge({ name: `plt-lan-${number}` }, 'plt-lan')
  await addAddress({ name: 'eth0', netns }, { ip: ipOf(`192.0.2.${10 + number}`), prefixLength: 24 })
  await addRoute({ destination: 'default', via: ipOf('192.0.2.1'), netns })
}

async function startAgent(number: number, components: string): Promise<RunningProgram> {
  const folder = `/run/node-${number}`
  mkdirSync(folder, { recursive: true })
  const flags = {
    'data-dir': folder,
    kubeconfig: '/run/server/admin.kubeconfig',
    server: 'https://192.0.2.1:6443',
    'node-name': `node-${number}`,
    'node-ip': `192.0.2.${10 + number}`,
    'control-socket': `${folder}/agent.sock`,
    'log-level': 'warn',
    components,
  }
  const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`)
  return startInNetns(`plt-node-${number}`, launcher, ['agent', ...args], { stdout: 2, stderr: 2 })
}

/** What the second node is answered at the cluster's DNS address. */
async function ask(): Promise<string> {
  const args = ['@10.96.0.10', '+short', '+time=1', '+tries=1', name]
  const { stdout } = await runInNetns('plt-node-2', 'dig', args, { timeoutMs }).catch(() => ({ stdout: '' }))
  return stdout.trim()
}

async function answersItself(): Promise<boolean> {
  return (await runInNetns('plt-node-2', 'nft', ['list', 'tables'], { timeoutMs })).stdout.includes('platnet-dns')
}

/** Whether the rules of the second node lead queries to the first one, and to whom else. */
async function fallbacks(): Promise<string> {
  const { stdout } = await runInNetns('plt-node-2', 'iptables-save', ['-t', 'nat'], { timeoutMs })
  const targets = [...stdout.matchAll(/-p udp .*--to-destination (192\.0\.2\.\d+):53\b/g)].map((match) => match[1])
  return [...new Set(targets)].sort().join()
}

await createBridge({ name: 'plt-lan' })
await addAddress({ name: 'plt-lan' }, { ip: ipOf('192.0.2.1'), prefixLength: 24 })
await connectNode(1)
await connectNode(2)
await startProgram(launcher, ['server', '--data-dir', '/run/server', '--log-level', 'warn'], { stdout: 2, stderr: 2 })
await untilAsync('the server has written it', async () => existsSync('/run/server/admin.kubeconfig'), patientMs)
await startAgent(1, 'proxy,dns,registration')
const withoutDns = await startAgent(2, 'proxy,registration')
await untilAsync('the second node borrows the DNS of the first', async () => (await ask()) === '10.96.0.10', patientMs)
const borrowed = { answersItself: await answersItself(), fallbacks: await fallbacks() }

withoutDns.kill('SIGTERM')
await withoutDns.exited
const withDns = await startAgent(2, 'proxy,dns,registration')
await untilAsync('the second node answers itself', answersItself, patientMs)
await untilAsync('and would fall back to the first', async () => (await fallbacks()) === '192.0.2.11', patientMs)

writeFileSync('/run/queries', `${name} A\n`)
const load = ['-s', '10.96.0.10', '-d', '/run/queries', '-Q', '500', '-q', '5000', '-t', '1', '-l', `${secondsOfLoad}`]
const measured = runInNetns('plt-node-2', 'dnsperf', load, { timeoutMs: 60_000 })
await sleep(secondsOfLoad * 500)
withDns.kill('SIGKILL')
await withDns.exited
const { stdout } = await measured
const count = (what: string) => Number(new RegExp(`Queries ${what}: +(\\d+)`).exec(stdout)?.[1] ?? Number.NaN)
const killed = { sent: count('sent'), completed: count('completed'), lost: count('lost') }
process.stdout.write(`${JSON.stringify({ borrowed, killed, tableAfter: await answersItself() })}\n`)
process.exit(0)
