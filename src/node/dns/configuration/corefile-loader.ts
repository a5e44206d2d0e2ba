import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { CorefileSources, SourceFile } from '../corefile/blocks.ts'
import { defaultCorefile } from '../corefile/default-corefile.ts'
import { readCorefile } from '../corefile/read-corefile.ts'
import type { Corefile } from '../corefile/settings.ts'

/** Where the Corefile comes from: a file of this machine, else the cluster's ConfigMap, else the one that is built in. */
export interface CorefileOrigin {
  readonly file: string | undefined
  readonly configMapText: string | undefined
  readonly clusterDomain: string
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface LoadedCorefile {
  readonly corefile: Corefile
  /** As `platnet status` names it. */
  readonly from: string
  /** All text that it was read from: equal text is an equal Corefile. */
  readonly text: string
}

/** Reads the Corefile with what it imports. Throws CorefileError, or the system's error where a file cannot be read. */
export function loadCorefile(origin: CorefileOrigin): LoadedCorefile {
  const main = mainFile(origin)
  const read: SourceFile[] = [main]
  const sources: CorefileSources = {
    files: (pattern, importingFile) => {
      // Who may write a ConfigMap must not read this machine's files with it.
      if (origin.file === undefined) return []
      const files = importedFiles(pattern, importingFile)
      read.push(...files)
      return files
    },
    environment: (name) => (origin.file === undefined ? undefined : origin.env[name]),
  }
  const corefile = readCorefile(main, sources)
  return { corefile, from: main.path, text: JSON.stringify(read) }
}

function mainFile({ file, configMapText, clusterDomain }: CorefileOrigin): SourceFile {
  if (file !== undefined) return readSource(file)
  if (configMapText !== undefined) return { path: 'ConfigMap kube-system/coredns', text: configMapText }
  return { path: 'the built-in Corefile', text: defaultCorefile(clusterDomain) }
}

function importedFiles(pattern: string, importingFile: string): readonly SourceFile[] {
  const full = path.resolve(path.dirname(importingFile), pattern)
  if (!pattern.includes('*')) return [readSource(full)]
  return globSync(full).sort().map(readSource)
}

function readSource(file: string): SourceFile {
  return { path: file, text: readFileSync(file, 'utf8') }
}
