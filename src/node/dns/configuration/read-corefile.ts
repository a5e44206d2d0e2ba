import { type CorefileSources, type Directive, type RawBlock, readBlocks, type SourceFile } from '../corefile/blocks.ts'
import { CorefileError } from '../corefile/errors.ts'
import { readServerKeys } from '../corefile/zones.ts'
import { type DirectiveReader, directiveReaders } from '../plugins/directives.ts'
import { adviceFor, hasNoEffect } from '../plugins/other-plugins.ts'
import type { Corefile, ServerBlock } from '../plugins/server-block.ts'
import { nameText } from '../wire/name.ts'

/** Reads and checks a Corefile with all that it imports. Throws CorefileError. */
export function readCorefile(file: SourceFile, sources: CorefileSources): Corefile {
  const blocks = readBlocks(file, sources).map(readServerBlock)
  refuseDuplicates(blocks)
  if (blocks.length === 0) {
    throw new CorefileError('syntax', { file: file.path, line: 1 }, 'expected a server block, found none')
  }
  return { blocks }
}

function readServerBlock({ keys, directives }: RawBlock): ServerBlock {
  const [first] = keys
  const block = {
    location: { file: first?.file ?? '', line: first?.line ?? 0 },
    keys: keys.flatMap(readServerKeys),
    log: [],
    forward: [],
    loop: false,
    bind: [],
    rewrite: [],
    template: [],
    ignored: directives
      .filter(({ name }) => hasNoEffect(name.text))
      .map(({ name: { text, file, line } }) => ({ name: text, location: { file, line } })),
  }
  const seen = new Set<string>()
  for (const directive of directives) {
    const { name } = directive
    if (hasNoEffect(name.text)) continue
    const reader = findReader(directive)
    if (seen.has(name.text) && reader.repeatable !== true) {
      throw new CorefileError('conflict', name, `${name.text}: this plugin can only be used once per server block`)
    }
    seen.add(name.text)
    reader.read(block, directive)
  }
  return block
}

function findReader({ name }: Directive): DirectiveReader {
  const reader = Object.hasOwn(directiveReaders, name.text) ? directiveReaders[name.text] : undefined
  if (reader !== undefined) return reader
  const advice = adviceFor(name.text, Object.keys(directiveReaders))
  throw new CorefileError(
    'unknown-directive',
    name,
    `Error during parsing: Unknown directive '${name.text}': ${advice}`,
  )
}

/** Refuses a zone that is served twice on one port of one address. */
function refuseDuplicates(blocks: readonly ServerBlock[]): void {
  const taken = new Map<string, ServerBlock>()
  for (const block of blocks) {
    for (const key of block.keys) {
      for (const address of boundAddresses(block)) {
        const name = `dns://${nameText(key.zone)}:${key.port}`
        const other = taken.get(`${name} ${address}`)
        if (other !== undefined) throw alreadyDefined(name, block, other)
        taken.set(`${name} ${address}`, block)
      }
    }
  }
}

function boundAddresses({ bind }: ServerBlock): readonly string[] {
  return bind.length === 0 ? [''] : bind.flatMap(({ addresses }) => addresses)
}

function alreadyDefined(name: string, block: ServerBlock, other: ServerBlock): CorefileError {
  return new CorefileError(
    'conflict',
    block.location,
    `cannot serve ${name} - it is already defined in line ${other.location.line}`,
  )
}
