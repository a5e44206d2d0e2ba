import { type ApiClient, ApiEventRecorder, type EventRecorder, type InformerTiming } from '../../src/client/index.ts'
import type { BaseContext } from '../../src/controllers/base-context.ts'
import type { ControllerContext } from '../../src/controllers/context.ts'
import { isFinished, isReady, type Pod } from '../../src/controllers/objects/pod.ts'
import { createDialectTypes, podType } from '../../src/controllers/objects/types.ts'
import { Caches } from '../../src/controllers/runtime/caches.ts'
import { Controller, watchKeys } from '../../src/controllers/runtime/controller.ts'
import { ControllerManager } from '../../src/controllers/runtime/manager.ts'
import { keyOf } from '../../src/controllers/runtime/resource-type.ts'
import {
  createDaemonSetController,
  createDeploymentController,
  createReplicaSetController,
  createStatefulSetController,
} from '../../src/controllers/workloads/controllers.ts'
import type { Component } from '../../src/loop/component.ts'
import { createDialect } from '../../src/model/dialect.ts'
import { type Logger, silentLogger } from '../../src/observe/index.ts'
import type { TestServer } from './api-server.ts'
import { clientOfServer, freshControllerMetrics } from './controllers.ts'

interface LabOptions {
  readonly client?: ApiClient
  readonly log?: Logger
  /** Of lists and watches. */
  readonly timing?: Partial<InformerTiming>
  /** Absent: Events are written, also for a while after the end. */
  readonly events?: EventRecorder
}

interface RunningControllers extends AsyncDisposable {
  /** Ends at once, whatever is under way. */
  crash(): Promise<void>
}

/** Runs controllers against the server until it is disposed of; no leader election. */
export async function runControllers(
  server: TestServer,
  create: (context: ControllerContext) => readonly Component[],
  { client = clientOfServer(server), log = silentLogger, timing, events }: LabOptions = {},
): Promise<RunningControllers> {
  const caches = new Caches({ client, log, ...(timing && { timing }) })
  const metrics = freshControllerMetrics()
  const dialect = createDialect('kubernetes')
  const types = createDialectTypes(dialect)
  const recorder = events ?? new ApiEventRecorder(client, 'test', log)
  const controllers = create({ client, caches, types, dialect, events: recorder, metrics, log })
  const manager = new ControllerManager({ name: 'test', caches, controllers, metrics, log })
  await manager.start({ signal: AbortSignal.timeout(60_000) })
  return {
    crash: () => manager.stop({ signal: AbortSignal.abort() }),
    [Symbol.asyncDispose]: () => manager.stop({ signal: AbortSignal.timeout(10_000) }),
  }
}

/** The controllers of everything that runs pods. */
export function workloadControllers(kit: BaseContext): readonly Component[] {
  const create = [
    createReplicaSetController,
    createDeploymentController,
    createStatefulSetController,
    createDaemonSetController,
  ]
  return create.map((each) => each(kit))
}

/** A node that runs pods at once: each of its own becomes ready, whether bound or not. */
export function hollowNode(
  { client, caches, metrics, log }: BaseContext,
  isOwn: (pod: Pod) => boolean = () => true,
): Component {
  const pods = caches.of(podType)
  const writer = caches.writer(podType)
  return new Controller({
    name: 'hollow-node',
    watches: [watchKeys(pods, (pod) => [keyOf(pod)])],
    reconcile: async (key, { signal }) => {
      const pod = pods.get(key)
      if (pod === undefined || !isOwn(pod)) return undefined
      if (pod.metadata.deletionTimestamp !== undefined)
        await client.delete(refOf(pod.metadata), { signal, graceSeconds: 0 })
      else if (!isReady(pod) && !isFinished(pod))
        await writer.patch(pod, { kind: 'merge', patch: running() }, signal, 'status')
      return undefined
    },
    metrics,
    log,
  })
}

function running() {
  const condition = { type: 'Ready', status: 'True', lastTransitionTime: new Date().toISOString() }
  return { status: { phase: 'Running', conditions: [condition] } }
}

function refOf({ name, namespace = 'default' }: { name: string; namespace?: string | undefined }) {
  return { resource: podType.resource, namespace, name }
}
