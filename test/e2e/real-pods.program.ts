// Run by real-pods.test.ts in namespaces of its own: pods that really run on one node. Prints what was seen as one line of JSON.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import { runProgram } from '../../src/host/index.ts'
import { detectCgroups } from '../../src/node/pods/cgroups.ts'
import { findProgram } from '../../src/node/pods/container-files.ts'
import { PodFolders } from '../../src/node/pods/pod-folders.ts'
import { httpGet } from '../helpers/http-get.ts'
import { type AnyObject, allowPods, deadlineMs, PodsLab, rootsFolder, shownFolder } from '../helpers/pods-lab.ts'
import { checkoutLauncher } from '../helpers/program.ts'
import { untilAsync } from '../helpers/until.ts'

const lab = new PodsLab()
const server = (answer: string, port: number) =>
  `require('http').createServer((q, r) => r.end('${answer}')).listen(${port}, () => console.log('listening'))`
const node = process.execPath
const firstRun = { container: 'main', attempt: 0 }

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

/** Reads the limits of the pod's container from the kernel, and the processes that they apply to. */
function readLimits(uid: string) {
  const { memory, cpu, pids } = detectCgroups()
  const read = (hierarchy: typeof memory, ...files: readonly [string, string]) => {
    if (hierarchy === undefined) return undefined
    const folder = `${hierarchy.root}/platnet/${uid}-main-0`
    const words = (file: string) => readFileSync(`${folder}/${file}`, 'utf8').trim().split(/\s/)
    const program = findProgram(new PodFolders('/run/platnet/pods').runFolder(uid, firstRun))
    return { value: words(files[hierarchy.version - 1] ?? ''), isIn: words('cgroup.procs').includes(`${program?.pid}`) }
  }
  return {
    memory: read(memory, 'memory.limit_in_bytes', 'memory.max'),
    cpu: read(cpu, 'cpu.cfs_quota_us', 'cpu.max'),
    pids: read(pids, 'pids.max', 'pids.max'),
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

/** Observes a container with a root filesystem. */
async function observeRoot() {
  const makeRoot = `set -e
    root=${rootsFolder}/plain
    mkdir -p $root/bin
    for program in /bin/sh /bin/sleep /bin/cat /bin/hostname /bin/ls; do
      for file in $program $(ldd $program | grep -o '/[^ ]*'); do
        mkdir -p $root$(dirname $file)
        cp $file $root$file
      done
    done`
  await runProgram('sh', ['-c', makeRoot], { timeoutMs: deadlineMs })
  const command = ['sh', '-c', 'ls /; cat /etc/resolv.conf; hostname; trap "exit 0" TERM; while :; do sleep 1; done']
  const annotations = { 'pods.platform.internal/root-filesystem': `${rootsFolder}/plain` }
  const readinessProbe = { exec: { command: ['cat', '/etc/hosts'] }, periodSeconds: 1 }
  await lab.createPod('oci', { command, readinessProbe }, {}, { annotations })
  await lab.waitReady('oci')
  await untilAsync('its log is written', async () => (await lab.logs('oci')).includes('\noci\n'), deadlineMs)
  return (await lab.logs('oci')).trim().split('\n')
}

async function observeOrder() {
  const pipes = ['first', 'second', 'main'].map((name) => `${shownFolder}/${name}`)
  await runProgram('mkfifo', pipes, { timeoutMs: deadlineMs })
  // Each container ends on its signal, and does not start before those before it have ended.
  const obey = (name: string) => ({ name, command: ['sh', '-c', `echo ${name}; exit $(cat ${shownFolder}/${name})`] })
  await lab.createPod('job', obey('main'), {
    initContainers: [obey('first'), obey('second')],
    restartPolicy: 'OnFailure',
  })
  const [first = '', ...later] = pipes
  await writeFile(first, '3')
  await lab.waitFor('job', 'begun again', (pod) => pod.status.initContainerStatuses[0].restartCount === 1)
  for (const pipe of [first, ...later]) await writeFile(pipe, '0')
  const done = await lab.waitFor('job', 'over', (pod) => pod.status.phase === 'Succeeded')
  const ends = [...done.status.initContainerStatuses, ...done.status.containerStatuses].map(
    ({ state }: AnyObject) => state.terminated,
  )
  return {
    exitCodes: ends.map(({ exitCode }) => exitCode),
    isInTurn: ends.every(({ startedAt }, index) => index === 0 || ends[index - 1].finishedAt <= startedAt),
    restarts: done.status.initContainerStatuses[0].restartCount,
  }
}

async function observeTrouble() {
  await lab.createPod('image', { image: 'nginx' })
  const image = await lab.waitFor('image', 'refused', (pod) => waitingOf(pod)?.reason === 'ImageNotSupported')
  await lab.createPod('crash', { command: ['sh', '-c', 'echo out; exit 7'] })
  const crash = await lab.waitFor('crash', 'backing off', (pod) => waitingOf(pod)?.reason === 'CrashLoopBackOff')
  const probe = { exec: { command: ['test', '!', '-e', '/run/sick'] }, periodSeconds: 1, failureThreshold: 1 }
  await lab.createPod('sick', { command: ['sleep', '600'], livenessProbe: probe }, { terminationGracePeriodSeconds: 0 })
  await lab.waitReady('sick')
  const folder = new PodFolders('/run/platnet/pods').runFolder((await lab.pod('sick')).metadata.uid, firstRun)
  writeFileSync(`/proc/${findProgram(folder)?.pid}/root/run/sick`, '')
  const sick = await lab.waitFor('sick', 'started again', (pod) => pod.status.containerStatuses?.[0]?.restartCount > 0)
  const eventLists = (['image', 'crash', 'sick'] as const).map(eventsOf)
  return {
    events: await Promise.all(eventLists),
    image: waitingOf(image),
    crash: crash.status.containerStatuses[0].lastState.terminated.exitCode,
    previous: await lab.logs('crash', '--previous'),
    sick: sick.status.containerStatuses[0].restartCount,
  }
}

/** Waits for the Events, because the agent does not wait for their writes. */
async function eventsOf(name: 'image' | 'crash' | 'sick'): Promise<string[]> {
  const last = { image: 'Warning Failed', crash: 'Warning BackOff', sick: 'Normal Killing' }[name]
  await untilAsync(`${name}: ${last}`, async () => (await lab.events(name)).includes(last), deadlineMs)
  return [...new Set(await lab.events(name))].sort()
}

function waitingOf(pod: AnyObject): AnyObject {
  return pod?.status?.containerStatuses?.[0]?.state?.waiting
}

async function observeRestarts() {
  const folders = new PodFolders('/run/platnet/pods')
  const program = async () => {
    const uid = (await lab.pod('ticker')).metadata.uid
    return findProgram(folders.runFolder(uid, firstRun))
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
  const off = await observeSwitchedOff(program)
  await lab.createPod('later', { command: ['sleep', '600'] })
  await lab.waitReady('later')
  const last = JSON.stringify((await lab.pod('ticker')).status.containerStatuses[0])
  return {
    same: JSON.stringify(before) === JSON.stringify(await program()),
    statuses: [first, ...changes, last],
    beside,
    off,
  }
}

/** An agent without --run-pods on a node that has pods, and a namespace whose pods must not run. */
async function observeSwitchedOff(program: () => Promise<unknown>) {
  const before = JSON.stringify(await program())
  await lab.stopAgent()
  await lab.startAgent(['--run-pods=false'])
  await lab.createPod('early', { command: ['sleep', '600'] })
  const early = waitingOf(await lab.waitFor('early', 'refused', (pod) => waitingOf(pod)?.reason === 'PodsNotEnabled'))
  await untilAsync('early: an Event', async () => (await lab.events('early')).length > 0, deadlineMs)
  await lab.deletePod('bystander')
  await lab.waitGone('bystander')
  const seen = {
    early,
    events: await lab.events('early'),
    status: await lab.status(),
    ticker: waitingOf(await lab.pod('ticker')),
    isSame: before === JSON.stringify(await program()),
  }
  await lab.stopAgent()
  await lab.startAgent()
  await lab.waitReady('early')
  return { ...seen, other: await observeOtherNamespace() }
}

async function observeOtherNamespace() {
  const namespaces = { group: '', resource: 'namespaces' }
  await lab.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } })
  await lab.createPod('stranger', { command: ['sleep', '600'] }, {}, { namespace: 'other' })
  const pod = () => lab.pod('stranger', 'other')
  await untilAsync('its pod is refused', async () => waitingOf(await pod()) !== undefined, deadlineMs)
  const refused = waitingOf(await pod())
  await allowPods(lab.client, 'other')
  await untilAsync('its pod runs', async () => (await pod()).status.phase === 'Running', deadlineMs)
  await lab.client.delete({ resource: { ...namespaces, version: 'v1' }, name: 'other' })
  await untilAsync('its pod is gone', async () => (await pod()) === undefined, deadlineMs)
  return refused
}

/** Observes an agent without the component pods, like beside a kubelet, while one pod is created and another one is deleted. */
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

/** A pod whose agent has stopped: what cleanup leaves with and without --keep-pods. */
async function observeCleanup() {
  await lab.createPod('left', { command: ['sh', '-c', 'trap "" TERM; echo up; sleep 600'] })
  await lab.waitReady('left')
  const before = await lab.leftovers()
  await lab.stopAgent()
  const flags = [
    '--data-dir=/run/platnet',
    '--cni-conf-dir=/run/net.d',
    '--cni-cache-dir=/run/cni',
    '--control-socket=/run/agent.sock',
  ]
  const cleanup = (...more: string[]) =>
    runProgram(checkoutLauncher, ['cleanup', '--yes', ...flags, ...more], {
      timeoutMs: deadlineMs,
    })
  const kept = await cleanup('--keep-pods')
  const afterKept = await lab.leftovers()
  const ended = await cleanup()
  return {
    kept: kept.stdout,
    isKept: JSON.stringify(before.namespaces) === JSON.stringify(afterKept.namespaces) && before.namespaces.length > 0,
    ended: ended.stdout,
    leftovers: await lab.leftovers(),
    processes: lab.processes(),
  }
}

await lab.build()
await lab.startAgent()
const seen: Record<string, unknown> = {}
for (const observe of [
  observeRun,
  observeServers,
  observeRoot,
  observeOrder,
  observeTrouble,
  observeRestarts,
  observeEnd,
  observeCleanup,
]) {
  const startedMs = performance.now()
  seen[observe.name] = await observe()
  process.stderr.write(`${observe.name} took ${Math.round(performance.now() - startedMs)} ms\n`)
}
await lab.stop()
process.stdout.write(`${JSON.stringify(seen)}\n`)
process.exit(0)
