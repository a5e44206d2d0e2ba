import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Run } from '../../../../src/host/index.ts'
import { addHash, emptyXorHash, hashItem } from '../../../../src/model/xor-hash.ts'
import { proxyHooks } from '../../../../src/netfilter/hooks.ts'
import { endpointChain } from '../../../../src/netfilter/names.ts'
import type { Ruleset } from '../../../../src/netfilter/ruleset.ts'
import { batchSizes } from '../../../../src/node/rules/batches.ts'
import { RulesWriter } from '../../../../src/node/rules/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { FakeIptables } from '../../../helpers/fake-iptables.ts'
import { buildRuleset } from '../../../helpers/proxy-lab.ts'
import { diffRulesets, writeRuleset } from '../../../helpers/rulesets.ts'
import { ip, makeService, makeSlice } from '../../../helpers/services.ts'

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
  await writeRuleset(writer, before, emptyXorHash)
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

/** One Service with these endpoints. */
function webWith(...endpoints: readonly number[]): Ruleset {
  const service = makeService('default/web', '10.96.0.9')
  const addresses = endpoints.map((n) => `10.244.9.${n}`)
  return buildRuleset([{ service, slices: [makeSlice(service.key, [['http', 'TCP', 8080]], addresses)] }], {
    family: 'IPv4',
  }).ruleset()
}

/** A writer to which every table is large, with three endpoints written, and the texts it writes from then on. */
async function startAhead(kernel = new FakeIptables()) {
  const texts: string[] = []
  const run: Run = (file, args, options) => {
    if (file.endsWith('-restore')) texts.push(options.input ?? '')
    return kernel.run(file, args, options)
  }
  const batches = { ...batchSizes.nft, removalsAheadFrom: 0 }
  const writer = new RulesWriter({ iptables: kernel.iptables(run), hooks: [], log: silentLogger, batches })
  await writeRuleset(writer, webWith(1, 2, 3), emptyXorHash)
  texts.length = 0
  const write = (from: Ruleset, to: Ruleset) => writer.write(diffRulesets(from, to), emptyXorHash)
  return { kernel, texts, write, writer }
}

const endpoint = (n: number) => endpointChain('default/web:http', 'TCP', ip(`10.244.9.${n}`), 8080)

/** Where the rules lead that each commit of a restore takes away by what they say. */
function removedBy(text = ''): readonly (readonly string[])[] {
  const commits = text.split('COMMIT\n').slice(0, -1)
  return commits.map((commit) => Array.from(commit.matchAll(/^-D .* -j (\S+)$/gm), ([, chain = '']) => chain))
}

test('in a large table an endpoint that goes leaves in a commit ahead, under no stamp; in a small one it does not', async () => {
  const { kernel, texts, write } = await startAhead()
  await write(webWith(1, 2, 3), webWith(1, 3, 4))
  assert.deepEqual(texts.map(removedBy), [[[endpoint(2)], []]])
  assert.match(texts[0] ?? '', /^\*nat\n:PLAT-STATE - \[0:0\]\n-D PLAT-SVC-[^\n]*\nCOMMIT\n/)
  const written = kernel.contents()
  const atOnce = await startAhead()
  await writeRuleset(atOnce.writer, webWith(1, 3, 4), emptyXorHash)
  assert.deepEqual(written, atOnce.kernel.contents())
  assert.deepEqual(await commitsOf(webWith(1, 2, 3), webWith(1, 3, 4)), [['nat']])
})

test('after a restore that may have been carried out in part nothing goes ahead until one has succeeded', async () => {
  const { kernel, texts, write } = await startAhead()
  kernel.faults.push('killed after the first commit')
  await assert.rejects(write(webWith(1, 2, 3), webWith(2, 3)), { code: 'killed' })
  assert.match(kernel.tables['nat']?.get('PLAT-STATE')?.join() ?? '', /^$/, 'nothing vouches for a table in between')
  await write(webWith(2, 3), webWith(2, 3))
  await write(webWith(2, 3), webWith(3))
  assert.deepEqual(texts.map(removedBy), [[[endpoint(1)], []], [[]], [[endpoint(2)], []]])
})

test('where others have taken the rule already the chain is read and written whole', async () => {
  const { kernel, texts, write, writer } = await startAhead()
  for (const [name, rules] of kernel.tables['nat'] ?? []) if (name.startsWith('PLAT-SVC-')) rules.shift()
  await write(webWith(1, 2, 3), webWith(2, 3))
  assert.deepEqual(texts.map(removedBy), [[[endpoint(1)], []], [[]]])
  assert.deepEqual((await writer.verify()).drift, [])
})

test('another process recognises by PLAT-STATE what was made of the same objects, unless filter lacks its last commit or a hook is gone', async () => {
  const kernel = new FakeIptables()
  const hooks = proxyHooks()
  const make = () => new RulesWriter({ iptables: kernel.iptables(), hooks, log: silentLogger })
  const [before, after] = [served(), served('a')]
  const [first, second] = ['one', 'two'].map((name) => addHash(emptyXorHash, hashItem(name, '')))
  assert.ok(first && second)
  assert.equal(await make().recognises(first), false, 'an empty kernel')
  const writer = make()
  await writeRuleset(writer, before, first)
  assert.deepEqual([await make().recognises(first), await make().recognises(second)], [true, false])
  kernel.faults.push('killed after the first commit')
  await assert.rejects(writer.write(diffRulesets(before, after), second))
  assert.deepEqual([await make().recognises(first), await make().recognises(second)], [false, false])
  await writer.write([], second)
  const restarted = make()
  assert.deepEqual([await restarted.recognises(second), restarted.health().level], [true, 'ok'])
  await assert.rejects(restarted.preview(), /still being planned/)
  kernel.tables['nat']?.set('PREROUTING', [])
  assert.equal(await make().recognises(second), false)
})
