import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, type TestContext, test } from 'node:test'
import { createDialect } from '../../../../src/model/dialect.ts'
import type { StallReason } from '../../../../src/node/cni/index.ts'
import { PodError } from '../../../../src/node/pods/errors.ts'
import { createPodsMetrics } from '../../../../src/node/pods/metrics.ts'
import type { ContainerState } from '../../../../src/node/pods/plan.ts'
import { PodFolders, type StoredPod } from '../../../../src/node/pods/pod-folders.ts'
import type { Labels } from '../../../../src/node/pods/pod-permission.ts'
import { type PodSpec, parsePod } from '../../../../src/node/pods/pod-spec.ts'
import { PodWorker } from '../../../../src/node/pods/pod-worker.ts'
import { newRecord } from '../../../../src/node/pods/read-pod.ts'
import type { PodRuntime } from '../../../../src/node/pods/runtime.ts'
import { SandboxSemaphore } from '../../../../src/node/pods/sandbox-semaphore.ts'
import { createMetrics, silentLogger } from '../../../../src/observe/index.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'
import { until } from '../../../helpers/until.ts'

const dialect = createDialect('platform')
const deadlineMs = 30_000

function makePod(container: object = {}, restartPolicy = 'Never', more: object = {}): PodSpec {
  const metadata = { name: 'web', namespace: 'shop', uid: 'u-1' }
  const spec = { ...more, restartPolicy, containers: [{ name: 'main', command: ['serve'], ...container }] }
  const parsed = parsePod({ metadata, spec }, dialect)
  if (parsed.kind !== 'pod') throw new Error(JSON.stringify(parsed))
  return parsed.pod
}

/** Creates a worker with a fake node: one container that ends on SIGKILL. Every change of the node is recorded in `events`. */
function makeWorker(context: TestContext, record?: StoredPod) {
  const folders = new PodFolders(makeTemporaryFolder(context))
  const events: string[] = []
  const phases: unknown[] = []
  const recorded: string[] = []
  const statuses: string[] = []
  const node = { state: { kind: 'none' } as ContainerState, isOut: false, asked: 0, isForgotten: false, faults: 0 }
  const network: { stallReason?: StallReason; made?: Promise<void> } = {}
  const volumes = { faults: 0, dropFaults: 0, kept: 0, dropped: [] as string[] }
  const permission = { isOn: true, labels: { [dialect.labels.runPods]: 'true' } as Labels | undefined }
  const semaphore = new SandboxSemaphore(1)
  const written = () => folders.readAll().pods[0]
  const runtime: PodRuntime = {
    engineSocket: undefined,
    makeSandbox: async () => {
      events.push(`make the network, recorded as ${written()?.sandbox}`)
      await network.made
      if (node.faults-- > 0) throw new Error('no address is free')
      return [ipOf('10.244.0.7')]
    },
    removeSandbox: async () => void events.push(`remove the network, recorded as ${written()?.sandbox}`),
    stallReasonOf: () => network.stallReason,
    start: async (_pod, _sandbox, { attempt }) => {
      events.push(`start run ${attempt}, recorded as ${written()?.containers['main']?.attempt}`)
      node.state = { kind: 'running', startedAtMs: Date.now() }
      return []
    },
    state: () => node.state,
    signal: async (_sandbox, _run, signal) => {
      events.push(signal)
      if (signal !== 'SIGKILL') return
      node.state = { kind: 'exited', exitCode: 137, startedAtMs: Date.now(), finishedAtMs: Date.now() }
    },
    exec: async () => ({ exitCode: 3, output: 'not yet' }),
    collect: async () => {},
  }
  const worker = new PodWorker(
    {
      runtime,
      folders,
      api: {
        writeStatus: async (_pod, status) => {
          phases.push(status['phase'] ?? phases.at(-1))
          statuses.push(JSON.stringify(status))
        },
        remove: async () => void events.push('remove the object'),
      },
      events: {
        record: ({ metadata }, type, reason, message) =>
          void recorded.push(`${metadata.uid} ${type} ${reason}: ${message}`),
      },
      traffic: {
        isOut: () => {
          node.asked += 1
          return node.isOut
        },
      },
      node: {
        name: 'node-1',
        hostIps: () => [ipOf('192.0.2.1')],
        dialect,
        apiService: () => undefined,
        rootFilesystems: undefined,
      },
      permission: {
        get isOn() {
          return permission.isOn
        },
        labelsOf: () => permission.labels,
      },
      files: async () => ({ resolver: '', hosts: '' }),
      volumes: {
        make: async ({ spec }) => {
          if (spec.volumes.length > 0) events.push('make the volumes')
          if (volumes.faults-- > 0) throw new PodError('volume-failed', 'configmap "web" not found')
        },
        keep: () => void volumes.kept++,
        follow: () => {},
        drop: async (uid) => {
          if (volumes.dropFaults-- > 0) throw new Error('the folder is busy')
          volumes.dropped.push(uid)
        },
      },
      semaphore,
      metrics: createPodsMetrics(createMetrics(), () => []),
      log: silentLogger,
      onForgotten: () => {
        node.isForgotten = true
      },
    },
    record,
  )
  context.after(() => worker.stop({ signal: AbortSignal.timeout(deadlineMs) }))
  return { worker, folders, events, phases, recorded, statuses, node, network, volumes, semaphore, permission }
}

describe('a pod', () => {
  for (const [what, deletion] of [
    ['is being deleted', { atMs: Date.now(), graceSeconds: 1 }],
    ['is gone', undefined],
  ] as const) {
    test(`that ${what} before anything was created for it is forgotten`, async (context) => {
      const { worker, events, node } = makeWorker(context)
      worker.setPod({ ...makePod(), deletion })
      if (deletion === undefined) worker.setPod(undefined)
      await until('it is forgotten', () => node.isForgotten, deadlineMs)
      assert.deepEqual(events, deletion === undefined ? [] : ['remove the object'])
    })
  }

  test('whose volumes cannot be removed is forgotten with a retry', async (context) => {
    const { worker, node, volumes } = makeWorker(context)
    volumes.dropFaults = 1
    worker.setPod({ ...makePod(), deletion: { atMs: Date.now(), graceSeconds: 0 } })
    await until('the pod is forgotten', () => node.isForgotten, deadlineMs)
    assert.deepEqual([volumes.dropFaults, volumes.dropped], [-1, ['u-1']])
  })

  test('ends in the order that loses no traffic, each step after the previous one', async (context) => {
    const { worker, folders, events, phases, recorded, node } = makeWorker(context)
    const pod = makePod()
    worker.setPod(pod)
    await until('it runs', () => phases.at(-1) === 'Running', deadlineMs)
    assert.deepEqual(events.splice(0), ['make the network, recorded as making', 'start run 0, recorded as 0'])
    // Later than now, so that a slow machine does not reach the end of the wait for the rules.
    worker.setPod({ ...pod, deletion: { atMs: Date.now() + deadlineMs, graceSeconds: 1 } })
    await until('the worker has asked often whether the pod is out of the rules', () => node.asked > 3, deadlineMs)
    assert.deepEqual(events, [])
    node.isOut = true
    const outMs = performance.now()
    await until('nothing is left', () => node.isForgotten, deadlineMs)
    assert.deepEqual(events, ['SIGTERM', 'SIGKILL', 'remove the network, recorded as removing', 'remove the object'])
    assert.ok(performance.now() - outMs >= 990, 'it did not get its grace')
    assert.equal(existsSync(folders.folder('u-1')), false)
    assert.deepEqual(recorded, [
      'u-1 Normal Started: Started container main',
      'u-1 Normal Killing: Stopping container main',
    ])
  })

  test('ends without waiting for the rules if its object is gone', async (context) => {
    const { worker, events, phases, node } = makeWorker(context)
    worker.setPod(makePod())
    await until('it runs', () => phases.at(-1) === 'Running', deadlineMs)
    events.splice(0)
    worker.setPod(undefined)
    await until('nothing is left', () => node.isForgotten, deadlineMs)
    assert.deepEqual(events, ['SIGTERM', 'SIGKILL', 'remove the network, recorded as removing'])
    assert.equal(node.asked, 0)
  })

  test('whose plugin hangs reports that meanwhile, and the failure of its ADD while the ADD is undone', async (context) => {
    const { worker, phases, recorded, statuses, network } = makeWorker(context)
    const made = Promise.withResolvers<void>()
    network.made = made.promise
    network.stallReason = { waitsFor: 'the plugin sleepy (ADD) has been running' }
    worker.setPod(makePod())
    const waits = (reason: string, message: string) => (status: string) =>
      status.includes(`"waiting":{"reason":"${reason}","message":"${message}`)
    await until(
      'its status',
      () => statuses.some(waits('ContainerCreating', 'the plugin sleepy (ADD) has')),
      deadlineMs,
    )
    assert.deepEqual(recorded, [])
    network.stallReason = {
      failure: 'the plugin sleepy (ADD) was killed',
      waitsFor: 'the plugin sleepy (DEL) is running',
    }
    const both = 'the plugin sleepy (ADD) was killed; the plugin sleepy (DEL) is running'
    await until('its failure', () => statuses.some(waits('CreatePodSandboxError', both)), deadlineMs)
    assert.deepEqual(recorded, [
      'u-1 Warning FailedCreatePodSandBox: Failed to create pod sandbox: the plugin sleepy (ADD) was killed',
    ])
    made.resolve()
    await until('it runs', () => phases.at(-1) === 'Running', deadlineMs)
    assert.doesNotMatch(statuses.at(-1) ?? '', /sleepy/)
  })

  test('that waits for a slot reports whose plugin hangs, and gets its network after that plugin ends', async (context) => {
    const { worker, events, phases, statuses, semaphore } = makeWorker(context)
    const other = Promise.withResolvers<void>()
    const stallReason = () => ({ waitsFor: 'the plugin sleepy (ADD) has been running' })
    const held = semaphore.run({ pod: 'shop/first', stallReason, onStall: async () => {} }, () => other.promise)
    worker.setPod(makePod())
    const message =
      'waiting for a slot (1 pods at a time); shop/first is delayed: the plugin sleepy (ADD) has been running'
    const waiting = `"waiting":{"reason":"ContainerCreating","message":"${message}"}`
    await until('its status', () => statuses.some((status) => status.includes(waiting)), deadlineMs)
    assert.deepEqual([semaphore.waiting, events], [1, []])
    other.resolve()
    await held
    await until('it runs', () => phases.at(-1) === 'Running', deadlineMs)
    assert.equal(semaphore.waiting, 0)
    assert.doesNotMatch(statuses.at(-1) ?? '', /sleepy/)
  })

  test('whose network fails gets it with a retry, and reports the failure meanwhile', async (context) => {
    const { worker, events, phases, recorded, node } = makeWorker(context)
    node.faults = 1
    worker.setPod(makePod())
    await until('it runs', () => phases.at(-1) === 'Running', deadlineMs)
    assert.equal(events.filter((event) => event.startsWith('make')).length, 2)
    assert.equal(worker.failure, undefined)
    assert.equal(phases[0], 'Pending')
    assert.equal(recorded[0], 'u-1 Warning FailedCreatePodSandBox: Failed to create pod sandbox: no address is free')
  })

  test('has its volumes before its container starts, reports why they are missing, and loses them with its network', async (context) => {
    const { worker, events, phases, recorded, statuses, node, volumes } = makeWorker(context)
    volumes.faults = 1
    const pod = makePod({}, 'Never', { volumes: [{ name: 'web', configMap: { name: 'web' } }] })
    worker.setPod(pod)
    await until('it runs', () => phases.at(-1) === 'Running', deadlineMs)
    assert.deepEqual(events.splice(0).slice(1), ['make the volumes', 'make the volumes', 'start run 0, recorded as 0'])
    assert.equal(recorded[0], 'u-1 Warning FailedMount: configmap "web" not found')
    const waiting = '"waiting":{"reason":"ContainerCreating","message":"configmap \\"web\\" not found"}'
    assert.ok(
      statuses.some((status) => status.includes(waiting)),
      statuses.join('\n'),
    )
    assert.ok(volumes.kept > 0)
    assert.deepEqual(volumes.dropped, [])
    node.isOut = true
    worker.setPod({ ...pod, deletion: { atMs: Date.now(), graceSeconds: 0 } })
    await until('it is gone', () => node.isForgotten, deadlineMs)
    assert.deepEqual(new Set(volumes.dropped), new Set(['u-1']))
  })

  test('reports failed probes, restarts and back-off in Events of kubelet', async (context) => {
    const probe = { exec: { command: ['check'] }, periodSeconds: 1, failureThreshold: 1 }
    const why = 'check exited with 3: not yet'
    // In a separate pod, because a failed liveness probe can kill the container before its readiness probe runs.
    const unready = makeWorker(context)
    unready.worker.setPod(makePod({ readinessProbe: probe }, 'Always'))
    await until('its probe failed', () => unready.recorded.some((line) => line.includes('Unhealthy')), deadlineMs)
    assert.ok(
      unready.recorded.includes(`u-1 Warning Unhealthy: Readiness probe of main failed: ${why}`),
      unready.recorded.join('\n'),
    )
    const { worker, recorded, statuses, node } = makeWorker(context)
    worker.setPod(makePod({ livenessProbe: probe }, 'Always'))
    await until('its probe failed', () => recorded.some((line) => line.includes('Killing')), deadlineMs)
    assert.ok(recorded.includes(`u-1 Warning Unhealthy: Liveness probe of main failed: ${why}`), recorded.join('\n'))
    assert.ok(recorded.some((line) => /Killing: Container main failed its liveness/.test(line)))
    const end = () => ({ kind: 'exited', exitCode: 1, startedAtMs: Date.now(), finishedAtMs: Date.now() }) as const
    node.state = end()
    worker.wake()
    await until('it runs a second time', () => node.state.kind === 'running', deadlineMs)
    node.state = { ...end(), exitCode: 137, isOutOfMemory: true }
    worker.wake()
    await until('it waits', () => recorded.some((line) => line.includes('BackOff')), deadlineMs)
    assert.equal(recorded.at(-1), 'u-1 Warning BackOff: back-off 10s restarting failed container=main pod=web_shop')
    await until('why', () => statuses.some((status) => /"exitCode":137,"reason":"OOMKilled"/.test(status)), deadlineMs)
  })

  test('of a namespace without the label gets nothing, reports why, and runs after the namespace has the label', async (context) => {
    const { worker, events, recorded, statuses, phases, permission } = makeWorker(context)
    permission.labels = {}
    worker.setPod(makePod())
    await until('the Event is recorded', () => recorded.length > 0, deadlineMs)
    assert.deepEqual([events, phases], [[], ['Pending']])
    assert.match(
      recorded.join(),
      /^u-1 Warning NamespaceNotEnabled: the namespace shop has no label pods.platform.internal\/run=true/,
    )
    assert.match(statuses.join(), /"waiting":{"reason":"NamespaceNotEnabled"/)
    permission.labels = { [dialect.labels.runPods]: 'true' }
    worker.wake()
    await until('it runs', () => phases.at(-1) === 'Running', deadlineMs)
    permission.labels = {}
    worker.wake()
    await until('it was looked at', () => statuses.length > 1, deadlineMs)
    assert.equal(phases.at(-1), 'Running')
  })

  test('that waits for the labels of its namespace records no Event about that', async (context) => {
    const { worker, recorded, statuses, permission } = makeWorker(context)
    permission.labels = undefined
    worker.setPod(makePod())
    await until('its status says so', () => /NamespaceNotRead/.test(statuses.join()), deadlineMs)
    assert.deepEqual(recorded, [])
  })

  test('of a node without --run-pods goes on, does not restart, and ends after its deletion', async (context) => {
    const pod = makePod({}, 'Always')
    const stored = { ...newRecord(pod, undefined, dialect), sandbox: 'ready', ips: [ipOf('10.244.0.7')] } as const
    const { worker, events, recorded, node, statuses, permission } = makeWorker(context, {
      ...stored,
      containers: { main: { attempt: 0, level: 0 } },
    })
    permission.isOn = false
    node.state = { kind: 'running', startedAtMs: Date.now() }
    worker.setPod(pod)
    await until('it counts as running', () => /"running":/.test(statuses.join()), deadlineMs)
    assert.deepEqual(recorded, [])
    node.state = { kind: 'exited', exitCode: 1, startedAtMs: 0, finishedAtMs: Date.now() }
    worker.wake()
    await until('the Event is recorded', () => recorded.length > 0, deadlineMs)
    assert.match(recorded.join(), /PodsNotEnabled: this node runs no pods/)
    assert.deepEqual(events, [])
    node.isOut = true
    worker.setPod({ ...pod, deletion: { atMs: Date.now(), graceSeconds: 0 } })
    await until('it is gone', () => node.isForgotten, deadlineMs)
    assert.deepEqual(events, ['remove the network, recorded as removing', 'remove the object'])
  })

  test('whose container cannot run on this node reports the reason', async (context) => {
    const { worker, recorded } = makeWorker(context)
    worker.setPod(makePod({ command: undefined, image: 'nginx' }))
    await until('the Event is recorded', () => recorded.length > 0, deadlineMs)
    assert.match(recorded.join(), /^u-1 Warning Failed: Error: ImageNotSupported: /)
  })

  test('gets the SIGTERM from the next agent if an agent was killed between the record and the signal', async (context) => {
    const pod = makePod({}, 'Always')
    const containers = { main: { attempt: 0, level: 0, stopAtMs: Date.now() } }
    const ready = {
      ...newRecord(pod, undefined, dialect),
      sandbox: 'ready',
      ips: [ipOf('10.244.0.7')],
      containers,
    } as const
    const { worker, events, node } = makeWorker(context, ready)
    node.state = { kind: 'running', startedAtMs: Date.now() }
    worker.setPod(pod)
    await until('it gets the signal', () => events.length > 0, deadlineMs)
    assert.deepEqual(events, ['SIGTERM'])
  })

  test('that a later agent continues from its record does not start a second time', async (context) => {
    const { worker, folders, events, phases } = makeWorker(context)
    worker.setPod(makePod())
    await until('it runs', () => phases.at(-1) === 'Running', deadlineMs)
    await worker.stop({ signal: AbortSignal.timeout(deadlineMs) })
    const [record] = folders.readAll().pods
    assert.deepEqual([record?.sandbox, record?.ips], ['ready', ['10.244.0.7']])
    assert.equal(events.length, 2)
  })
})
