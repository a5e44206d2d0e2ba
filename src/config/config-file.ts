import { readFile } from 'node:fs/promises'
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument } from 'yaml'
import { describeError } from '../model/errors.ts'
import { ConfigError } from './config-error.ts'

/** The readable part of a configuration file: values by key, each with its line for messages. */
export interface ConfigFile {
  readonly path: string
  readonly entries: ReadonlyMap<string, { readonly value: unknown; readonly line: number }>
  /** Problems of the YAML itself, one line each. */
  readonly problems: readonly string[]
}

/** Reads a configuration file. Throws ConfigError `config-unreadable`. */
export async function readConfigFile(path: string): Promise<ConfigFile> {
  try {
    return parseConfigFile(path, await readFile(path, 'utf8'))
  } catch (cause) {
    throw new ConfigError('config-unreadable', [`${path}: cannot be read: ${describeError(cause)}`], { cause })
  }
}

/** Parses YAML 1.2, and so JSON: one mapping of option names. */
export function parseConfigFile(path: string, text: string): ConfigFile {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const lineOf = (offset: number | undefined) => lines.linePos(offset ?? 0).line
  const problems = document.errors.map((error) => `${path}:${lineOf(error.pos[0])}: ${error.message}`)
  const entries = new Map<string, { value: unknown; line: number }>()
  const { contents } = document
  if (contents !== null && !isMap(contents)) problems.push(`${path}: expected a mapping of option names to values`)
  if (!isMap(contents) || problems.length > 0) return { path, entries, problems }
  for (const pair of contents.items) {
    const key = isScalar(pair.key) ? String(pair.key.value) : '(not a name)'
    const line = lineOf(isScalar(pair.key) ? pair.key.range?.[0] : undefined)
    const read = readValue(pair.value, document)
    if ('problem' in read) problems.push(`${path}:${line}: ${key}: ${read.problem}`)
    else entries.set(key, { value: read.value, line })
  }
  return { path, entries, problems }
}

/** Converts a YAML node to a value. The library limits aliases, so that a small file cannot become a huge value. */
function readValue(node: unknown, document: Document): { value: unknown } | { problem: string } {
  try {
    return { value: isNode(node) ? node.toJS(document) : null }
  } catch (error) {
    return { problem: describeError(error) }
  }
}
