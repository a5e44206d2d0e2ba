import { existsSync } from 'node:fs'
import { type Capability, EngineClient, engineSockets, probeNamespaces } from '../../host/index.ts'
import type { Logger } from '../../observe/index.ts'
import type { podNetworks } from './options.ts'
import type { PodRuntime } from './runtime.ts'

export interface RuntimeChoices {
  readonly kind: (typeof podNetworks)[number]
  /** Where the engine listens; the usual places when absent. */
  readonly engineSocket: string | undefined
  readonly namespaces: () => PodRuntime
  readonly engine: (client: EngineClient) => PodRuntime
  readonly probe?: () => Promise<readonly Capability[]>
  readonly log: Logger
}

export interface ChosenRuntime {
  readonly runtime: PodRuntime
  /** In words, for status: `namespaces`, or `container-bridge` and why. */
  readonly description: string
  /** Empty where nothing was tried. */
  readonly capabilities: readonly Capability[]
}

/** Namespaces where they work or were asked for; else a container engine's bridge. What does not work is named in the log. */
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
    log.warn('this machine does not do what pods need', { capability: name, problem })
  if (kind !== 'auto' || missing.length === 0) return { runtime: namespaces(), description: 'namespaces', capabilities }
  const names = missing.map(({ name }) => name).join(', ')
  log.warn("pods are attached to a container engine's bridge, since namespaces do not work here", {
    socket: client.socketPath,
    missing: names,
  })
  return { runtime: engine(client), description: bridge(` (${names} not possible)`), capabilities }
}
