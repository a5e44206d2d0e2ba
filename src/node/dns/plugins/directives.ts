import type { Directive } from '../corefile/blocks.ts'
import { readBind } from './bind/directive.ts'
import { readCache } from './cache/directive.ts'
import { readErrors } from './errors/directive.ts'
import { readForward } from './forward/directive.ts'
import { readHealth } from './health/directive.ts'
import { readHosts } from './hosts/directive.ts'
import { readKubernetes } from './kubernetes/directive.ts'
import { readLoadbalance } from './loadbalance/directive.ts'
import { readLog } from './log/directive.ts'
import { readLoop } from './loop/directive.ts'
import { readPrometheus } from './prometheus/directive.ts'
import { readReady } from './ready/directive.ts'
import { readReload } from './reload/directive.ts'
import { readRewrite } from './rewrite/directive.ts'
import type { ServerBlock } from './server-block.ts'
import { readTemplate } from './template/directive.ts'

type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] }

/** How the directive of one plugin is read into its server block. */
export interface DirectiveReader {
  /** A server block may have the directive several times. */
  readonly repeatable?: true
  read(block: Mutable<ServerBlock>, directive: Directive): void
}

/** The directives that a server block may have, by the name of their plugin. */
export const directiveReaders: Readonly<Record<string, DirectiveReader>> = {
  bind: {
    repeatable: true,
    read: (block, directive) => {
      block.bind = [...block.bind, readBind(directive)]
    },
  },
  cache: {
    read: (block, directive) => {
      block.cache = readCache(directive, block.keys)
    },
  },
  errors: {
    read: (block, directive) => {
      block.errors = readErrors(directive)
    },
  },
  forward: {
    repeatable: true,
    read: (block, directive) => {
      block.forward = [...block.forward, ...readForward(directive)]
    },
  },
  health: {
    read: (block, directive) => {
      block.health = readHealth(directive)
    },
  },
  hosts: {
    read: (block, directive) => {
      block.hosts = readHosts(directive, block.keys)
    },
  },
  kubernetes: {
    read: (block, directive) => {
      block.kubernetes = readKubernetes(directive, block.keys)
    },
  },
  loadbalance: {
    read: (block, directive) => {
      block.loadbalance = readLoadbalance(directive)
    },
  },
  log: {
    repeatable: true,
    read: (block, directive) => {
      block.log = [...block.log, ...readLog(directive)]
    },
  },
  loop: {
    read: (block, directive) => {
      block.loop = readLoop(directive)
    },
  },
  prometheus: {
    read: (block, directive) => {
      block.prometheus = readPrometheus(directive)
    },
  },
  ready: {
    read: (block, directive) => {
      block.ready = readReady(directive)
    },
  },
  reload: {
    read: (block, directive) => {
      block.reload = readReload(directive)
    },
  },
  rewrite: {
    repeatable: true,
    read: (block, directive) => {
      block.rewrite = [...block.rewrite, readRewrite(directive)]
    },
  },
  template: {
    repeatable: true,
    read: (block, directive) => {
      block.template = [...block.template, readTemplate(directive, block.keys)]
    },
  },
}
