// Run by network-policies.test.ts in namespaces of its own: an agent with its node's identity enforces policies made through the API, on pods
// that really run. Argument: how many pods of each kind send from their first instruction. Prints what was seen as one line of JSON.
import { writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import { runProgram } from '../../src/host/index.ts'
import { type AnyObject, deadlineMs, PodsLab } from '../helpers/pods-lab.ts'
import { checkoutLauncher } from '../helpers/program.ts'
import { untilAsync } from '../helpers/until.ts'
import { countFirstPackets } from './first-packets.ts'

const dataDir = '/run/platnet'
const lab = new PodsLab({ agentIdentity: 'agent' })
const node = process.execPath
const policies = { group: 'networking.platform.internal', version: 'v1', resource: 'networkpolicies' }
const lines: string[] = []

const serverCode = `require('http').createServer((q, r) => r.end('web')).listen(8080)`
/** Begins with its first instruction; prints a line for each attempt. */
const clientCode = (ip: string) => `const attempt = () => {
  const s = require('net').connect({ host: '${ip}', port: 8080, timeout: 200 })
  const end = (word) => { console.log(word); s.destroy(); setTimeout(attempt, 50) }
  s.once('connect', () => end('open')); s.once('timeout', () => end('silent')); s.once('error', () => end('error'))
}
attempt()`

const labels = (role: string) => ({ labels: { role } })

async function startClient(name: string, ip: string, role: string): Promise<void> {
  await lab.createPod(name, { command: [node, '-e', clientCode(ip)] }, {}, labels(role))
  // A pod has no log before its container runs.
  await lab.waitFor(name, 'running', (pod) => pod.status?.phase === 'Running')
}

async function untilSays(name: string, word: string): Promise<void> {
  const last = async () => (await lab.logs(name)).trimEnd().split('\n').slice(-3)
  await untilAsync(`${name} says ${word}`, async () => (await last()).every((line) => line === word), deadlineMs)
}

async function putPolicy(name: string, spec: AnyObject): Promise<void> {
  await lab.create(policies, { apiVersion: `${policies.group}/v1`, kind: 'NetworkPolicy', metadata: { name }, spec })
}

function ask(host: string): Promise<string> {
  return new Promise((done, fail) => {
    get({ host, port: 8080, agent: false, timeout: 5000 }, (response) => done(text(response))).on('error', fail)
  })
}

/** A command of the operator. */
async function platnet(...args: readonly string[]): Promise<string> {
  const whole = [...args, '--control-socket', lab.controlSocket]
  return (await runProgram(checkoutLauncher, whole, { timeoutMs: deadlineMs })).stdout
}

await lab.build()
const issue = ['server', 'kubeconfig', '--data-dir', dataDir, '--node', 'node-1', '--url', 'https://127.0.0.1:6443']
writeFileSync(
  `${dataDir}/agent.kubeconfig`,
  (await runProgram(checkoutLauncher, issue, { timeoutMs: deadlineMs })).stdout,
)
await lab.startAgent(['--policy-unknown-pods', 'deny', '--policy-log-denied', '1'], (line) => lines.push(line))
await lab.createPod(
  'web',
  { command: [node, '-e', serverCode], readinessProbe: { httpGet: { port: 8080 }, periodSeconds: 1 } },
  {},
  labels('web'),
)
const web = await lab.waitReady('web')
const ip = web.status.podIP
await startClient('guest', ip, 'guest')
await untilSays('guest', 'open')
const friends = { matchExpressions: [{ key: 'role', operator: 'In', values: ['friend', 'mute'] }] }
const ingress = [{ from: [{ podSelector: friends }] }]
await putPolicy('web', { podSelector: { matchLabels: { role: 'web' } }, ingress })
await untilSays('guest', 'silent')
const fromNode = await ask(ip)
await startClient('friend', ip, 'friend')
await untilSays('friend', 'open')
await putPolicy('mute', { podSelector: { matchLabels: { role: 'mute' } }, policyTypes: ['Egress'] })
await untilAsync('it is known', async () => (await lab.status()).includes('2 NetworkPolicies'), deadlineMs)
await startClient('mute', ip, 'mute')
await untilSays('mute', 'silent')
const muted = new Set((await lab.logs('mute')).trimEnd().split('\n'))
const denialOfGuest = () => lines.find((line) => line.includes('denied by policy') && line.includes('guest'))
await untilAsync('a denial of guest is logged', async () => denialOfGuest() !== undefined, deadlineMs)
const seen = {
  fromNode,
  muted: [...muted],
  friend: [...new Set((await lab.logs('friend')).trimEnd().split('\n'))],
  status: await lab.status(),
  explained: await platnet('explain', 'default/guest', `${ip}:8080`),
  plan: await platnet('plan'),
  metrics: (await lab.metrics()).split('\n').filter((line) => line.startsWith('platnet_policy_')),
  denial: JSON.parse(denialOfGuest() ?? '{}'),
}
const firstPackets = await countFirstPackets(lab, web, Number(process.argv[2]))
await lab.stop()
process.stdout.write(`${JSON.stringify({ ...seen, firstPackets })}\n`)
process.exit(0)
