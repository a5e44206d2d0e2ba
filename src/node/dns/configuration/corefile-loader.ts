import { globSync } from 'node:fs'
import path from 'node:path'
import { readRegularFileSync } from '../../../host/index.ts'
import { defaultCorefile } from '../../../model/default-corefile.ts'
import type { CorefileSources, SourceFile } from '../corefile/blocks.ts'
import { CorefileError } from '../corefile/errors.ts'
import { DnsError } from '../errors.ts'
import type { Corefile } from '../plugins/server-block.ts'
import { checkRights, type FileRights, namesNoFile } from './file-rights.ts'
import { namedFiles } from './named-files.ts'
import { readCorefile } from './read-corefile.ts'

/** The texts of a ConfigMap by their keys. The key `Corefile` is the Corefile. */
export type ConfigMapData = Readonly<Record<string, string>>

/** The sources of a Corefile, in this order: a file of this node, the cluster's ConfigMap, the built-in one. */
export interface CorefileOrigin {
  readonly file: string | undefined
  readonly configMap: ConfigMapData | undefined
  /** The paths of this node that a ConfigMap may name. */
  readonly configMapFiles: readonly string[]
  readonly clusterDomain: string
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface LoadedCorefile {
  readonly corefile: Corefile
  /** The source that `platnet status` names. */
  readonly from: string
  /** All text that the Corefile was read from: equal text is an equal Corefile. */
  readonly text: string
  readonly rights: FileRights
}

const maxCorefileBytes = 1024 * 1024
const configMapName = 'ConfigMap kube-system/coredns'
/** The folder in which CoreDNS' Pods mount the ConfigMap: its other keys are files there. */
const mountPath = '/etc/coredns'

/**
 * Reads the Corefile with all that it imports. One that imports nothing and has the text of `before` is not parsed again. Throws CorefileError, or
 * FileError where the Corefile itself cannot be read.
 */
export function loadCorefile(origin: CorefileOrigin, before?: LoadedCorefile): LoadedCorefile {
  if (origin.file === undefined && origin.configMap !== undefined)
    return loadConfigMap(origin.configMap, origin, before)
  const { file, clusterDomain, env } = origin
  const main = file === undefined ? builtInCorefile(clusterDomain) : readSource(file)
  const find = file === undefined ? () => [] : importedFiles
  const environment = (name: string) => (file === undefined ? undefined : env[name])
  return { ...parseOnce(main, { find, environment }, before), from: main.path, rights: allRights }
}

const allRights: FileRights = { allowed: undefined, carried: new Map() }

function builtInCorefile(clusterDomain: string): SourceFile {
  return { path: 'the built-in Corefile', text: defaultCorefile(clusterDomain) }
}

/** Reads a ConfigMap. Its authors must not read this node's files or environment with it; its other keys are files at the mount path. */
function loadConfigMap(
  data: ConfigMapData,
  { configMapFiles }: CorefileOrigin,
  before: LoadedCorefile | undefined,
): LoadedCorefile {
  const { Corefile: text } = data
  if (text === undefined)
    throw new CorefileError('syntax', { file: configMapName, line: 1 }, 'expected the key Corefile in its data')
  const main = { path: configMapName, text }
  const rights: FileRights = { allowed: new Set(configMapFiles), carried: carriedFiles(data) }
  const find = (pattern: string) => carriedSources(pattern, rights)
  const parsed = parseOnce(main, { find, environment: () => undefined }, before)
  checkRights(namedFiles(parsed.corefile), rights)
  return { ...parsed, from: configMapName, rights }
}

interface ImportSources {
  readonly find: CorefileSources['files']
  readonly environment: CorefileSources['environment']
}

function parseOnce(
  main: SourceFile,
  { find, environment }: ImportSources,
  before: LoadedCorefile | undefined,
): Pick<LoadedCorefile, 'corefile' | 'text'> {
  if (before?.text === JSON.stringify([main])) return { corefile: before.corefile, text: before.text }
  const { files, read } = recording(main, find)
  const corefile = readCorefile(main, { files, environment })
  return { corefile, text: JSON.stringify(read) }
}

function carriedFiles(data: ConfigMapData): ReadonlyMap<string, string> {
  return new Map(Object.entries(data).map(([key, text]) => [path.join(mountPath, key), text]))
}

function carriedSources(pattern: string, { allowed, carried }: FileRights): readonly SourceFile[] {
  const full = path.resolve(mountPath, pattern)
  const text = carried.get(full)
  if (text !== undefined) return [carriedSource(full, text)]
  if (!isPattern(pattern)) {
    if (allowed?.has(full)) return [readSource(full)]
    throw new DnsError('not-allowed', namesNoFile)
  }
  return [...carried].filter(([file]) => path.matchesGlob(file, full)).map(([file, own]) => carriedSource(file, own))
}

function carriedSource(file: string, text: string): SourceFile {
  const key = path.basename(file)
  return { path: key === 'Corefile' ? configMapName : `${configMapName}, ${key}`, text }
}

/** Returns a lookup that remembers its patterns and the files it found. */
function recording(
  main: SourceFile,
  find: CorefileSources['files'],
): { readonly files: CorefileSources['files']; readonly read: readonly (SourceFile | string)[] } {
  const read: (SourceFile | string)[] = [main]
  const files: CorefileSources['files'] = (pattern, importingFile) => {
    const found = find(pattern, importingFile)
    // A pattern that finds no file is an import too: there may be one later.
    read.push(pattern, ...found)
    return found
  }
  return { files, read }
}

function importedFiles(pattern: string, importingFile: string): readonly SourceFile[] {
  const full = path.resolve(path.dirname(importingFile), pattern)
  return isPattern(pattern) ? globSync(full).sort().map(readSource) : [readSource(full)]
}

function isPattern(text: string): boolean {
  return /[*?]/.test(text)
}

function readSource(file: string): SourceFile {
  return { path: file, text: readRegularFileSync(file, maxCorefileBytes).toString() }
}
