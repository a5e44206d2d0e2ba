import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyXorHash } from '../../../../src/model/xor-hash.ts'
import { diffRulesets } from '../../../../src/netfilter/diff.ts'
import type { Ruleset } from '../../../../src/netfilter/ruleset.ts'
import { RulesWriter, type Run } from '../../../../src/node/rules/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { FakeIptables } from '../../../helpers/fake-iptables.ts'
import { buildRuleset } from '../../../helpers/proxy-lab.ts'
import { makeService, makeSlice } from '../../../helpers/services.ts'

const clusterIps = { a: '10.96.0.1', b: '10.96.0.2' }

/** Two Services, of which these have an endpoint. */
function served(...names: readonly string[]): Ruleset {
  const states = Object.entries(clusterIps).map(([name, clusterIp], index) => {
    const service = makeService(`default/${name}`, clusterIp)
    const slices = names.includes(name)
      ? [makeSlice(service.key, [['http', 'TCP', 8080]], [`10.244.0.${index + 1}`])]
      : []
    return { service, slices }
  })
  return buildRuleset(states, { family: 'IPv4' }).ruleset()
}

/** The commits of each restore that one change takes. */
async function commitsOf(before: Ruleset, after: Ruleset): Promise<readonly (readonly string[])[]> {
  const kernel = new FakeIptables()
  const restores: string[] = []
  const run: Run = (file, args, options) => {
    if (file.endsWith('-restore')) restores.push(options.input ?? '')
    return kernel.run(file, args, options)
  }
  const writer = new RulesWriter({ iptables: kernel.iptables(run), hooks: [], log: silentLogger })
  await writer.sync(before, emptyXorHash)
  restores.length = 0
  await writer.write(diffRulesets(before, after), emptyXorHash)
  return restores.map((text) => text.split('COMMIT\n').slice(0, -1).map(describeCommit))
}

/** `filter refuses 10.96.0.1`: what the commit leaves there. */
function describeCommit(text: string): string {
  const table = /^\*(\w+)/.exec(text)?.[1] ?? ''
  const refused = [...text.matchAll(/-d (\S+)\/32 .*-j REJECT/g)].map(([, address]) => address)
  return table === 'filter' ? ['filter refuses', ...refused].join(' ') : table
}

test('what is no longer refused is so in the same restore, after nat leads to the endpoint', async () => {
  assert.deepEqual(await commitsOf(served(), served('a')), [['nat', 'filter refuses 10.96.0.2']])
})

test('what is refused from now on is so in the same restore, before nat no longer leads anywhere', async () => {
  assert.deepEqual(await commitsOf(served('a'), served()), [['filter refuses 10.96.0.1 10.96.0.2', 'nat']])
})

test('where one Service loses its endpoint as another gets one, both are refused until nat is written', async () => {
  assert.deepEqual(await commitsOf(served('a'), served('b')), [
    ['filter refuses 10.96.0.1 10.96.0.2', 'nat', 'filter refuses 10.96.0.1'],
  ])
})
