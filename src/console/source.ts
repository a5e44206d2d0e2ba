import type { EndpointSlice } from '../model/endpoint-slice.ts'
import type { Service } from '../model/service.ts'
import type { Logger, MetricSample } from '../observe/index.ts'
import type { ChartSpec } from './charts.ts'

/** The data of a console: that of an agent shows its node, that of a server the cluster. */
export interface ConsoleSource {
  readonly scope: 'node' | 'cluster'
  /** The node's name, or the cluster's. */
  readonly title: string
  readonly version: string
  /** Consoles beside this one. */
  readonly links: readonly ConsoleLink[]
  readonly charts: readonly ChartSpec[]
  /** Reads the present values of metrics by name. */
  readonly read: (names: readonly string[]) => Promise<readonly MetricSample[]>
  /** Called when the first viewer comes; `close` follows some minutes after the last has gone. May reject. */
  readonly open: () => Promise<LiveSource>
  /** Answers by path below `/console/api`, such as `/explain/flow`. */
  readonly questions: Readonly<Record<string, (query: URLSearchParams) => Promise<ConsoleAnswer>>>
  readonly log: Logger
}

/** It has the host of this page, so that it works through a tunnel too. */
interface ConsoleLink {
  readonly label: string
  readonly port: number
}

/** An answer; its body is sent as JSON. */
export interface ConsoleAnswer {
  readonly status: 200 | 400 | 403 | 404 | 503
  readonly body: unknown
}

export interface LiveSource {
  readonly services: ServiceSource
  /** Small values that are sent whole whenever their JSON changes, by name. */
  readonly documents: Readonly<Record<string, () => unknown>>
  close(): Promise<void>
}

/** The Services and their endpoints, as `LiveNodeState` of node/state has them. */
interface ServiceSource {
  readonly synced: boolean
  serviceKeys(): Iterable<string>
  service(key: string): Service | undefined
  slicesOf(key: string): readonly EndpointSlice[]
  subscribe(listener: (change: { readonly services: ReadonlySet<string> }) => void): () => void
}
