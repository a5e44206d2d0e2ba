import { lstat, mkdir, readdir, readlink, rm, stat, symlink } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Links the plugins of the given folders into the plugin folder (/opt/cni/bin). Existing files stay, except dangling links; of two
 * plugins with one name the first folder's counts. Resolves with the names of new links.
 */
export async function offerPlugins(from: readonly string[], to: string): Promise<readonly string[]> {
  await mkdir(to, { recursive: true })
  const linked: string[] = []
  for (const folder of from) {
    for (const name of await pluginsIn(folder)) {
      if (await isTaken(join(to, name))) continue
      await symlink(join(folder, name), join(to, name))
      linked.push(name)
    }
  }
  return linked.sort()
}

async function pluginsIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => [])
  const isPlugin = await Promise.all(names.map((name) => isExecutableFile(join(folder, name))))
  return names.filter((_, index) => isPlugin[index]).sort()
}

async function isExecutableFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found?.isFile() === true && (found.mode & 0o111) !== 0
}

/** Removes a dangling link, which a removed package or an older checkout leaves. */
async function isTaken(path: string): Promise<boolean> {
  const entry = await lstat(path).catch(() => undefined)
  if (entry === undefined) return false
  if (!entry.isSymbolicLink() || (await stat(path).catch(() => undefined)) !== undefined) return true
  if (!(await readlink(path)).startsWith('/')) return true
  await rm(path)
  return false
}
