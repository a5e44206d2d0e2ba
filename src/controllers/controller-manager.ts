import type { ApiClient } from '../client/index.ts'
import type { Component } from '../loop/component.ts'
import type { Dialect } from '../model/dialect.ts'
import type { Logger } from '../observe/index.ts'
import type { ControllerContext } from './context.ts'
import {
  createEndpointSliceController,
  createEndpointsController,
  createMirroringController,
} from './endpoints/index.ts'
import { Caches } from './runtime/caches.ts'
import { ApiEventRecorder } from './runtime/events.ts'
import { ApiLeaseLock } from './runtime/lease-lock.ts'
import { ControllerManager } from './runtime/manager.ts'
import type { ControllerMetrics } from './runtime/metrics.ts'
import { createShapes } from './shapes.ts'

/** By the names that `--controllers` knows. */
const factories: Readonly<Record<string, (context: ControllerContext) => Component>> = {
  endpoints: createEndpointsController,
  endpointslice: createEndpointSliceController,
  'endpointslice-mirroring': createMirroringController,
}

export const controllerNames = Object.keys(factories)

export interface ControllerManagerParts {
  readonly client: ApiClient
  readonly dialect: Dialect
  /** Some of `controllerNames`. */
  readonly controllers: readonly string[]
  /** Differs for each process; absent: this process acts without asking. */
  readonly identity?: string
  readonly metrics: ControllerMetrics
  readonly log: Logger
}

const managerName = 'kube-controller-manager'

/** The controllers of an API server, as one component that follows it. */
export function createControllerManager(parts: ControllerManagerParts): ControllerManager {
  const { client, dialect, controllers, identity, metrics, log } = parts
  const caches = new Caches({ client, log: log.child('caches') })
  const events = new ApiEventRecorder(client, managerName, log.child('events'))
  const context: ControllerContext = { caches, shapes: createShapes(dialect), dialect, events, metrics, log }
  const lock = new ApiLeaseLock(client, dialect, { namespace: 'kube-system', name: managerName })
  return new ControllerManager({
    name: managerName,
    caches,
    controllers: Object.entries(factories).flatMap(([name, create]) =>
      controllers.includes(name) ? [create(context)] : [],
    ),
    ...(identity !== undefined && { election: { lock, identity } }),
    metrics,
    log,
  })
}
