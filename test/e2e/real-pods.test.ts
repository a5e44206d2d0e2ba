import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { before, describe, test } from 'node:test'
import { runIsolated } from '../../src/demo/isolate.ts'
import { skipReason } from '../helpers/netns.ts'

/** The status of a pod that only the API server has written. */
const asCreated = { phase: 'Pending', qosClass: 'BestEffort' }

describe('pods that really run on one node', {
  skip: skipReason('iptables', 'unshare', 'nsenter', '/usr/lib/cni/bridge'),
}, () => {
  // biome-ignore lint/suspicious/noExplicitAny: what the program saw, each part judged below
  let seen: any

  before(async () => {
    const program = resolve(import.meta.dirname, 'real-pods.program.ts')
    const { exitCode, stdout } = await runIsolated(program, [], {
      signal: AbortSignal.timeout(240_000),
      stdout: 'pipe',
    })
    assert.equal(exitCode, 0, 'the program failed; its output is above')
    seen = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
  })

  test('a container has its variables, resolver file, host name, folder, user and process namespace, and its output is kept', () => {
    const lines = seen.observeRun.log.trimEnd().split('\n')
    assert.equal(lines[0], 'it\'s $(POD) "$HOME" `x`')
    assert.deepEqual(lines.slice(1, 4), [
      'search default.svc.cluster.local svc.cluster.local cluster.local',
      'nameserver 10.96.0.10',
      'options ndots:5',
    ])
    assert.deepEqual(lines.slice(4), ['shelly', '/tmp', '65534', 'sh', 'problem'])
  })

  test('the API knows its address, phase, conditions and containers', () => {
    const { phase, podIP, podIPs, hostIP, conditions, containerStatuses } = seen.observeRun.status
    assert.deepEqual([phase, hostIP, podIPs], ['Running', '192.0.2.1', [{ ip: podIP }]])
    assert.match(podIP, /^10\.244\.0\.\d+$/)
    for (const { type, status } of conditions) assert.equal(status, 'True', type)
    const [{ ready, started, restartCount, containerID }] = containerStatuses
    assert.deepEqual([ready, started, restartCount], [true, true, 0])
    assert.match(containerID, /^platnet:\/\/.+\/main\/0$/)
  })

  test('its limits of memory and CPU are set in its control groups, if the machine has the controllers', (context) => {
    const { memory, cpu, pids } = seen.observeRun.limits
    if (pids === undefined) context.diagnostic('no control group limits processes here')
    else assert.deepEqual(pids, { value: ['4096'], isIn: true })
    if (memory === undefined) context.diagnostic('no control group limits memory here')
    else assert.deepEqual(memory, { value: [String(64 * 1024 * 1024)], isIn: true })
    if (cpu === undefined) context.diagnostic('no control group limits CPUs here')
    else assert.deepEqual([cpu.value[0], cpu.isIn], ['50000', true])
  })

  test("a server answers on the pod's address and on its host port; with the host's network on the node's address", () => {
    const { direct, hostPort, hostNetwork, hostIp } = seen.observeServers
    assert.deepEqual([direct, hostPort, hostNetwork, hostIp], ['web', 'web', 'host', '192.0.2.1'])
  })

  test('with a root filesystem from the annotation it sees nothing else', () => {
    const lines = seen.observeRoot.filter((line: string) => !line.startsWith('lib') && line !== 'usr')
    assert.deepEqual(lines.slice(0, 6), [
      'bin',
      'dev',
      'etc',
      'proc',
      'sys',
      'search default.svc.cluster.local svc.cluster.local cluster.local',
    ])
    assert.equal(lines.at(-1), 'oci')
  })

  test('init containers run in order, a failed one restarts, and a pod whose containers are done has succeeded', () => {
    assert.deepEqual(seen.observeOrder, { exitCodes: [0, 0, 0], isInTurn: true, restarts: 1 })
  })

  test('a refused container reports the reason; a failed one restarts, with its exit code and output kept', () => {
    const { image, crash, previous, sick, events } = seen.observeTrouble
    assert.equal(image.reason, 'ImageNotSupported')
    assert.match(image.message, /the image "nginx" is not fetched/)
    assert.deepEqual([crash, previous], [7, 'out\n'])
    assert.equal(sick, 1)
    assert.deepEqual(events, [
      ['Warning Failed'],
      ['Normal Started', 'Warning BackOff'],
      ['Normal Killing', 'Normal Started', 'Warning Unhealthy'],
    ])
  })

  test('a container goes on through SIGKILL and stop of the agent, its log too, and never stops being ready', () => {
    const { same, statuses } = seen.observeRestarts
    assert.equal(same, true, 'another process runs')
    assert.equal(new Set(statuses).size, 1, statuses.join('\n'))
  })

  test('an agent without the component pods touches no pod, neither a new nor a deleted one', () => {
    const { isSame, doomed, bystander } = seen.observeRestarts.beside
    assert.equal(isSame, true)
    assert.deepEqual([doomed, bystander], [asCreated, asCreated])
  })

  test('an agent without --run-pods starts no pod and reports that; running pods go on, and deleted ones end', () => {
    const { early, events, status, ticker, isSame } = seen.observeRestarts.off
    assert.match(early.message, /^this node runs no pods: its agent must be started with --run-pods/)
    assert.deepEqual(events, ['Warning PodsNotEnabled'])
    assert.match(status, /running pods is off \(--run-pods\)/)
    assert.deepEqual([ticker, isSame], [undefined, true])
  })

  test('a pod of a namespace without the label waits, names the label, and runs after the namespace has it', () => {
    const { reason, message } = seen.observeRestarts.off.other
    assert.equal(reason, 'NamespaceNotEnabled')
    assert.match(message, /"kubectl label namespace other pods.platform.internal\/run=true"$/)
  })

  test('a deleted pod has left nothing; a mirror pod is not touched', () => {
    const { leftovers, mirror } = seen.observeEnd
    for (const [what, names] of Object.entries(leftovers)) assert.deepEqual(names, [], what)
    assert.deepEqual(mirror, asCreated)
  })

  test('cleanup with --keep-pods keeps pods that outlive the agent, without it ends them and leaves nothing', () => {
    const { kept, isKept, ended, leftovers, processes } = seen.observeCleanup
    assert.equal(isKept, true)
    assert.match(kept, /^left: 1 pods with their networks; run cleanup without --keep-pods$/m)
    assert.match(ended, /^ended the pod default\/left$/m)
    assert.deepEqual(processes, [])
    const { namespaces, links, addresses, results } = leftovers
    assert.deepEqual([namespaces, links, addresses, results], [[], [], [], []])
  })
})
