// Run by engine-pods.test.ts in namespaces of its own: pods on the bridge of a real Podman, its files in private folders.
// Prints what was seen as one line of JSON.
import { existsSync, mkdirSync } from 'node:fs'
import { runProgram } from '../../src/host/index.ts'
import { deadlineMs, PodsLab } from '../helpers/pods-lab.ts'
import { untilAsync } from '../helpers/until.ts'

const socket = '/run/podman/podman.sock'
const timeoutMs = deadlineMs

/** crun does not know what to do with both versions of control groups; the engine's state must not reach the host. */
async function prepareMachine(): Promise<void> {
  const script = `set -e
    if mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified; fi
    for folder in /etc/cni /var/lib/containers /var/lib/cni; do mkdir -p $folder; mount -t tmpfs tmpfs $folder; done
    mkdir -p /run/podman /run/root/bin
    cp $(command -v busybox) /run/root/bin/busybox
    for name in sh sleep wget httpd cat ip hostname; do ln -s busybox /run/root/bin/$name; done
    mkdir -p /run/root/etc /run/root/tmp /run/root/proc /run/root/dev /run/root/sys
    tar -C /run/root -cf /run/root.tar .
    podman import --quiet /run/root.tar localhost/busybox:latest`
  await runProgram('sh', ['-c', script], { timeoutMs })
  await runProgram('podman', ['system', 'service', '--time=0', `unix://${socket}`], {
    background: true,
    stdout: 2,
    stderr: 2,
  })
  await untilAsync('podman answers', async () => existsSync(socket), timeoutMs)
}

mkdirSync('/run/lock', { recursive: true })
await prepareMachine()
// Without this right no namespace can be made: the agent finds out by itself.
const lab = new PodsLab({ agentPrefix: ['setpriv', '--bounding-set', '-sys_admin'] })
await lab.build()
const lines: string[] = []
await lab.startAgent(['--engine-socket', socket], (line) => lines.push(line))
await lab.create(
  { group: '', resource: 'services' },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'server' },
    spec: { selector: { app: 'server' }, ports: [{ port: 80, targetPort: 8080 }] },
  },
)
const image = 'localhost/busybox:latest'
const serve = 'mkdir -p /tmp/www; echo "hello from $NAME" > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www'
const serverContainer = {
  image,
  command: ['sh', '-c', serve],
  env: [{ name: 'NAME', value: 'server' }],
  readinessProbe: { httpGet: { port: 8080 }, periodSeconds: 1 },
}
await lab.createPod('server', serverContainer, { terminationGracePeriodSeconds: 1 }, { labels: { app: 'server' } })
const server = await lab.waitReady('server')
const untilAnswered = (url: string, file: string) => `until wget -q -O ${file} ${url}; do sleep 0.1; done`
const direct = untilAnswered(`http://${server.status.podIP}:8080/`, '/tmp/answer')
const byName = untilAnswered('http://server/', '/tmp/by-name')
const ask = `cat /etc/resolv.conf > /tmp/r; ${direct}; ${byName}; echo to-output; echo to-error >&2`
await lab.createPod(
  'client',
  {
    image,
    command: ['sh', '-c', `${ask}; while :; do sleep 1; done`],
    readinessProbe: { exec: { command: ['cat', '/tmp/by-name'] }, periodSeconds: 1 },
  },
  { terminationGracePeriodSeconds: 1 },
)
const client = await lab.waitReady('client')
const list = async () =>
  (await runProgram('podman', ['ps', '-a', '--format', '{{.Names}}'], { timeoutMs })).stdout.trim()
const name = `platnet-${client.metadata.uid}-main-0`
const inside = (
  await runProgram('podman', ['exec', name, 'cat', '/tmp/answer', '/tmp/by-name', '/tmp/r'], { timeoutMs })
).stdout
const running = (await list()).split('\n').length
const fallback = {
  log: lines.filter((line) => line.includes('"capability"')).length,
  chosen: lines.filter((line) => line.includes('because namespaces do not work on this machine')).length,
  status: await lab.status(),
  metrics: (await lab.metrics()).split('\n').filter((line) => line.startsWith('platnet_pod_capability{')),
}
const logs = [await lab.logs('client')]
await lab.killAgent()
await lab.startAgent(['--pod-network', 'container-bridge', '--engine-socket', socket])
await lab.createPod('plain', { image, command: ['sh', '-c', 'echo farewell; exit 3'] }, { restartPolicy: 'Never' })
const failed = await lab.waitFor('plain', 'over', (pod) => pod.status.phase === 'Failed')
const kept = (await lab.pod('server')).status.containerStatuses[0].restartCount
// Ends with the container.
const following = lab.logs('client', '--follow')
await untilAsync('its container is gone', async () => !(await list()).includes(failed.metadata.uid), timeoutMs)
const gone = await lab.logs('plain')
for (const each of ['server', 'client', 'plain']) await lab.deletePod(each)
for (const each of ['server', 'client', 'plain']) await lab.waitGone(each)
const seen = {
  addresses: [server.status.podIP, client.status.podIP],
  inside,
  fallback,
  logs: [...logs, await following],
  gone,
  running,
  exitCode: failed.status.containerStatuses[0].state.terminated.exitCode,
  kept,
  left: await list(),
  results: (await lab.leftovers()).results,
}
await lab.stop()
process.stdout.write(`${JSON.stringify(seen)}\n`)
process.exit(0)
