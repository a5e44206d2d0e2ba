import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { emptyXorHash } from '../../../../src/model/xor-hash.ts'
import type { Chain, TableChange } from '../../../../src/netfilter/ruleset.ts'
import { parseStamp, stateChain } from '../../../../src/netfilter/state-chain.ts'
import { WantedTable } from '../../../../src/node/rules/wanted-table.ts'
import { hashTable } from '../../../helpers/rulesets.ts'

type Step =
  | { readonly kind: 'want'; readonly name: string; readonly chain: Chain | undefined }
  | { readonly kind: 'write'; readonly outcome: 'done' | 'refused' | 'done, but killed before it said so' }
  | { readonly kind: 'meddle'; readonly name: string; readonly chain: Chain | undefined }
  | { readonly kind: 'verify' }

const name = fc.constantFrom('PLAT-A', 'PLAT-B', 'PLAT-C', 'PLAT-D')
const chain: fc.Arbitrary<Chain | undefined> = fc.option(
  fc.constantFrom('x', 'y', 'z').map((comment) => [{ matches: [], comment }]),
  { nil: undefined },
)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('want'), name, chain }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('write'),
      outcome: fc.constantFrom('done', 'refused', 'done, but killed before it said so'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('meddle'), name, chain }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('verify') }) },
)

class Kernel {
  readonly chains = new Map<string, Chain>()

  take(change: TableChange): void {
    for (const [chainName, rules] of change.set) this.chains.set(chainName, rules)
    for (const chainName of change.remove) this.chains.delete(chainName)
  }

  put(chainName: string, rules: Chain | undefined): void {
    if (rules === undefined) this.chains.delete(chainName)
    else this.chains.set(chainName, rules)
  }
}

function write(table: WantedTable, kernel: Kernel, outcome: Extract<Step, { kind: 'write' }>['outcome']): void {
  const change = table.change(emptyXorHash, emptyXorHash)
  if (change === undefined) return
  if (outcome !== 'refused') kernel.take(change)
  if (outcome === 'done') table.confirm(change)
  else table.invalidate(change)
}

function verify(table: WantedTable, kernel: Kernel): void {
  table.beginRead()
  table.compare(kernel.chains)
}

test('whatever fails and whatever other programs change, one write after a comparison brings the kernel to the wanted state', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const table = new WantedTable('nat')
      const kernel = new Kernel()
      const wanted = new Map<string, Chain>()
      for (const each of steps) {
        if (each.kind === 'want') {
          table.want(each.name, each.chain)
          if (each.chain === undefined) wanted.delete(each.name)
          else wanted.set(each.name, each.chain)
        } else if (each.kind === 'meddle') kernel.put(each.name, each.chain)
        else if (each.kind === 'verify') verify(table, kernel)
        else write(table, kernel, each.outcome)
      }
      verify(table, kernel)
      write(table, kernel, 'done')
      const { [stateChain]: stamp = [], ...held } = Object.fromEntries(kernel.chains)
      assert.deepEqual(held, Object.fromEntries(wanted))
      assert.deepEqual(parseStamp(stamp)?.rules, hashTable(wanted))
      assert.deepEqual(table.rules, hashTable(wanted))
      verify(table, kernel)
      assert.equal(table.change(emptyXorHash, emptyXorHash), undefined, 'equal state writes nothing')
    }),
    { numRuns: 1000 },
  )
})

test('where no other program writes, the next write needs no comparison to complete all that failed', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const table = new WantedTable('nat')
      const kernel = new Kernel()
      const wanted = new Map<string, Chain>()
      for (const each of steps) {
        if (each.kind === 'write') write(table, kernel, each.outcome)
        if (each.kind !== 'want') continue
        table.want(each.name, each.chain)
        if (each.chain === undefined) wanted.delete(each.name)
        else wanted.set(each.name, each.chain)
      }
      write(table, kernel, 'done')
      kernel.chains.delete(stateChain)
      assert.deepEqual(Object.fromEntries(kernel.chains), Object.fromEntries(wanted))
    }),
    { numRuns: 1000 },
  )
})
