import type { Finding } from '../../host/index.ts'
import type { LoadedNetworks } from './load-networks.ts'
import type { Leftovers } from './plan.ts'
import type { FoundPlugin } from './plugin-binaries.ts'
import type { CniRuntime } from './runtime.ts'

const fixRemedy = 'platnet cni doctor --fix'

/** Examines this node's networks, plugins and leftovers through its runtime. Changes nothing. */
export async function examineNetworks(runtime: CniRuntime): Promise<readonly Finding[]> {
  const [plugins, networks, leftovers] = [
    await runtime.plugins(),
    await runtime.networks(),
    await runtime.garbage.leftovers(),
  ]
  const atWork = runtime.pluginsAtWork().map(({ command, containerId, pid }): Finding => {
    return { level: 'ok', what: `a plugin is at work: ${command} of ${containerId}, process ${pid}` }
  })
  return [...aboutNetworks(networks), ...aboutPlugins(plugins), ...atWork, ...aboutLeftovers(leftovers)]
}

function aboutNetworks({ networks, skipped }: LoadedNetworks): readonly Finding[] {
  const broken = skipped.map(({ reason, remedy = 'correct the file or remove it' }): Finding => {
    return { level: 'warn', what: `skipped: ${reason}`, remedy }
  })
  const [first, ...others] = networks
  if (first === undefined) {
    const remedy = 'start the agent, which brings a network along once this node has a pod CIDR, or put a list there'
    return [...broken, { level: 'fail', what: 'there is no usable network', remedy }]
  }
  const chain = first.plugins.map(({ type }) => type).join(', ')
  const what = `the default network is ${first.name} at ${first.cniVersion} (${chain}), from ${first.file}`
  const unused = others.map(
    ({ name, file }): Finding => ({ level: 'ok', what: `${name} is not used: ${file} comes later` }),
  )
  return [...broken, { level: 'ok', what }, ...unused]
}

function aboutPlugins(plugins: readonly FoundPlugin[]): readonly Finding[] {
  if (plugins.length === 0) {
    return [{ level: 'fail', what: 'there are no CNI plugins', remedy: 'apt-get install containernetworking-plugins' }]
  }
  return plugins.map(({ type, path, versions, problem }) =>
    problem === undefined
      ? { level: 'ok', what: `${type} speaks ${versions.join(', ')}` }
      : { level: 'warn', what: problem, remedy: `replace or remove ${path}` },
  )
}

function aboutLeftovers({ attachments, unreadableFiles, addresses, chains }: Leftovers): readonly Finding[] {
  const lines = [
    ...attachments.map(
      ({ network, containerId, ifName }) =>
        `${ifName} of ${containerId} on ${network} was never undone, and its namespace is gone`,
    ),
    ...unreadableFiles.map((file) => `${file} holds no result (empty after a crash?)`),
    ...addresses.map(
      ({ ip, network, containerId }) => `${ip} of ${network} is held for ${containerId}, of which nothing is left`,
    ),
    ...chains.map(
      ({ program, chain, containerId }) =>
        `the chain ${chain} (${program}) is of ${containerId}, of which nothing is left`,
    ),
  ]
  if (lines.length === 0) return [{ level: 'ok', what: 'no address, chain or result is left of a pod that is gone' }]
  return lines.map((what) => ({ level: 'warn', what, remedy: fixRemedy }))
}
