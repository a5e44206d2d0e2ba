import type { Component } from '../../loop/component.ts'
import { findEndpointProblem, wantsTracing } from '../../observe/index.ts'
import type { AppContext } from '../context.ts'

export interface TracedContext {
  readonly context: AppContext
  /** The exporter where spans are exported; it stops last. */
  readonly components: readonly Component[]
}

/** Returns the context with the tracer that the environment asks for. Where it asks for none, nothing is loaded. */
export async function composeTracing(context: AppContext, serviceName: string): Promise<TracedContext> {
  const { env, metrics, logging } = context
  const off = { context, components: [] }
  if (!wantsTracing(env)) return off
  const log = logging.logger('platform_tracing')
  const problem = findEndpointProblem(env)
  if (problem !== undefined) {
    log.warn('no span is exported', { reason: problem })
    return off
  }
  const { createTracing } = await import('../../observe/tracing/tracing.ts')
  const tracing = await createTracing({ env, serviceName, metrics, log })
  return { context: { ...context, tracer: tracing.tracer }, components: [tracing] }
}
