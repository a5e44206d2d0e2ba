import { ReadableStream } from 'node:stream/web'
import { type ApiClient, ApiError } from '../../src/client/index.ts'
import type { ControllerContext } from '../../src/controllers/context.ts'
import { createDialectTypes } from '../../src/controllers/objects/types.ts'
import { Caches } from '../../src/controllers/runtime/caches.ts'
import type { ControllerMetrics } from '../../src/controllers/runtime/metrics.ts'
import type { Component } from '../../src/loop/component.ts'
import { createDialect } from '../../src/model/dialect.ts'
import { silentLogger } from '../../src/observe/index.ts'
import { freshControllerMetrics } from './controllers.ts'

/** Counts the passes and the added keys of each controller. */
function countingMetrics() {
  const metrics = freshControllerMetrics()
  const passes: string[] = []
  let added = 0
  const counting: ControllerMetrics = {
    ...metrics,
    countReconcile: (name) => void passes.push(name),
    queue: (name, state) => {
      const queue = metrics.queue(name, state)
      return {
        ...queue,
        countAdd: () => {
          added += 1
          queue.countAdd()
        },
      }
    },
  }
  return { metrics: counting, passes, added: () => added }
}

/**
 * Creates a controller whose caches have only what is noted in them, and whose API server has the live objects by name
 * and lists these pods.
 */
export function startOffline(
  create: (context: ControllerContext) => Component,
  live: Readonly<Record<string, object>>,
  pods: readonly object[] = [],
) {
  const calls: string[] = []
  const answer = (verb: string) => async (ref: { name: string }) => {
    calls.push(`${verb} ${ref.name}`)
    return live[ref.name]
  }
  const get = async (ref: { name: string }) => {
    const found = live[ref.name]
    if (found === undefined) throw new ApiError('not-found', `${ref.name} is not there`)
    return found
  }
  const list = JSON.stringify({ metadata: { resourceVersion: '9' }, items: pods })
  let lists = 0
  const stream = (_request: unknown, _limits: unknown, consume: (chunks: unknown) => unknown) => {
    lists += 1
    return consume(ReadableStream.from([Buffer.from(list)]))
  }
  const client = { get, stream, patch: answer('patch'), delete: answer('delete') } as unknown as ApiClient
  const caches = new Caches({ client, log: silentLogger })
  const dialect = createDialect('kubernetes')
  const events = { record: () => undefined }
  const { metrics, passes, added } = countingMetrics()
  const kit = { client, caches, dialect, types: createDialectTypes(dialect), events, metrics, log: silentLogger }
  const controller = create(kit)
  const stop = () => controller.stop({ signal: AbortSignal.timeout(1000) })
  const start = () => controller.start({ signal: AbortSignal.timeout(1000) })
  return { caches, calls, passes, added, lists: () => lists, start, stop }
}
