import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** A source file with what it imports: relative paths resolved to files of the tree, everything else as written. */
export interface SourceFile {
  /** From the project's root: `src/netfilter/render.ts`. */
  readonly path: string
  readonly text: string
  readonly localImports: readonly string[]
  readonly packageImports: readonly string[]
}

const importPattern =
  /(?:^|\n)\s*(?:import|export)\s[^'";]*?from\s*'([^']+)'|(?:^|\n)\s*import\s*'([^']+)'|import\(\s*'([^']+)'\s*\)/g

export function readSourceTree(pattern: string): readonly SourceFile[] {
  return globSync(pattern).sort().map(readSourceFile)
}

function readSourceFile(file: string): SourceFile {
  const text = readFileSync(file, 'utf8')
  const specifiers = [...text.matchAll(importPattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? '')
  return {
    path: file,
    text,
    localImports: specifiers.filter((name) => name.startsWith('.')).map((name) => path.join(path.dirname(file), name)),
    packageImports: specifiers.filter((name) => !name.startsWith('.')),
  }
}

/** The room a file stands in: `model`, `node/rules`, or `main.ts` itself. */
export function roomOf(file: string): string {
  const parts = file.split('/').slice(1)
  if (parts.length === 1) return parts[0] ?? ''
  return parts[0] === 'node' && parts.length > 2 ? `node/${parts[1]}` : (parts[0] ?? '')
}
