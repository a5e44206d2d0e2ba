import assert from 'node:assert/strict'
import { NftError } from '../../src/host/index.ts'
import { findAttribute, type NetlinkMessage } from '../../src/netfilter/netlink.ts'
import { type ListedElement, readElements } from '../../src/netfilter/nft/element-messages.ts'
import { setSpecs, timeoutOf } from '../../src/netfilter/nft/set-specs.ts'
import { type SetSpec, stateSpec, type TableName } from '../../src/netfilter/nft/types.ts'
import type { NftKernel } from '../../src/node/rules/nft/kernel.ts'
import type { ElementListEnd } from '../../src/node/rules/nft-list.ts'

interface FakeTable {
  /** The lines of the rules' text, without the elements of sets. */
  rules: string[]
  readonly sets: Map<string, Map<string, string>>
  comment: string | undefined
}

/** A kernel with one table, which carries out the commands that the writer renders and refuses what the kernel would. */
export class FakeNft implements NftKernel {
  table: FakeTable | undefined
  /** The text of each transaction that was tried, and how it came. */
  readonly transactions: { readonly by: 'elements' | 'program'; readonly text: string }[] = []
  /** How often elements were listed. */
  lists = 0
  listsElements = true
  /** Called before each list, with the name of the set. */
  beforeList: (set: string) => void = () => {}
  /** Whether other programs write to tables all the time. */
  isBusy = false
  /** Thrown by the next transactions, one each. */
  readonly failures: NftError[] = []
  /** Whether a transaction that fails by `failures` is carried out all the same. */
  isDoneAllTheSame = false
  /** Refuses every transaction that adds such an element. */
  poison: RegExp | undefined

  async run(text: string): Promise<void> {
    this.#transact('elements', text)
  }

  /** The messages of each transaction that came as such; the kernel carries them out where `confirms` is set. */
  readonly committed: (readonly NetlinkMessage[])[] = []
  confirms = false

  commit(messages: readonly NetlinkMessage[]): boolean {
    if (!this.confirms) return false
    try {
      this.table = new Transaction(this.table, this.poison).carryOutMessages(messages)
    } catch (thrown) {
      if (thrown instanceof NftError) return false
      throw thrown
    }
    this.committed.push(messages)
    return true
  }

  async commitApart(messages: readonly NetlinkMessage[]): Promise<boolean> {
    return this.commit(messages)
  }

  async applyRuleset(text: string): Promise<void> {
    this.#transact('program', text)
  }

  async hasTable(): Promise<boolean> {
    return this.table !== undefined
  }

  async readStateComment(): Promise<string | undefined> {
    return this.table?.comment
  }

  async listElements(_: TableName, { name }: SetSpec, take: (element: ListedElement) => void): Promise<ElementListEnd> {
    this.lists += 1
    this.beforeList(name)
    if (!this.listsElements) return 'failed'
    const set = this.table?.sets.get(name)
    for (const [key, data] of set ?? []) take({ set: name, key, data })
    return set === undefined ? 'missing' : this.isBusy ? 'changed' : 'complete'
  }

  async listRules(): Promise<string> {
    return this.table?.rules.join('\n') ?? ''
  }

  /** `SET KEY[ : DATA]` of all elements, sorted. */
  elements(): readonly string[] {
    const all = [...(this.table?.sets ?? [])].filter(([name]) => name !== 'draw')
    return all.flatMap(([name, set]) => Array.from(set, ([key, data]) => `${name} ${key} : ${data}`)).sort()
  }

  #transact(by: 'elements' | 'program', text: string): void {
    this.transactions.push({ by, text })
    const failure = this.failures.shift()
    if (failure !== undefined && !this.isDoneAllTheSame) throw failure
    this.table = new Transaction(this.table, this.poison).carryOut(text)
    if (failure !== undefined) throw failure
  }
}

class Transaction {
  #table: FakeTable | undefined
  readonly #poison: RegExp | undefined

  constructor(table: FakeTable | undefined, poison: RegExp | undefined) {
    this.#table = table && {
      rules: [...table.rules],
      sets: new Map(Array.from(table.sets, ([name, set]) => [name, new Map(set)])),
      comment: table.comment,
    }
    this.#poison = poison
  }

  carryOut(text: string): FakeTable | undefined {
    for (let rest = text; rest !== ''; ) {
      const block = /^table \S+ platnet \{\n([\s\S]*?)\n\}\n/.exec(rest)
      const line = rest.slice(0, rest.indexOf('\n') + 1)
      if (block === null) this.#command(line.trim())
      else this.#load(block[1] ?? '')
      rest = rest.slice(block?.[0].length ?? line.length)
    }
    return this.#table
  }

  carryOutMessages(messages: readonly NetlinkMessage[]): FakeTable {
    const table = this.#table ?? assert.fail('there is no table')
    for (const message of messages) this.#carryOutMessage(table, message)
    return table
  }

  #carryOutMessage(table: FakeTable, { type, payload }: NetlinkMessage): void {
    const isAddition = type === 0xa0c
    const spec = specOf(findAttribute(payload.subarray(4), 2)?.toString('latin1').replace('\0', ''))
    const held = table.sets.get(spec.name)
    if (held === undefined) throw refusal('No such file or directory', spec.name)
    for (const element of readElements(payload, isAddition ? spec : { ...spec, data: [] }) ?? []) {
      if (spec === stateSpec) table.comment = isAddition ? element.comment : undefined
      if (isAddition) this.#add(held, spec.name, textOf(element))
      else this.#delete(held, spec.name, textOf(element))
    }
  }

  #command(line: string): void {
    const [, verb, what, set = '', list = ''] = /^(\w+) (\w+) \S+ platnet(?: (\S+) \{ (.*) \})?$/.exec(line) ?? []
    if (what === 'table' && verb === 'add') this.#table ??= { rules: [], sets: new Map(), comment: undefined }
    else if (this.#table === undefined) throw refusal('No such file or directory')
    else if (what === 'table' && verb === 'delete') this.#table = undefined
    else if (what === 'table' && verb === 'flush') this.#table.rules = this.#table.rules.filter(isForeignChain)
    else if (what === 'element') this.#changeElements(this.#table, { verb: verb ?? '', set, list })
    else throw new Error(`the fake does not know ${line}`)
  }

  #load(body: string): void {
    this.#table ??= { rules: [], sets: new Map(), comment: undefined }
    for (const [, name = ''] of body.matchAll(/^\t(?:set|map) (\S+) \{/gm))
      if (!this.#table.sets.has(name)) this.#table.sets.set(name, new Map())
    const draw = this.#table.sets.get('draw')
    for (const [, key = '', verdict = ''] of body.matchAll(/(\w+:\w+) : (jump draw-\d+)/g)) draw?.set(key, verdict)
    this.#table.rules.push(...body.replaceAll(/ elements = \{.*?\}/g, '').split('\n'))
  }

  #changeElements(table: FakeTable, { verb, set, list }: { verb: string; set: string; list: string }): void {
    const held = table.sets.get(set)
    if (held === undefined) throw refusal('No such file or directory', set)
    for (const text of list.split(', ')) {
      const [, element = '', comment] = /^(.*?)(?: comment "(.*)")?$/.exec(text) ?? []
      if (set === 'state') table.comment = verb === 'add' ? comment : undefined
      if (verb === 'delete') this.#delete(held, set, element)
      else this.#add(held, set, element)
    }
  }

  #delete(held: Map<string, string>, set: string, element: string): void {
    if (!held.delete(element)) throw refusal('No such file or directory', set, element)
  }

  #add(held: Map<string, string>, set: string, element: string): void {
    const [key = '', data = ''] = element.split(' : ')
    if (this.#poison?.test(element)) throw refusal('Invalid argument', set, element)
    if (held.has(key) && held.get(key) !== data) throw refusal('File exists', set, element)
    held.set(key, data)
  }
}

function textOf({ set, key, data }: ListedElement): string {
  if (set === stateSpec.name) return '1'
  return data === '' ? key : `${key} : ${data}`
}

function specOf(set = ''): SetSpec {
  const all = [...setSpecs('IPv4', [timeoutOf(set) ?? 0]), stateSpec]
  return all.find(({ name }) => name === set) ?? assert.fail(`there is no set ${set}`)
}

/** Chains that no text of ours declares stay without rules. */
function isForeignChain(line: string): boolean {
  return line.startsWith('\tchain foreign')
}

function refusal(reason: string, set?: string, element?: string): NftError {
  const command = set === undefined ? undefined : `add element ip platnet ${set}`
  return new NftError('refused', reason, { command, element })
}
