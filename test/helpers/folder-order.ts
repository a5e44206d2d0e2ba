import { readdirSync } from 'node:fs'
import type { SourceFile } from './source-tree.ts'

/**
 * The parts of a folder (its subfolders and the files beside them) in the order in which they may import each other: a part imports only parts
 * of levels before its own. One string is one level; its parts, separated by spaces, do not import each other. So no circle is possible.
 */
export type FolderOrder = readonly string[]

/** Returns one line for each import that runs against the order, each part without a level, and each level's part that does not exist. */
export function findOrderFaults(folder: string, order: FolderOrder, files: readonly SourceFile[]): readonly string[] {
  const levels = new Map(order.flatMap((level, index) => level.split(' ').map((part) => [part, index] as const)))
  const existing = new Set(readdirSync(folder).filter((name) => !name.endsWith('.md')))
  const unlisted = [...existing].filter((part) => !levels.has(part)).map((part) => `${folder}/${part} has no level`)
  const stale = [...levels.keys()].filter((part) => !existing.has(part)).map((part) => `${folder}/${part} is gone`)
  const inside = files.filter(({ path }) => path.startsWith(`${folder}/`))
  return [...unlisted, ...stale, ...inside.flatMap((file) => findUpwardImports(folder, levels, file))]
}

function findUpwardImports(
  folder: string,
  levels: ReadonlyMap<string, number>,
  { path, localImports }: SourceFile,
): readonly string[] {
  const own = partOf(folder, path)
  const levelOf = (part: string) => levels.get(part) ?? Number.NaN
  return localImports
    .filter((target) => target.startsWith(`${folder}/`) && partOf(folder, target) !== own)
    .filter((target) => levelOf(partOf(folder, target)) >= levelOf(own))
    .map((target) => `${path} imports ${target}, which stands on a later level or on its own`)
}

function partOf(folder: string, file: string): string {
  return file.slice(folder.length + 1).split('/')[0] ?? ''
}

/** Returns each circle of imports among the files once, from the file that was visited first. */
export function findFileCircles(files: readonly SourceFile[]): readonly (readonly string[])[] {
  const imports = new Map(files.map(({ path, localImports }) => [path, localImports]))
  const circles: (readonly string[])[] = []
  const done = new Set<string>()
  const visit = (file: string, trail: readonly string[]): void => {
    const start = trail.indexOf(file)
    if (start !== -1) circles.push(trail.slice(start))
    if (start !== -1 || done.has(file)) return
    for (const target of imports.get(file) ?? []) visit(target, [...trail, file])
    done.add(file)
  }
  for (const { path } of files) visit(path, [])
  return circles
}
