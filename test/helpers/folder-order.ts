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
export function findFileCircles(files: readonly SourceFile[]): readonly Circle[] {
  return findCircles(new Map(files.map(({ path, localImports }) => [path, localImports])))
}

/** Returns the circles of imports between direct subfolders of one folder, for each folder that holds files at any depth. */
export function findFolderCircles(files: readonly SourceFile[]): readonly Circle[] {
  const folders = new Set(files.flatMap(({ path }) => foldersAbove(path)))
  return [...folders].sort().flatMap((folder) => findCircles(importsOfSubfolders(folder, files)))
}

/** The nodes of one circle in the order in which they import each other; the last one imports the first. */
type Circle = readonly string[]

function foldersAbove(file: string): readonly string[] {
  const parts = file.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}

function importsOfSubfolders(folder: string, files: readonly SourceFile[]): ReadonlyMap<string, ReadonlySet<string>> {
  const imports = new Map<string, Set<string>>()
  for (const { path, localImports } of files) {
    const own = subfolderOf(folder, path)
    if (own === undefined) continue
    const targets = localImports.flatMap((target) => subfolderOf(folder, target) ?? [])
    const known = imports.get(own) ?? new Set()
    imports.set(own, known.union(new Set(targets.filter((target) => target !== own))))
  }
  return imports
}

/** Returns the direct subfolder that holds the file; undefined for a file beside the subfolders or elsewhere. */
function subfolderOf(folder: string, file: string): string | undefined {
  if (!file.startsWith(`${folder}/`)) return undefined
  const part = partOf(folder, file)
  return file === `${folder}/${part}` ? undefined : `${folder}/${part}`
}

function findCircles(imports: ReadonlyMap<string, Iterable<string>>): readonly Circle[] {
  const circles: Circle[] = []
  const done = new Set<string>()
  const visit = (node: string, trail: Circle): void => {
    const start = trail.indexOf(node)
    if (start !== -1) circles.push(trail.slice(start))
    if (start !== -1 || done.has(node)) return
    for (const target of imports.get(node) ?? []) visit(target, [...trail, node])
    done.add(node)
  }
  for (const node of imports.keys()) visit(node, [])
  return circles
}
