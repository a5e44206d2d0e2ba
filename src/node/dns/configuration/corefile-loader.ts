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

/** Reads the Corefile with all that it imports. Throws CorefileError, or FileError where the Corefile itself cannot be read. */
export function loadCorefile(origin: CorefileOrigin): LoadedCorefile {
  if (origin.file === undefined && origin.configMap !== undefined) return loadConfigMap(origin.configMap, origin)
  const { file, clusterDomain, env } = origin
  if (file !== undefined) return loadFile(file, env)
  const main = { path: 'the built-in Corefile', text: defaultCorefile(clusterDomain) }
  const corefile = readCorefile(main, { files: () => [], environment: () => undefined })
  return { corefile, from: main.path, text: JSON.stringify([main]), rights: allRights }
}

const allRights: FileRights = { allowed: undefined, carried: new Map() }

function loadFile(file: string, env: CorefileOrigin['env']): LoadedCorefile {
  const main = readSource(file)
  const { files, read } = recording(main, importedFiles)
  const corefile = readCorefile(main, { files, environment: (name) => env[name] })
  return { corefile, from: file, text: JSON.stringify(read), rights: allRights }
}

/** Reads a ConfigMap. Its authors must not read this node's files or environment with it; its other keys are files at the mount path. */
function loadConfigMap(data: ConfigMapData, { configMapFiles }: CorefileOrigin): LoadedCorefile {
  const { Corefile: text } = data
  if (text === undefined)
    throw new CorefileError('syntax', { file: configMapName, line: 1 }, 'expected the key Corefile in its data')
  const main = { path: configMapName, text }
  const rights: FileRights = { allowed: new Set(configMapFiles), carried: carriedFiles(data) }
  const { files, read } = recording(main, (pattern) => carriedSources(pattern, rights))
  const corefile = readCorefile(main, { files, environment: () => undefined })
  checkRights(namedFiles(corefile), rights)
  return { corefile, from: configMapName, text: JSON.stringify(read), rights }
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

/** Returns a lookup that remembers the files it found. */
function recording(
  main: SourceFile,
  find: CorefileSources['files'],
): { readonly files: CorefileSources['files']; readonly read: readonly SourceFile[] } {
  const read = [main]
  const files: CorefileSources['files'] = (pattern, importingFile) => {
    const found = find(pattern, importingFile)
    read.push(...found)
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
