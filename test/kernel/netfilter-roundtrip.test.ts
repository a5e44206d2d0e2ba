import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import type { IpFamily } from '../../src/model/ip.ts'
import { orderCommits } from '../../src/netfilter/commit-order.ts'
import { bucketsByDestination } from '../../src/netfilter/dispatch.ts'
import { proxyHooks } from '../../src/netfilter/hooks.ts'
import { lowerService } from '../../src/netfilter/lower-service.ts'
import { equalRules, parseSave, type SavedTables } from '../../src/netfilter/parse.ts'
import { renderRule } from '../../src/netfilter/render.ts'
import type { Chain, Rule, Ruleset } from '../../src/netfilter/ruleset.ts'
import { renderStamp, stateChain } from '../../src/netfilter/state-chain.ts'
import { planFrontends } from '../../src/node/proxy/plan.ts'
import { hostileText } from '../helpers/arbitrary-rules.ts'
import { anyServiceState, type ServiceState } from '../helpers/arbitrary-services.ts'
import { diffRulesets, hashTable, renderRestore, TestRuleset } from '../helpers/rulesets.ts'
import { cidr, makePort, makeService, makeSlice } from '../helpers/services.ts'

const none: Ruleset = { nat: new Map(), filter: new Map() }
const skip = process.getuid?.() === 0 ? false : 'network namespaces need root'

for (const flavour of ['nft', 'legacy'] as const) {
  const missing = existsSync(`/usr/sbin/iptables-${flavour}`) ? skip : `iptables-${flavour} is not installed`

  test(`iptables-${flavour} takes random rulesets and gives them back equal`, { skip: missing }, () => {
    const clusters = fc.uniqueArray(anyServiceState, { selector: ({ service }) => service.key, minLength: 2 })
    for (const [from, to] of fc.sample(fc.tuple(clusters, clusters), { numRuns: 5, seed: 1 })) {
      const [before, after] = [buildRules(from), buildRules(to)]
      const first = renderRestore(orderCommits(none, diffRulesets(none, before))) + renderHooks('IPv4')
      const second = renderRestore(orderCommits(before, diffRulesets(before, after)))
      const saved = restoreAndSave(`iptables-${flavour}`, [first, second])
      assertHeld(saved, after)
    }
  })

  test(`ip6tables-${flavour} does the same for IPv6`, { skip: missing }, () => {
    const rules = ipv6Rules()
    const text = renderRestore(diffRulesets(none, rules), 'IPv6') + renderHooks('IPv6')
    assertHeld(restoreAndSave(`ip6tables-${flavour}`, [text]), rules)
  })

  for (const family of ['IPv4', 'IPv6'] as const) {
    const program = `${family === 'IPv4' ? 'iptables' : 'ip6tables'}-${flavour}`
    test(`${program} takes the way to one of 4,096 buckets and gives it back equal`, { skip: missing }, () => {
      const entries = bucketsByDestination('PLAT-DST').at(-1)?.layout.entries([])
      const way = ['PLAT-DST', 'PLAT-DST-A', 'PLAT-DST-A0'].map((name): [string, Chain] => [
        name,
        entries?.get(name) ?? [],
      ])
      assert.deepEqual(
        way.map(([, chain]) => chain.length),
        [16, 16, 16],
      )
      const targets = way.flatMap(([, chain]) =>
        chain.map(({ target }) => (target?.kind === 'goto' ? target.chain : '')),
      )
      const rules: Ruleset = { ...none, nat: new Map([...targets.map((name): [string, Chain] => [name, []]), ...way]) }
      const held = restoreAndSave(program, [renderRestore(diffRulesets(none, rules), family)])
      assert.deepEqual(diffRulesets({ ...none, nat: held.nat.chains }, rules), [])
    })
  }

  test(`iptables-${flavour} keeps hostile comments inside their rule`, { skip: missing }, () => {
    const comments = fc.sample(hostileText, { numRuns: 300, seed: 2 })
    const chain: readonly Rule[] = comments.map((comment) => ({ matches: [], target: { kind: 'return' }, comment }))
    const text = renderRestore([{ table: 'filter', set: new Map([['PLAT-A', chain]]), remove: [] }])
    const { filter } = restoreAndSave(`iptables-${flavour}`, [text])
    assert.deepEqual(
      diffRulesets({ nat: new Map(), filter: filter.chains }, { ...none, filter: new Map([['PLAT-A', chain]]) }),
      [],
    )
    assert.deepEqual(filter.hooks, [])
  })
}

/** Each text is one restore; all of it happens in network and mount namespaces that end with the command. */
function restoreAndSave(command: string, texts: readonly string[]): SavedTables {
  const restores = texts.map((_, index) => `printf %s "$TEXT${index}" | ${command}-restore --noflush --wait 5`)
  const script = ['set -e', 'mount -t tmpfs none /run', ...restores, `${command}-save`].join('\n')
  const environment = Object.fromEntries(texts.map((text, index) => [`TEXT${index}`, text]))
  const saved = execFileSync('unshare', ['--net', '--mount', 'sh', '-c', script], {
    env: { ...process.env, ...environment },
    encoding: 'utf8',
  })
  return parseSave(saved)
}

function assertHeld(saved: SavedTables, rules: Ruleset): void {
  assert.deepEqual(diffRulesets({ nat: saved.nat.chains, filter: saved.filter.chains }, rules), [])
  for (const table of ['nat', 'filter'] as const) {
    const hooks = proxyHooks().filter((hook) => hook.table === table)
    assert.equal(saved[table].hooks.length, hooks.length)
    for (const { builtin, rule } of hooks) {
      assert.ok(saved[table].hooks.some((held) => held.chain === builtin && equalRules(held.rule, rule)))
    }
  }
}

function buildRules(states: readonly ServiceState[]): Ruleset {
  const settings = { family: 'IPv4', localTraffic: { kind: 'source', cidr: cidr('10.244.0.0/16') } } as const
  const ruleset = new TestRuleset(settings)
  const node = { nodeName: 'node-a', family: 'IPv4' } as const
  ruleset.update(
    new Map(states.map((s) => [s.service.key, lowerService(planFrontends(s.service, s.slices, node), settings)])),
  )
  const { nat, filter } = ruleset.ruleset()
  const objects = { value: BigInt(states.length), count: states.length }
  return {
    nat: new Map([...nat, [stateChain, renderStamp({ version: 2, objects, rules: hashTable(nat) })]]),
    filter: new Map([...filter, [stateChain, renderStamp({ version: 2, objects, rules: hashTable(filter) })]]),
  }
}

function ipv6Rules(): Ruleset {
  const ports = [makePort('http', 'TCP', 80, 30080), makePort('idle', 'UDP', 1, 30001)]
  const service = makeService('default/web', 'fd00:10:96::10', { affinity: { timeoutSeconds: 60 }, ports })
  const slices = [makeSlice('default/web', [['http', 'TCP', 8080]], ['fd00:10:244::5', 'fd00:10:244::6'])]
  const settings = { family: 'IPv6', localTraffic: { kind: 'source', cidr: cidr('fd00:10:244::/56') } } as const
  const ruleset = new TestRuleset(settings)
  const frontends = planFrontends(service, slices, { nodeName: 'node-a', family: 'IPv6' })
  ruleset.update(new Map([[service.key, lowerService(frontends, settings)]]))
  return ruleset.ruleset()
}

function renderHooks(family: IpFamily): string {
  const tables = (['nat', 'filter'] as const).map((table) => {
    const hooks = proxyHooks().filter((hook) => hook.table === table)
    return [`*${table}`, ...hooks.map(({ builtin, rule }) => renderRule(builtin, rule, family)), 'COMMIT', ''].join(
      '\n',
    )
  })
  return tables.join('')
}
