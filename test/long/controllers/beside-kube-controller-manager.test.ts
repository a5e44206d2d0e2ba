import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { controllerNames } from '../../../src/controllers/controller-names.ts'
import {
  type ControllerManagerParts,
  createControllerManager,
  createSchedulerManager,
} from '../../../src/controllers/index.ts'
import type { Pod } from '../../../src/controllers/objects/pod.ts'
import { Periodic } from '../../../src/loop/periodic.ts'
import { createDialect } from '../../../src/model/dialect.ts'
import { parseCidr } from '../../../src/model/ip.ts'
import { silentLogger } from '../../../src/observe/index.ts'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { makeThrowawayCa } from '../../helpers/certificates.ts'
import { snapshotOf } from '../../helpers/cluster-snapshot.ts'
import { hollowNode, runControllers } from '../../helpers/controller-lab.ts'
import { autoscalingDefaults, noSigning } from '../../helpers/controller-settings.ts'
import { clientOfServer, freshControllerMetrics } from '../../helpers/controllers.ts'
import { missingProgram, startKubernetesProgram } from '../../helpers/kubernetes-program.ts'
import { nodeNames, renewLease, type Step, steps } from './cluster-steps.ts'

const peerName = 'kube-controller-manager'
const graceMs = 20_000
const beatMs = 2_000
/** The CA that both publish in each namespace. */
const rootCa = makeThrowawayCa('root')
const clusterCidr = '10.244.0.0/16'
const deadlineMs = 40_000

/** The controllers of the peer that do what ours do. */
const peerControllers = [
  'endpoints',
  'endpointslice',
  'endpointslice-mirroring',
  'replicaset',
  'deployment',
  'statefulset',
  'daemonset',
  'garbage-collector',
  'namespace',
  'serviceaccount',
  'node-lifecycle',
  'node-ipam',
  'taint-eviction',
  'service-cidr',
  'pod-garbage-collector',
  'root-ca-certificate-publisher',
].map((name) => `${name}-controller`)

/** What differs on purpose, or for reasons that are not the controllers': src/controllers/README.md says why. */
const intended: readonly RegExp[] = [
  /^Service default\/kubernetes /,
  /^Pod .* \.spec\.nodeName:/,
  /\.resources: \{\}$/,
  /^Node .* \.status\.(nodeInfo|daemonEndpoints)\./,
  /^EndpointSlice default\/hand-# .*\.conditions\.(serving|terminating):/,
  /last-change-trigger-time/,
  /^Event of Pod Normal TaintManagerEviction /,
  /^Pod .*\[Ready\]\.(reason: "NodeNotReady"|message: "the node cannot be reached")$/,
  /^ConfigMap [^ ]*\/kube-root-ca\.crt \.metadata\.annotations\.kubernetes\.io\/description:/,
  // Each server of the two has CAs of its own.
  /^ConfigMap kube-system\/extension-apiserver-authentication \.data\.(requestheader-)?client-ca-file:/,
  /^ServiceCIDR .*\[Ready\]\.reason: "(NetworkServiceCIDRReady)?"$/,
]

/** A folder that goes with the rest. */
function makeFolder(stack: AsyncDisposableStack): string {
  const folder = mkdtempSync(join(tmpdir(), 'plt-test-'))
  stack.defer(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The same thing in other words; which node has which part of the pod network is the order they were seen in. */
function inCommonWords(line: string): string {
  return line
    .replace('Node agent stopped', 'Kubelet stopped')
    .replace(/ \(\d+, such as [^)]*\)/, '')
    .replace(/"10\.244\.\d\.0\/24"/, '"10.244.#.0/24"')
}

async function comparable(server: TestServer): Promise<readonly string[]> {
  const lines = (await snapshotOf(server)).map(inCommonWords)
  return lines.filter((line) => !intended.some((pattern) => pattern.test(line)))
}

function difference(ours: readonly string[], theirs: readonly string[]): readonly string[] {
  const only = (these: readonly string[], others: readonly string[], whose: string) => {
    const left = [...others]
    return these.flatMap((line) => {
      const index = left.indexOf(line)
      if (index < 0) return [`${whose} ${line}`]
      left.splice(index, 1)
      return []
    })
  }
  return [...only(ours, theirs, 'ours:'), ...only(theirs, ours, 'peer:')]
}

describe(`the same cluster under our controllers and under ${peerName}`, { skip: missingProgram(peerName) }, () => {
  const ended: AsyncDisposableStack[] = []
  const beating = new Set(nodeNames)
  let beats: Periodic
  let ours: TestServer
  let theirs: TestServer

  const partsOf = (server: TestServer): ControllerManagerParts => {
    const cidr = parseCidr(clusterCidr)
    assert.ok(cidr)
    return {
      client: clientOfServer(server),
      dialect: createDialect('kubernetes'),
      controllers: controllerNames,
      clusterCidrs: [cidr],
      nodeGraceMs: () => graceMs,
      rootCaPem: rootCa.certificate,
      eventTtlMs: () => 3_600_000,
      autoscaling: autoscalingDefaults,
      signing: noSigning,
      metrics: freshControllerMetrics(),
      log: silentLogger,
    }
  }
  /** What is silent does not say that its pods are ready, but lets them go. */
  const isRunBySomeNode = ({ spec: { nodeName }, metadata }: Pod) =>
    metadata.labels['runs'] !== 'by-hand' &&
    nodeName !== undefined &&
    (beating.has(nodeName) || metadata.deletionTimestamp !== undefined)
  /** A server, its scheduler, and nodes that run what they are given. */
  const startCluster = async () => {
    const stack = new AsyncDisposableStack()
    ended.push(stack)
    const server = stack.use(await startTestServer({ sweepsNamespaces: false }))
    const scheduler = createSchedulerManager(partsOf(server))
    await scheduler.start({ signal: AbortSignal.timeout(30_000) })
    stack.defer(() => scheduler.stop({ signal: AbortSignal.timeout(5_000) }))
    stack.use(await runControllers(server, (kit) => [hollowNode(kit, isRunBySomeNode)]))
    return { server, stack }
  }

  before(async () => {
    const our = await startCluster()
    const their = await startCluster()
    ours = our.server
    theirs = their.server
    const manager = createControllerManager(partsOf(ours))
    await manager.start({ signal: AbortSignal.timeout(30_000) })
    our.stack.defer(() => manager.stop({ signal: AbortSignal.timeout(5_000) }))
    const rootCaFile = join(makeFolder(their.stack), 'ca.crt')
    writeFileSync(rootCaFile, rootCa.certificate)
    const flags = [
      `--root-ca-file=${rootCaFile}`,
      `--controllers=${peerControllers.join(',')}`,
      '--allocate-node-cidrs',
      `--cluster-cidr=${clusterCidr}`,
      `--node-monitor-grace-period=${graceMs / 1000}s`,
      '--node-monitor-period=500ms',
    ]
    their.stack.use(await startKubernetesProgram(peerName, theirs, flags))
    const beat = async () => {
      for (const server of [ours, theirs]) for (const node of beating) await renewLease(server, node)
    }
    beats = new Periodic(beat, { intervalMs: beatMs, firstAfterMs: 0, onError: (error) => assert.fail(String(error)) })
    beats.start()
  })
  after(async () => {
    await beats?.stop({ signal: AbortSignal.timeout(5_000) })
    for (const stack of ended) await stack.disposeAsync()
  })

  const assertAlike = async ({ reached, gone = [] }: Step) => {
    const mentions = (lines: readonly string[]) => (text: string) => lines.some((line) => line.includes(text))
    const endMs = performance.now() + deadlineMs
    for (let alike = 0; alike < 3 && performance.now() < endMs; await sleep(200)) {
      const [one, other] = await Promise.all([comparable(ours), comparable(theirs)])
      const isReached = reached.every(mentions(one)) && !gone.some(mentions(one))
      alike = isReached && isDeepStrictEqual(one, other) ? alike + 1 : 0
    }
    const [one, other] = await Promise.all([comparable(ours), comparable(theirs)])
    assert.deepEqual(difference(one, other), [])
    assert.deepEqual(
      reached.filter((text) => !mentions(one)(text)),
      [],
    )
    assert.deepEqual(gone.filter(mentions(one)), [])
  }

  for (const step of steps) {
    test(step.title, async () => {
      if (step.silences !== undefined) beating.delete(step.silences)
      await Promise.all([step.act(ours), step.act(theirs)])
      await assertAlike(step)
    })
  }
})
