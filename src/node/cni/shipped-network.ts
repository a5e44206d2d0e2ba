import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JsonObject } from '../../model/api-object.ts'
import type { Cidr } from '../../model/ip.ts'
import { parseNetworkFile } from './parse-config.ts'
import { isJsonObject } from './types.ts'

/** The network list that comes with this program, in `net.d` and under `cni/` of the package. */
const shippedFile = '10-platnet.conflist'

export interface ShippedNetwork {
  /** The package's `cni/` folder. */
  readonly templateDir: string
  readonly configDir: string
  /** This node's pod networks, one of each family at most. */
  readonly podCidrs: readonly Cidr[]
  /** Where platnet-gate finds the agent. */
  readonly controlSocket: string
  /** Of the pods' interfaces, where packets between nodes are carried inside others; the kernel's own when absent. */
  readonly mtu?: number
  /** Where host-local keeps its addresses; its own folder when absent. */
  readonly ipamDir?: string
}

/**
 * `others`: the folder holds lists of somebody else, which are used as they are; `no-pod-cidr`: this node has no pod network yet;
 * `written` and `kept`: ours stands there as it should.
 */
export type InstallOutcome = 'written' | 'kept' | 'others' | 'no-pod-cidr'

/** Writes our list where no other stands, and again when the pod networks change. The file appears whole. */
export async function installShippedNetwork(network: ShippedNetwork): Promise<InstallOutcome> {
  const { configDir, podCidrs } = network
  if (podCidrs.length === 0) return 'no-pod-cidr'
  await mkdir(configDir, { recursive: true })
  const lists = (await readdir(configDir)).filter(isList)
  if (lists.some((name) => name !== shippedFile)) return 'others'
  const wanted = await renderShippedNetwork(network)
  const file = join(configDir, shippedFile)
  if (lists.includes(shippedFile) && (await readFile(file, 'utf8')) === wanted) return 'kept'
  const temporary = `${file}.${randomBytes(4).toString('hex')}`
  await writeFile(temporary, wanted, { mode: 0o644 })
  await rename(temporary, file)
  return 'written'
}

/** Whether pods get their network by our list: the first of the folder. `otherwise` where there is none, or no folder that can be read. */
export async function isNetworkOurs(configDir: string, otherwise: boolean): Promise<boolean> {
  const names = await readdir(configDir).catch((): string[] => [])
  const [first] = names.filter(isList).sort()
  return first === undefined ? otherwise : first === shippedFile
}

function isList(name: string): boolean {
  return /\.(conf|conflist|json)$/.test(name)
}

/** The list with this node's networks in it: a range set and a default route for each family. */
async function renderShippedNetwork(network: ShippedNetwork): Promise<string> {
  const file = join(network.templateDir, shippedFile)
  const { json } = parseNetworkFile(file, await readFile(file, 'utf8')).config
  const plugins = Array.isArray(json['plugins']) ? json['plugins'].filter(isJsonObject) : []
  return `${JSON.stringify({ ...json, plugins: plugins.map((plugin) => fillIn(plugin, network)) }, undefined, 2)}\n`
}

function fillIn(plugin: JsonObject, { podCidrs, controlSocket, ipamDir, mtu }: ShippedNetwork): JsonObject {
  if (plugin['type'] === 'platnet-gate') return { ...plugin, socket: controlSocket }
  const { ipam } = plugin
  if (!isJsonObject(ipam)) return plugin
  const ranges = podCidrs.map((subnet) => [{ subnet }])
  return {
    ...plugin,
    ...(mtu !== undefined && { mtu }),
    ipam: { ...ipam, ranges, ...(ipamDir !== undefined && { dataDir: ipamDir }) },
  }
}
