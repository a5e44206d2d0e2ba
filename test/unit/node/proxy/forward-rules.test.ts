import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import type { TableChange } from '../../../../src/netfilter/ruleset.ts'
import { ForwardRules } from '../../../../src/node/proxy/index.ts'
import { unchanged } from '../../../../src/node/rules/reports.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { cidr, ip } from '../../../helpers/services.ts'
import { until } from '../../../helpers/until.ts'

const settings = { family: 'IPv4', acceptedPods: [cidr('10.244.0.0/16')] } as const

function makeRules(t: TestContext, { failures = 0, failuresToOpen = 0, hasOthers = true, hasIptables = true } = {}) {
  const steps: string[] = []
  const written: (readonly TableChange[])[] = []
  let left = failures
  const write = (kind: string) => async (changes: readonly TableChange[]) => {
    steps.push(kind)
    written.push(changes)
    return unchanged
  }
  const removeOthers = async (keep: ReadonlySet<string>) => {
    steps.push(`remove all but ${[...keep]}`)
    if (left > 0) {
      left -= 1
      throw new Error('the lock is held')
    }
    return 3
  }
  let leftToOpen = failuresToOpen
  const writer = {
    sync: write('sync'),
    write: write('write'),
    start: async () => void steps.push('start'),
    stop: async () => void steps.push('stop'),
    health: () => ({ level: 'ok', message: 'the rules are in place', sinceMs: 0 }) as const,
    preview: async () => [],
  }
  const rules = new ForwardRules({
    settings,
    open: async () => {
      if (leftToOpen > 0) {
        leftToOpen -= 1
        throw new Error('the program was killed')
      }
      return hasIptables ? { writer, removeOthers, hasOthers: async () => hasOthers } : undefined
    },
    log: silentLogger,
  })
  t.after(() => rules.stop({ signal: AbortSignal.timeout(1000) }))
  return { rules, steps, written }
}

test('nothing is written or removed before the table of nftables is complete', async (t) => {
  const { rules, steps } = makeRules(t)
  await rules.start()
  rules.configure({ ...settings, masqueradeBit: 15 })
  await sleep(50)
  assert.deepEqual(steps, [])
})

test('the rules of the mode iptables go first, once, then those that accept come', async (t) => {
  const { rules, steps, written } = makeRules(t)
  rules.allow([])
  await until('they are written', () => steps.includes('sync'))
  rules.allow([])
  rules.configure({ family: 'IPv4' })
  await until('they are written anew', () => steps.includes('write'))
  assert.deepEqual(steps, ['start', 'remove all but PLAT-FORWARD,PLAT-FORWARD-PODS', 'sync', 'write'])
  await rules.stop({ signal: AbortSignal.timeout(1000) })
  assert.equal(steps.at(-1), 'stop')
  const [first, second] = written.map(([change]) => change?.set.get('PLAT-FORWARD-PODS')?.length)
  assert.deepEqual([first, second], [2, 0])
})

test('a failure is tried again, and health says so meanwhile', async (t) => {
  const { rules, steps } = makeRules(t, { failures: 1 })
  rules.allow([])
  await until('it has failed', () => rules.health().level === 'degraded')
  assert.match(rules.health().message, /the lock is held/)
  await until('they are written', () => steps.includes('sync'))
  await until('it is well', () => rules.health().level === 'ok')
})

test('iptables is not looked for before it is needed; a search that fails is tried again', async (t) => {
  const { rules, steps } = makeRules(t, { failuresToOpen: 1 })
  rules.allow([])
  await until('it has failed', () => rules.health().level === 'degraded')
  assert.match(rules.health().message, /the program was killed/)
  await until('they are written', () => steps.includes('sync'))
})

test('without iptables nothing is written, traced or shown as different, and that is no fault', async (t) => {
  const { rules, steps } = makeRules(t, { hasIptables: false })
  rules.allow([])
  await until('it is known', () => rules.health().level === 'ok')
  assert.match(rules.health().message, /there is no iptables/)
  assert.deepEqual(steps, [])
  assert.deepEqual(await rules.preview(), [])
  const packet = {
    source: ip('10.244.0.9'),
    destination: ip('192.0.2.9'),
    protocol: 'TCP',
    port: 80,
    state: 'NEW',
    origin: 'elsewhere',
  } as const
  assert.deepEqual(rules.trace(packet, { isLocalAddress: () => false }, true), [])
})

test('a trace names the rule that accepts: of pods by the network, of masqueraded packets by the mark', (t) => {
  const { rules } = makeRules(t)
  const packet = {
    source: ip('10.244.0.9'),
    destination: ip('192.0.2.9'),
    protocol: 'TCP',
    port: 80,
    state: 'NEW',
    origin: 'elsewhere',
  } as const
  const chainOf = (source: string, isMarked: boolean) =>
    rules.trace({ ...packet, source: ip(source) }, { isLocalAddress: () => false }, isMarked).map(({ chain }) => chain)
  assert.deepEqual(chainOf('10.244.0.9', false), ['PLAT-FORWARD-PODS'])
  assert.deepEqual(chainOf('192.0.2.8', true), ['PLAT-FORWARD'])
  assert.deepEqual(chainOf('192.0.2.8', false), [])
})

test('a Service that this mode refuses keeps the rules of the mode iptables for ten minutes, or until it is served', async (t) => {
  const { rules, steps } = makeRules(t)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  rules.allow(['default/refused'])
  t.mock.timers.tick(10 * 60_000 - 1)
  await setImmediate()
  assert.deepEqual(steps, ['start'])
  t.mock.timers.tick(1)
  t.mock.timers.reset()
  await until('they are written', () => steps.includes('sync'))
  const served = makeRules(t)
  served.rules.allow(['default/refused'])
  await setImmediate()
  assert.deepEqual(served.steps, ['start'])
  served.rules.allow([])
  await until('they are written', () => served.steps.includes('sync'))
})

test('a refused Service keeps nothing waiting where the mode iptables left no rules', async (t) => {
  const { rules, steps } = makeRules(t, { hasOthers: false })
  rules.allow(['default/refused'])
  await until('they are written', () => steps.includes('sync'))
})
