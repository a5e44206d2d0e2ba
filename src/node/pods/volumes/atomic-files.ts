import { chmod, chown, mkdir, mkdtemp, readdir, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { VolumeFile } from './plan-files.ts'

/** Containers see what is behind this link; one rename changes it. */
const dataLink = '..data'
const folderMode = 0o755

/**
 * Writes the files of a volume in kubelet's way, so that a program sees a change as a whole or not at all: a new folder beside the old one, then
 * the link `..data`, then a link for each name at the top. `group` may read all of it. A write after a crash removes what the crash left.
 */
export async function writeAtomically(
  folder: string,
  files: ReadonlyMap<string, VolumeFile>,
  group: number | undefined,
): Promise<void> {
  await makeFolder(folder, group)
  const fresh = await mkdtemp(`${folder}/..`)
  const name = fresh.slice(folder.length + 1)
  await makeFolder(fresh, group)
  for (const path of foldersOf(files.keys())) await makeFolder(join(fresh, path), group)
  for (const [path, file] of files) await makeFile(join(fresh, path), file, group)
  const next = join(folder, `${dataLink}_tmp`)
  await rm(next, { force: true })
  await symlink(name, next)
  await rename(next, join(folder, dataLink))
  await showNames(folder, new Set(Array.from(files.keys(), (path) => path.split('/', 1)[0] ?? '')))
  await removeOthers(folder, name)
}

/** Sets the mode explicitly, because the umask of this process removes bits from it. */
async function makeFolder(folder: string, group: number | undefined): Promise<void> {
  await mkdir(folder, { recursive: true })
  if (group !== undefined) await chown(folder, 0, group)
  await chmod(folder, folderMode)
}

async function makeFile(path: string, { data, mode, uid }: VolumeFile, group: number | undefined): Promise<void> {
  await writeFile(path, data, { flag: 'wx', mode: 0o600 })
  if (uid !== 0 || group !== undefined) await chown(path, uid, group ?? 0)
  await chmod(path, mode)
}

/** Outer folders come first. */
function foldersOf(paths: Iterable<string>): readonly string[] {
  const folders = new Set<string>()
  for (const path of paths)
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) folders.add(folder)
  return [...folders].toSorted()
}

async function showNames(folder: string, wanted: ReadonlySet<string>): Promise<void> {
  const shown = new Set((await readdir(folder)).filter((name) => !name.startsWith('..')))
  for (const name of wanted.difference(shown)) await symlink(join(dataLink, name), join(folder, name))
  for (const name of shown.difference(wanted)) await unlink(join(folder, name))
}

/** Removes the previous folder and what interrupted writes left. */
async function removeOthers(folder: string, current: string): Promise<void> {
  const others = (await readdir(folder)).filter(
    (name) => name.startsWith('..') && name !== dataLink && name !== current,
  )
  for (const name of others) await rm(join(folder, name), { recursive: true, force: true })
}
