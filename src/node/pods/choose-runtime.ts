import { existsSync } from 'node:fs'
import { type Capability, EngineClient, engineSockets, probeNamespaces } from '../../host/index.ts'
import type { Logger } from '../../observe/index.ts'
import type { podNetworks } from './options.ts'
import type { PodRuntime } from './runtime.ts'

export interface RuntimeChoices {
  readonly kind: (typeof podNetworks)[number]
  /** The engine's socket; the usual paths are tried if it is undefined. */
  readonly engineSocket: string | undefined
  readonly namespaces: () => PodRuntime
  readonly engine: (client: EngineClient) => PodRuntime
  readonly probe?: () => Promise<readonly Capability[]>
  readonly log: Logger
}

export interface ChosenRuntime {
  readonly runtime: PodRuntime
  /** A text for the status: `namespaces`, or `container-bridge` with the reason. */
  readonly description: string
  /** The results of the probes; empty if none ran. */
  readonly capabilities: readonly Capability[]
}

/** Chooses namespaces if they work or are requested, else a container engine's bridge. Logs each capability that does not work. */
export async function chooseRuntime(choices: RuntimeChoices): Promise<ChosenRuntime> {
  const { kind, engineSocket, namespaces, engine, probe = probeNamespaces, log } = choices
  const client = new EngineClient(
    engineSocket ?? engineSockets.find((path) => existsSync(path)) ?? engineSockets[0] ?? '',
  )
  const bridge = (why: string) => `container-bridge through ${client.socketPath}${why}`
  if (kind === 'container-bridge') return { runtime: engine(client), description: bridge(''), capabilities: [] }
  const capabilities = await probe()
  const missing = capabilities.filter(({ problem }) => problem !== undefined)
  for (const { name, problem } of missing)
    log.warn('this machine lacks a capability that pods need', { capability: name, problem })
  if (kind !== 'auto' || missing.length === 0) return { runtime: namespaces(), description: 'namespaces', capabilities }
  const names = missing.map(({ name }) => name).join(', ')
  log.warn('pods run in a container engine, because namespaces do not work on this machine', {
    socket: client.socketPath,
    missing: names,
  })
  return { runtime: engine(client), description: bridge(` (${names} not possible)`), capabilities }
}
