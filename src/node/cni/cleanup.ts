import { readdir, readFile, readlink, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { deleteLink, findBridgePorts, type Run, runProgram } from '../../host/index.ts'
import { isObject, type Json } from '../../model/api-object.ts'
import { isList, shippedBridge, shippedFile } from './shipped-network.ts'

export interface CniCleanup {
  readonly done: readonly string[]
  /** One sentence for each thing that stays, with the reason and how to remove it. */
  readonly left: readonly string[]
}

export interface CniPlaces {
  readonly configDir: string
  /** The folder into which plugins were linked; nothing is unlinked if undefined. */
  readonly linkDir: string | undefined
  /** The folders to which our links lead. */
  readonly linkedFrom: readonly string[]
  /** Data of host-local for the network of the list. */
  readonly ipamDir: string
}

const network = 'platnet'

/** Removes the list, the bridge and the plugin links that this program made. What other networks or pods use stays. */
export async function cleanupCni(places: CniPlaces, run: Run = runProgram): Promise<CniCleanup> {
  const done: string[] = []
  const left: string[] = []
  const file = join(places.configDir, shippedFile)
  if (await isOurList(file)) {
    await rm(file)
    done.push(`removed the network list ${file}`)
  }
  await rm(join(places.ipamDir, network), { recursive: true, force: true })
  await removeBridge(run, done, left)
  await removeLinks(places, done, left)
  return { done, left }
}

async function isOurList(file: string): Promise<boolean> {
  try {
    const list: Json = JSON.parse(await readFile(file, 'utf8'))
    return isObject(list) && list['name'] === network
  } catch {
    return false
  }
}

async function removeBridge(run: Run, done: string[], left: string[]): Promise<void> {
  const ports = await findBridgePorts(shippedBridge, run)
  if (ports === undefined) return
  if (ports.length > 0) {
    left.push(
      `the bridge ${shippedBridge}: ${ports.length} pods of another runtime are on it; ip link delete ${shippedBridge}`,
    )
    return
  }
  await deleteLink({ name: shippedBridge }, run)
  done.push(`removed the bridge ${shippedBridge}`)
}

async function removeLinks(
  { configDir, linkDir, linkedFrom }: CniPlaces,
  done: string[],
  left: string[],
): Promise<void> {
  if (linkDir === undefined) return
  const links = await linksInto(linkDir, linkedFrom)
  if (links.length === 0) return
  const others = (await readdir(configDir).catch((): string[] => [])).filter(isList)
  if (others.length > 0) {
    left.push(`links to plugins in ${linkDir}: ${others.join(', ')} may need them; rm ${links.join(' ')}`)
    return
  }
  for (const link of links) await rm(link)
  done.push(`removed ${links.length} links to plugins from ${linkDir}`)
}

async function linksInto(folder: string, targets: readonly string[]): Promise<readonly string[]> {
  const names = await readdir(folder).catch((): string[] => [])
  const paths = names.sort().map((name) => join(folder, name))
  const leads = await Promise.all(paths.map(async (path) => dirname(await readlink(path).catch(() => ''))))
  return paths.filter((_, index) => targets.includes(leads[index] ?? ''))
}
