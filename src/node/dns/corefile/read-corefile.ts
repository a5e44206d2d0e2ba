import { nameText } from '../wire/name.ts'
import { type CorefileSources, type Directive, type RawBlock, readBlocks, type SourceFile } from './blocks.ts'
import { readCache } from './directives/cache.ts'
import { readForward } from './directives/forward.ts'
import { readHosts } from './directives/hosts.ts'
import { readKubernetes } from './directives/kubernetes.ts'
import { readErrors, readLog } from './directives/reports.ts'
import { readRewrite } from './directives/rewrite.ts'
import {
  readBind,
  readHealth,
  readLoadbalance,
  readLoop,
  readPrometheus,
  readReady,
  readReload,
} from './directives/serving.ts'
import { readTemplate } from './directives/template.ts'
import { CorefileError } from './errors.ts'
import type { Corefile, ServerBlock } from './settings.ts'
import { readServerKeys } from './zones.ts'

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] }
type BlockReader = (block: Mutable<ServerBlock>, directive: Directive) => void

/**
 * Reads and checks a Corefile. In whatever order plugins are written, they work in CoreDNS' order: bind, ready, health, prometheus,
 * errors, log, loadbalance, rewrite, cache, template, hosts, kubernetes, loop, forward. Throws CorefileError.
 */
export function readCorefile(file: SourceFile, sources: CorefileSources): Corefile {
  const blocks = readBlocks(file, sources).map(readServerBlock)
  refuseDoubles(blocks)
  if (blocks.length === 0) {
    throw new CorefileError('syntax', { file: file.path, line: 1 }, 'expected a server block, found none')
  }
  return { blocks }
}

function readServerBlock({ keys, directives }: RawBlock): ServerBlock {
  const [first] = keys
  const block: Mutable<ServerBlock> = {
    location: { file: first?.file ?? '', line: first?.line ?? 0 },
    keys: keys.flatMap(readServerKeys),
    log: [],
    forward: [],
    loop: false,
    bind: [],
    rewrite: [],
    template: [],
  }
  const seen = new Set<string>()
  for (const directive of directives) {
    const { name } = directive
    const read = Object.hasOwn(readers, name.text) ? readers[name.text] : undefined
    if (read === undefined) {
      throw new CorefileError('unknown-directive', name, `Error during parsing: Unknown directive '${name.text}'`)
    }
    if (seen.has(name.text) && !repeatable.has(name.text)) {
      throw new CorefileError('conflict', name, `${name.text}: this plugin can only be used once per server block`)
    }
    seen.add(name.text)
    read(block, directive)
  }
  return block
}

const repeatable = new Set(['bind', 'log', 'forward', 'rewrite', 'template'])

const readers: Readonly<Record<string, BlockReader>> = {
  errors: (block, directive) => {
    block.errors = readErrors(directive)
  },
  log: (block, directive) => {
    block.log = [...block.log, ...readLog(directive)]
  },
  health: (block, directive) => {
    block.health = readHealth(directive)
  },
  ready: (block, directive) => {
    block.ready = readReady(directive)
  },
  kubernetes: (block, directive) => {
    block.kubernetes = readKubernetes(directive, block.keys)
  },
  prometheus: (block, directive) => {
    block.prometheus = readPrometheus(directive)
  },
  forward: (block, directive) => {
    block.forward = [...block.forward, ...readForward(directive)]
  },
  cache: (block, directive) => {
    block.cache = readCache(directive, block.keys)
  },
  loop: (block, directive) => {
    block.loop = readLoop(directive)
  },
  reload: (block, directive) => {
    block.reload = readReload(directive)
  },
  loadbalance: (block, directive) => {
    block.loadbalance = readLoadbalance(directive)
  },
  hosts: (block, directive) => {
    block.hosts = readHosts(directive, block.keys)
  },
  bind: (block, directive) => {
    block.bind = [...block.bind, readBind(directive)]
  },
  rewrite: (block, directive) => {
    block.rewrite = [...block.rewrite, readRewrite(directive)]
  },
  template: (block, directive) => {
    block.template = [...block.template, readTemplate(directive, block.keys)]
  },
}

/** A zone may be served twice on a port only at different addresses. */
function refuseDoubles(blocks: readonly ServerBlock[]): void {
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
