import type { JsonObject } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import { formatTraceparent, type Span, silentSpan } from '../../observe/index.ts'
import { type CallSettings, type Command, callPlugin } from './call-plugin.ts'
import { convertResult } from './parse-result.ts'
import type { PluginBinaries } from './plugin-binaries.ts'
import type { Attachment } from './result-cache.ts'
import { runtimeConfig } from './sandbox-arguments.ts'
import type { Network, PluginConfig } from './types.ts'
import { isAtLeast, since } from './versions.ts'

export interface ChainContext {
  readonly binaries: PluginBinaries
  readonly binDirs: readonly string[]
  readonly settings: CallSettings
}

/** Runs ADD through the list, each plugin with the result of the one before. Resolves with the last one's. Throws CniError at the first failure. */
export async function addChain(
  context: ChainContext,
  network: Network,
  attachment: Attachment,
  { signal, span }: { readonly signal?: AbortSignal | undefined; readonly span?: Span } = {},
): Promise<JsonObject> {
  let previous: JsonObject | undefined
  for (const plugin of network.plugins) {
    const output = await callOne(context, 'ADD', { network, plugin, attachment, previous, signal, span })
    previous = convertResult(output, network.cniVersion)
  }
  return previous ?? {}
}

/** Runs DEL from the last plugin to the first; after a failure the others still run. Resolves with the errors. */
export async function deleteChain(context: ChainContext, network: Network, attachment: Attachment): Promise<unknown[]> {
  const errors: unknown[] = []
  for (const plugin of network.plugins.toReversed()) {
    try {
      await callOne(context, 'DEL', { network, plugin, attachment, previous: previousFor(network, attachment) })
    } catch (error) {
      errors.push(error)
    }
  }
  return errors
}

/** Runs CHECK through the list. Throws CniError of the first plugin that finds a difference from its ADD. */
export async function checkChain(context: ChainContext, network: Network, attachment: Attachment): Promise<void> {
  const previous = previousFor(network, attachment)
  for (const plugin of network.plugins) await callOne(context, 'CHECK', { network, plugin, attachment, previous })
}

/** Asks every plugin whether it could serve an ADD now. Throws CniError of the first that cannot. */
export async function statusOfChain(context: ChainContext, network: Network): Promise<void> {
  for (const plugin of network.plugins) await callOne(context, 'STATUS', { network, plugin })
}

/** Runs GC of every plugin with the valid attachments; resolves with the errors. */
export async function collectChain(
  context: ChainContext,
  network: Network,
  valid: readonly { readonly containerId: string; readonly ifName: string }[],
): Promise<unknown[]> {
  const attachments = valid.map(({ containerId, ifName }) => ({ containerID: containerId, ifname: ifName }))
  // The specification changed the name of this field; plugins read either.
  const extra = { 'cni.dev/valid-attachments': attachments, 'cni.dev/attachments': attachments }
  const errors: unknown[] = []
  for (const plugin of network.plugins) {
    try {
      await callOne(context, 'GC', { network, plugin, extra })
    } catch (error) {
      errors.push(error)
    }
  }
  return errors
}

interface OneCall {
  readonly network: Network
  readonly plugin: PluginConfig
  readonly attachment?: Attachment
  readonly previous?: JsonObject | undefined
  readonly extra?: JsonObject
  readonly signal?: AbortSignal | undefined
  /** The span of the command. */
  readonly span?: Span | undefined
}

async function callOne(context: ChainContext, command: Command, one: OneCall): Promise<JsonObject> {
  const { network, plugin, attachment, previous, extra, signal, span = silentSpan } = one
  const runtime = attachment && runtimeConfig(plugin.capabilities, attachment.capabilityArgs)
  const config: JsonObject = {
    ...plugin.fields,
    cniVersion: network.cniVersion,
    name: network.name,
    ...(runtime && { runtimeConfig: runtime }),
    ...(previous && { prevResult: previous }),
    ...extra,
  }
  const path = context.binaries.find(plugin.type)
  const step = span.child('CNI plugin', { kind: 'client', attributes: { 'platnet.plugin': plugin.type } })
  const variables = { ...(attachment && variablesOf(attachment)), ...traceVariables(step) }
  const call = {
    command,
    plugin: plugin.type,
    path,
    network,
    binDirs: context.binDirs,
    variables,
    config,
    ...(signal && { signal }),
  }
  try {
    const output = await callPlugin(call, context.settings)
    step.end()
    return output
  } catch (error) {
    step.end({ error: describeError(error) })
    throw error
  }
}

/** The variable by which programs hand a trace on, as OpenTelemetry specifies it. */
function traceVariables({ context }: Span): Record<string, string> {
  return context === undefined ? {} : { TRACEPARENT: formatTraceparent(context) }
}

function variablesOf({ containerId, netnsPath, ifName, cniArgs }: Attachment): Record<string, string> {
  return {
    CNI_CONTAINERID: containerId,
    CNI_NETNS: netnsPath,
    CNI_IFNAME: ifName,
    CNI_ARGS: cniArgs.map(([key, value]) => `${key}=${value}`).join(';'),
  }
}

function previousFor(network: Network, { result }: Attachment): JsonObject | undefined {
  if (result === undefined || !isAtLeast(network.cniVersion, since.previousResultOnDelete)) return undefined
  return convertResult(result, network.cniVersion)
}
