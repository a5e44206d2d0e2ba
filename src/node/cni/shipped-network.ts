import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject, type JsonObject } from '../../model/api-object.ts'
import type { Cidr } from '../../model/ip.ts'
import { parseNetworkFile } from './parse-config.ts'

/** File name of the default network list, in `net.d` and in `cni/` of the package. */
export const shippedFile = '10-platnet.conflist'

/** The bridge of that list. */
export const shippedBridge = 'cni-platnet'

export interface ShippedNetwork {
  /** The package's `cni/` folder. */
  readonly templateDir: string
  readonly configDir: string
  /** This node's pod networks, one of each family at most. */
  readonly podCidrs: readonly Cidr[]
  /** The control socket on which platnet-gate reaches the agent. */
  readonly controlSocket: string
  /** MTU of the pods' interfaces, for a network that encapsulates packets; the kernel's default if absent. */
  readonly mtu?: number
  /** Data folder of host-local; its own default if absent. */
  readonly ipamDir?: string
}

/**
 * `others`: the folder holds lists of other programs, which stay in use (Podman's is none of them); `no-pod-cidr`: this node has no pod network yet;
 * `written` and `kept`: the default list is in place.
 */
export type InstallOutcome = 'written' | 'kept' | 'others' | 'no-pod-cidr'

/** Writes the default list if there is no other, and again when the pod networks change. The file is replaced in one step. */
export async function installShippedNetwork(network: ShippedNetwork): Promise<InstallOutcome> {
  const { configDir, podCidrs } = network
  if (podCidrs.length === 0) return 'no-pod-cidr'
  await mkdir(configDir, { recursive: true })
  const lists = (await readdir(configDir)).filter(isClusterList)
  if (lists.some((name) => name !== shippedFile)) return 'others'
  const wanted = await renderShippedNetwork(network)
  const file = join(configDir, shippedFile)
  if (lists.includes(shippedFile) && (await readFile(file, 'utf8')) === wanted) return 'kept'
  const temporary = `${file}.${randomBytes(4).toString('hex')}`
  await writeFile(temporary, wanted, { mode: 0o644 })
  await rename(temporary, file)
  return 'written'
}

/** Tells whether the first list of the folder is the default list; returns `otherwise` for a folder without a list or an unreadable one. */
export async function isNetworkOurs(configDir: string, otherwise: boolean): Promise<boolean> {
  const names = await readdir(configDir).catch((): string[] => [])
  const [first] = names.filter(isClusterList).sort()
  return first === undefined ? otherwise : first === shippedFile
}

/** Tells whether a file of the configuration folder is a network or a list of plugins, by its name. */
export function isList(name: string): boolean {
  return /\.(conf|conflist|json)$/.test(name)
}

/** Tells whether a file may be the network of pods. Podman's packages put the network of its own containers into the same folder. */
function isClusterList(name: string): boolean {
  return isList(name) && !/^87-podman(-bridge)?\.conflist$/.test(name)
}

/** Builds the list with this node's networks: a range set and a default route for each family. */
async function renderShippedNetwork(network: ShippedNetwork): Promise<string> {
  const file = join(network.templateDir, shippedFile)
  const { json } = parseNetworkFile(file, await readFile(file, 'utf8')).config
  const plugins = Array.isArray(json['plugins']) ? json['plugins'].filter(isObject) : []
  return `${JSON.stringify({ ...json, plugins: plugins.map((plugin) => fillIn(plugin, network)) }, undefined, 2)}\n`
}

function fillIn(plugin: JsonObject, { podCidrs, controlSocket, ipamDir, mtu }: ShippedNetwork): JsonObject {
  if (plugin['type'] === 'platnet-gate') return { ...plugin, socket: controlSocket }
  const { ipam } = plugin
  if (!isObject(ipam)) return plugin
  const ranges = podCidrs.map((subnet) => [{ subnet }])
  return {
    ...plugin,
    ...(mtu !== undefined && { mtu }),
    ipam: { ...ipam, ranges, ...(ipamDir !== undefined && { dataDir: ipamDir }) },
  }
}
