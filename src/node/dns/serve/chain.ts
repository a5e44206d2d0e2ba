import { HostsAnswers } from '../plugins/hosts/hosts-answers.ts'
import type { HostsSettings } from '../plugins/hosts/settings.ts'
import { QueryRewriter } from '../plugins/rewrite/query-rewriter.ts'
import type { RewriteRule } from '../plugins/rewrite/settings.ts'
import type { TemplateSettings } from '../plugins/template/settings.ts'
import { type CountTemplate, TemplateAnswers } from '../plugins/template/template-answers.ts'
import type { Query } from '../wire/query.ts'
import type { Reply } from '../wire/response.ts'

/** The plugins of a block that stand before `kubernetes` and answer from memory; plain data. */
export interface ChainSettings {
  readonly rewrite: readonly RewriteRule[]
  readonly template: readonly TemplateSettings[]
  readonly hosts: { readonly settings: HostsSettings; readonly text: string } | undefined
}

/** Undefined for a block without any of them, as most are. */
export function createChain(settings: ChainSettings, count: CountTemplate): Chain | undefined {
  const { rewrite, template, hosts } = settings
  return rewrite.length + template.length === 0 && hosts === undefined ? undefined : new Chain(settings, count)
}

/** Rewrites questions, and answers those that templates or hosts know. */
export class Chain {
  readonly rewriter: QueryRewriter | undefined
  readonly #templates: TemplateAnswers | undefined
  readonly #hosts: HostsAnswers | undefined

  constructor({ rewrite, template, hosts }: ChainSettings, count: CountTemplate) {
    this.rewriter = rewrite.length > 0 ? new QueryRewriter(rewrite) : undefined
    this.#templates = template.length > 0 ? new TemplateAnswers(template, count) : undefined
    this.#hosts = hosts && new HostsAnswers(hosts.settings, hosts.text)
  }

  /** Undefined where none of them answers. `remote` is the client's address. */
  answer(query: Query, remote: string): { readonly plugin: string; readonly reply: Reply } | undefined {
    const fromTemplate = this.#templates?.answer(query, remote)
    if (fromTemplate) return { plugin: 'template', reply: fromTemplate }
    const fromHosts = this.#hosts?.answer(query)
    return fromHosts && { plugin: 'hosts', reply: fromHosts }
  }
}
