import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { AdminAccess } from '../../test/helpers/platnet-server.ts'

interface Order<Kind extends string> {
  readonly kind: Kind
  readonly access: AdminAccess
}

export interface CreateOrder extends Order<'create'> {
  readonly clients: number
  readonly objects: number
}

export interface ListOrder extends Order<'list'> {
  readonly times: number
  readonly expectedItems: number
}

export interface WatchOrder extends Order<'watch'> {
  readonly watchers: number
  readonly writers: number
  readonly writes: number
  readonly writesPerSecond: number
}

export type LoadOrder = CreateOrder | ListOrder | WatchOrder

export interface LoadResults {
  /** Each write's time from request to answer. */
  readonly create: { readonly perSecond: number; readonly p50Ms: number; readonly p99Ms: number }
  readonly list: { readonly p50Ms: number }
  /** Each event at each watcher, after its write was known to anyone. */
  readonly watch: { readonly p99Ms: number; readonly writesPerSecond: number }
}

/** Has the load generator, another process, do it. */
export async function generateLoad<Kind extends LoadOrder['kind']>(
  order: LoadOrder & { readonly kind: Kind },
): Promise<LoadResults[Kind]> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'load.program.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(JSON.stringify(order))
  const output = await text(child.stdout)
  if (output === '') throw new Error(`the load generator could not do its ${order.kind} order`)
  return JSON.parse(output)
}
