// Run by real-pods.test.ts in namespaces of its own: pods that really run on one node. Prints what was seen as one line of JSON.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import { runProgram } from '../../src/host/index.ts'
import { detectCgroups } from '../../src/node/pods/cgroups.ts'
import { findProgram } from '../../src/node/pods/container-files.ts'
import { PodFolders } from '../../src/node/pods/pod-folders.ts'
import { httpGet } from '../helpers/http-get.ts'
import { type AnyObject, deadlineMs, PodsLab } from '../helpers/pods-lab.ts'
import { untilAsync } from '../helpers/until.ts'

const lab = new PodsLab()
const server = (answer: string, port: number) =>
  `require('http').createServer((q, r) => r.end('${answer}')).listen(${port}, () => console.log('listening'))`
const node = process.execPath

function ask(host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ host, port, agent: false, timeout: 5000 }, (response) => resolve(text(response))).on('error', reject)
  })
}

async function observeRun() {
  const script =
    'echo "$GREETING"; cat /etc/resolv.conf; hostname; pwd; id -u; cat /proc/1/comm; echo problem >&2; exec sleep 600'
  await lab.createPod(
    'shell',
    {
      command: ['sh', '-c', script],
      workingDir: '/tmp',
      env: [{ name: 'GREETING', value: 'it\'s $(POD) "$HOME" `x`' }, { name: 'EMPTY' }],
      resources: { limits: { memory: '64Mi', cpu: '500m' } },
      securityContext: { runAsUser: 65534 },
    },
    { hostname: 'shelly' },
  )
  const pod = await lab.waitReady('shell')
  await untilAsync('its log is written', async () => (await lab.logs('shell')).includes('problem'), deadlineMs)
  return { status: pod.status, log: await lab.logs('shell'), limits: readLimits(pod.metadata.uid) }
}

/** What the kernel holds of the limits of the pod's container, and which of its processes are under them. */
function readLimits(uid: string) {
  const { memory, cpu } = detectCgroups()
  const read = (hierarchy: typeof memory, ...files: readonly [string, string]) => {
    if (hierarchy === undefined) return undefined
    const folder = `${hierarchy.root}/platnet/${uid}-main-0`
    const words = (file: string) => readFileSync(`${folder}/${file}`, 'utf8').trim().split(/\s/)
    const program = findProgram(new PodFolders('/run/platnet/pods').runFolder(uid, { container: 'main', attempt: 0 }))
    return { value: words(files[hierarchy.version - 1] ?? ''), isIn: words('cgroup.procs').includes(`${program?.pid}`) }
  }
  return {
    memory: read(memory, 'memory.limit_in_bytes', 'memory.max'),
    cpu: read(cpu, 'cpu.cfs_quota_us', 'cpu.max'),
  }
}

async function observeServers() {
  const ports = [{ containerPort: 8080, hostPort: 18_080 }]
  const ready = (port: number) => ({ readinessProbe: { httpGet: { port }, periodSeconds: 1 } })
  await lab.createPod('web', { command: [node, '-e', server('web', 8080)], ports, ...ready(8080) })
  const web = await lab.waitReady('web')
  await lab.createPod(
    'host',
    { command: [node, '-e', server('host', 18_090)], ...ready(18_090) },
    { hostNetwork: true },
  )
  const host = await lab.waitReady('host')
  return {
    direct: await ask(web.status.podIP, 8080),
    hostPort: await ask(lab.nodeAddress, 18_080),
    hostNetwork: await ask(lab.nodeAddress, 18_090),
    hostIp: host.status.podIP,
  }
}

/** An OCI container with a root filesystem of its own; crun cannot do with both versions of control groups. */
async function observeBundle() {
  const makeRoot = `set -e
    if mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified; fi
    mkdir -p /run/root/bin /run/root/etc /run/root/proc /run/root/dev /run/root/tmp
    cp $(command -v busybox) /run/root/bin/busybox
    for name in sh sleep cat hostname ls; do ln -s busybox /run/root/bin/$name; done`
  await runProgram('sh', ['-c', makeRoot], { timeoutMs: deadlineMs })
  const command = ['sh', '-c', 'ls /; cat /etc/resolv.conf; hostname; trap "exit 0" TERM; while :; do sleep 1; done']
  const annotations = { 'pods.platform.internal/root-filesystem': '/run/root' }
  const readinessProbe = { exec: { command: ['cat', '/etc/hosts'] }, periodSeconds: 1 }
  await lab.createPod('oci', { command, readinessProbe }, {}, { annotations })
  await lab.waitReady('oci')
  await untilAsync('its log is written', async () => (await lab.logs('oci')).includes('\noci\n'), deadlineMs)
  return (await lab.logs('oci')).trim().split('\n')
}

async function observeOrder() {
  const say = (word: string, rest = '') => ({ command: ['sh', '-c', `echo ${word} >> /run/order; ${rest}`] })
  const initContainers = [
    { name: 'first', ...say('first', 'test -e /run/again || { touch /run/again; exit 3; }') },
    { name: 'second', ...say('second') },
  ]
  await lab.createPod('job', say('main', 'exit 0'), { initContainers, restartPolicy: 'OnFailure' })
  const done = await lab.waitFor('job', 'over', (pod) => pod.status.phase === 'Succeeded')
  return {
    order: readFileSync('/run/order', 'utf8').trim().split('\n'),
    restarts: done.status.initContainerStatuses[0].restartCount,
  }
}

async function observeTrouble() {
  await lab.createPod('image', { image: 'nginx' })
  const image = await lab.waitFor('image', 'refused', (pod) => waitingOf(pod)?.reason === 'ImageNotSupported')
  await lab.createPod('crash', { command: ['sh', '-c', 'echo out; exit 7'] })
  const crash = await lab.waitFor('crash', 'backing off', (pod) => waitingOf(pod)?.reason === 'CrashLoopBackOff')
  const probe = { exec: { command: ['test', '!', '-e', '/run/sick'] }, periodSeconds: 1, failureThreshold: 1 }
  await lab.createPod(
    'sick',
    { command: ['sh', '-c', 'rm -f /run/sick; touch /run/well; exec sleep 600'], livenessProbe: probe },
    { terminationGracePeriodSeconds: 0 },
  )
  await untilAsync('the pod is well', async () => existsSync('/run/well'), deadlineMs)
  writeFileSync('/run/sick', '')
  const sick = await lab.waitFor('sick', 'started again', (pod) => pod.status.containerStatuses?.[0]?.restartCount > 0)
  const told = (['image', 'crash', 'sick'] as const).map(eventsOf)
  return {
    events: await Promise.all(told),
    image: waitingOf(image),
    crash: crash.status.containerStatuses[0].lastState.terminated.exitCode,
    previous: await lab.logs('crash', '--previous'),
    sick: sick.status.containerStatuses[0].restartCount,
  }
}

/** They are written without anybody waiting for it. */
async function eventsOf(name: 'image' | 'crash' | 'sick'): Promise<string[]> {
  const last = { image: 'Warning Failed', crash: 'Warning BackOff', sick: 'Normal Killing' }[name]
  await untilAsync(`${name}: ${last}`, async () => (await lab.events(name)).includes(last), deadlineMs)
  return [...new Set(await lab.events(name))].sort()
}

function waitingOf(pod: AnyObject): AnyObject {
  return pod.status?.containerStatuses?.[0]?.state?.waiting
}

async function observeRestarts() {
  const folders = new PodFolders('/run/platnet/pods')
  const program = async () => {
    const uid = (await lab.pod('ticker')).metadata.uid
    return findProgram(folders.runFolder(uid, { container: 'main', attempt: 0 }))
  }
  const count = async () => (await lab.logs('ticker')).trim().split('\n').length
  const probe = { exec: { command: ['true'] }, periodSeconds: 1 }
  await lab.createPod('ticker', {
    command: ['sh', '-c', 'while :; do echo tick; sleep 0.05; done'],
    readinessProbe: probe,
  })
  await lab.waitReady('ticker')
  const before = await program()
  const changes: string[] = []
  const during = async (agentAway: () => Promise<void>) => {
    await agentAway()
    const lines = await count()
    await untilAsync('the log grows without an agent', async () => (await count()) > lines + 5, deadlineMs)
    await lab.startAgent()
    await untilAsync('the agent has taken the pod up', async () => existsSync('/run/agent.sock'), deadlineMs)
    changes.push(JSON.stringify((await lab.pod('ticker')).status.containerStatuses[0]))
  }
  const first = JSON.stringify((await lab.pod('ticker')).status.containerStatuses[0])
  await during(() => lab.killAgent())
  await during(() => lab.stopAgent())
  const beside = await observeWithoutPods(program)
  await lab.createPod('later', { command: ['sleep', '600'] })
  await lab.waitReady('later')
  const last = JSON.stringify((await lab.pod('ticker')).status.containerStatuses[0])
  return {
    same: JSON.stringify(before) === JSON.stringify(await program()),
    statuses: [first, ...changes, last],
    beside,
  }
}

/** As beside a kubelet: an agent whose components leave pods alone, while one is made and another one is to end. */
async function observeWithoutPods(program: () => Promise<unknown>) {
  await lab.stopAgent()
  const before = { program: await program(), leftovers: await lab.leftovers() }
  await lab.createPod('doomed', { command: ['sleep', '600'] })
  await lab.startAgent(['--components', 'proxy,dns,registration'])
  await lab.createPod('bystander', { command: ['sleep', '600'] })
  await lab.deletePod('doomed')
  // It works, and knows what happened after these.
  const { metadata } = await lab.create(
    { group: '', resource: 'services' },
    { apiVersion: 'v1', kind: 'Service', metadata: { name: 'later' }, spec: { ports: [{ port: 80 }] } },
  )
  const path = `/applied?resource=services&resourceVersion=${metadata.resourceVersion}&timeoutMs=1000`
  const isApplied = async () => (await httpGet({ socketPath: '/run/agent.sock', path })).status === 200
  await untilAsync('the agent has applied that', () => isApplied().catch(() => false), deadlineMs)
  const isSame =
    JSON.stringify(before) === JSON.stringify({ program: await program(), leftovers: await lab.leftovers() })
  const doomed = await lab.pod('doomed')
  const seen = { isSame, doomed: doomed?.status, bystander: (await lab.pod('bystander')).status }
  await lab.stopAgent()
  await lab.startAgent()
  await lab.waitGone('doomed')
  await lab.waitReady('bystander')
  return seen
}

async function observeEnd() {
  await lab.create(
    { group: '', resource: 'pods' },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'mirror', annotations: { 'platform.internal/config.mirror': 'x' } },
      spec: { nodeName: 'node-1', containers: [{ name: 'main', command: ['sleep', '1'] }] },
    },
  )
  const names = (await lab.pods()).map((pod) => pod.metadata.name).filter((name) => name !== 'mirror')
  await Promise.all(names.map((name) => lab.deletePod(name)))
  for (const name of names) await lab.waitGone(name)
  const mirror = await lab.pod('mirror')
  return { leftovers: await lab.leftovers(), mirror: mirror?.status }
}

await lab.build()
await lab.startAgent()
const seen: Record<string, unknown> = {}
const canBundle = existsSync('/usr/bin/crun') && existsSync('/usr/bin/busybox')
const bundle = canBundle ? [observeBundle] : []
for (const observe of [
  observeRun,
  observeServers,
  ...bundle,
  observeOrder,
  observeTrouble,
  observeRestarts,
  observeEnd,
]) {
  const startedMs = performance.now()
  seen[observe.name] = await observe()
  process.stderr.write(`${observe.name} took ${Math.round(performance.now() - startedMs)} ms\n`)
}
await lab.stop()
process.stdout.write(`${JSON.stringify(seen)}\n`)
process.exit(0)
