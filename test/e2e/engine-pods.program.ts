// Run by engine-pods.test.ts in namespaces of its own: pods on the bridge of a real Podman, its files in private folders.
// Prints what was seen as one line of JSON.
import { existsSync, mkdirSync } from 'node:fs'
import { runProgram, startProgram } from '../../src/host/index.ts'
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
  await startProgram('podman', ['system', 'service', '--time=0', `unix://${socket}`], { stdout: 2, stderr: 2 })
  await untilAsync('podman answers', async () => existsSync(socket), timeoutMs)
}

mkdirSync('/run/lock', { recursive: true })
await prepareMachine()
const lab = new PodsLab()
await lab.build()
await lab.startAgent(['--pod-network', 'container-bridge', '--engine-socket', socket])
const image = 'localhost/busybox:latest'
const serve = 'mkdir -p /tmp/www; echo "hello from $NAME" > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www'
await lab.createPod('server', {
  image,
  command: ['sh', '-c', serve],
  env: [{ name: 'NAME', value: 'server' }],
  readinessProbe: { httpGet: { port: 8080 }, periodSeconds: 1 },
})
const server = await lab.waitReady('server')
const ask = `cat /etc/resolv.conf > /tmp/r; wget -q -O /tmp/answer http://${server.status.podIP}:8080/`
await lab.createPod(
  'client',
  {
    image,
    command: ['sh', '-c', `${ask}; while :; do sleep 1; done`],
    readinessProbe: { exec: { command: ['cat', '/tmp/answer'] }, periodSeconds: 1 },
  },
  { terminationGracePeriodSeconds: 1 },
)
const client = await lab.waitReady('client')
const list = async () =>
  (await runProgram('podman', ['ps', '-a', '--format', '{{.Names}}'], { timeoutMs })).stdout.trim()
const name = `platnet-${client.metadata.uid}-main-0`
const inside = (await runProgram('podman', ['exec', name, 'cat', '/tmp/answer', '/tmp/r'], { timeoutMs })).stdout
const running = (await list()).split('\n').length
await lab.killAgent()
await lab.startAgent(['--pod-network', 'container-bridge', '--engine-socket', socket])
await lab.createPod('plain', { image, command: ['sh', '-c', 'exit 3'] }, { restartPolicy: 'Never' })
const failed = await lab.waitFor('plain', 'over', (pod) => pod.status.phase === 'Failed')
const kept = (await lab.pod('server')).status.containerStatuses[0].restartCount
for (const each of ['server', 'client', 'plain']) await lab.deletePod(each)
for (const each of ['server', 'client', 'plain']) await lab.waitGone(each)
const seen = {
  addresses: [server.status.podIP, client.status.podIP],
  inside,
  running,
  exitCode: failed.status.containerStatuses[0].state.terminated.exitCode,
  kept,
  left: await list(),
  results: (await lab.leftovers()).results,
}
await lab.stop()
process.stdout.write(`${JSON.stringify(seen)}\n`)
process.exit(0)
